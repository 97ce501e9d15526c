"""Images for containers, written as archives of the Open Container Initiative: no engine and no registry is needed.

The small one has the program and certificates. The other has git too, from packages of Debian that are unpacked and
not installed: no script of them runs, and their documentation stays out."""

import io
import json
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

from .archives import EPOCH, Entry, gz, sha256, tar, with_folders
from .inside import Inside
from .linux import inside
from .program import DESCRIPTION, Names, Program, documents

USER = 65532
# What git needs to fetch over https and from files. Its parts in Perl and its manual are left out.
GIT = """
git dash libc6 libgcc-s1 gcc-12-base libcrypt1 libcurl3-gnutls libexpat1 libpcre2-8-0 zlib1g libbrotli1 libgssapi-krb5-2
libcom-err2 libk5crypto3 libkeyutils1 libkrb5-3 libkrb5support0 libidn2-0 libldap-2.5-0 libsasl2-2 libdb5.3 libnettle8
libhogweed6 libgnutls30 libp11-kit0 libtasn1-6 libffi8 libgmp10 libunistring2 libnghttp2-14 libpsl5 librtmp1 libssh2-1
libssl3 libzstd1 coreutils libacl1 libattr1 libselinux1
""".split()
CERTIFICATES = ["ca-certificates"]
# Has the texts that files named `copyright` point at.
LICENCES = ["base-files"]
LEFT_OUT = ("usr/share/man/", "usr/share/locale/", "usr/share/info/", "usr/share/bash-completion/", "usr/share/lintian/")
MERGED = ("bin", "sbin", "lib", "lib64")


def download(packages: list[str], cache: Path) -> list[Path]:
    """The versions that this machine's lists of packages name, each with the checksum in those signed lists."""
    cache.mkdir(parents=True, exist_ok=True)
    command = ["apt-cache", "show", "--no-all-versions", *packages]
    printed = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
    listed: dict[str, dict[str, str]] = {}
    for block in printed.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and line[0] != " ")
        if "Filename" in fields:
            listed.setdefault(fields["Package"], fields)
    if missing := sorted(set(packages) - listed.keys()):
        raise SystemExit(f"error: no list of packages has {', '.join(missing)}; run `apt-get update` on Debian 12")
    wanted = {cache / f"{it['SHA256']}.deb": it for it in listed.values()}
    if fields := [it for path, it in wanted.items() if not path.exists()]:
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            # APT drops its rights to fetch, if it may write there.
            Path(folder).chmod(0o777)
            names = [f"{it['Package']}={it['Version']}" for it in fields]
            subprocess.run(["apt-get", "download", "-qq", *names], cwd=folder, check=True)
            for path in Path(folder).iterdir():
                # Found under its checksum, or not at all.
                path.rename(cache / f"{sha256(path.read_bytes())}.deb")
    for path, it in wanted.items():
        if not path.exists():
            raise SystemExit(f"error: {it['Package']} does not have the checksum in the list of packages")
    return [path for path, _ in sorted(wanted.items(), key=lambda pair: pair[1]["Package"])]


def unpacked(package: Path) -> dict[str, Entry]:
    """The files of a package of Debian, with `/bin` and `/lib` in `/usr`, as they are on Debian."""
    listed = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE, check=True).stdout
    found = {}
    with tarfile.open(fileobj=io.BytesIO(listed)) as archive:
        for member in archive:
            path = placed(member.name)
            if member.isdir() or path.startswith(LEFT_OUT):
                continue
            # A folder may be a symlink to the one of another package, with the copyright of both.
            if path.startswith("usr/share/doc/") and not path.endswith("/copyright") and not member.issym():
                continue
            if member.issym():
                found[path] = Entry(b"", link=member.linkname)
            elif member.islnk():
                found[path] = Entry(b"", link="/" + placed(member.linkname))
            else:
                # Nobody becomes root in the image.
                found[path] = Entry(archive.extractfile(member).read(), member.mode & 0o755)
    return found


def placed(path: str) -> str:
    path = path.removeprefix("./")
    return f"usr/{path}" if path.split("/")[0] in MERGED else path


def certificates(cache: Path) -> dict[str, Entry]:
    """One file of all authorities, where programs look for it."""
    found = {}
    for package in download(CERTIFICATES, cache):
        found |= unpacked(package)
    texts = [it.content for path, it in sorted(found.items()) if path.endswith(".crt")]
    copyright = "usr/share/doc/ca-certificates/copyright"
    return {"etc/ssl/certs/ca-certificates.crt": Entry(b"".join(texts)), copyright: found[copyright]}


def licences(cache: Path) -> dict[str, Entry]:
    found = {}
    for package in download(LICENCES, cache):
        found |= unpacked(package)
    return {path: it for path, it in found.items() if path.startswith("usr/share/common-licenses/")}


