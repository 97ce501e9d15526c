#!/usr/bin/env python3
"""Measures packages: `tests/packages/figures.py [BINARY]`, on an idle machine.

Everything is local: repositories that this script makes, served by `git http-backend` on the loopback
device. Each figure is a ratio with its floor in the same run, alternating; the median of the runs counts.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROUNDS = 7
WORDS = "review the change and say what a reader would ask next about names errors tests and limits".split()


class GitHandler(BaseHTTPRequestHandler):
    """Smart HTTP for the repositories below `root`, each answer after `latency` seconds."""

    root = ""
    latency = 0.0
    protocol_version = "HTTP/1.0"

    def log_message(self, *_):
        pass

    def answer(self):
        time.sleep(self.latency)
        path, _, query = self.path.partition("?")
        length = int(self.headers.get("content-length") or 0)
        environment = {
            **os.environ,
            "GIT_PROJECT_ROOT": self.root,
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("content-type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
            "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
            "CONTENT_LENGTH": str(length),
        }
        done = subprocess.run(
            ["git", "http-backend"], input=self.rfile.read(length), env=environment, capture_output=True, check=False
        )
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        status = 200
        headers = []
        for line in head.decode().splitlines():
            name, _, value = line.partition(": ")
            if name.lower() == "status":
                status = int(value.split()[0])
            else:
                headers.append((name, value))
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer


def git(folder, *words):
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-C", str(folder), *words]
    subprocess.run(command, check=True, capture_output=True)


def skills(folder, count, start=0):
    """Skills of about 8 KB each, in two files."""
    for number in range(start, start + count):
        skill = folder / "skills" / f"skill-{number:05}"
        skill.mkdir(parents=True)
        text = "\n".join(" ".join(WORDS[(number + line) % len(WORDS):]) for line in range(80))
        (skill / "SKILL.md").write_text(f"---\nname: skill-{number:05}\ndescription: Skill {number}\n---\n{text}\n")
        (skill / "reference.md").write_text(text[: 2_000 + number % 1_000])


def repository(root, name, count, start=0):
    folder = root / f"{name}.git"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    skills(folder, count, start)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    return folder


def home(base, name):
    folder = base / name
    folder.mkdir()
    return {"HOME": str(folder), "PATH": os.environ["PATH"]}


def timed(command, environment=None, cwd="/"):
    start = time.perf_counter()
    done = subprocess.run(command, env=environment, cwd=cwd, capture_output=True, check=False)
    took = time.perf_counter() - start
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr.decode()[-2000:]}")
    return took


def report(what, value, wanted, detail=""):
    print(f"{what:58} {value:8.2f}   wanted ≤ {wanted}   {detail}")


def listed(binary, environment, arguments=()):
    """Seconds from the start of a server to its list of prompts, and how many there are."""
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "figures", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "prompts/list", "params": {"_meta": meta}}
    start = time.perf_counter()
    server = subprocess.Popen([binary, "serve", *arguments], env=environment, cwd="/", stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    server.stdin.write(json.dumps(request).encode() + b"\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())
    took = time.perf_counter() - start
    server.stdin.close()
    server.wait()
    return took, len(answer["result"]["prompts"])


def main():
    binary = str(Path(sys.argv[1] if len(sys.argv) > 1 else "target/release/twig").resolve())
    base = Path(tempfile.mkdtemp(prefix="twig-figures-"))
    root = base / "repositories"
    root.mkdir()
    GitHandler.root = str(root)
    server = ThreadingHTTPServer(("127.0.0.1", 0), GitHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        repository(root, "large", 500)
        adds, clones = [], []
        for number in range(ROUNDS):
            environment = home(base, f"add-{number}")
            adds.append(timed([binary, "add", f"{url}/large.git", "--yes"], environment))
            clones.append(timed(["git", "clone", "-q", "--depth", "1", f"{url}/large.git", str(base / f"clone-{number}")]))
        add, clone = statistics.median(adds), statistics.median(clones)
        report("add of 500 skills / git clone --depth 1", add / clone, 1.3, f"{add * 1e3:.0f} ms / {clone * 1e3:.0f} ms")

        for number in range(20):
            repository(root, f"part{number}", 250, number * 250)
        environment = home(base, "many")
        for number in range(20):
            timed([binary, "add", f"{url}/part{number}.git", "--yes"], environment)
        idle = statistics.median(timed([binary, "install"], environment) for _ in range(ROUNDS))
        report("install of 20 packages, nothing to do, ms", idle * 1e3, 50)

        # Small ones: with large ones the two processors that also serve them decide, not the latency.
        few = home(base, "few")
        for number in range(20):
            repository(root, f"small{number}", 5, number * 5)
            timed([binary, "add", f"{url}/small{number}.git", "--yes"], few)
        def installed(like, number):
            """Another machine with the same configuration and lock. Nothing is deleted: some file systems search
            the inodes that were deleted a moment ago for each new file."""
            other = home(base, f"{Path(like['HOME']).name}-{number}")
            shutil.copytree(Path(like["HOME"]) / ".config", Path(other["HOME"]) / ".config")
            return timed([binary, "install"], other)

        GitHandler.latency = 0.05
        for name, like, rounds in (("small", few, ROUNDS), ("part", environment, 3)):
            totals = [installed(like, number) for number in range(rounds)]
            single = []
            for number in range(rounds):
                alone = home(base, f"alone-{name}-{number}")
                single.append(timed([binary, "add", f"{url}/{name}{number}.git", "--yes"], alone))
            slowest, total = max(single), statistics.median(totals)
            what = f"install of 20 ({name}) at 50 ms latency / slowest alone"
            report(what, total / slowest, 3, f"{total:.2f} s / {slowest:.2f} s")
        start = time.perf_counter()
        clones = [
            subprocess.Popen(["git", "clone", "-q", "--depth", "1", f"{url}/part{number}.git", str(base / f"beside-{number}")])
            for number in range(20)
        ]
        for clone in clones:
            clone.wait()
        print(f"{'20 git clones of the same side by side, s':58} {time.perf_counter() - start:8.2f}")
        GitHandler.latency = 0.0
        packages = Path(environment["HOME"]) / ".local/share/twig/packages"

        plain = home(base, "plain")
        folders = []
        for number in range(20):
            folder = base / "folders" / f"part{number}"
            shutil.copytree(root / f"part{number}.git" / "skills", folder)
            folders += ["--library", str(folder)]
        packaged, unpackaged = [], []
        for _ in range(ROUNDS):
            took, count = listed(binary, environment)
            packaged.append(took)
            took, other = listed(binary, plain, folders)
            unpackaged.append(took)
        one, two = statistics.median(packaged), statistics.median(unpackaged)
        report("start with 20 packages / as plain folders", one / two, 1.1,
               f"{one * 1e3:.0f} ms / {two * 1e3:.0f} ms, {count} and {other} prompts on the first page")

        verifies, reads = [], []
        for _ in range(ROUNDS):
            verifies.append(timed([binary, "verify"], environment))
            reads.append(timed(["sh", "-c", f"find {packages} -type f -exec cat {{}} + > {base}/read"]))
        one, two = statistics.median(verifies), statistics.median(reads)
        size = sum(file.stat().st_size for file in packages.rglob("*") if file.is_file())
        report("verify 5,000 skills / reading them", one / two, 2, f"{one * 1e3:.0f} ms / {two * 1e3:.0f} ms, {size / 1e6:.0f} MB")
    finally:
        server.shutdown()
        subprocess.run(["chmod", "-R", "u+w", str(base)], check=False)
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
