"""What is inside the program: the licences of its dependencies, and a bill of materials (CycloneDX)."""

import json
import subprocess
import tomllib
import uuid
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .archives import sha256
from .parts import Part, parts
from .program import DESCRIPTION, ROOT, Program

TARGET = "x86_64-unknown-linux-gnu"
LICENCE_FILES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")
# Said with every copy of the static program: section 6 of the LGPL 2.1 asks for it.
NOTICE = """\
The program contains the GNU C library, version {version}. That library and its use are covered by the GNU Lesser General
Public License, version 2.1 or later, whose text is below. You may change the program for your own use, and reverse
engineer it for debugging such changes.

- The sources of the library are the package `{source}` of Debian: https://snapshot.debian.org/package/{source}/{version}/
- The sources of Twig ({twig}) and `dist/build` in them link the program with another version of the library.
- For three years from the day you got this program, whoever published it gives you both on request, for no more than the
  cost of sending them. Ask {ask}.
"""


@dataclass(frozen=True)
class Crate:
    id: str
    name: str
    version: str
    licence: str
    folder: Path
    is_ours: bool

    @property
    def purl(self) -> str:
        return f"pkg:cargo/{self.name}@{self.version}"

    def licence_texts(self) -> list[str]:
        """The files with licences, also of code of others in the crate."""
        found = sorted(it for it in self.folder.rglob("*") if it.is_file() and is_licence(it))
        if not found and "Apache-2.0" in self.licence.split(" OR "):
            # That one names no person, so ours is the same.
            found = [ROOT / "LICENSE"]
        if not found:
            raise SystemExit(f"error: the crate {self.name} has no file with its licence, {self.licence}")
        return [it.read_text(errors="replace").replace("\r\n", "\n").strip() for it in found]


def is_licence(path: Path) -> bool:
    return path.stem.upper().startswith(LICENCE_FILES) and path.suffix not in (".rs", ".html")


@dataclass(frozen=True)
class Inside:
    """The crates that end up in the program, and which of them uses which."""

    crates: list[Crate]
    uses: dict[str, list[str]]
    checksums: dict[tuple[str, str], str]

    @classmethod
    def read(cls) -> "Inside":
        """What is only needed to build, or in tests, is not in it; nor are macros, which run in the compiler."""
        command = ["cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={TARGET}"]
        printed = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
        metadata = json.loads(printed)
        packages = {it["id"]: it for it in metadata["packages"]}
        nodes = {it["id"]: it for it in metadata["resolve"]["nodes"]}
        is_macro = {id for id, it in packages.items() if any("proc-macro" in each["kind"] for each in it["targets"])}
        start = next(it["id"] for it in packages.values() if it["name"] == "twig" and it["source"] is None)
        uses: dict[str, list[str]] = {}
        waiting = [start]
        while waiting:
            id = waiting.pop()
            if id in uses:
                continue
            normal = [it for it in nodes[id]["deps"] if any(each["kind"] is None for each in it["dep_kinds"])]
            uses[id] = sorted({it["pkg"] for it in normal} - is_macro)
            waiting += uses[id]
        crates = [
            Crate(
                id,
                it["name"],
                it["version"],
                (it["license"] or "").replace("/", " OR "),
                Path(it["manifest_path"]).parent,
                it["source"] is None,
            )
            for id, it in packages.items()
            if id in uses
        ]
        locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
        checksums = {(it["name"], it["version"]): it["checksum"] for it in locked if "checksum" in it}
        return cls(sorted(crates, key=lambda it: (it.name, it.version)), uses, checksums)

    @cached_property
    def licence_texts(self) -> dict[str, list[str]]:
        """Every text, and the crates that it is of."""
        users = defaultdict(list)
        for crate in self.crates:
            for text in [] if crate.is_ours else crate.licence_texts():
                users[text].append(crate.name)
        return users

    def parts(self, program: Program) -> list[Part]:
        (sqlite,) = (it.folder for it in self.crates if it.name == "libsqlite3-sys")
        return parts(sqlite, program.is_static)

    def third_party(self, program: Program, repository: str) -> bytes:
        """`THIRD-PARTY.md`: a table, and every text of a licence once."""
        others = [it for it in self.crates if not it.is_ours]
        found = self.parts(program)
        lines = ["# What is inside Twig", "", "## Crates", "", "| crate | version | licence |", "|---|---|---|"]
        lines += [f"| {it.name} | {it.version} | {it.licence} |" for it in others]
        lines += ["", "## Other parts", "", "| part | version | licence |", "|---|---|---|"]
        lines += [f"| {it.name} | {it.version} | {it.licence} |" for it in found]
        for part in found:
            if part.name == "GNU C library":
                twig = f"version {program.version}" + (f", {repository}" if repository else "")
                ask = f"at {repository}/issues" if repository else "where you got it"
                notice = NOTICE.format(version=part.version, source="glibc", twig=twig, ask=ask)
                lines += ["", "## The GNU C library", "", notice.strip()]
        lines += ["", "## Texts of the licences"]
        users = defaultdict(list, {text: list(names) for text, names in self.licence_texts.items()})
        for part in found:
            for text in part.texts:
                users[text].append(part.name)
        for text, names in sorted(users.items(), key=lambda it: it[1]):
            lines += ["", "### " + ", ".join(dict.fromkeys(names)), "", "````text", text, "````"]
        return ("\n".join(lines) + "\n").encode()

    def bill_of_materials(self, program: Program) -> bytes:
        """CycloneDX 1.5. Its serial number follows from the program, so that it is the same each time."""
        start = next(it for it in self.crates if it.name == "twig" and it.is_ours)
        purls = {it.id: it.purl for it in self.crates}
        digest = sha256(program.content)
        others = self.parts(program)
        brought = defaultdict(set)
        for part in others:
            brought[part.used_by].add(part.purl)

        def component(crate: Crate | Part) -> dict:
            made = {
                "type": "library",
                "bom-ref": crate.purl,
                "name": crate.name,
                "version": crate.version,
                "purl": crate.purl,
                "licenses": [{"expression": crate.licence}],
            }
            if checksum := self.checksums.get((crate.name, crate.version)):
                made["hashes"] = [{"alg": "SHA-256", "content": checksum}]
            return made

        bill = {
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}",
            "version": 1,
            "metadata": {
                "component": {
                    "type": "application",
                    "bom-ref": start.purl,
                    "name": "twig",
                    "version": program.version,
                    "description": DESCRIPTION,
                    "licenses": [{"expression": start.licence}],
                    "hashes": [{"alg": "SHA-256", "content": digest}],
                }
            },
            "components": [component(it) for it in [*self.crates, *others] if it is not start],
            "dependencies": [
                *(
                    {"ref": it.purl, "dependsOn": sorted({purls[each] for each in self.uses[it.id]} | brought[it.name])}
                    for it in self.crates
                ),
                *({"ref": it.purl, "dependsOn": []} for it in others),
            ],
        }
        return json.dumps(bill, indent=1).encode() + b"\n"
