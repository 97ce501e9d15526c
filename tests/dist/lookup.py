#!/usr/bin/env python3
"""Whether a program in an empty root finds hosts, in a network of its own: lookup.py ROOT

A server of names on port 53 knows `by-dns.test`. Whether the program came through to a port shows that it had the
address: `by-file.test reached` on stdout."""

import fcntl
import socket
import struct
import subprocess
import sys
import threading

ROOT = sys.argv[1]


def loopback_up():
    set_flags, up_and_running = 0x8914, 0x41
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        fcntl.ioctl(made, set_flags, struct.pack("16sH14x", b"lo", up_and_running))


def answer(question):
    """127.0.0.1 for `by-dns.test`, no such name for others, and no address of IPv6."""
    end = question.index(b"\0", 12) + 5
    is_known = question[12:end].startswith(b"\6by-dns\4test\0")
    has_address = is_known and question[end - 4 : end - 2] == b"\0\1"
    head = question[:2] + (b"\x85\x80" if is_known else b"\x85\x83") + b"\0\1" + struct.pack(">H", has_address) + b"\0" * 4
    record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\0\0\1" if has_address else b""
    return head + question[12:end] + record


def serve_names(names):
    while True:
        question, asker = names.recvfrom(2048)
        names.sendto(answer(question), asker)


loopback_up()
names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
names.bind(("127.0.0.1", 53))
threading.Thread(target=serve_names, args=[names], daemon=True).start()
for host in ["by-file.test", "by-dns.test", "nowhere.test"]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        url = f"postgres://someone:secret@{host}:{port}/twig?sslmode=disable"
        command = ["unshare", "--mount", "--pid", "--fork", f"--root={ROOT}", "--mount-proc=/proc"]
        program = subprocess.Popen(
            [*command, "/bin/twig", "store", "verify"],
            env={"HOME": "/tmp", "TWIG_STORE_URL": url},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        reached = threading.Event()

        def accept():
            try:
                server.accept()[0].close()
                reached.set()
            except OSError:
                pass

        threading.Thread(target=accept, daemon=True).start()
        said, _ = program.communicate(timeout=100)
        if not reached.is_set():
            assert host in said or "lookup" in said, said
        print(host, "reached" if reached.is_set() else "unknown")
