"""Twig as the Python SDK sees it: its client, over both transports, in both eras.

Every check gets a server of its own and leaves it: the client closes, and the server has to end by
itself, with success. The other SDKs do the same in `../rust` and `../typescript`.

Usage: interop.py TWIG, where TWIG is the program under test.
"""

import asyncio
import logging
import sys
import tempfile
import traceback

import anyio
import httpx2
from mcp import MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import PromptsListChanged
from mcp_types import (
    INVALID_PARAMS,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    PromptListChangedNotification,
    PromptReference,
)
from visit import Visit

# Long enough for a slow machine; waits end as soon as what they wait for is there.
PATIENCE = 30
VERSIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
MISSING = "Missing required argument: name"


async def introduces_itself(visit):
    async with visit.come() as client:
        assert client.protocol_version == VERSIONS[visit.era], client.protocol_version
        itself = client.server_info
        assert (itself.name, itself.title, bool(itself.version)) == ("twig", "Twig", True), itself
        can = client.server_capabilities
        assert can.completions is not None and can.prompts.list_changed, can


async def lists_every_page(visit):
    async with visit.come() as client:
        prompts, pages, cursor = [], 0, None
        while pages == 0 or cursor is not None:
            page = await client.list_prompts(cursor=cursor)
            prompts, pages, cursor = prompts + page.prompts, pages + 1, page.next_cursor
        assert pages == 3, pages
        names = ["count", "farewell", "greet", "talk", "wave"]
        assert [prompt.name for prompt in prompts] == [f"greetings:{name}" for name in names]
        greet = prompts[2]
        assert (greet.title, greet.description) == ("Greet", "Greet somebody"), greet
        taken = [(argument.name, argument.required) for argument in greet.arguments]
        assert taken == [("name", True), ("language", False)], taken
        assert greet.arguments[0].description == "Whom to greet"


async def lists_the_rest(visit):
    """What it declares beside prompts, however little that is."""
    async with visit.come() as client:
        for page in [client.list_tools, client.list_resources, client.list_resource_templates]:
            await page()


async def reaches_prompts_through_tools(visit):
    async with visit.come() as client:
        listed = await client.list_tools()
        names = ["list_prompts", "expand_prompt", "use_prompt", "search"]
        assert [tool.name for tool in listed.tools] == names, listed
        # The client holds what comes back against the schema that was listed.
        commands = await client.call_tool("list_prompts", {})
        assert len(commands.structured_content["prompts"]) == 5, commands
        greet = {"command": ":greetings:greet", "input": "language=french Ada Lovelace"}
        got = await client.call_tool("expand_prompt", greet)
        assert got.structured_content == {"prompt": "Greet Ada Lovelace in french.\n"}, got
        plain = await client.call_tool("use_prompt", greet)
        assert plain.structured_content is None, plain
        assert [block.text for block in plain.content] == ["Greet Ada Lovelace in french.\n"], plain
        # A loop is rendered elsewhere.
        got = await client.call_tool("expand_prompt", {"command": "count", "input": ""})
        assert got.structured_content["prompt"].strip() == "1 2 3", got
        failed = await client.call_tool("expand_prompt", {"command": "greet", "input": ""})
        assert failed.is_error and failed.content[0].text.startswith(f"Error: {MISSING}\n"), failed


async def gets_text_exactly(visit):
    async with visit.come() as client:
        # Values are data, whatever they look like.
        for name in ["Ada", 'Jõgi\n"{{ language }}" \U0001f44b']:
            got = await get(client, "greet", {"name": name, "language": "estonian"})
            assert texts(got) == [("user", f"Greet {name} in estonian.\n")], got
        default = await get(client, "greet", {"name": "Ada"})
        assert texts(default) == [("user", "Greet Ada in english.\n")], default
        assert default.description == "Greet somebody", default


async def gets_messages_and_loops(visit):
    async with visit.come() as client:
        talk = await get(client, "talk")
        assert texts(talk) == [("user", "How are you?"), ("assistant", "Very well.")], talk
        assert texts(await get(client, "count")) == [("user", "1 2 3 \n")]


async def names_what_is_missing(visit):
    async with visit.come() as client:
        missing = await refusal(client, "greet")
        assert (missing.code, missing.message) == (INVALID_PARAMS, MISSING), missing


async def asks_for_what_is_missing(visit):
    """A client that can show a form is asked to: with the result, or in the legacy era with a request."""
    seen = []

    async def fill(_context, form):
        seen.append(form)
        return ElicitResult(action="accept", content={"name": "Ada"})

    async with visit.come(elicitation_callback=fill) as client:
        got = await get(client, "greet", {"language": "french"})
        assert texts(got) == [("user", "Greet Ada in french.\n")], got
        [form] = seen
        assert isinstance(form, ElicitRequestFormParams), form
        assert form.message == "`greetings:greet` needs a value to continue", form
        assert list(form.requested_schema["properties"]) == ["name"], form
        used = await client.call_tool("use_prompt", {"command": "greet", "input": "language=estonian"})
        assert used.content[0].text == "Greet Ada in estonian.\n", used
        if visit.era == "legacy":
            return
        once = await client.session.get_prompt("greetings:greet", {}, allow_input_required=True)
        assert isinstance(once, InputRequiredResult), once


