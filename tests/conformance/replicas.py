#!/usr/bin/env python3
"""Serves libraries from two replicas behind nginx, and prints the URL, until SIGTERM.

usage: tests/conformance/replicas.py BINARY LOG LIBRARY...

LOG gets what the replicas log beside their addresses, once they have ended.
"""

import pathlib
import signal
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "replicas"))

from topology import Topology  # noqa: E402

binary, log, *libraries = sys.argv[1:]
options = ["-q", *(it for library in libraries for it in ("--library", library))]
is_over = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: is_over.set())
with Topology(binary, 2, options, TWIG_STORE_SERVE="false") as topology:
    print(f"http://127.0.0.1:{topology.port}/mcp", flush=True)
    is_over.wait()
    for replica in topology.replicas:
        replica.stop()
    said = [(it.home / "log").read_text().replace(f"http://127.0.0.1:{it.port}/mcp\n", "") for it in topology.replicas]
    pathlib.Path(log).write_text("".join(said))
