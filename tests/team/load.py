"""Clients on loopback connections that send the same requests as fast as servers answer."""

import json
import os
import re
import selectors
import socket
import time

MODERN = "2026-07-28"
TICKS = os.sysconf("SC_CLK_TCK")


def message(port, method, params, key=None, path="/mcp"):
    """The bytes of a request of the current protocol."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}})
    head = [
        f"POST {path} HTTP/1.1",
        f"host: 127.0.0.1:{port}",
        "content-type: application/json",
        "accept: application/json, text/event-stream",
        f"mcp-protocol-version: {MODERN}",
        f"mcp-method: {method}",
        f"mcp-name: {params['name']}",
        f"content-length: {len(body)}",
    ]
    if key:
        head.append(f"authorization: Bearer {key}")
    return ("\r\n".join(head) + "\r\n\r\n" + body).encode()


def cpu(server):
    """Seconds of processor time that the process of a server has taken."""
    with open(f"/proc/{server.process.pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def load(servers, requests, seconds, connections=64):
    """Answers in a second, and microseconds of processor time for one.

    Each request comes with bytes that its answer must have. They are dealt out to the connections, and these
    to the servers.
    """
    servers = servers if isinstance(servers, list) else [servers]
    selector = selectors.DefaultSelector()
    for number in range(connections):
        connection = socket.create_connection(("127.0.0.1", servers[number % len(servers)].port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        own = requests[number % len(requests) :: connections] or [requests[number % len(requests)]]
        selector.register(connection, selectors.EVENT_READ, [own, 0, b""])
        connection.sendall(own[0][0])
    answers, wrong = 0, []
    spent, start = sum(map(cpu, servers)), time.monotonic()
    while time.monotonic() - start < seconds:
        for key, _ in selector.select(1):
            own, at, buffer = key.data
            received = key.fileobj.recv(65536)
            if not received:
                raise SystemExit(f"a server closed a connection after {buffer[:500]}")
            buffer += received
            head = buffer.find(b"\r\n\r\n")
            if head < 0:
                key.data[2] = buffer
                continue
            length = int(re.search(rb"content-length: (\d+)", buffer[:head]).group(1))
            if len(buffer) < head + 4 + length:
                key.data[2] = buffer
                continue
            answers += 1
            if own[at][1] not in buffer:
                wrong.append(buffer)
            at = (at + 1) % len(own)
            key.data[1], key.data[2] = at, buffer[head + 4 + length :]
            key.fileobj.sendall(own[at][0])
    spent, passed = sum(map(cpu, servers)) - spent, time.monotonic() - start
    for key in list(selector.get_map().values()):
        key.fileobj.close()
    if wrong:
        raise SystemExit(f"{len(wrong)} answers were wrong, such as {wrong[0][:1000]}")
    return answers / passed, spent / answers * 1e6


def median(values):
    return sorted(values)[len(values) // 2]


def compare(one, two, rounds=5):
    """Two loads in turns: their medians."""
    results = ([], [])
    for _ in range(rounds):
        for found, measure in zip(results, (one, two)):
            found.append(measure())
    return [tuple(median([row[i] for row in found]) for i in (0, 1)) for found in results]
