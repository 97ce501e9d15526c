"""For Linux: the archive that `install.sh` unpacks, and the package for Debian."""

import hashlib

from .archives import Entry, ar, gz, tar, with_folders
from .inside import Inside
from .program import DESCRIPTION, ROOT, SHELL, Names, Program, documents

MCP = Entry(f'{SHELL}exec "$(dirname "$(readlink -f "$0")")/twig" serve "$@"\n'.encode(), 0o755)


def man_pages(program: Program) -> dict[str, Entry]:
    """A page of `twig`, and one of each command."""
    pages = {"man1/twig.1.gz": Entry(gz(program.prints("man")))}
    for command in program.commands():
        pages[f"man1/twig-{command}.1.gz"] = Entry(gz(program.prints("man", command)))
    return pages


def completions(program: Program) -> dict[str, Entry]:
    """Each where its shell looks, below `share`."""
    paths = {
        "bash": "bash-completion/completions/twig",
        "fish": "fish/vendor_completions.d/twig.fish",
        "zsh": "zsh/vendor-completions/_twig",
    }
    return {path: Entry(program.prints("completions", shell)) for shell, path in paths.items()}


def shared(program: Program) -> dict[str, Entry]:
    """What belongs below `share`, wherever that is."""
    pages = {f"man/{path}": page for path, page in man_pages(program).items()}
    return pages | completions(program)


def inside(program: Program, names: Names, found: Inside) -> dict[str, Entry]:
    return {
        "THIRD-PARTY.md": Entry(found.third_party(program, names.repository)),
        "twig.cdx.json": Entry(found.bill_of_materials(program)),
    }


def tarball(program: Program, names: Names, found: Inside) -> dict[str, bytes]:
    """`twig-VERSION-x86_64-linux.tar.gz`: to be unpacked into a prefix such as `~/.local`."""
    name = f"twig-{program.version}-x86_64-linux"
    entries = {
        "bin/twig": Entry(program.content, 0o755),
        "bin/twig-mcp": MCP,
        "share/twig/installed.json": program.note("install.sh", f"run install.sh {names.newer}"),
    }
    entries |= {f"share/{path}": entry for path, entry in shared(program).items()}
    texts = documents() | inside(program, names, found)
    entries |= {f"share/doc/twig/{path}": entry for path, entry in texts.items()}
    # What `install.sh` installs, for whoever removes it. No path has a space.
    listed = "share/twig/installed.txt"
    entries[listed] = Entry("".join(f"{path}\n" for path in sorted([*entries, listed])).encode())
    return {f"{name}.tar.gz": gz(tar(with_folders({f"{name}/{path}": it for path, it in entries.items()})))}


def service() -> Entry:
    """The unit of `deploy/`, for the program where a package puts it."""
    unit = (ROOT / "deploy/twig.service").read_bytes()
    return Entry(unit.replace(b"/usr/local/bin/twig", b"/usr/bin/twig"))


def debian(program: Program, names: Names, found: Inside) -> dict[str, bytes]:
    """The service comes disabled: what to serve, and to whom, is decided first."""
    package = names.debian
    upgrade = f"sudo apt install ./{package}_VERSION_amd64.deb, with the file {names.newer}"
    entries = {
        "usr/bin/twig": Entry(program.content, 0o755),
        "usr/bin/twig-mcp": MCP,
        "usr/lib/systemd/system/twig.service": service(),
        "usr/share/twig/installed.json": program.note("Debian package", upgrade),
        f"usr/share/doc/{package}/copyright": Entry((ROOT / "LICENSE").read_bytes()),
        f"usr/share/doc/{package}/changelog.gz": Entry(gz((ROOT / "CHANGELOG.md").read_bytes())),
    }
    entries |= {f"usr/share/{path}": entry for path, entry in shared(program).items()}
    entries |= {
        f"usr/share/doc/{package}/{path}.gz": Entry(gz(it.content)) for path, it in inside(program, names, found).items()
    }
    files = sorted(entries.items())
    needs = "" if program.is_static else "Depends: libc6 (>= 2.36), libgcc-s1\n"
    control = (
        f"Package: {package}\nVersion: {program.version}\nArchitecture: amd64\n"
        f"Maintainer: Twig <{names.repository or 'unpublished'}>\n"
        f"Installed-Size: {sum(len(it.content) for _, it in files) // 1024 + 1}\n"
        f"{needs}Recommends: ca-certificates, git\nSection: utils\nPriority: optional\n"
        f"Description: {DESCRIPTION}\n"
        " Reads libraries of prompts and documents, and the commands and skills that you have for your\n"
        " AI clients, and serves them over the Model Context Protocol.\n"
    )
    reload = f"{SHELL}set -e\nif [ -d /run/systemd/system ]; then systemctl --system daemon-reload || true; fi\n".encode()
    sums = "".join(f"{md5(it.content)}  {path}\n" for path, it in files)
    about = {
        "control": Entry(control.encode()),
        "md5sums": Entry(sums.encode()),
        "postinst": Entry(reload, 0o755),
        "postrm": Entry(reload, 0o755),
    }
    made = ar(
        [
            ("debian-binary", b"2.0\n"),
            ("control.tar.gz", gz(tar(about, "./"))),
            ("data.tar.gz", gz(tar(with_folders(entries), "./"))),
        ]
    )
    return {f"{package}_{program.version}_amd64.deb": made}


def md5(content: bytes) -> str:
    """What dpkg compares installed files with: it guards against accidents only."""
    return hashlib.md5(content, usedforsecurity=False).hexdigest()
