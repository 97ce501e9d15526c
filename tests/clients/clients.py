"""Real clients with Twig, as `twig connect` configured it, in a home of their own: clients.py TWIG FOLDER CLIENT…

Each client gets prompts whose texts are hard to carry, and the text that reaches the model is compared with the
expected one byte for byte. What a client itself changes is in `docs/clients.md`.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from model import NAME, FakeModel, parts, tool_names

# What people write, and what programs on the way like to change.
PLAIN = (
    "First line, then an empty one.\n"
    "\n"
    "\"double\" 'single' `code` \\backslash\\ \ttab  two spaces\n"
    "Grüße, 漢字, 🌳, e\u0301 and 100 %; {braces} <b>&amp;</b> # hash\n"
    "    indented\n"
    "last line"
)
ECHO = "Words: <{{ words }}>\nEnd."
LIBRARY = {
    "twig.toml": '[prompts.plain]\n[prompts.echo]\narguments = ["words"]\n',
    "prompts/plain.md": "{% raw %}" + PLAIN + "{% endraw %}\n",
    "prompts/echo.md": ECHO + "\n",
}
WORDS = "several words, \"quoted\" and 'single', Grüße 漢字 🌳"
LINES = "one\ntwo  \"2\"\n\nfour"
SECONDS = 90


def echoed(words):
    return f"Words: <{words}>\nEnd."


def as_json(text):
    return json.dumps(text, ensure_ascii=False)


class Home:
    """A home with a library and one client, for a single test."""

    def __init__(self, twig, packages, client):
        self.packages = pathlib.Path(packages) / client / "node_modules"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"twig-{client}-"))
        self.work = self.folder / "work"
        self.work.mkdir()
        self.servers = []
        self.variables = {
            "HOME": str(self.folder),
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "CI": "1",
            # Nothing may leave the machine.
            "HTTP_PROXY": "http://127.0.0.1:9",
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1,localhost",
            "DO_NOT_TRACK": "1",
        }
        library = self.folder / ".local/share/twig/prompts/lib"
        for name, text in LIBRARY.items():
            path = library / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.run([twig, "connect", client])

    def write(self, name, value):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")

    def merge(self, name, value):
        """Adds keys to a JSON file that `twig connect` wrote."""
        self.write(name, {**json.loads((self.folder / name).read_text()), **value})

    def run(self, command, may_fail=False):
        """What a command prints, once it ended."""
        done = subprocess.run(
            [str(word) for word in command],
            cwd=self.work,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
            check=False,
        )
        text = done.stdout.decode("utf-8", "replace")
        if done.returncode and not may_fail:
            raise AssertionError(f"{command} ended with {done.returncode}: {text[-2000:]}")
        return text

    def start(self, command, until):
        """Starts a server and waits for a line that contains a text."""
        log = self.folder / "server.log"
        with log.open("wb") as output:
            server = subprocess.Popen(
                [str(word) for word in command],
                cwd=self.work,
                env=self.variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.servers.append(server)
        deadline = time.monotonic() + SECONDS
        while until not in log.read_text(errors="replace"):
            if server.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{command} did not start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)
        return server

    def remove(self):
        for server in self.servers:
            server.kill()
            server.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class ClaudeCode:
    """Headless. It gives each argument one word, and refuses a missing one itself."""

    def __init__(self, home, model):
        self.home, self.model = home, model
        home.variables.update(
            ANTHROPIC_BASE_URL=model.url,
            ANTHROPIC_API_KEY="x",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_AUTOUPDATER="1",
            DISABLE_TELEMETRY="1",
        )
        self.program = home.packages / "@anthropic-ai/claude-code-linux-x64/claude"

    def ask(self, text):
        command = [self.program, "-p", text, "--output-format", "stream-json", "--verbose"]
        lines = self.home.run(command, may_fail=True).splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def listed(self):
        [start] = [event for event in self.ask("hello") if event.get("subtype") == "init"]
        return [name for name in start["slash_commands"] if name.startswith("mcp__twig__")]

    def invoke(self, prompt, words):
        self.ask(f"/mcp__twig__lib:{prompt} {words}".rstrip(" "))

    expected_list = ["mcp__twig__lib:echo", "mcp__twig__lib:plain"]
    expected = {
        ("plain", ""): PLAIN + "\n",
        ("echo", WORDS): echoed("several") + "\n",
        ("echo", LINES): echoed("one") + "\n",
        ("echo", ""): None,
    }


class Codex:
    """Headless, through tools: it has no MCP prompts."""

    def __init__(self, home, model):
        self.home, self.model = home, model
        provider = f'name = "{NAME}"\nbase_url = "{model.url}/v1"\nwire_api = "responses"\n'
        config = home.folder / ".codex/config.toml"
        config.write_text(
            f'model = "{NAME}"\nmodel_provider = "fake"\ncheck_for_update_on_startup = false\n'
            f"[analytics]\nenabled = false\n[model_providers.fake]\n{provider}\n{config.read_text()}"
        )
        binaries = sorted((home.packages / "@openai").glob("codex-*/vendor/*/bin/codex"))
        self.program = binaries[0]

    def ask(self):
        flags = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        self.home.run([self.program, "exec", *flags, "hello"])

    def listed(self):
        self.ask()
        names = [name for _, body in self.model.requests for name in tool_names(body)]
        return sorted({name[1] for name in names if name[0] == "mcp__twig"})

    def invoke(self, prompt, words):
        self.model.expect_call("^use_prompt$", {"command": prompt, "input": words})
        self.ask()

    def reached(self, text):
        return re.sub(r"^Wall time: [\d.]+ seconds\nOutput:\n?", "", text)

    expected_list = ["expand_prompt", "list_prompts", "use_prompt"]
    expected = {
        ("plain", ""): PLAIN + "\n",
        ("echo", WORDS): echoed(WORDS) + "\n",
        ("echo", LINES): echoed(LINES) + "\n",
        ("echo", ""): "Error: Missing required argument: words\n"
        'Give them in `input` as key=value or key="several words". `lib:echo` takes:\n- words (required)',
    }


class Gemini:
    """Headless. It passes the text on as a JSON string, joins the lines of a value, and sends a missing one empty."""

    def __init__(self, home, model):
        self.home, self.model = home, model
        home.variables.update(
            GOOGLE_GEMINI_BASE_URL=model.url,
            GEMINI_API_KEY="x",
            GEMINI_CLI_TRUST_WORKSPACE="true",
            GEMINI_TELEMETRY_ENABLED="false",
        )
        home.merge(
            ".gemini/settings.json",
            {
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "general": {"enableAutoUpdate": False},
                "privacy": {"usageStatisticsEnabled": False},
                "model": {"name": "gemini-2.5-flash"},
            },
        )
        self.program = home.packages / ".bin/gemini"

    def ask(self, text):
        return self.home.run([self.program, "-p", text], may_fail=True)

    def listed(self):
        """It has no list without a terminal: a command that it does not know goes to the model as it is."""
        found = []
        for name in self.expected_list:
            del self.model.requests[:]
            self.ask(f"/{name} word")
            texts = [text for _, body in self.model.requests for _, text in parts(body)]
            found += [] if any(f"/{name}" in text for text in texts) or not texts else [name]
        return found

    def invoke(self, prompt, words):
        quoted = words.replace("\\", "\\\\").replace('"', '\\"')
        self.ask(f'/lib:{prompt} --words="{quoted}"' if words else f"/lib:{prompt}")

    expected_list = ["lib:echo"]
    expected = {
        ("plain", ""): as_json(PLAIN + "\n"),
        ("echo", WORDS): as_json(echoed(WORDS) + "\n"),
        ("echo", LINES): as_json(echoed('one two "2" four') + "\n"),
        ("echo", ""): as_json(echoed("") + "\n"),
    }


class Opencode:
    """Its own server, to which its terminal and its commands talk. It splits words as a shell does, joins them with
    one space each, and drops the line end of a text."""

    settings = ".config/opencode/opencode.json"
    binary = "opencode-linux-x64-baseline/bin/opencode"

    def __init__(self, home, model):
        self.home, self.model = home, model
        options = {"baseURL": f"{model.url}/v1", "apiKey": "x"}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": NAME, "options": options, "models": {NAME: {"name": NAME}}}
        home.merge(
            self.settings,
            {
                "model": f"fake/{NAME}",
                "small_model": f"fake/{NAME}",
                "autoupdate": False,
                "share": "disabled",
                "provider": {"fake": provider},
            },
        )
        for prefix in ("OPENCODE", "KILO"):
            home.variables[f"{prefix}_DISABLE_AUTOUPDATE"] = "1"
            home.variables[f"{prefix}_DISABLE_MODELS_FETCH"] = "1"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [home.packages / self.binary, "serve", "--hostname", "127.0.0.1", "--port", port]
        self.url = f"http://127.0.0.1:{port}"
        self.server = home.start(command, until="listening on")
        self.session = self.call("/session", {})["id"]

    def call(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"content-type": "application/json"})
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(request, timeout=SECONDS) as answer:
            return json.load(answer)

    def listed(self):
        return [command["name"] for command in self.call("/command")]

    def invoke(self, prompt, words):
        body = {"command": f"twig:lib_{prompt}", "arguments": words}
        self.call(f"/session/{self.session}/command", body)

    expected_list = ["twig:lib_echo", "twig:lib_plain"]
    expected = {
        ("plain", ""): PLAIN,
        ("echo", WORDS): echoed("several words, quoted and single , Grüße 漢字 🌳"),
        ("echo", LINES): echoed("one two 2 four"),
        ("echo", ""): echoed(""),
    }


class Kilo(Opencode):
    """A fork of opencode."""

    settings = ".config/kilo/kilo.json"
    binary = "@kilocode/cli-linux-x64/bin/kilo"


CLIENTS = {"claude-code": ClaudeCode, "codex": Codex, "gemini": Gemini, "opencode": Opencode, "kilo": Kilo}


def check(client, model):
    """Every difference between what reached the model and what should have."""
    listed = client.listed()
    problems = []
    if not set(client.expected_list) <= set(listed):
        problems.append(f"it lists {listed}, not {client.expected_list}")
    for (prompt, words), expected in client.expected.items():
        del model.requests[:]
        client.invoke(prompt, words)
        clean = getattr(client, "reached", lambda text: text)
        reached = [clean(text) for _, body in model.requests for _, text in parts(body)]
        if expected is None:
            if any("Words: <" in text for text in reached):
                problems.append(f"{prompt} without words reached the model: {reached}")
        elif expected not in reached:
            near = [text for text in reached if "First line" in text or "Words: <" in text]
            problems.append(f"{prompt} {words!r}:\n  expected {expected!r}\n  reached  {near or reached[-3:]}")
    return problems


def run(twig, packages, name):
    """The lines about one client, and whether all is well."""
    start = time.monotonic()
    with FakeModel() as model:
        home = Home(twig, packages, name)
        try:
            problems = check(CLIENTS[name](home, model), model)
        except (AssertionError, subprocess.TimeoutExpired, OSError, ValueError) as error:
            problems = [f"it did not run: {error}"]
        finally:
            home.remove()
    taken = f"{time.monotonic() - start:.0f} s"
    well = f"{name}: {len(CLIENTS[name].expected)} prompts reached the model as expected ({taken})"
    return [f"{name}: {problem}" for problem in problems] or [well], not problems


def main(twig, packages, names):
    # They mostly wait; three at a time keep two cores busy.
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda name: run(twig, packages, name), names))
    for lines, _ in done:
        print("\n".join(lines))
    return 0 if all(is_well for _, is_well in done) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
