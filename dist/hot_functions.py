#!/usr/bin/env python3
"""Lists the functions that servers run, for `dist/linker`: hot_functions.py PROGRAM_WITH_SYMBOLS

Servers run under callgrind, over standard input and over HTTP. Functions of the first ones come first, so that what every
server needs is together.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests/instructions")]
sys.dont_write_bytecode = True

import instructions  # noqa: E402
from functions import NAMES, stable_names  # noqa: E402
from instructions import GET_TEN, LIST, WORKLOADS, request, session  # noqa: E402

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "client", "version": "1"},
}


class Server:
    """A program under callgrind in a home of its own, whose library `make` writes."""

    def __init__(self, program, make):
        self.program = program
        self.folder = tempfile.TemporaryDirectory(prefix="hot")
        self.home = Path(self.folder.name)
        for name in ("data", "work"):
            (self.home / name).mkdir()
        make(self.home / "data")

    def command(self, *arguments):
        self.count = self.home / "callgrind"
        valgrind = ["valgrind", "--tool=callgrind", "--demangle=no", "--compress-strings=no", f"--callgrind-out-file={self.count}"]
        environment = {"HOME": str(self.home), "PATH": os.environ["PATH"], "TWIG_DATA_DIR": str(self.home / "data")}
        return {"args": [*valgrind, self.program, *arguments], "env": environment, "cwd": self.home / "work"}

    def functions(self):
        names = re.findall(r"^c?fn=([^\s']+)", self.count.read_text(), re.M)
        return [name for name in names if not name.startswith(("0x", "("))]


def over_stdio(program, make, arguments, messages):
    server = Server(program, make)
    done = subprocess.run(**server.command(*arguments), input=messages, capture_output=True, text=True, check=False)
    if done.returncode or messages.count('"id":') != len(done.stdout.splitlines()) and messages:
        sys.exit(f"hot_functions: the program failed\n{done.stderr}")
    return server.functions()


def over_http(program, make, calls):
    server = Server(program, make)
    command = server.command("serve", "--http", "127.0.0.1:0")
    running = subprocess.Popen(**command, stderr=subprocess.PIPE, text=True)
    address = None
    for line in running.stderr:
        if found := re.search(r"http://127\.0\.0\.1:\d+/mcp", line):
            address = found[0]
            break
    for method, params in calls:
        body = request(1, method, {**params, "_meta": MODERN}).encode()
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": method,
        }
        if "name" in params:
            headers["Mcp-Name"] = params["name"]
        with urllib.request.urlopen(urllib.request.Request(address, body, headers)) as answer:
            assert "result" in json.load(answer), method
    running.send_signal(signal.SIGTERM)
    running.communicate()
    return server.functions()


def main():
    program = str(Path(sys.argv[1]).resolve())
    names = {}
    for make, arguments, messages in WORKLOADS.values():
        names |= dict.fromkeys(over_stdio(program, make, arguments, messages))
    names |= dict.fromkeys(over_http(program, instructions.library, [LIST, *[GET_TEN] * 20]))
    names = dict.fromkeys(stable_names(list(names)).values())
    NAMES.write_text("\n".join(names) + "\n")
    print(f"{len(names)} functions")


if __name__ == "__main__":
    main()
