#!/usr/bin/env python3
"""Counts the instructions of ten fixed workloads: `instructions.py BINARY [--record] [NAME…]`.

Each workload runs once under callgrind, with its own home and the messages that its client writes. The
numbers are compared with those of `recorded.json`, and one that is more than 5 % above fails; with
`--record` they replace those. Only a binary that is built as `.ci/run` builds it compares.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

RECORDED = Path(__file__).with_name("recorded.json")
ALLOWED = 1.05
WORDS = (
    "review service latency schema customer explain boundary commit refactor deploy metric contract parser module "
    "stream failure evidence summary ticket branch invariant quality release context buffer careful measure document "
    "pattern example signal budget policy storage request session message template section decision"
).split()


class Text:
    """The same words in the same order on every machine."""

    def __init__(self, seed):
        self.state = seed * 2654435761 % 2**32 + 1

    def words(self, count):
        picked = []
        for _ in range(count):
            self.state = (self.state * 1664525 + 1013904223) % 2**32
            picked.append(WORDS[(self.state >> 16) % len(WORDS)])
        return " ".join(picked).capitalize()

    def paragraph(self, length):
        text = ""
        while len(text) < length:
            text += self.words(9) + ".\n"
        return text


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def entry(name, text, arguments):
    """A prompt's part of a `twig.toml`; arguments are pairs of a name and whether it is required."""
    parts = [f'[prompts.{name}]\ntitle = "{text.words(3)}"\ndescription = "{text.words(10)}"\n']
    for argument, required in arguments:
        parts.append(
            f'\n[[prompts.{name}.arguments]]\nname = "{argument}"\n'
            f'description = "{text.words(6)}"\nrequired = {str(required).lower()}\n'
        )
    return "".join(parts) + "\n"


def ten_arguments(data):
    """A prompt with ten arguments, two of them in conditions: about 4 KB of text."""
    text = Text(0)
    body = f"# {text.words(4)}\n\n"
    for number in range(1, 11):
        value = f"{{{{ arg_{number} }}}}\n\n"
        if number > 8:
            value = f"{{% if arg_{number} %}}{value}{{% endif %}}"
        body += f"{text.paragraph(330)}Value {number}: {value}"
    write(data / "ten/prompts/run.md", body)
    write(data / "ten/twig.toml", entry("run", text, [(f"arg_{n}", n < 9) for n in range(1, 11)]))


def prompts(data, count):
    """Prompts with three arguments, a hundred in each library: 1.3 KB of text each."""
    for first in range(0, count, 100):
        library = data / f"lib_{first // 100:04}"
        manifest = ""
        for number in range(first, min(first + 100, count)):
            text = Text(number + 1)
            body = (
                f"# {text.words(4)}\n\n{text.paragraph(550)}\nLanguage: {{{{ language }}}}\n\n"
                "{% if focus %}Focus on {{ focus }} first.\n\n{% endif %}"
                f"{text.paragraph(550)}\nCode:\n{{{{ code }}}}\n"
            )
            write(library / f"prompts/p_{number:06}.md", body)
            manifest += entry(f"p_{number:06}", text, [("language", True), ("code", True), ("focus", False)])
        write(library / "twig.toml", manifest)


def documents(data, count):
    for number in range(count):
        text = Text(number)
        body = f"# {text.words(4)}\n\n{text.paragraph(1400)}"
        write(data / f"team/docs/d{number % 10}/d{number}.md", body)
    for number in range(count // 10):
        content = {"type": "text", "text": "Look at {{a}}.\n\n{{resource:architecture://d1/*}}"}
        definition = {
            "name": f"q{number}",
            "arguments": [{"name": "a", "required": True}],
            "messages": [{"role": "user", "content": content}],
        }
        write(data / f"team/prompts/q{number}.json", json.dumps(definition))


def markdown(data, count):
    for number in range(count):
        text = Text(number)
        front = f"---\ndescription: {text.words(10)}\nargument-hint: [{text.words(2)}]\n---\n"
        body = front + f"# {text.words(4)}\n\n{text.paragraph(900)}\n$ARGUMENTS\n"
        write(data / f"commands/group{number % 10}/c{number}.md", body)


def request(number, method, params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}, separators=(",", ":"))


def session(*calls):
    """What a client writes: the handshake, then its requests."""
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "client", "version": "1"}}
    lines = [request(0, "initialize", client), '{"jsonrpc":"2.0","method":"notifications/initialized"}']
    lines += [request(number, method, params) for number, (method, params) in enumerate(calls, 1)]
    return "\n".join(lines) + "\n"


