#!/usr/bin/env python3
"""Makes every artefact out of a program that is built already: package.py PROGRAM FOLDER [--not-static]

Only a static program runs on every machine. `--not-static` packages another one, for a trial on this machine.
SOURCE_DATE_EPOCH is the time of all files in them, TWIG_REPOSITORY the address of the repository that publishes them.
What is downloaded for images is kept in `target/dist-cache`."""

import sys
from pathlib import Path

from packager.archives import sha256
from packager.images import images
from packager.inside import Inside
from packager.linux import debian, inside, tarball
from packager.program import ROOT, Names, Program
from packager.registries import bundle, npm, server_json, wheel


def main(path: str, folder: str, *options: str) -> None:
    program = Program(Path(path).resolve())
    if not program.is_static and "--not-static" not in options:
        raise SystemExit(f"error: {path} is not linked statically; `dist/build` makes a program that is")
    names, found = Names.read(), Inside.read()
    made: dict[str, bytes] = {}
    for make in [tarball, npm, wheel, debian, bundle]:
        made |= make(program, names, found)
    made |= images(program, names, found, ROOT / "target/dist-cache")
    made |= server_json(program, names, made)
    made |= {name: entry.content for name, entry in inside(program, names, found).items()}
    made["install.sh"] = (ROOT / "dist/install.sh").read_bytes()
    sums = "".join(f"{sha256(content)}  {name}\n" for name, content in sorted(made.items()))
    made["SHA256SUMS"] = sums.encode()
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    for name, content in made.items():
        (out / name).write_bytes(content)
    (out / "install.sh").chmod(0o755)
    for line in sums.splitlines():
        digest, name = line.split("  ")
        print(f"{len(made[name]):>10}  {digest[:12]}  {name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
