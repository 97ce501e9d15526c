#!/usr/bin/env python3
"""The images of `deploy/Dockerfile`, built and run without a container engine: what they hold, and what they write.

usage: tests/deploy/image.py BINARY

Needs root, debootstrap and namespaces. The server runs as in a container: in its own root file system, mounted read-only, as user 65532
without any capability, in a network of its own, with PostgreSQL and a token as files.
"""

import ctypes
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "deploy"), str(ROOT / "tests/replicas"), str(ROOT / "tests/hub")]

import rootfs  # noqa: E402
from https_front import HttpsFront  # noqa: E402
from topology import PATIENCE, Postgres, get, wait_for  # noqa: E402

ROOTS = ROOT / "target/deploy/roots"
TOKEN = "a-token-of-the-image-test"
MS_RDONLY, MS_REMOUNT, MS_BIND = 1, 32, 4096
SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 1, 64


def mount(source, target, kind=None, flags=0):
    libc = ctypes.CDLL(None, use_errno=True)
    named = [str(it).encode() if it is not None else None for it in (source, target, kind)]
    if libc.mount(*named, ctypes.c_ulong(flags), None):
        raise OSError(ctypes.get_errno(), f"mount of {source} at {target}")


def loopback_up():
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP | IFF_RUNNING) + b"\0" * 14)


class Container:
    """A root file system, mounted as a container engine does for `--read-only --cap-drop ALL`."""

    def __init__(self, target, config, folder, postgres):
        self.target, self.config = target, config
        self.root, self.data = ROOTS / target, folder / f"{target}-data"
        self.data.mkdir()
        os.chown(self.data, 65532, 65532)
        secrets = folder / f"{target}-secrets"
        secrets.mkdir()
        (secrets / "token").write_text(TOKEN)
        (secrets / "database").write_text(f"postgres://twig@localhost/{target.replace('-', '_')}?host=/run/postgresql")
        for it in secrets.iterdir():
            os.chown(it, 65532, 65532)
            it.chmod(0o400)
        for point in ("run/secrets", "run/postgresql", "proc"):
            (self.root / point).mkdir(exist_ok=True)
        mount(self.root, self.root, flags=MS_BIND)
        mount(None, self.root, flags=MS_BIND | MS_REMOUNT | MS_RDONLY)
        mount(self.data, self.root / "data", flags=MS_BIND)
        mount("tmpfs", self.root / "tmp", "tmpfs")
        (self.root / "tmp").chmod(0o1777)
        mount(secrets, self.root / "run/secrets", flags=MS_BIND)
        mount(postgres.folder, self.root / "run/postgresql", flags=MS_BIND)
        mount("proc", self.root / "proc", "proc")
        postgres.program("createdb", "-h", str(postgres.folder), "-U", "twig", target.replace("-", "_"))

    def command(self, *args, env=None):
        user, group = self.config["User"].split(":")
        rights = [f"--reuid={user}", f"--regid={group}", "--clear-groups", "--bounding-set=-all", "--no-new-privs"]
        variables = [*self.config["Env"], *(f"{name}={value}" for name, value in (env or {}).items())]
        return ["chroot", str(self.root), "setpriv", *rights, "env", "-i", *variables, *args]

    def run(self, *args, env=None):
        done = subprocess.run(self.command(*args, env=env), capture_output=True, text=True, timeout=2 * PATIENCE)
        return done.returncode, done.stdout, done.stderr

    def twig(self, *args, env=None):
        return self.run(*self.config["Entrypoint"], *args, env=env)


SETTINGS = {
    "TWIG_STORE_URL_FILE": "/run/secrets/database",
    "TWIG_HTTP_TOKEN_FILE": "/run/secrets/token",
    "TWIG_STORE_SERVE": "true",
}


def expect(done, code, *texts):
    for text in texts:
        assert text in done[1] + done[2], done
    assert done[0] == code, done


def call(method, params):
    meta = "io.modelcontextprotocol"
    params = params | {"_meta": {f"{meta}/protocolVersion": "2026-07-28", f"{meta}/clientCapabilities": {}}}
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "authorization": f"Bearer {TOKEN}",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        "mcp-name": params["name"],
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = urllib.request.Request("http://127.0.0.1:7373/mcp/default/garden", body, headers)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.loads(re.search(r"\{.*\}", answer.read().decode(), re.DOTALL).group(0))["result"]