async def takes_no_for_an_answer(visit):
    async def decline(_context, _form):
        return ElicitResult(action="decline")

    async with visit.come(elicitation_callback=decline) as client:
        declined = await refusal(client, "greet")
        assert (declined.code, declined.message) == (INVALID_PARAMS, MISSING), declined


async def suggests_a_near_name(visit):
    async with visit.come() as client:
        # The second one is not ASCII, which modern HTTP has to put in a header nevertheless.
        for name in ["gret", "gréet"]:
            unknown = await refusal(client, name)
            assert unknown.code == INVALID_PARAMS, unknown
            assert unknown.message == f"Prompt not found: greetings:{name}", unknown
            assert unknown.data["suggestions"] == ["greetings:greet"], unknown


async def completes_choices(visit):
    async with visit.come() as client:
        prompt = PromptReference(name="greetings:greet")
        found = await client.complete(prompt, {"name": "language", "value": "e"})
        assert found.completion.values == ["english", "estonian"], found
        assert (found.completion.total, found.completion.has_more) == (2, False), found


async def tells_of_a_new_prompt(visit):
    """Unasked in the legacy era, on a subscription in the modern one."""
    heard = asyncio.Event()

    async def listen(message):
        if isinstance(message, PromptListChangedNotification):
            heard.set()

    async with visit.come(message_handler=listen) as client:
        before = await names(client)
        if visit.era == "legacy":
            visit.add_prompt()
            await heard.wait()
            assert await names(client) - before == {"greetings:later"}
            return
        async with client.listen(prompts_list_changed=True) as second:
            async with client.listen(prompts_list_changed=True) as first:
                assert first.honored.prompts_list_changed
                visit.add_prompt()
                for subscription in [first, second]:
                    assert isinstance(await anext(subscription), PromptsListChanged)
                assert await names(client) - before == {"greetings:later"}
            # One ended for the client, the other ends with the server; over stdio the SDK gives
            # no way to end the server and hear its last words.
            if visit.over == "http":
                client.terminate_server()
                assert await anext(second, None) is None


async def wants_the_token(visit):
    async with visit.serve("open-sesame") as (url, _server):
        for token in [None, "close-sesame"]:
            found, told = await knock(visit, url, token)
            assert not found and set(told) == {401}, (found, told)
        found, told = await knock(visit, url, "open-sesame")
        assert len(found) == 5 and 401 not in told, (found, told)


async def knock(visit, url, token):
    """Lists with a token or without; gives what was found and what HTTP said.

    The SDK does not say that it was a token that it lacked, so its traffic has to.
    """
    found, told = set(), []

    async def note(response):
        told.append(response.status_code)
        challenge = response.headers.get("www-authenticate", "")
        assert (response.status_code == 401) == challenge.startswith("Bearer "), response

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    hooks = {"response": [note]}
    async with httpx2.AsyncClient(headers=headers, event_hooks=hooks, timeout=PATIENCE) as http:
        try:
            async with visit.client(streamable_http_client(url, http_client=http)) as client:
                found = await names(client)
        except* MCPError:
            pass
    return found, told


def get(client, name, arguments=None):
    return client.get_prompt(f"greetings:{name}", arguments)


def texts(got):
    return [(message.role, message.content.text) for message in got.messages]


async def refusal(client, name):
    try:
        got = await get(client, name)
    except MCPError as error:
        return error.error
    raise AssertionError(f"no refusal: {got}")


async def names(client):
    found, cursor = set(), None
    while True:
        page = await client.list_prompts(cursor=cursor)
        found |= {prompt.name for prompt in page.prompts}
        if (cursor := page.next_cursor) is None:
            return found


CHECKS = [
    introduces_itself,
    lists_every_page,
    lists_the_rest,
    reaches_prompts_through_tools,
    gets_text_exactly,
    gets_messages_and_loops,
    names_what_is_missing,
    asks_for_what_is_missing,
    takes_no_for_an_answer,
    suggests_a_near_name,
    completes_choices,
    tells_of_a_new_prompt,
    wants_the_token,
]


class Complaints(logging.Handler):
    """What the SDK does not fail for, it says in its log."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.heard = []

    def emit(self, record):
        self.heard.append(record.getMessage())


async def run(check, over, era):
    complaints = Complaints()
    logging.basicConfig(handlers=[complaints], force=True)
    with tempfile.TemporaryDirectory(prefix="twig-interop-") as folder:
        with anyio.fail_after(PATIENCE):
            await check(Visit(folder, over, era))
    assert not complaints.heard, complaints.heard


def main():
    failed = 0
    for over in ["stdio", "http"]:
        for era in ["legacy", "modern"]:
            checks = [check for check in CHECKS if over == "http" or check is not wants_the_token]
            for check in checks:
                try:
                    asyncio.run(run(check, over, era))
                except Exception:
                    failed += 1
                    print(f"FAILED python {over} {era} {check.__name__}")
                    traceback.print_exc(limit=-4)
            print(f"python {over} {era}: {len(checks)} checks")
    print(f"python: {failed} failed" if failed else "python: all passed")
    sys.exit(bool(failed))


main()
