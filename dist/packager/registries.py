"""For npm, PyPI, Claude Desktop and the registry of MCP."""

import base64
import hashlib
import json

from .archives import Entry, gz, sha256, tar, zipped
from .inside import Inside
from .linux import MCP, inside
from .program import DESCRIPTION, ROOT, Names, Program, documents

# What npm calls the platforms that packages are made for.
PLATFORMS = {"linux-x64": ("linux", "x64")}
HERE = "linux-x64"


def formatted(value: object) -> bytes:
    return json.dumps(value, indent=2).encode() + b"\n"


def npm(program: Program, names: Names, found: Inside) -> dict[str, bytes]:
    """The package that is installed, and the one with the program for this platform, installed from files together.
    Nothing is downloaded or run. Once they are in the registry, npm picks the platform by `os` and `cpu`."""
    version = program.version
    common = {"version": version, "license": "Apache-2.0"}
    if names.repository:
        common["repository"] = {"type": "git", "url": f"git+{names.repository}.git"}
    launcher = (ROOT / "dist/npm/launch.js").read_text()
    launcher = launcher.replace("@PACKAGE@", names.npm).replace("@PLATFORMS@", " ".join(PLATFORMS))
    main = {
        "name": names.npm,
        "description": DESCRIPTION,
        **common,
        "mcpName": names.server,
        "bin": {"twig": "twig.js", "twig-mcp": "twig-mcp.js"},
        "engines": {"node": ">=18"},
    }
    # npm asks the registry for these, also if their files are installed beside this one.
    if "npm" in names.published:
        main["optionalDependencies"] = {f"{names.npm}-{it}": version for it in PLATFORMS}
    os, cpu = PLATFORMS[HERE]
    platform = {
        "name": f"{names.npm}-{HERE}",
        "description": f"The program of {names.npm} for {os} on {cpu}",
        **common,
        "os": [os],
        "cpu": [cpu],
        "preferUnplugged": True,
    }
    both = f"./{names.npm}-{HERE}-VERSION.tgz ./{names.npm}-VERSION.tgz"
    upgrade = f"npm install -g {both}, with the files {names.newer}"
    packages = {
        f"{names.npm}-{version}.tgz": {
            "package.json": Entry(formatted(main)),
            "launch.js": Entry(launcher.encode()),
            "twig.js": Entry(b'#!/usr/bin/env node\nrequire("./launch.js")([]);\n', 0o755),
            "twig-mcp.js": Entry(b'#!/usr/bin/env node\nrequire("./launch.js")(["serve"]);\n', 0o755),
            **documents(),
        },
        f"{names.npm}-{HERE}-{version}.tgz": {
            "package.json": Entry(formatted(platform)),
            "bin/twig": Entry(program.content, 0o755),
            "share/twig/installed.json": program.note("npm", upgrade),
            "LICENSE": documents()["LICENSE"],
            **inside(program, names, found),
        },
    }
    return {name: gz(tar(dict(sorted(it.items())), "package/")) for name, it in packages.items()}


def wheel(program: Program, names: Names, found: Inside) -> dict[str, bytes]:
    """The program itself is installed as a script, without an interpreter in front of it."""
    project = names.pypi.replace("-", "_")
    stem = f"{project}-{program.version}"
    # A static program needs no C library of the system, which the first tag stands for.
    platform = "manylinux_2_17_x86_64.musllinux_1_1_x86_64" if program.is_static else "linux_x86_64"
    tags = [f"py3-none-{it}" for it in platform.split(".")]
    metadata = (
        f"Metadata-Version: 2.1\nName: {names.pypi}\nVersion: {program.version}\nSummary: {DESCRIPTION}\n"
        "License: Apache-2.0\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n"
    ).encode()
    readme = documents()["README.md"].content + f"\n<!-- mcp-name: {names.server} -->\n".encode()
    about = "Wheel-Version: 1.0\nGenerator: twig\nRoot-Is-Purelib: false\n" + "".join(f"Tag: {it}\n" for it in tags)
    upgrade = f"pip install --upgrade ./{project}-VERSION-….whl, with the file {names.newer}"
    entries = {
        f"{stem}.data/scripts/twig": Entry(program.content, 0o755),
        f"{stem}.data/scripts/twig-mcp": MCP,
        f"{stem}.data/data/share/twig/installed.json": program.note("pip", upgrade),
        f"{stem}.dist-info/METADATA": Entry(metadata + readme),
        f"{stem}.dist-info/WHEEL": Entry(about.encode()),
        f"{stem}.dist-info/licenses/LICENSE": documents()["LICENSE"],
    }
    entries |= {f"{stem}.dist-info/licenses/{name}": it for name, it in inside(program, names, found).items()}
    record = "".join(f"{path},sha256={record_digest(it.content)},{len(it.content)}\n" for path, it in entries.items())
    path = f"{stem}.dist-info/RECORD"
    entries[path] = Entry((record + f"{path},,\n").encode())
    return {f"{stem}-py3-none-{platform}.whl": zipped(entries)}


def record_digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def bundle(program: Program, names: Names, found: Inside) -> dict[str, bytes]:
    """For Claude Desktop: https://github.com/modelcontextprotocol/mcpb, version 0.3 of its manifest."""
    manifest = {
        "manifest_version": "0.3",
        "name": "twig",
        "display_name": "Twig",
        "version": program.version,
        "description": DESCRIPTION,
        "long_description": f"{DESCRIPTION}. The program in this bundle is for Linux on x86-64.",
        "author": {"name": "Twig"},
        "license": "Apache-2.0",
        "server": {
            "type": "binary",
            "entry_point": "server/bin/twig",
            "mcp_config": {
                "command": "${__dirname}/server/bin/twig",
                "args": ["serve"],
            },
        },
        "prompts_generated": True,
        "tools_generated": True,
        "compatibility": {"platforms": ["linux"]},
    }
    if names.repository:
        manifest["repository"] = {"type": "git", "url": f"{names.repository}.git"}
    entries = {
        "manifest.json": Entry(formatted(manifest)),
        "server/bin/twig": Entry(program.content, 0o755),
        "server/share/twig/installed.json": program.note("a bundle of Claude Desktop", f"open the bundle {names.newer}"),
        "LICENSE": documents()["LICENSE"],
        **inside(program, names, found),
    }
    return {f"twig-{program.version}-x86_64-linux.mcpb": zipped(entries)}


def server_json(program: Program, names: Names, made: dict[str, bytes]) -> dict[str, bytes]:
    """The entry in the registry of MCP. It names a bundle by its address, so only once there is a repository."""
    version, transport = program.version, {"type": "stdio"}

    def package(kind: str, identifier: str, **more: str) -> dict:
        serve = [{"type": "positional", "value": "serve"}]
        return {"registryType": kind, "identifier": identifier, **more, "packageArguments": serve, "transport": transport}

    packages = []
    if "npm" in names.published:
        packages.append(package("npm", names.npm, version=version, runtimeHint="npx"))
    described = {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": names.server,
        "title": "Twig",
        "description": DESCRIPTION,
        "version": version,
        "packages": packages,
    }
    if names.repository:
        described["repository"] = {"url": names.repository, "source": "github"}
        for name, content in made.items():
            if name.endswith(".mcpb"):
                url = f"{names.repository}/releases/download/v{version}/{name}"
                digest = {"fileSha256": sha256(content)}
                packages.append({"registryType": "mcpb", "identifier": url, **digest, "transport": transport})
    return {"server.json": formatted(described)}
