"""A PostgreSQL server, replicas of Twig and an nginx with the configuration of `deploy/`, as plain processes."""

import glob
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 30
MODERN = "2026-07-28"
LEGACY = "2025-11-25"


def wait_for(what, condition):
    """Waits until a condition holds; the patience is for a busy machine."""
    end = time.monotonic() + PATIENCE
    while not (result := condition()):
        if time.monotonic() > end:
            raise SystemExit(f"not within {PATIENCE} s: {what}")
        time.sleep(0.02)
    return result


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Postgres:
    """A server of Debian's PostgreSQL, which refuses to run as root."""

    def __init__(self, folder, options=""):
        self.folder = folder / "postgres"
        self.folder.mkdir()
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not found:
            raise SystemExit("PostgreSQL is not installed: apt-get install postgresql")
        self.programs = found[-1]
        self.user = []
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
            self.user = ["runuser", "-u", "postgres", "--"]
        data = str(self.folder / "data")
        self.program("initdb", "-U", "twig", "-A", "trust", "--no-sync", "-D", data)
        options += f" -c listen_addresses= -c unix_socket_directories={self.folder} -c max_connections=300"
        self.program("pg_ctl", "-D", data, "-o", options, "-l", str(self.folder / "log"), "-w", "start")
        self.url = f"postgres://twig@localhost/postgres?host={self.folder}"

    def program(self, name, *args):
        command = [*self.user, f"{self.programs}/{name}", *args]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.folder)

    def sql(self, database, sql):
        self.program("psql", "-h", str(self.folder), "-U", "twig", "-d", database, "-q", "-c", sql)

    def create_older_tables(self):
        """Creates the tables as they were before the newest migration; returns their version."""
        migrations = sorted((ROOT / "crates/twig-sources/src/postgres").glob("*.sql"), key=lambda it: int(it.stem))
        version = len(migrations) - 1
        # Since version 2, transactions have to name their workspace.
        least = min(version, 2)
        self.query(
            "CREATE SCHEMA twig;"
            + "".join(it.read_text() for it in migrations[:-1])
            + f"INSERT INTO twig.meta (schema, min_reader, min_writer) VALUES ({version}, {least}, {least});"
        )
        return version

    def query(self, sql):
        command = [f"{self.programs}/psql", "-qAt", "-v", "ON_ERROR_STOP=1", "-h", str(self.folder), "-U", "twig", "postgres"]
        done = subprocess.run(command, input=sql, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def stop(self):
        self.program("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "stop")


class Replica:
    """One server of Twig; it keeps its ports and its home when it is started again."""

    def __init__(self, binary, folder, number, settings, options=()):
        self.binary, self.number, self.options = binary, number, options
        self.home = folder / f"replica{number}"
        library = self.home / "data/twig/prompts/team"
        (library / "prompts").mkdir(parents=True)
        prompt = '[prompts.hello]\ndescription = "Greets someone"\ntext = "Hello {{ name }}"\narguments = ["name"]\n'
        (library / "twig.toml").write_text(prompt)
        self.port, self.admin = free_port(), free_port()
        self.env = {
            "HOME": str(self.home),
            "XDG_DATA_HOME": str(self.home / "data"),
            "PATH": os.environ["PATH"],
            **settings,
        }
        self.process = None
        self.start()

    def start(self):
        addresses = ["--http", f"127.0.0.1:{self.port}", "--admin", f"127.0.0.1:{self.admin}"]
        with open(self.home / "log", "a") as log:
            self.process = subprocess.Popen([self.binary, "serve", *addresses, *self.options], env=self.env, stderr=log)
        wait_for(f"replica {self.number} is ready", self.is_ready)

    def is_ready(self):
        if self.process.poll() is not None:
            raise SystemExit((self.home / "log").read_text())
        try:
            return get(self.admin, "/readyz")[0] == 200
        except OSError:
            return False

    def stop(self):
        """Ends it as a platform does, if it runs; returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def memory(self):
        rollup = pathlib.Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return int(re.search(r"Private_Dirty:\s+(\d+)", rollup).group(1)) / 1024


class Nginx:
    """nginx with `deploy/nginx.conf`, and addresses of its own."""

    def __init__(self, folder, port, replicas):
        program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
        if not program:
            raise SystemExit("nginx is not installed: apt-get install nginx")
        self.folder, self.port = folder / "nginx", port
        (self.folder / "twig").mkdir(parents=True)
        servers = [f"server 127.0.0.1:{it.port} max_fails=0;\n" for it in replicas]
        (self.folder / "twig/replicas.conf").write_text("".join(servers))
        (self.folder / "twig/listen.conf").write_text(f"listen 127.0.0.1:{self.port};\n")
        shutil.copy(ROOT / "deploy/nginx.conf", self.folder / "default.conf")
        temporary = "".join(
            f"{name}_temp_path {self.folder}/{name};\n"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (self.folder / "nginx.conf").write_text(
            f"daemon off;\nworker_processes 1;\npid {self.folder}/pid;\nerror_log {self.folder}/error.log;\n"
            f"events {{ worker_connections 1024; }}\n"
            f"http {{\naccess_log off;\n{temporary}include default.conf;\n}}\n"
        )
        command = [program, "-p", str(self.folder), "-c", str(self.folder / "nginx.conf")]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        wait_for("nginx answers", self.is_ready)

    def is_ready(self):
        try:
            return get(self.port, "/healthz")[0] == 200
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


class Topology:
    """All of it, on one database with the project `garden`."""

    def __init__(self, binary, replicas, options=(), has_older_tables=False, **settings):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="twig-replicas-"))
        self.folder.chmod(0o755)
        self.running = []
        self.postgres = self.keep(Postgres(self.folder))
        port = free_port()
        shared = {
            "TWIG_STORE_URL": self.postgres.url,
            "TWIG_STORE_SERVE": "true",
            "TWIG_HTTP_ALLOW_HOST": f"127.0.0.1:{port},localhost:{port}",
            "TWIG_HTTP_ALLOW_ORIGIN": f"http://127.0.0.1:{port},http://localhost:{port}",
            "TWIG_HTTP_ADDRESS_CONNECTIONS": "400",
            **settings,
        }
        self.binary = binary
        self.home = {"HOME": str(self.folder), "PATH": os.environ["PATH"], **shared}
        if has_older_tables:
            self.older = self.postgres.create_older_tables()
        else:
            self.twig("store", "migrate")
        self.twig("project", "create", "garden")
        self.replicas = [
            self.keep(Replica(binary, self.folder, number, shared, options)) for number in range(replicas)
        ]
        self.nginx = self.keep(Nginx(self.folder, port, self.replicas))
        self.port = self.nginx.port

    def twig(self, *arguments):
        """Runs a command that has to succeed, on a machine without a replica."""
        done = subprocess.run([self.binary, *arguments], env=self.home, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def keep(self, part):
        self.running.append(part)
        return part

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for part in reversed(self.running):
            part.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def get(port, path, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", path, headers=headers or {})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def authorized(headers, key):
    return {**headers, "authorization": f"Bearer {key}"} if key else headers


def post(port, method, params=None, session=None, path="/mcp", key=None):
    """Sends one message: of a session, or of the current protocol without one. Returns status, headers, answer."""
    params = dict(params or {})
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    if session:
        headers |= {"mcp-session-id": session, "mcp-protocol-version": LEGACY}
    elif method != "initialize":
        meta = "io.modelcontextprotocol"
        params["_meta"] = {f"{meta}/protocolVersion": MODERN, f"{meta}/clientCapabilities": {}}
        headers |= {"mcp-protocol-version": MODERN, "mcp-method": method}
        if "name" in params:
            headers["mcp-name"] = params["name"]
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("POST", path, body, authorized(headers, key))
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    found = re.search(r"\{.*\}", text, re.DOTALL)
    return answer.status, answer.headers, json.loads(found.group(0)) if found else None


def begin(port, path="/mcp", key=None):
    """Begins a session of an earlier protocol version."""
    client = {"name": "replicas", "version": "1"}
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client}
    status, headers, _ = post(port, "initialize", params, path=path, key=key)
    assert status == 200, status
    return headers["mcp-session-id"]


def end(port, session, path="/mcp", key=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    headers = {"mcp-session-id": session, "mcp-protocol-version": LEGACY}
    connection.request("DELETE", path, headers=authorized(headers, key))
    status = connection.getresponse().status
    connection.close()
    return status


class Stream:
    """The event stream of a session, which is opened again when it ends, as clients do."""

    def __init__(self, port, session, path="/mcp", key=None):
        self.port, self.session, self.path, self.key = port, session, path, key
        self.events, self.refused, self.opened, self.ended = [], [], 0, 0
        # The longest time without a stream, and since when there is none.
        self.away, self.lost = 0, None
        self.is_over = False
        self.connection = None
        threading.Thread(target=self.follow, daemon=True).start()
        wait_for("the stream is open", lambda: self.opened)

    def follow(self):
        headers = {
            "accept": "text/event-stream",
            "mcp-session-id": self.session,
            "mcp-protocol-version": LEGACY,
        }
        while not self.is_over:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
            try:
                connection.request("GET", self.path, headers=authorized(headers, self.key))
                answer = connection.getresponse()
                if answer.status != 200:
                    self.refused.append(answer.status)
                    time.sleep(0.05)
                    continue
                if self.lost:
                    self.away = max(self.away, time.monotonic() - self.lost)
                    self.lost = None
                self.opened += 1
                self.connection = connection
                for line in answer:
                    if line.startswith(b"data: {"):
                        self.events.append(json.loads(line[6:])["method"])
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.05)
            finally:
                self.ended += 1
                self.lost = self.lost or time.monotonic()
                connection.close()

    def close(self):
        self.is_over = True
        if self.connection and self.connection.sock:
            self.connection.sock.shutdown(socket.SHUT_RDWR)
