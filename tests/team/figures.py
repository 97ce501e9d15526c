#!/usr/bin/env python3
"""Figures of a server for people: what a key costs, and what many views cost.

usage: tests/team/figures.py BINARY [SECONDS]

Each figure is the processor time of the server for one answer, and the answers in a second, as a ratio to
the same server without it, in turns in one run. Loopback only; every loop ends by itself.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

from load import compare, load, message

BINARY = os.path.abspath(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 3.0


def run(env, *args):
    return subprocess.run([BINARY, *args], env=env, check=True, capture_output=True, text=True).stdout


def home(prompts=200):
    """A home with a library, and its environment."""
    root = tempfile.mkdtemp(prefix="twig-team-")
    env = {"HOME": root, "PATH": os.environ["PATH"]}
    library = os.path.join(root, ".local/share/twig/prompts/team")
    os.makedirs(os.path.join(library, "prompts"))
    with open(os.path.join(library, "twig.toml"), "w") as manifest:
        for number in range(prompts):
            manifest.write(f"[prompts.p{number}]\ndescription = \"Prompt {number}\"\narguments = [\"name\"]\n")
            with open(os.path.join(library, f"prompts/p{number}.md"), "w") as body:
                body.write("Hello {{ name }}, how are you?\n" * 5)
    os.makedirs(os.path.join(root, ".config/twig"))
    with open(os.path.join(root, ".config/twig/config.toml"), "w") as config:
        config.write("[http]\nperson_requests = 1000000\nperson_burst = 1000000\n")
    return root, env


class Server:
    def __init__(self, env):
        args = [BINARY, "-q", "serve", "--http", "127.0.0.1:0"]
        self.process = subprocess.Popen(args, env=env, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.match(r"http://127\.0\.0\.1:(\d+)/mcp", line)
            if found:
                self.port = int(found.group(1))
                return
        raise SystemExit("the server ended")

    def memory(self):
        with open(f"/proc/{self.process.pid}/smaps_rollup") as rollup:
            return int(re.search(r"Pss:\s+(\d+)", rollup.read()).group(1)) / 1024

    def stop(self):
        self.process.kill()
        self.process.wait()


def request(port, key, name, path="/mcp"):
    return message(port, "prompts/get", {"name": name, "arguments": {"name": "Ada"}}, key, path)


def key_cost():
    roots = [home(), home()]
    key = run(roots[1][1], "-q", "key", "create", "anna", "--role", "reader").strip()
    plain, keyed = Server(roots[0][1]), Server(roots[1][1])
    text = b"Hello Ada, how are you?"
    requests = [[(request(plain.port, None, f"team:p{n}"), text) for n in range(200)]]
    requests.append([(request(keyed.port, key, f"team:p{n}"), text) for n in range(200)])
    without, with_key = compare(
        lambda: load(plain, requests[0], SECONDS), lambda: load(keyed, requests[1], SECONDS)
    )
    for server in (plain, keyed):
        server.stop()
    for root, _ in roots:
        shutil.rmtree(root)
    print(f"prompts/get without a key: {without[0]:.0f}/s, {without[1]:.1f} us of processor time")
    print(f"prompts/get with a key:    {with_key[0]:.0f}/s, {with_key[1]:.1f} us")
    print(f"ratio of processor time: {with_key[1] / without[1]:.3f}, of answers: {with_key[0] / without[0]:.3f}")


def views_cost():
    """T-VIEW-03: 200 people in 20 views on 64 connections, beside 200 people in one view."""
    root, env = home()
    run(env, "workspace", "create", "acme")
    for number in range(20):
        run(env, "project", "create", f"q{number}", "-w", "acme")
        run(env, "prompt", "add", "own", "-c", f"only q{number}.", "-w", "acme", "-p", f"q{number}")
    keys = [
        run(env, "-q", "key", "create", f"p{n}", "--role", "reader", "-p", f"acme/q{n % 20}").strip()
        for n in range(200)
    ]
    same = [run(env, "-q", "key", "create", f"s{n}", "--role", "reader", "-p", "acme/q0").strip() for n in range(200)]
    server = Server(env)
    def own(key, project):
        return (request(server.port, key, f"q{project}:own"), f"only q{project}.".encode())
    many = [own(key, n % 20) for n, key in enumerate(keys)]
    single = [own(key, 0) for key in same]
    load(server, single, 1)
    before = server.memory()
    load(server, many, 1)
    grown = server.memory() - before
    one, twenty = compare(lambda: load(server, single, SECONDS), lambda: load(server, many, SECONDS))
    server.stop()
    shutil.rmtree(root)
    print(f"200 people in 1 view: {one[0]:.0f}/s, {one[1]:.1f} us; in 20 views: {twenty[0]:.0f}/s, {twenty[1]:.1f} us")
    print(f"answers in 20 views / in one: {twenty[0] / one[0]:.3f}; memory for 19 more views: {grown:+.1f} MB")


def sessions_cost():
    """T-SES-05: 10,000 sessions that are begun and never used."""
    root, env = home()
    server = Server(env)
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    text = (
        f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\ncontent-type: application/json\r\n"
        f"accept: application/json, text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n{body}"
    ).encode()
    connection = socket.create_connection(("127.0.0.1", server.port))
    def begin(count):
        for _ in range(count):
            connection.sendall(text)
            buffer = b""
            while b"serverInfo" not in buffer:
                buffer += connection.recv(65536)
    begin(1_000)
    before = server.memory()
    begin(10_000)
    print(f"memory after 10,000 more sessions: {server.memory() - before:+.2f} MB")
    server.stop()
    shutil.rmtree(root)


key_cost()
views_cost()
sessions_cost()
