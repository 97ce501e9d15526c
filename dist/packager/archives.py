"""Archives whose bytes depend on nothing but their contents: one time, one owner, one order."""

import gzip
import hashlib
import io
import os
import tarfile
import time
import zipfile
from dataclasses import dataclass

# When the sources were written, in seconds: the time of everything in an archive.
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))


@dataclass(frozen=True)
class Entry:
    """A file, or a symlink if `link` is set; a folder if `content` is None."""

    content: bytes | None
    mode: int = 0o644
    link: str = ""
    owner: int = 0


def folders_of(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def with_folders(entries: dict[str, Entry]) -> dict[str, Entry]:
    """The entries and the folders that they are in, each before what it contains."""
    folders = {folder: Entry(None, 0o755) for path in entries for folder in folders_of(path)}
    return dict(sorted((folders | entries).items()))


def tar(entries: dict[str, Entry], prefix: str = "") -> bytes:
    """A tar in the format that every reader knows. Folders come as they are given."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path, entry in entries.items():
            member = tarfile.TarInfo(prefix + path)
            member.mode, member.mtime = entry.mode, EPOCH
            member.uid = member.gid = entry.owner
            if entry.link:
                member.type, member.linkname, member.mode = tarfile.SYMTYPE, entry.link, 0o777
                archive.addfile(member)
            elif entry.content is None:
                member.type = tarfile.DIRTYPE
                archive.addfile(member)
            else:
                member.size = len(entry.content)
                archive.addfile(member, io.BytesIO(entry.content))
    return made.getvalue()


def gz(content: bytes) -> bytes:
    return gzip.compress(content, compresslevel=6, mtime=0)


def zipped(entries: dict[str, Entry]) -> bytes:
    """A zip. Its times start in 1980, and have no zone."""
    when = max(time.gmtime(EPOCH)[:6], (1980, 1, 1, 0, 0, 0))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path, entry in entries.items():
            member = zipfile.ZipInfo(path, date_time=when)
            member.create_system = 3
            member.external_attr = (0o100000 | entry.mode) << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, entry.content)
    return made.getvalue()


def ar(members: list[tuple[str, bytes]]) -> bytes:
    """The outer archive of a Debian package."""
    made = b"!<arch>\n"
    for name, content in members:
        header = f"{name:<16}{EPOCH:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n"
        made += header.encode() + content + (b"\n" if len(content) % 2 else b"")
    return made


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
