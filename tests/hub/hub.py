"""Installs from a hub with the installers of others, and with Twig: hub.py TWIG NODE MODULES [CLAUDE]

MODULES is the folder with the versions of `skills`. What arrives is compared byte for byte with what the library has.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from https_front import HttpsFront

HOST = "hub.example.com"
SECONDS = 120
TIDES = {
    "SKILL.md": b"---\nname: reading-tides\ndescription: Reads a tide table\n---\nRun scripts/tide.sh.\n",
    "scripts/tide.sh": b"#!/bin/sh\necho high\n",
    "references/häfen.md": "# Häfen\n".encode(),
    "assets/table.bin": bytes(range(256)) * 40,
}
LIBRARY = {
    "twig.toml": b'[prompts.review]\ndescription = "Reviews code"\narguments = ["code"]\n'
    b'[prompts.secret]\ndescription = "Not for everybody"\n',
    "prompts/review.md": b"Review {{ code }}.\n",
    "prompts/secret.md": b"Secret.\n",
}


def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def files_of(folder):
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"FAILED: {what}\n  found:  {found!r}\n  wanted: {wanted!r}")
    print(f"ok: {what}")


class Machine:
    """A hub, and a home for the user who installs from it."""

    def __init__(self, twig, folder):
        self.twig, self.folder = twig, folder
        self.hub = folder / "hub"
        self.user = folder / "user"
        self.tides = self.hub / "skills/reading-tides"
        write(self.tides, TIDES)
        (self.tides / "scripts/tide.sh").chmod(0o755)
        write(self.hub / "team", LIBRARY)
        config = [
            'hide = ["team:secret"]',
            f'[hub]\nenable = true\ntitle = "Coast"\nurl = "https://{HOST}"',
            *(f'[[libraries]]\npath = "{self.hub / name}"' for name in ("skills", "team")),
        ]
        write(self.hub, {".config/twig/config.toml": "\n".join(config).encode()})
        self.user.mkdir()
        command = [twig, "serve", "--http", "127.0.0.1:0", "--allow-host", HOST]
        variables = self.variables(self.hub)
        self.server = subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True)
        address = next(line for line in self.server.stderr if line.startswith("http://"))
        self.address = address.strip().removesuffix("/mcp")
        self.front = HttpsFront(HOST, int(self.address.rsplit(":", 1)[1]), folder)

    def variables(self, home):
        return {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "CI": "1",
            "NO_COLOR": "1",
            "DISABLE_TELEMETRY": "1",
            "DO_NOT_TRACK": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def run(self, *command, **variables):
        variables = self.variables(self.user) | variables
        done = subprocess.run(
            command, env=variables, cwd=self.user, timeout=SECONDS, stdin=subprocess.DEVNULL,
            capture_output=True, text=True,
        )
        if done.returncode:
            sys.exit(f"FAILED: {command}: {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout


def version_of(package):
    return json.loads((package / "package.json").read_text())["version"]


def old_skills(machine, node, package):
    """A version that reads the older index only, and no bytes that are not text."""
    command = [node, str(package / "bin/cli.mjs")]
    machine.run(*command, "add", machine.address, "--yes", "--agent", "claude-code")
    installed = machine.user / ".claude/skills"
    texts = {path: content for path, content in TIDES.items() if path != "assets/table.bin"}
    found = files_of(installed / "reading-tides")
    found.pop("assets/table.bin")
    expect(f"skills {version_of(package)} installs the texts of a skill", found, texts)
    shutil.rmtree(machine.user)
    machine.user.mkdir()


def skills(machine, node, package):
    """`npx skills add`, and `npx skills update` after a change."""
    version = version_of(package)
    command = [node, str(package / "bin/cli.mjs")]
    machine.run(*command, "add", machine.address, "--yes", "--copy", "--agent", "claude-code")
    installed = machine.user / ".claude/skills"
    expect(f"skills {version} installs every shown prompt", sorted(os.listdir(installed)), ["reading-tides", "review"])
    expect("  and every file of a skill", files_of(installed / "reading-tides"), TIDES)
    lock = json.loads((machine.user / "skills-lock.json").read_text())["skills"]
    before = lock["reading-tides"]["wellKnownDigest"]
    changed = TIDES["SKILL.md"] + b"Twice.\n"
    write(machine.tides, {"SKILL.md": changed})
    machine.run(*command, "update", "--yes")
    expect("  and updates an edited one", (installed / "reading-tides/SKILL.md").read_bytes(), changed)
    lock = json.loads((machine.user / "skills-lock.json").read_text())["skills"]
    expect("  with another digest", lock["reading-tides"]["wellKnownDigest"] != before, True)
    write(machine.tides, TIDES)
    machine.run(*command, "update", "--yes")
    lock = json.loads((machine.user / "skills-lock.json").read_text())["skills"]
    expect("  and with the first one again", lock["reading-tides"]["wellKnownDigest"], before)


def claude(machine, program):
    """`claude plugin`, over https: it accepts nothing else."""
    proxy = {
        "HTTPS_PROXY": machine.front.address,
        "NODE_EXTRA_CA_CERTS": str(machine.front.authority),
        "SSL_CERT_FILE": str(machine.front.authority),
    }
    version = machine.run(program, "--version", **proxy).split()[0]
    market = f"https://{HOST}/.claude-plugin/marketplace.json"
    machine.run(program, "plugin", "marketplace", "add", market, **proxy)
    machine.run(program, "plugin", "install", "skills@coast", **proxy)
    plugins = machine.user / ".claude/plugins/cache/coast/skills"
    [plugin] = plugins.iterdir()
    installed = plugin / "skills/reading-tides"
    expect(f"Claude Code {version} installs a plugin", files_of(installed), TIDES)
    mode = (installed / "scripts/tide.sh").stat().st_mode
    expect("  with programs that can be run", mode & 0o777, 0o755)


def twig_add(machine):
    """`twig add`, from the same hub."""
    machine.run(machine.twig, "add", machine.address, "--as", "coast", "--yes")
    listed = machine.run(machine.twig, "list", "--names").split()
    expect("twig add installs every shown prompt", listed, ["coast:reading-tides", "coast:review"])
    [package] = [it for it in (machine.user / ".local/share/twig/packages").iterdir() if it.is_dir()]
    expect("  and every file of a skill", files_of(next(package.rglob("reading-tides"))), TIDES)


def main(twig, node, modules, program=None):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="twig-hub-"))
    machine = Machine(twig, folder)
    try:
        modules = pathlib.Path(modules)
        old_skills(machine, node, modules / "skills-0-1")
        skills(machine, node, modules / "skills")
        if program:
            claude(machine, program)
        twig_add(machine)
    finally:
        machine.server.terminate()
        machine.server.wait()
        shutil.rmtree(folder, ignore_errors=True)


main(*sys.argv[1:])