def serve(container):
    """Runs the image's own command, writes and reads a prompt, and ends it."""
    expect(container.twig("store", "migrate", env=SETTINGS), 0, "created the tables")
    expect(container.twig("project", "create", "garden", env=SETTINGS), 0)
    command = container.command(*container.config["Entrypoint"], *container.config["Cmd"], env=SETTINGS)
    with tempfile.TemporaryFile("w+") as log:
        server = subprocess.Popen(command, stderr=log)

        def is_ready():
            if server.poll() is not None:
                log.seek(0)
                raise SystemExit(f"{container.target} ended: {log.read()}")
            try:
                return get(9373, "/readyz")[0] == 200
            except OSError:
                return False

        try:
            wait_for(f"{container.target} is ready", is_ready)
            assert get(9373, "/livez")[0] == 200
            status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
            for line in ("Uid:\t65532\t65532\t65532\t65532", "CapBnd:\t0000000000000000", "CapEff:\t0000000000000000", "NoNewPrivs:\t1"):
                assert line in status, f"{line} is not in {status}"
            arguments = {"name": "roses", "content": "Water them.", "description": "Written in an image"}
            written = call("tools/call", {"name": "create_prompt", "arguments": arguments})
            assert not written.get("isError"), written
            assert "Water them." in str(call("prompts/get", {"name": "roses"}))
            server.send_signal(signal.SIGTERM)
            assert server.wait(PATIENCE) == 0
        finally:
            if server.poll() is None:
                server.kill()
                server.wait()
        log.seek(0)
        said = log.read()
    assert "ead-only" not in said and "denied" not in said, said
    # The mount holds: not even root writes elsewhere.
    done = subprocess.run(["chroot", container.root, "touch", "/etc/written"], capture_output=True, text=True)
    assert "Read-only file system" in done.stderr, done
    written = [it for it in container.data.rglob("*") if it.is_file()]
    assert all(it.stat().st_uid == 65532 for it in written), written
    return [str(it.relative_to(container.data)) for it in written]


def trusts_the_authorities_of_the_image(container, front):
    """An unknown authority is refused; the same one is accepted once the image's own list has it."""
    bundle = container.root / "etc/ssl/certs/ca-certificates.crt"
    context = ssl.create_default_context(cafile=str(bundle))
    assert len(context.get_ca_certs()) > 100, "few authorities"
    proxy = {"HTTPS_PROXY": front.address}
    code, _, refused = container.twig("add", f"https://{front.host}/skills", env=proxy)
    assert code == 1 and "certificate" in refused, refused
    more = pathlib.Path(str(container.data) + "-authorities")
    more.write_bytes(bundle.read_bytes() + front.authority.read_bytes())
    mount(more, bundle, flags=MS_BIND)
    code, _, accepted = container.twig("add", f"https://{front.host}/skills", env=proxy)
    assert code == 1 and "certificate" not in accepted, accepted


def fetches_with_git(container):
    # Who installs packages in a container gives it a folder for its configuration.
    config = pathlib.Path(str(container.data) + "-config")
    config.mkdir()
    os.chown(config, 65532, 65532)
    mount(config, container.root / "config", flags=MS_BIND)
    git = ["git", "-C", "/data/repository", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    (container.data / "repository/prompts").mkdir(parents=True)
    (container.data / "repository/prompts/hello.md").write_text("Hello from a repository.\n")
    for path in [container.data / "repository", *(container.data / "repository").rglob("*")]:
        os.chown(path, 65532, 65532)
    expect(container.run("git", "init", "-q", "/data/repository"), 0)
    expect(container.run(*git, "add", "."), 0)
    expect(container.run(*git, "commit", "-q", "-m", "prompts"), 0)
    expect(container.twig("add", "--yes", "git+file:///data/repository"), 0, "repository")
    expect(container.twig("list"), 0, "hello")


def inside(binary):
    loopback_up()
    configs = {target: json.loads((ROOTS / f"{target}.json").read_text()) for target in ("twig-small", "twig")}
    folder = pathlib.Path(tempfile.mkdtemp(prefix="twig-image-"))
    folder.chmod(0o755)
    postgres = Postgres(folder)
    try:
        # Nobody answers there: what matters is whether the certificate is accepted.
        front = HttpsFront("authority.example", 9, folder)
        for target, config in configs.items():
            begun = time.monotonic()
            container = Container(target, config, folder, postgres)
            written = serve(container)
            trusts_the_authorities_of_the_image(container, front)
            if target == "twig":
                fetches_with_git(container)
            else:
                assert not (container.root / "usr/bin/git").exists()
                wanted = container.twig("add", "--yes", "git+file:///data/repository")
                expect(wanted, 1, "git is not installed, and packages from repositories are fetched with it")
            print(f"ok  {target} ({time.monotonic() - begun:.1f} s); wrote {len(written)} files, below /data", flush=True)
    finally:
        postgres.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"images: {len(configs)} passed, 0 failed")


def main():
    if sys.argv[1] == "--inside":
        return inside(sys.argv[2])
    binary = pathlib.Path(sys.argv[1])
    missing = [it for it in ("debootstrap", "unshare", "openssl") if not shutil.which(it)]
    if os.geteuid() != 0 or missing:
        print(f"images: SKIPPED, needs {' and '.join(missing) or 'root'}")
        return
    if subprocess.run(["unshare", "--mount", "--net", "true"], capture_output=True).returncode:
        print("images: SKIPPED, this machine allows no namespaces")
        return
    for target in ("twig-small", "twig"):
        begun = time.monotonic()
        ROOTS.mkdir(parents=True, exist_ok=True)
        config = rootfs.assemble(target, ROOTS / target, binary)
        (ROOTS / f"{target}.json").write_text(json.dumps(config))
        size = subprocess.run(["du", "-sm", ROOTS / target], capture_output=True, text=True, check=True).stdout.split()[0]
        print(f"ok  {target} was built ({time.monotonic() - begun:.1f} s, {size} MB with this build of Twig)", flush=True)
    # Mounts and the network end with the process.
    sys.exit(subprocess.run(["unshare", "--mount", "--net", sys.executable, __file__, "--inside", str(binary)]).returncode)


main()
