"""What is inside the program and is no crate: scripts and fonts of the page, SQLite, the standard library of Rust, and
the C library of a static program. Each comes with the texts of its licence."""

import html
import json
import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

from .program import ROOT

# Texts that the copyright files of Debian point at.
COMMON_LICENCES = Path("/usr/share/common-licenses")


@dataclass(frozen=True)
class Part:
    name: str
    version: str
    licence: str
    purl: str
    # The crate that brings it into the program.
    used_by: str
    texts: tuple[str, ...]


@cache
def parts(sqlite: Path, is_static: bool) -> list[Part]:
    """`sqlite` is the folder of the crate `libsqlite3-sys`."""
    found = [*page(), bundled_sqlite(sqlite), rust()]
    return found + c_library() if is_static else found


def page() -> list[Part]:
    """What `page/build.mjs` bundled: it writes the licences, the lock file has the versions."""
    locked = json.loads((ROOT / "page/package-lock.json").read_text())["packages"]
    found = []
    for section in (ROOT / "crates/twig-page/dist/LICENSES").read_text().split("\n----\n\n"):
        name, _, text = section.partition("\n\n")
        it = locked[f"node_modules/{name}"]
        purl = f"pkg:npm/{quote(name)}@{it['version']}"
        found.append(Part(name, it["version"], it["license"], purl, "twig-page", (text.strip(),)))
    return found


def bundled_sqlite(folder: Path) -> Part:
    header = (folder / "sqlite3/sqlite3.h").read_text()
    version = re.search(r'#define SQLITE_VERSION +"([0-9.]+)"', header)[1]
    blessing = header[: header.index("\n***")].removeprefix("/*\n").replace("** ", "").replace("**", "")
    text = f"SQLite is in the public domain: https://sqlite.org/copyright.html\n\n{blessing.strip()}"
    return Part("SQLite", version, "blessing", f"pkg:generic/sqlite@{version}", "libsqlite3-sys", (text,))


def rust() -> Part:
    """The compiler comes with the notices of its standard library."""
    printed = subprocess.run(["rustc", "-vV"], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout
    version = re.search(r"^release: (.*)$", printed, re.MULTILINE)[1]
    command = ["rustc", "--print", "sysroot"]
    root = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
    page = Path(root, "share/doc/rust/COPYRIGHT-library.html").read_text()
    text = html.unescape(re.sub("<[^>]*>", "", page[page.index("<body>") :]))
    text = re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+\n", "\n", text)).strip()
    purl = f"pkg:generic/rust-std@{version}"
    return Part("standard library of Rust", version, "MIT OR Apache-2.0", purl, "twig", (text,))


def c_library() -> list[Part]:
    """Linked from the packages of Debian that this machine has."""
    lesser = (COMMON_LICENCES / "LGPL-2.1").read_text().strip()
    exception = "GPL-3.0-or-later WITH GCC-exception-3.1"
    return [
        debian("GNU C library", "libc6-dev", "LGPL-2.1-or-later", (lesser,)),
        debian("libgcc", f"libgcc-{gcc()}-dev", exception, ()),
    ]


def gcc() -> str:
    return subprocess.run(["gcc", "-dumpversion"], stdout=subprocess.PIPE, check=True, text=True).stdout.split(".")[0].strip()


def debian(name: str, package: str, licence: str, texts: tuple[str, ...]) -> Part:
    command = ["dpkg-query", "--show", "--showformat=${source:Package} ${source:Version}", package]
    source, version = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    purl = f"pkg:deb/debian/{source}@{quote(version)}?arch=source"
    copyright = Path("/usr/share/doc", package, "copyright").read_text().strip()
    return Part(name, version, licence, purl, "twig", (copyright, *texts))
