"""Renders every template of snippets.txt with Jinja2 and with Twig, and compares the texts.

A template that one of them refuses has no text; where both refuse it, they agree. differences.txt lists
the templates whose results differ on purpose, with the reason. Any other difference fails the run, and so
does a listed template that no longer differs.

Usage: compare.py TWIG, where TWIG is the program under test.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import jinja2

HERE = Path(__file__).parent

# Every value is text, as the arguments of a prompt are; `missing` has none.
VALUES = {
    "name": "Ada",
    "word": "tide",
    "n": "7",
    "price": "19.989",
    "empty": "",
    "text": "The quick brown fox jumps over the lazy dog",
    "csv": "red, green,blue",
    "lines": "one\ntwo\n\nthree",
    "html": "<a href='x'>\"T&C\" a/b</a>",
}
NAMES = [*VALUES, "missing"]


def main(twig):
    snippets = read(HERE / "snippets.txt")
    listed = read(HERE / "differences.txt")
    for name, lines in ("snippets.txt", snippets), ("differences.txt", listed):
        for line in sorted({line for line in lines if lines.count(line) > 1}):
            sys.exit(f"{name} has this template twice: {line}")
    unknown = [line for line in listed if line not in snippets]
    if unknown:
        sys.exit(f"differences.txt has a template that snippets.txt does not have: {unknown[0]}")
    results = zip(snippets, with_jinja2(snippets), with_twig(twig, snippets), strict=True)
    failures = 0
    for snippet, (expected, _), (found, why) in results:
        if (expected == found) == (snippet not in listed):
            continue
        failures += 1
        print(f"\n{snippet}")
        if expected == found:
            print("  no longer differs: remove it from differences.txt")
            continue
        print(f"  Jinja2: {shown(expected)}\n  Twig:   {shown(found)}{why and ' ' + why}")
    same = len(snippets) - len(listed)
    print(f"{len(snippets)} templates: {same} to be the same, {len(listed)} to differ, {failures} are not")
    return 1 if failures else 0


def read(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("# ")]


def source(snippet):
    return snippet.replace("¶", "\n")


def shown(text):
    return "refused" if text is None else json.dumps(text, ensure_ascii=False)


def with_jinja2(snippets):
    """What Jinja2 makes of each, with the extensions that Twig has built in."""
    extensions = ["jinja2.ext.do", "jinja2.ext.loopcontrols"]
    environment = jinja2.Environment(keep_trailing_newline=True, extensions=extensions)
    for snippet in snippets:
        try:
            yield environment.from_string(source(snippet)).render(VALUES), ""
        except Exception as error:
            yield None, str(error)


def with_twig(twig, snippets):
    """What a server makes of each: a library has them all as prompts."""
    with tempfile.TemporaryDirectory() as home:
        data = Path(home, "data")
        library = data / "snippets"
        Path(library, "prompts").mkdir(parents=True)
        Path(library, "twig.toml").write_text("\n".join(manifest(snippets)), encoding="utf-8")
        for number, snippet in enumerate(snippets):
            Path(library, f"prompts/s{number}.md").write_text(source(snippet), encoding="utf-8")
        environment = {"HOME": home, "PATH": os.environ["PATH"], "TWIG_DATA_DIR": str(data)}
        command = [twig, "serve"]
        server = subprocess.Popen(
            command, env=environment, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        with server:
            client = {"name": "compare", "version": "1"}
            ask(server, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
            send(server, method="notifications/initialized")
            for number, snippet in enumerate(snippets):
                given = {name: VALUES[name] for name in used(snippet) if name in VALUES}
                answer = ask(server, "prompts/get", name=f"snippets:s{number}", arguments=given)
                if "result" in answer:
                    [message] = answer["result"]["messages"]
                    yield message["content"]["text"], ""
                else:
                    yield None, answer["error"]["message"]
            server.stdin.close()


def used(snippet):
    return [name for name in NAMES if re.search(rf"\b{name}\b", snippet)]


def manifest(snippets):
    for number, snippet in enumerate(snippets):
        yield f"[prompts.s{number}]"
        for name in used(snippet):
            yield f'[[prompts.s{number}.arguments]]\nname = "{name}"'


def send(server, **message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    server.stdin.flush()


def ask(server, method, **params):
    send(server, id=1, method=method, params=params)
    while True:
        line = server.stdout.readline()
        if not line:
            raise SystemExit("the server ended")
        answer = json.loads(line)
        if answer.get("id") == 1:
            return answer


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