def git(cache: Path) -> dict[str, Entry]:
    found = {folder: Entry(b"", link=f"usr/{folder}") for folder in MERGED}
    for package in download(GIT, cache):
        found |= unpacked(package)
    found.setdefault("usr/bin/sh", Entry(b"", link="dash"))
    return found


def own(program: Program, names: Names, found: Inside) -> dict[str, Entry]:
    """Twig, and the few files that programs look for in `/etc`."""
    entries = {
        "usr/local/bin/twig": Entry(program.content, 0o755),
        "usr/local/share/twig/installed.json": program.note("container image", f"run the image {names.newer}"),
        "etc/passwd": Entry(f"root:x:0:0::/:/sbin/nologin\ntwig:x:{USER}:{USER}::/data:/sbin/nologin\n".encode()),
        "etc/group": Entry(f"root:x:0:\ntwig:x:{USER}:\n".encode()),
        "etc/nsswitch.conf": Entry(b"hosts: files dns\n"),
        "data": Entry(None, 0o755, owner=USER),
        "config": Entry(None, 0o755, owner=USER),
        "tmp": Entry(None, 0o1777),
    }
    texts = inside(program, names, found) | {"LICENSE": documents()["LICENSE"]}
    return entries | {f"usr/share/doc/twig/{path}": it for path, it in texts.items()}


def archive(name: str, version: str, names: Names, layers: list[dict[str, Entry]]) -> bytes:
    """The settings are those of `deploy/Dockerfile`."""
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
    blobs: dict[str, bytes] = {}

    def blob(kind: str, content: bytes, **more: object) -> dict:
        made = {"mediaType": kind, "digest": f"sha256:{sha256(content)}", "size": len(content), **more}
        blobs[path_of(made)] = content
        return made

    tars = [tar(with_folders(it)) for it in layers]
    labels = {
        "org.opencontainers.image.title": name,
        "org.opencontainers.image.description": DESCRIPTION,
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.licenses": "Apache-2.0",
        "io.modelcontextprotocol.server.name": names.server,
    }
    config = {
        "architecture": "amd64",
        "os": "linux",
        "created": created,
        "config": {
            "User": f"{USER}:{USER}",
            "Env": [
                "PATH=/usr/local/bin:/usr/bin",
                "HOME=/data",
                "XDG_DATA_HOME=/data",
                "XDG_CACHE_HOME=/data/cache",
                "XDG_CONFIG_HOME=/config",
            ],
            "Entrypoint": ["/usr/local/bin/twig"],
            "Cmd": ["serve", "--http", "0.0.0.0:7373", "--admin", "0.0.0.0:9373"],
            "ExposedPorts": {"7373/tcp": {}, "9373/tcp": {}},
            "Volumes": {"/data": {}},
            "WorkingDir": "/data",
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(it)}" for it in tars]},
        "history": [{"created": created, "created_by": "dist/package.py"} for _ in tars],
    }
    kind = "application/vnd.oci.image"
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{kind}.manifest.v1+json",
        "config": blob(f"{kind}.config.v1+json", json.dumps(config).encode()),
        "layers": [blob(f"{kind}.layer.v1.tar+gzip", gz(it)) for it in tars],
        "annotations": labels,
    }
    # A name without a host would be one of docker.io, where it may belong to somebody else.
    local = f"localhost/{name}:{version}"
    named = {"org.opencontainers.image.ref.name": version, "io.containerd.image.name": local}
    entry = blob(
        f"{kind}.manifest.v1+json",
        json.dumps(manifest).encode(),
        platform={"architecture": "amd64", "os": "linux"},
        annotations=named,
    )
    index = {"schemaVersion": 2, "mediaType": f"{kind}.index.v1+json", "manifests": [entry]}
    # `docker load` reads this one, unless its images are in the store of containerd.
    for_docker = {
        "Config": path_of(manifest["config"]),
        "RepoTags": [local],
        "Layers": [path_of(it) for it in manifest["layers"]],
    }
    files = {
        "oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
        "index.json": json.dumps(index).encode(),
        "manifest.json": json.dumps([for_docker]).encode(),
        **blobs,
    }
    return tar(with_folders({path: Entry(content) for path, content in sorted(files.items())}))


def path_of(blob: dict) -> str:
    return "blobs/" + blob["digest"].replace(":", "/")


def images(program: Program, names: Names, found: Inside, cache: Path) -> dict[str, bytes]:
    """`TWIG-VERSION` with git, and `TWIG-small-VERSION` without anything."""
    layer = own(program, names, found) | certificates(cache) | licences(cache)
    small = {placed(path): it for path, it in program.libraries.items()}
    if small:
        small |= {folder: Entry(b"", link=f"usr/{folder}") for folder in MERGED}
    version = program.version
    made = {}
    for name, base in [(names.image, git(cache)), (f"{names.image}-small", small)]:
        layers = [base, layer] if base else [layer]
        made[f"{name}-{version}-x86_64.oci.tar"] = archive(name, version, names, layers)
    return made
