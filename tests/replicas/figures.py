#!/usr/bin/env python3
"""Figures of servers on one PostgreSQL: writes beside bare inserts, what notifications cost, how fast a write
is everywhere, and reading beside files.

usage: tests/replicas/figures.py BINARY FLOOR [SECONDS [FIGURE...]]

FLOOR is the program of `crates/twig-sources/benches/store_floor.rs`: bare inserts by the driver that the store
uses. Ratios are of medians of turns in one run. Loopback and sockets only; every loop ends by itself.
A FIGURE is the name of a function at the end of this file; without one, all are measured.
"""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "team"))

from load import compare, load, median, message
from topology import PATIENCE, Postgres, Replica, Stream, begin

BINARY = os.path.abspath(sys.argv[1])
FLOOR = os.path.abspath(sys.argv[2])
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 3.0
GARDEN = "/mcp/default/garden"
ACCEPTED = b'"isError":false'


class Home:
    """A folder with a database or without one, and the servers on it; all of it ends with the block."""

    def __init__(self, database=True, options=""):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="twig-figures-"))
        self.folder.chmod(0o755)
        self.running = []
        self.settings = {
            "TWIG_STORE_SERVE": "true",
            "TWIG_SESSION_KEY": "the same secret for all replicas",
            "TWIG_HTTP_ADDRESS_CONNECTIONS": "400",
        }
        if database:
            self.postgres = Postgres(self.folder, options)
            self.running.append(self.postgres)
            self.settings["TWIG_STORE_URL"] = self.postgres.url
            self.twig("store", "migrate")

    def twig(self, *args, **settings):
        home = {"HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder / "data"), "PATH": os.environ["PATH"]}
        subprocess.run([BINARY, *args], env={**home, **self.settings, **settings}, check=True, capture_output=True)

    def replicas(self, count, **settings):
        started = []
        for number in range(count):
            settings = {**self.settings, **settings}
            replica = Replica(BINARY, self.folder, len(self.running), settings)
            self.running.append(replica)
            started.append(replica)
        return started

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for part in reversed(self.running):
            part.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def tool(port, tool, name, content, path=GARDEN):
    arguments = {"name": name, "content": content}
    return message(port, "tools/call", {"name": tool, "arguments": arguments}, path=path)


def updates(port, names, path=GARDEN):
    """For each name two updates in turns, so that each makes a version."""
    contents = ["This is one text of a prompt", "This is another text of it"]
    return [(tool(port, "update_prompt", name, text, path), ACCEPTED) for text in contents for name in names]


def ask(server, request):
    """One answer, on a connection of its own."""
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
        connection.sendall(request)
        answer = b""
        while not answer.rstrip().endswith(b"}"):
            answer += connection.recv(65536)
        return answer


def create(server, names, path=GARDEN):
    for name in names:
        answer = ask(server, tool(server.port, "create_prompt", name, f"This is {name}", path))
        assert ACCEPTED in answer, answer


def floor(home):
    printed = subprocess.run([FLOOR, home.postgres.url, str(SECONDS)], check=True, capture_output=True, text=True)
    return float(printed.stdout), 0.0


def writes_beside_inserts():
    with Home() as home:
        home.twig("project", "create", "garden")
        [server] = home.replicas(1)
        names = [f"p{number}" for number in range(32)]
        create(server, names)
        for clients, least in ((1, 0.2), (32, 2)):
            requests = updates(server.port, names[:clients])
            bare, written = compare(
                lambda: floor(home), lambda: load(server, requests, SECONDS, connections=clients)
            )
            ratio = written[0] / bare[0]
            print(f"durable writes, {clients} clients: {written[0]:.0f}/s; bare inserts by one: {bare[0]:.0f}/s")
            more = " and 200/s" if clients == 1 else ""
            print(f"  ratio {ratio:.2f} (target: at least {least}{more})", flush=True)


def hints():
    """Servers on two databases of one PostgreSQL whose flushes take 5 ms; in one of them a hint does nothing."""
    count = 8
    with Home(options="-c commit_delay=5000 -c commit_siblings=0") as home:
        quiet = home.postgres.url.replace("/postgres?", "/quiet?")
        home.postgres.sql("postgres", "CREATE DATABASE quiet")
        home.postgres.sql(
            "quiet",
            "CREATE SCHEMA quiet; CREATE FUNCTION quiet.pg_notify(text, text) RETURNS void LANGUAGE sql AS ''; "
            "ALTER DATABASE quiet SET search_path = quiet, pg_catalog, public",
        )
        home.twig("store", "migrate", TWIG_STORE_URL=quiet)
        loads = []
        for url in (quiet, home.postgres.url):
            for number in range(count):
                home.twig("project", "create", f"garden{number}", TWIG_STORE_URL=url)
            servers = home.replicas(count, TWIG_STORE_URL=url)
            requests = []
            for number, server in enumerate(servers):
                path = f"/mcp/default/garden{number}"
                create(server, ["p"], path)
                requests.append(updates(server.port, ["p"], path))
            dealt = [both[at] for at in (0, 1) for both in requests]
            loads.append(lambda servers=servers, dealt=dealt: load(servers, dealt, SECONDS, connections=count))
        without, with_hints = compare(*loads)
    print(f"flushes of 5 ms, {count} servers: {without[0]:.0f}/s without hints, {with_hints[0]:.0f}/s with them")
    print(f"  ratio {with_hints[0] / without[0]:.2f} (target: at least 0.8)", flush=True)


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))] * 1000


