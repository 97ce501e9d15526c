#!/usr/bin/env python3
"""Builds the root file system of an image as `deploy/Dockerfile` says, without a container engine.

usage: deploy/rootfs.py TARGET FOLDER [BINARY]

TARGET is a stage of the Dockerfile, such as `twig` or `twig-small`; FOLDER gets its root file system, and standard output its
configuration (user, environment, entry point, command) as JSON. BINARY takes the place of `target/release/twig`. `FROM debian:12-slim` is
made with debootstrap, each `RUN` is run with chroot, so that this needs root, debootstrap and a mirror of Debian. What comes of a `RUN`
is kept in `target/deploy/layers`.
"""

import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
LAYERS = ROOT / "target/deploy/layers"
BASES = {"debian:12-slim": "bookworm"}
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# What the slim images of Debian leave out.
LEFT_OUT = ["usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale", "var/cache/apt/archives", "var/lib/apt/lists"]


def stages():
    """The instructions of each stage, as pairs of a word and its text."""
    text = (ROOT / "deploy/Dockerfile").read_text()
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"\\\n\s*", " ", text)
    found, name = {}, None
    for line in filter(None, map(str.strip, text.splitlines())):
        word, rest = line.split(None, 1)
        if word == "FROM":
            name = rest.split()[-1]
        found.setdefault(name, []).append((word, rest))
    return found


class Image:
    """A root file system that grows by instructions, and its configuration."""

    def __init__(self, folder, binary):
        self.folder, self.binary = folder, binary
        self.config = {"Env": [f"PATH={PATH}"], "User": "root", "ExposedPorts": {}, "Volumes": {}}
        self.history = []
        # Instructions are followed lazily: a layer that is kept saves those before it.
        self.pending = []

    def follow(self, known, stage):
        for word, rest in known[stage]:
            if word == "FROM":
                base = rest.split()[0]
                if base in known:
                    self.follow(known, base)
                else:
                    self.history.append(f"FROM {base}")
                    self.pending.append(("FROM", base))
            elif word in ("RUN", "COPY"):
                self.history.append(f"{word} {rest}")
                if word == "COPY":
                    self.history.append(hashlib.sha256(self.source(rest).read_bytes()).hexdigest())
                self.pending.append((word, rest))
                if word == "RUN":
                    self.settle()
            else:
                self.configure(word, rest)
                self.history.append(f"{word} {rest}")

    def configure(self, word, rest):
        match word:
            case "ENV":
                self.config["Env"] += shlex.split(rest)
            case "USER":
                self.config["User"] = rest
            case "VOLUME":
                self.config["Volumes"][rest] = {}
            case "EXPOSE":
                self.config["ExposedPorts"] |= {f"{port}/tcp": {} for port in rest.split()}
            case "ENTRYPOINT":
                self.config["Entrypoint"] = json.loads(rest)
            case "CMD":
                self.config["Cmd"] = json.loads(rest)
            case _:
                raise SystemExit(f"deploy/Dockerfile: `{word}` is not understood here")

    def source(self, rest):
        source = rest.split()[-2]
        return self.binary if source == "target/release/twig" else ROOT / source

    def settle(self):
        """Follows what is pending, or takes the layer that once came of it."""
        layer = LAYERS / hashlib.sha256("\n".join(self.history).encode()).hexdigest()[:16]
        if layer.exists():
            self.pending = [("LAYER", layer)]
            return
        self.build()
        begun = layer.with_suffix(".begun")
        copy(self.folder, begun)
        begun.rename(layer)

    def build(self):
        for word, rest in self.pending:
            match word:
                case "LAYER":
                    copy(rest, self.folder)
                case "FROM":
                    bootstrap(BASES[rest], self.folder)
                case "RUN":
                    self.run(rest)
                case "COPY":
                    self.copy(rest)
        self.pending = []

    def run(self, command):
        borrowed = self.folder / "etc/resolv.conf"
        before = borrowed.read_bytes() if borrowed.exists() else None
        shutil.copyfile("/etc/resolv.conf", borrowed)
        environment = dict(it.split("=", 1) for it in self.config["Env"])
        done = subprocess.run(["chroot", self.folder, "/bin/sh", "-c", command], env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"RUN {command}: {done.stdout[-1000:]}{done.stderr[-2000:]}")
        if before is None:
            borrowed.unlink()
        else:
            borrowed.write_bytes(before)

    def copy(self, rest):
        mode = re.search(r"--chmod=(\d+)", rest)
        target = self.folder / rest.split()[-1].lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.source(rest), target)
        os.chown(target, 0, 0)
        target.chmod(int(mode.group(1), 8) if mode else 0o644)


def copy(source, target):
    if target.exists():
        shutil.rmtree(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", "--reflink=auto", source, target], check=True)


def bootstrap(suite, folder):
    if not shutil.which("debootstrap"):
        raise SystemExit("debootstrap is not installed: apt-get install debootstrap")
    if folder.exists():
        shutil.rmtree(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # The mirror of this machine, if it has one for that release.
    asked = ["apt-get", "indextargets", "--format", "$(REPO_URI)", f"Codename: {suite}", "Component: main"]
    mirrors = subprocess.run(asked, capture_output=True, text=True).stdout.split()
    command = ["debootstrap", "--variant=minbase", suite, str(folder), *mirrors[:1]]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"debootstrap: {done.stdout[-2000:]}{done.stderr[-1000:]}")
    for left_out in LEFT_OUT:
        for found in (folder / left_out).glob("*"):
            shutil.rmtree(found) if found.is_dir() else found.unlink()


def assemble(target, folder, binary):
    """Builds a target into a folder and returns its configuration, in the words of OCI."""
    known = stages()
    if target not in known:
        raise SystemExit(f"deploy/Dockerfile has no `{target}`, but {', '.join(known)}")
    image = Image(folder, binary)
    image.follow(known, target)
    image.build()
    return image.config


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    program = pathlib.Path(sys.argv[3] if len(sys.argv) == 4 else ROOT / "target/release/twig")
    print(json.dumps(assemble(sys.argv[1], pathlib.Path(sys.argv[2]), program), indent=2))
