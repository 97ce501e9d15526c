"""A home with a small library, its server, and how a client comes to it and leaves."""

import asyncio
import sys
from contextlib import asynccontextmanager
from pathlib import Path

from mcp import Client, StdioServerParameters

TWIG = str(Path(sys.argv[1]).resolve())
# What all the SDKs' homes hold.
FILES = (Path(__file__).parent / "../home.txt").read_text()


class Visit:
    """A home with a small library, and how its server is visited."""

    def __init__(self, folder, over, era):
        self.home, self.over, self.era = Path(folder), over, era
        self.status = self.home / "status"
        # Nothing of the outer environment but what starts a program.
        self.env = {"HOME": folder, "TMPDIR": folder, "TWIG_DATA_DIR": f"{folder}/prompts"}
        for file in FILES.split("//- ")[1:]:
            path, text = file.split("\n", 1)
            self.write(path, text)

    def write(self, path, text):
        (self.home / path).parent.mkdir(parents=True, exist_ok=True)
        (self.home / path).write_text(text)

    def add_prompt(self):
        self.write("prompts/greetings/prompts/later.md", "See you later!\n")
        # In one write, so that no half of it is ever read.
        with (self.home / "prompts/greetings/twig.toml").open("a") as manifest:
            manifest.write("[prompts.later]\n")

    @asynccontextmanager
    async def come(self, **options):
        """Starts a server and comes in; leaving sees how the server ends."""
        if self.over == "http":
            async with self.serve() as (url, server):
                async with self.client(url, **options) as client:
                    client.terminate_server = server.terminate
                    yield client
        else:
            # The SDK starts the process and hides its exit code, so a shell notes it.
            note = f'"$0" serve; echo $? >{self.status.name}'
            arguments = ["-c", note, TWIG]
            server = StdioServerParameters(command="sh", args=arguments, env=self.env, cwd=self.home)
            async with self.client(server, **options) as client:
                yield client
            assert self.status.read_text() == "0\n"

    @asynccontextmanager
    async def serve(self, token=None):
        """A server over HTTP."""
        environment = self.env | ({"TWIG_TOKEN": token} if token else {})
        command = [TWIG, "serve", "--http", "127.0.0.1:0"]
        server = await asyncio.create_subprocess_exec(
            *command, env=environment, cwd=self.home, stderr=asyncio.subprocess.PIPE
        )
        try:
            while not (line := await server.stderr.readline()).startswith(b"http://"):
                assert line, "the server ended"
            yield line.decode().strip(), server
            if server.returncode is None:
                server.terminate()
            assert await server.wait() == 0
        finally:
            if server.returncode is None:
                server.kill()
                await server.wait()

    def client(self, server, **options):
        # "auto" opens with `server/discover`; the version says which era it found.
        return Client(server, mode="legacy" if self.era == "legacy" else "auto", **options)