def everywhere(writes=200):
    """The first of ten servers writes; the others are asked one after the other until they serve it."""
    with Home() as home:
        home.twig("project", "create", "garden")
        servers = home.replicas(10)
        create(servers[0], ["p"])
        gets = [message(it.port, "prompts/get", {"name": "p"}, path=GARDEN) for it in servers]
        for server, get in zip(servers, gets):
            ask(server, get)
        served = []
        for number in range(writes):
            text = f"This is text {number} of it"
            begun = time.monotonic()
            answer = ask(servers[0], tool(servers[0].port, "update_prompt", "p", text))
            assert ACCEPTED in answer, answer
            for server, get in zip(servers, gets):
                while text.encode() not in ask(server, get):
                    assert time.monotonic() < begun + PATIENCE, "it is never served"
            served.append(time.monotonic() - begun)
        print(f"a write until the last of ten servers serves it: p50 {percentile(served, 0.5):.0f} ms, "
              f"p99 {percentile(served, 0.99):.0f} ms (target: p99 at most 50)", flush=True)
        streams = [Stream(it.port, begin(it.port, GARDEN), GARDEN) for it in servers]
        heard = []
        for number in range(writes // 2):
            before = [len(stream.events) for stream in streams]
            begun = time.monotonic()
            create(servers[0], [f"new{number}"])
            while any(len(stream.events) == count for stream, count in zip(streams, before)):
                assert time.monotonic() < begun + PATIENCE, "it is never announced"
                time.sleep(0.001)
            heard.append(time.monotonic() - begun)
        for stream in streams:
            stream.close()
        print(f"a write until the last client of ten servers has heard: median {percentile(heard, 0.5):.0f} ms, "
              f"p99 {percentile(heard, 0.99):.0f} ms (target: at most 150 and 1000)", flush=True)


def reading_beside_files():
    names = [f"p{number}" for number in range(200)]
    with Home() as database, Home(database=False) as files:
        loads = []
        for home in (files, database):
            home.twig("project", "create", "garden")
            settings = {"XDG_DATA_HOME": str(home.folder / "data")}
            [server] = home.replicas(1, **settings)
            create(server, names)
            gets = [
                (message(server.port, "prompts/get", {"name": name}, path=GARDEN), f"This is {name}".encode())
                for name in names
            ]
            loads.append(lambda server=server, gets=gets: load(server, gets, SECONDS))
        in_files, in_database = compare(*loads)
    print(f"prompts/get over HTTP: {in_files[0]:.0f}/s, {in_files[1]:.1f} us of processor time with files; "
          f"{in_database[0]:.0f}/s, {in_database[1]:.1f} us with PostgreSQL")
    ratio = max(in_database[1] / in_files[1], in_files[0] / in_database[0])
    print(f"  ratio {ratio:.3f} (target: at most 1.05)", flush=True)


figures = [writes_beside_inserts, hints, everywhere, reading_beside_files]
for figure in figures:
    if figure.__name__ in sys.argv[4:] or not sys.argv[4:]:
        figure()
