"""The program that is packaged: what it says of itself, and what it needs of a system."""

import json
import os
import re
import struct
import subprocess
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .archives import Entry

ROOT = Path(__file__).resolve().parents[2]
DESCRIPTION = "Keeps your prompts and serves them to every AI client over MCP"
SHELL = "#!/bin/sh\n"


@dataclass(frozen=True)
class Program:
    path: Path

    @cached_property
    def content(self) -> bytes:
        return self.path.read_bytes()

    def prints(self, *arguments: str) -> bytes:
        """What a command prints, whatever the environment of the packager is."""
        return subprocess.run([self.path, *arguments], env={"COLUMNS": "100"}, stdout=subprocess.PIPE, check=True).stdout

    @cached_property
    def version(self) -> str:
        return self.prints("-V").decode().split()[1]

    @cached_property
    def is_static(self) -> bool:
        """Whether no loader is named in its headers (64 bits, little-endian)."""
        start, size, count = (
            struct.unpack_from("<Q", self.content, 32)[0],
            *struct.unpack_from("<HH", self.content, 54),
        )
        kinds = [struct.unpack_from("<I", self.content, start + size * each)[0] for each in range(count)]
        interpreter = 3
        return interpreter not in kinds

    @cached_property
    def libraries(self) -> dict[str, Entry]:
        """What the loader opens, by path without the first slash; nothing for a static program."""
        if self.is_static:
            return {}
        printed = subprocess.run(["ldd", self.path], stdout=subprocess.PIPE, check=True, text=True).stdout
        paths = re.findall(r"(/\S+) \(0x", printed)
        return {path[1:]: Entry(Path(path).read_bytes(), 0o755) for path in paths}

    def note(self, by: str, upgrade: str) -> Entry:
        """`share/twig/installed.json`, which `twig doctor` reads."""
        said = {"by": by, "upgrade": upgrade, "bytes": len(self.content)}
        return Entry(json.dumps(said).encode() + b"\n")

    def commands(self) -> list[str]:
        """The commands, for a man page each."""
        helped = self.prints("--help").decode()
        return re.findall(r"^  ([a-z][a-z-]*)  ", helped, re.MULTILINE)


@dataclass(frozen=True)
class Names:
    """`names.toml`."""

    cargo: str
    npm: str
    pypi: str
    debian: str
    image: str
    repository: str
    published: tuple[str, ...]

    @classmethod
    def read(cls) -> "Names":
        read = tomllib.loads((ROOT / "dist/names.toml").read_text())
        url = os.environ.get("TWIG_REPOSITORY") or read["repository"]["url"]
        return cls(**read["names"], repository=url, published=tuple(read["published"]["registries"]))

    @property
    def newer(self) -> str:
        """Where a newer version is. Names alone may be those of somebody else in a registry."""
        where = f"{self.repository}/releases" if self.repository else "where you got this one"
        return f"of a newer version, from {where}"

    @property
    def server(self) -> str:
        """The name in the registry of MCP."""
        _, _, path = self.repository.partition("://github.com/")
        owner, _, name = path.partition("/")
        return f"io.github.{owner}/{name}" if name else "unpublished/twig"


def documents() -> dict[str, Entry]:
    """What comes with every copy of the program, apart from what is inside it."""
    return {name: Entry((ROOT / name).read_bytes()) for name in ["LICENSE", "README.md", "CHANGELOG.md"]}