LIST = ("prompts/list", {})
GET_TEN = ("prompts/get", {"name": "ten:run", "arguments": {f"arg_{n}": f"VALUE-{n}-of-arg_{n}" for n in range(1, 11)}})


def get_three(number):
    name = f"lib_{number // 100:04}:p_{number:06}"
    code = 'fn main() {\n\tprintln!("hello");\n}\n' * 10
    return ("prompts/get", {"name": name, "arguments": {"language": "Rust", "code": code}})


def nothing(_):
    pass


def library(data):
    ten_arguments(data)
    prompts(data, 300)


# The name of each workload, the library that it makes, the command line, and the client's messages.
SERVE = ["serve"]
WORKLOADS = {
    "start of an empty server": (nothing, SERVE, session(LIST)),
    "start with 1,000 prompts": (lambda data: prompts(data, 1000), SERVE, session(LIST)),
    "start with 500 documents and 50 definitions": (lambda data: documents(data, 500), SERVE, session(LIST)),
    "start with 300 files of commands": (lambda data: markdown(data, 300), SERVE, session(LIST)),
    "2,000 gets of one prompt": (ten_arguments, SERVE, session(*[GET_TEN] * 2000)),
    "900 gets of 300 prompts": (library, SERVE, session(*[get_three(n * 7 % 300) for n in range(900)])),
    "1,000 lists": (library, SERVE, session(*[LIST] * 1000)),
    "50 gets that embed 10 documents": (
        lambda data: documents(data, 100),
        SERVE,
        session(*[("prompts/get", {"name": "q1", "arguments": {"a": "this"}})] * 50),
    ),
    "2,000 reads of a document": (
        lambda data: documents(data, 10),
        SERVE,
        session(*[("resources/read", {"uri": "architecture://d1/d1"})] * 2000),
    ),
    "check of 300 prompts": (library, ["check"], ""),
}


def count(binary, name):
    """The instructions of one workload."""
    make, arguments, messages = WORKLOADS[name]
    with tempfile.TemporaryDirectory(prefix="instructions") as folder:
        home = Path(folder)
        data = home / "data"
        data.mkdir()
        (home / "work").mkdir()
        make(data)
        environment = {"HOME": str(home), "PATH": os.environ["PATH"], "TWIG_DATA_DIR": str(data), "TMPDIR": str(home)}
        out = home / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={out}"]
        command += [binary, *arguments]
        # Files, since it depends on the reader of a pipe how many writes the replies take.
        (home / "in").write_text(messages)
        with (home / "in").open() as given, (home / "out").open("w") as taken:
            streams = {"stdin": given, "stdout": taken, "stderr": subprocess.PIPE, "text": True}
            done = subprocess.run(command, **streams, env=environment, cwd=home / "work", check=False)
        # Many requests are those of the main thread alone: another one looks for changes the more often, the slower
        # the machine is. A start is loaded by all of them.
        threads = sorted(home.glob("callgrind.out-*"))[: 1 if messages.count("\n") > 10 else None]
        counted = [int(re.search(r"^totals: (\d+)", thread.read_text(), re.M)[1]) for thread in threads]
        replies = (home / "out").read_text().splitlines()
        wanted = messages.count('"id":')
        if done.returncode or not counted:
            sys.exit(f"{name}: the program failed\n{done.stderr}")
        if wanted and (len(replies) != wanted or any('"error"' in reply[:60] for reply in replies)):
            sys.exit(f"{name}: {len(replies)} replies to {wanted} requests, such as {replies[-1][:300] if replies else ''}")
        return sum(counted)


def main():
    arguments = sys.argv[1:]
    is_recording = "--record" in arguments
    binary, *names = [argument for argument in arguments if argument != "--record"]
    binary = str(Path(binary).resolve())
    names = names or list(WORKLOADS)
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        # Threads share the work of a start differently from run to run: the most of three is recorded.
        runs = 3 if is_recording else 1
        most = lambda name: max(count(binary, name) for _ in range(runs))
        counted = dict(zip(names, pool.map(most, names)))
    failed = False
    for name, now in counted.items():
        before = recorded.get(name)
        change = f"{100 * (now / before - 1):+.1f} %" if before else "new"
        is_more = not is_recording and (before is None or now > before * ALLOWED)
        failed |= is_more
        print(f"{name:45} {now:15,} {change:>9}{'  MORE THAN ALLOWED' if is_more else ''}")
    if is_recording:
        RECORDED.write_text(json.dumps({**recorded, **counted}, indent=2) + "\n")
    if failed:
        sys.exit("if the program needs these instructions, record them: `just instructions --record`")


if __name__ == "__main__":
    main()
