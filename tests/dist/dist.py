#!/usr/bin/env python3
"""Every artefact, made twice of one program, installed and used where nothing else of Twig is.

usage: tests/dist/dist.py [--static] BINARY [PART_OF_A_NAME]

With --static, the program has to be one that can be released: static, and with the name of its commit.
"""

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import tomllib
import zipfile
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "dist"))

from packager.images import GIT  # noqa: E402
from packager.inside import Inside  # noqa: E402
from packager.program import Names, Program  # noqa: E402
from packager.registries import npm, server_json  # noqa: E402

ARGUMENTS = [it for it in sys.argv[1:] if it != "--static"]
BINARY = Path(ARGUMENTS[0])
PROGRAM = Program(BINARY)
NAMES = Names.read()
ONLY = ARGUMENTS[1] if len(ARGUMENTS) > 1 else ""
# For a busy machine, which compresses the program seven times.
PATIENCE = 400
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "trial", "version": "1"},
    },
}
checks = []


def check(function):
    checks.append(function)
    return function


def run(command, **options):
    done = subprocess.run(
        [str(it) for it in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, **options
    )
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}"
    return done.stdout


def sole(folder, pattern):
    (found,) = folder.glob(pattern)
    return found


def try_program(twig, mcp, by, prefix=(), environment=None):
    """The demonstration, a client's first request, and what `doctor` says about the installation."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/tmp"} if environment is None else environment
    assert "The server has ended" in (said := run([*prefix, twig, "demo"], env=environment)), said
    answer = run([*prefix, *mcp], env=environment, input=json.dumps(HELLO) + "\n")
    assert json.loads(answer.splitlines()[0])["result"]["serverInfo"]["name"] == "twig", answer
    assert f"installed by {by}; to upgrade: " in (said := run([*prefix, twig, "doctor"], env=environment)), said
    # Nobody is sent to a registry, where a name may be the one of somebody else.
    assert NAMES.newer in said, said


def in_empty_root(root):
    """Nothing but the files of `root`, `/proc` and an empty network."""
    return ["unshare", "--net", "--mount", "--pid", "--fork", f"--root={root}", "--mount-proc=/proc"]


def libraries(root):
    """A program that is not static brings what it needs; the released one is."""
    printed = subprocess.run(["ldd", BINARY], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    for word in printed.split():
        if word.startswith("/") and Path(word).is_file():
            copy = root / word[1:]
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(word, copy)


def unpack(archive, root, **options):
    """Archives of ours. Python 3.11.2 of Debian 12 has no filters, so what they hold back is looked for here."""
    for member in archive:
        path = Path(member.name)
        assert not path.is_absolute() and ".." not in path.parts, member.name
        assert member.isfile() or member.isdir() or member.issym(), member.name
    archive.extractall(root, **options | ({"filter": "fully_trusted"} if hasattr(tarfile, "data_filter") else {}))


@check
def two_runs_of_the_packager_make_the_same_bytes(made, work):
    again = package(work / "again")
    for path in made.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes(), path.name
    assert {it.name for it in made.iterdir()} == {it.name for it in again.iterdir()}


@check
def the_sums_are_those_of_all_files(made, work):
    run(["sha256sum", "--strict", "--check", "SHA256SUMS"], cwd=made)
    listed = {line.split()[1] for line in (made / "SHA256SUMS").read_text().splitlines()}
    assert listed == {it.name for it in made.iterdir()} - {"SHA256SUMS"}


@check
def the_archive_runs_in_an_empty_root(made, work):
    root = work / "empty"
    for folder in ["proc", "tmp"]:
        (root / folder).mkdir(parents=True)
    libraries(root)
    with tarfile.open(sole(made, "twig-*-linux.tar.gz")) as archive:
        unpack(archive, root)
    top = "/" + sole(root, "twig-*").name
    environment = {"HOME": "/tmp"}
    twig = f"{top}/bin/twig"
    try_program(twig, [twig, "serve"], "install.sh", in_empty_root(root), environment)


@check
def hosts_are_found_from_an_empty_root(made, work):
    """By `/etc/hosts` and by DNS, also if `nsswitch.conf` names modules that are not there."""
    root = work / "lookup"
    for folder in ["proc", "tmp", "etc", "bin"]:
        (root / folder).mkdir(parents=True)
    libraries(root)
    shutil.copy(BINARY, root / "bin/twig")
    (root / "etc/hosts").write_text("127.0.0.1 by-file.test\n")
    (root / "etc/resolv.conf").write_text("nameserver 127.0.0.1\n")
    for switch in [None, "hosts: files dns\n", "hosts: resolve [!UNAVAIL=return] files mymachines mdns4_minimal dns\n"]:
        path = root / "etc/nsswitch.conf"
        path.unlink(missing_ok=True)
        if switch:
            path.write_text(switch)
        printed = run(["unshare", "--net", sys.executable, ROOT / "tests/dist/lookup.py", root])
        assert printed.split() == ["by-file.test", "reached", "by-dns.test", "reached", "nowhere.test", "unknown"], printed


@check
def install_sh_installs_what_has_the_checksum_and_nothing_else(made, work):
    home = work / "home"
    home.mkdir()
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    assert "next: add" in run(["sh", made / "install.sh"], env=environment)
    local = home / ".local"
    try_program(local / "bin/twig", [local / "bin/twig-mcp"], "install.sh")
    assert (local / "share/man/man1/twig.1.gz").exists()
    # Once more over a running program, a symlink, and a file that only the version before had.
    linked = work / "linked"
    linked.write_text("not ours")
    (local / "bin/twig-mcp").unlink()
    (local / "bin/twig-mcp").symlink_to(linked)
    stale = local / "share/twig/stale"
    stale.touch()
    with (local / "share/twig/installed.txt").open("a") as listed:
        listed.write("share/twig/stale\n")
    with subprocess.Popen([local / "bin/twig", "serve"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as server:
        run(["sh", made / "install.sh"], env=environment)
        server.stdin.close()
        assert server.wait(PATIENCE) == 0
    assert linked.read_text() == "not ours" and not (local / "bin/twig-mcp").is_symlink()
    assert not stale.exists()
    # What docs/upgrade.md says takes all of it away, and nothing else.
    (line,) = re.findall(r"^(\(cd ~/\.local && .*\)) +#", (ROOT / "docs/upgrade.md").read_text(), re.MULTILINE)
    (local / "bin/other").touch()
    run(["sh", "-c", line], env=environment)
    assert [it for it in local.rglob("*") if not it.is_dir()] == [local / "bin/other"]
    changed = work / "changed"
    shutil.copytree(made, changed)
    with sole(changed, "twig-*-linux.tar.gz").open("ab") as archive:
        archive.write(b"!")
    other = work / "other"
    without = work / "without"
    without.mkdir()
    shutil.copy(made / "install.sh", without)
    folder = work / "folder"
    (folder / "bin/twig").mkdir(parents=True)
    for script, prefix, said in [
        (changed, other, "does not have the checksum"),
        (without, other, f"there is no SHA256SUMS in {without}"),
        (made, "", "the folder of --prefix is empty"),
        (made, folder, f"{folder}/bin/twig is a folder"),
    ]:
        command = ["sh", script / "install.sh", "--prefix", prefix]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 1 and said in done.stderr and not done.stdout, done
    assert not other.exists()


@check
def npm_installs_two_packages_and_asks_no_registry(made, work):
    prefix = work / "npm"
    packages = sorted(made.glob("*.tgz"))
    with registry() as (address, asked):
        settings = {"cache": work / "npm-cache", "registry": address, "update_notifier": False, "fetch_retries": 0}
        environment = {"PATH": os.environ["PATH"], "HOME": str(work)}
        environment |= {f"npm_config_{name}": str(value).lower() for name, value in settings.items()}
        run(["npm", "install", "-g", "--ignore-scripts", "--prefix", prefix, *packages], env=environment)
    assert not asked, asked
    try_program(prefix / "bin/twig", [prefix / "bin/twig-mcp"], "npm")
    # The launcher ends as the program does.
    assert subprocess.run([prefix / "bin/twig", "no-such"], stderr=subprocess.DEVNULL).returncode == 2

    # Once it is in the registry, it names the platforms that there are packages for, and no other.
    name = NAMES.npm
    published = npm(PROGRAM, replace(NAMES, published=("npm",)), Inside.read())
    with tarfile.open(fileobj=io.BytesIO(published[f"{name}-{PROGRAM.version}.tgz"])) as archive:
        launcher = json.load(archive.extractfile("package/package.json"))
    named = [f"{it}-{version}.tgz" for it, version in launcher["optionalDependencies"].items()]
    assert {f"{name}-{PROGRAM.version}.tgz", *named} == published.keys()
    elsewhere = 'Object.defineProperty(process, "platform", {value: "darwin"}); require(process.argv[1])([])'
    command = ["node", "-e", elsewhere, prefix / "lib/node_modules" / name / "launch.js"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "has no program for darwin-x64, only for linux-x64" in done.stderr, done


@contextmanager
def registry():
    """A registry on this machine that has nothing, and what it was asked for."""
    asked = []

    class Registry(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


@check
def pip_installs_the_wheel_offline(made, work):
    venv = work / "venv"
    run([sys.executable, "-m", "venv", venv])
    run([venv / "bin/pip", "install", "--no-index", "--disable-pip-version-check", sole(made, "*.whl")])
    run([venv / "bin/pip", "check"])
    # By a symlink, as `uv tool install` and `pipx` make them.
    (work / "linked").mkdir()
    (work / "linked/twig-mcp").symlink_to(venv / "bin/twig-mcp")
    try_program(venv / "bin/twig", [work / "linked/twig-mcp"], "pip")


@check
def the_debian_package_installs_and_goes(made, work):
    package, root = sole(made, "*.deb"), work / "debian"
    admin = root / "var/lib/dpkg"
    for folder in ["info", "updates", "triggers"]:
        (admin / folder).mkdir(parents=True)
    (admin / "status").touch()
    # Scripts run in the root: with a shell, and nothing that they could reload.
    copied = [Path("/bin/sh"), *map(Path, run(["ldd", "/bin/sh"]).split())]
    for path in copied:
        if path.is_absolute() and path.is_file():
            (root / str(path)[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, root / str(path)[1:])
    for folder in ["proc", "tmp"]:
        (root / folder).mkdir(exist_ok=True)
    libraries(root)
    dpkg = ["dpkg", f"--root={root}", "--force-depends", "--log=/dev/null"]
    run([*dpkg, "-i", package])
    environment = {"HOME": "/tmp", "PATH": "/usr/bin:/bin"}
    try_program("/usr/bin/twig", ["/usr/bin/twig", "serve"], "Debian package", in_empty_root(root), environment)
    unit = root / "usr/lib/systemd/system/twig.service"
    assert "ExecStart=/usr/bin/twig serve --http" in unit.read_text()
    # Where Debian's shells look.
    completions = ["bash-completion/completions/twig", "fish/vendor_completions.d/twig.fish", "zsh/vendor-completions/_twig"]
    for path in ["man/man1/twig.1.gz", "man/man1/twig-serve.1.gz", *completions]:
        assert (root / "usr/share" / path).stat().st_size > 0, path
    # systemd wants a program at the path, and on this machine it is elsewhere.
    tried = work / "twig.service"
    tried.write_text(unit.read_text().replace("/usr/bin/twig", "/bin/true"))
    said = run(["systemd-analyze", "--man=no", "verify", tried])
    assert not said, said
    name = package.name.split("_")[0]
    run([*dpkg, "--verify", name])
    run([*dpkg, "--purge", name])
    assert not unit.exists() and not (root / "usr/bin/twig").exists()


@check
def images_run_as_their_user(made, work):
    for pattern, has_git in [("twig-[0-9]*.oci.tar", True), ("twig-small-*.oci.tar", False)]:
        root = work / f"image-{has_git}"
        config = unpack_image(sole(made, pattern), root)
        # What an engine mounts.
        for folder in ["proc", "dev"]:
            (root / folder).mkdir()
        (root / "dev/null").touch()
        (root / "dev/null").chmod(0o666)
        user = config["User"]
        prefix = [*in_empty_root(root), "--setuid=" + user.split(":")[0], "--setgid=" + user.split(":")[1]]
        environment = dict(it.split("=", 1) for it in config["Env"])
        (twig,) = config["Entrypoint"]
        try_program(twig, [twig, "serve"], "container image", prefix, environment)
        assert (root / "etc/ssl/certs/ca-certificates.crt").read_text().count("BEGIN CERTIFICATE") > 50
        if has_git:
            run([*prefix, "/usr/bin/git", "init", "-q", "/data/copy"], env=environment)
            helper = run([*prefix, "/usr/bin/sh", "-c", "echo | git remote-https origin https://nowhere.test"], env=environment)
            assert not helper, helper


def unpack_image(path, root):
    """The layers on top of each other, each held against its digests, and the settings."""
    with tarfile.open(path) as archive:
        files = {it.name: archive.extractfile(it).read() for it in archive if it.isfile()}

    def blob(named):
        digest = named["digest"].removeprefix("sha256:")
        content = files[f"blobs/sha256/{digest}"]
        assert hashlib.sha256(content).hexdigest() == digest and len(content) == named["size"]
        return content

    assert json.loads(files["oci-layout"])["imageLayoutVersion"] == "1.0.0"
    (entry,) = json.loads(files["index.json"])["manifests"]
    manifest = json.loads(blob(entry))
    # What `docker load` reads instead, and a name that no registry on the internet has.
    (for_docker,) = json.loads(files["manifest.json"])
    digests = [it["digest"].removeprefix("sha256:") for it in [manifest["config"], *manifest["layers"]]]
    assert [for_docker["Config"], *for_docker["Layers"]] == [f"blobs/sha256/{it}" for it in digests]
    assert for_docker["RepoTags"] == [entry["annotations"]["io.containerd.image.name"]]
    assert for_docker["RepoTags"][0].startswith("localhost/"), for_docker
    config = json.loads(blob(manifest["config"]))
    for layer, expected in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
        plain = gzip.decompress(blob(layer))
        assert "sha256:" + hashlib.sha256(plain).hexdigest() == expected
        with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
            unpack(archive, root, numeric_owner=True)
    return config["config"]


@check
def the_bundle_starts_as_its_manifest_says(made, work):
    folder = work / "bundle"
    with zipfile.ZipFile(sole(made, "*.mcpb")) as archive:
        for member in archive.infolist():
            path = Path(archive.extract(member, folder))
            path.chmod(member.external_attr >> 16 & 0o777)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert {"manifest_version", "name", "version", "description", "author", "server"} <= manifest.keys()
    assert manifest["server"]["type"] == "binary" and (folder / manifest["server"]["entry_point"]).exists()
    # The program in it is for one platform.
    assert manifest["compatibility"]["platforms"] == ["linux"] and "Linux on x86-64" in manifest["long_description"]
    started = manifest["server"]["mcp_config"]
    command = [it.replace("${__dirname}", str(folder)) for it in [started["command"], *started["args"]]]
    try_program(command[0], command, "a bundle of Claude Desktop")


@check
def every_artefact_has_the_licences_of_what_is_inside(made, work):
    text = (made / "THIRD-PARTY.md").read_text()
    for name in ["rusqlite", "rustls", "tokio", "minijinja", "maud", "SQLite", "@codemirror/view", "standard library of Rust"]:
        assert f"| {name} | " in text, name
    assert "insta |" not in text, "a dependency of tests is not in the program"
    # What the licences ask to be in every copy.
    for words in [
        "SIL OPEN FONT LICENSE Version 1.1",
        "The Geist Project Authors",
        "The Instrument Sans Project Authors",
        "Copyright (C) 2018-2021 by Marijn Haverbeke",
        "The author disclaims copyright to this source code.",
        "Copyright notices for The Rust Standard Library",
    ]:
        assert words in text, words
    crates = text[text.index("## Crates") : text.index("## Other parts")].strip().splitlines()[4:]
    titles = [it.removeprefix("### ").split(", ") for it in text.splitlines() if it.startswith("### ")]
    without = {it.split(" | ")[0].removeprefix("| ") for it in crates} - {it for each in titles for it in each}
    assert not without, f"no text of a licence: {without}"
    of_the_c_library = ["GNU LESSER GENERAL PUBLIC LICENSE", "GCC RUNTIME LIBRARY EXCEPTION", "For three years"]
    for words in of_the_c_library:
        assert (words in text) == PROGRAM.is_static, words

    bill = (made / "twig.cdx.json").read_text()
    own = (ROOT / "LICENSE").read_text()
    for name, files in opened(made, work).items():
        assert own in files.values(), f"{name} has no licence of Twig"
        if is_launcher(name):
            continue
        for inside in [text, bill]:
            assert inside in files.values(), f"{name} does not have {inside[:40]!r}"


def is_launcher(name):
    return name.endswith(".tgz") and "-linux-" not in name


def opened(made, work):
    """The texts in every artefact, by path."""
    found = {}
    for path in made.iterdir():
        if path.name.endswith((".tar.gz", ".tgz")):
            with tarfile.open(path) as archive:
                found[path.name] = texts_of((it.name, archive.extractfile(it).read()) for it in archive if it.isfile())
        elif path.suffix in (".whl", ".mcpb"):
            with zipfile.ZipFile(path) as archive:
                found[path.name] = texts_of((it, archive.read(it)) for it in archive.namelist())
        elif path.suffix == ".deb":
            plain = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE, check=True).stdout
            with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
                found[path.name] = texts_of((it.name, archive.extractfile(it).read()) for it in archive if it.isfile())
        elif path.name.endswith(".oci.tar"):
            root = work / path.name
            unpack_image(path, root)
            doc = root / "usr/share/doc/twig"
            found[path.name] = texts_of((str(it), it.read_bytes()) for it in doc.iterdir())
    kinds = {Path(it).suffix for it in found}
    assert kinds == {".gz", ".tgz", ".whl", ".mcpb", ".deb", ".tar"} and len(found) == 8, found.keys()
    return found


def texts_of(files):
    """A program is no text, and Debian wants documents compressed."""
    texts = {}
    for path, content in files:
        if not content.startswith(b"\x7fELF"):
            texts[path] = (gzip.decompress(content) if path.endswith(".gz") else content).decode()
    return texts


@check
def an_image_has_the_copyright_of_every_package_of_debian(made, work):
    for pattern, packages in [("twig-[0-9]*.oci.tar", [*GIT, "ca-certificates"]), ("twig-small-*.oci.tar", ["ca-certificates"])]:
        root = work / pattern.replace("[0-9]*", "git")
        unpack_image(sole(made, pattern), root)
        for package in packages:
            text = (root / "usr/share/doc" / package / "copyright").read_text(errors="replace")
            for licence in re.findall(r"/usr/share/common-licenses/([A-Za-z]+(?:-[0-9.]*[0-9])?)", text):
                assert (root / "usr/share/common-licenses" / licence).stat().st_size > 1000, (package, licence)


@check
def the_bill_of_materials_names_all_parts(made, work):
    bill = json.loads((made / "twig.cdx.json").read_text())
    known = {it["bom-ref"] for it in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    assert bill["bomFormat"] == "CycloneDX" and len(known) > 100
    assert len(known) == len(bill["components"]) + 1
    for each in bill["dependencies"]:
        assert {each["ref"], *each["dependsOn"]} <= known, each
    assert all(it["licenses"][0]["expression"] for it in bill["components"])
    licences = {it["name"]: it["licenses"][0]["expression"] for it in bill["components"]}
    assert licences["@fontsource-variable/geist-mono"] == licences["@fontsource-variable/instrument-sans"] == "OFL-1.1"
    assert licences["@codemirror/view"] == "MIT" and licences["SQLite"] == "blessing"
    assert licences.get("GNU C library") == ("LGPL-2.1-or-later" if PROGRAM.is_static else None)
    used = {it for each in bill["dependencies"] for it in each["dependsOn"]}
    assert {it["bom-ref"] for it in bill["components"]} <= used, "something that nothing uses"


@check
def the_entry_of_the_registry_names_what_is_published(made, work):
    package = tomllib.loads((ROOT / "crates/twig/Cargo.toml").read_text())["package"]
    assert "binstall" not in package.get("metadata", {}) or "repository" in package
    server = json.loads((made / "server.json").read_text())
    assert len(server["description"]) <= 100
    bundle = {"twig.mcpb": b""}
    for repository, published, expected in [
        ("", (), []),
        ("https://github.com/somebody/twig", (), ["mcpb"]),
        ("https://github.com/somebody/twig", ("npm",), ["npm", "mcpb"]),
    ]:
        names = replace(NAMES, repository=repository, published=published)
        entry = json.loads(server_json(PROGRAM, names, bundle)["server.json"])
        assert [it["registryType"] for it in entry["packages"]] == expected, entry


@check
def the_page_of_a_release_comes_from_the_changelog(made, work):
    script = ROOT / "dist/changes.py"
    assert run([script, "Unreleased"]).startswith("### ")
    done = subprocess.run([script, "v99.0.0"], capture_output=True, text=True)
    assert done.returncode == 1 and "no section `## 99.0.0`" in done.stderr, done
    log = work / "CHANGELOG.md"
    for heading in ["0.1.0", "v0.1.0", "[0.1.0]", "[0.1.0] - 2026-11-19", "0.1.0 (2026-11-19)", "[v0.1.0] - 2026-11-19"]:
        log.write_text(f"# Changelog\n\n## 10.1.0\n\nno\n\n## 0.1.0-rc.1\n\nno\n\n## {heading}\n\nyes\n\n## 0.0.1\n\nno\n")
        assert run([script, "v0.1.0", log]) == "yes\n", heading


@check
def the_release_workflow_can_run_what_it_names(made, work):
    """It has never run, so what broke in it is held here."""
    text = (ROOT / ".github/workflows/release.yml").read_text()
    # Empty roots and networks need rights that a container does not have by itself.
    assert "options: --privileged" in text
    # Before anything is built.
    assert text.index("dist/changes.py") < text.index("dist/all")
    assert "tests/dist/run --static" in text
    # A failure on macOS is one of the release, which is drafted last.
    assert text.count("continue-on-error") == 1 and "continue-on-error: ${{ matrix.untested || false }}" in text
    assert re.findall(r"\{ runner: (\w+).*untested: true \}", text) == ["windows"]
    assert "needs: [linux, others]" in text
    for path in re.findall(r"[ (]((?:dist|tests)/[\w./-]+)", text):
        assert (ROOT / path).exists(), path


@check
def only_a_static_program_is_packaged(made, work):
    other = "/bin/true"
    assert not Program(Path(other)).is_static
    done = subprocess.run([sys.executable, ROOT / "dist/package.py", other, work], capture_output=True, text=True)
    assert done.returncode == 1 and "is not linked statically" in done.stderr, done
    assert not list(work.iterdir())


def package(folder):
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1760000000"}
    options = [] if PROGRAM.is_static else ["--not-static"]
    run([sys.executable, ROOT / "dist/package.py", BINARY, folder, *options], env=environment)
    return folder


def releasable():
    """The static program is what installs anywhere; its commit is how a report about it is understood."""
    said = run([BINARY, "--version"])
    assert PROGRAM.is_static, f"{BINARY} is not static; `dist/build` makes a program that is"
    assert re.match(r"twig [0-9.]+ \([0-9a-f]{12}\)\nfeatures: page, postgres, static\n", said), said


def has_its_functions_side_by_side():
    """`dist/linker` puts what servers run together, so an empty server has 4 MB of its program in memory; without that, 10 MB."""
    with tempfile.TemporaryDirectory() as home:
        environment = {"PATH": os.environ["PATH"], "HOME": home}
        with subprocess.Popen([BINARY, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as server:
            server.stdin.write(json.dumps(HELLO) + "\n")
            server.stdin.flush()
            server.stdout.readline()
            status = Path(f"/proc/{server.pid}/status").read_text()
            server.stdin.close()
    taken = int(re.search(r"^RssFile:\s+(\d+) kB", status, re.M)[1]) / 1024
    assert taken <= 7, f"an empty server has {taken:.1f} MB of its program in memory; renew the list with `just hot-functions`"


def main():
    if "--static" in sys.argv:
        releasable()
        has_its_functions_side_by_side()
    print("the program is static" if PROGRAM.is_static else "the program is not static: its libraries come along", flush=True)
    with tempfile.TemporaryDirectory(prefix="twig-dist-") as folder:
        os.chmod(folder, 0o755)
        made = package(Path(folder) / "made")
        for each in checks:
            if ONLY not in each.__name__:
                continue
            work = Path(folder) / each.__name__
            work.mkdir()
            each(made, work)
            shutil.rmtree(work)
            print(f"ok {each.__name__.replace('_', ' ')}", flush=True)


main()
