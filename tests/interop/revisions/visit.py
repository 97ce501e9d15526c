"""What one old Python SDK reads of every kind of content, as JSON: visit.py TWIG NAME…"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def drain(session):
    """The first SDK reads no further until someone takes the requests and notifications of the server."""
    async for _ in session.incoming_messages:
        pass


async def visit(twig, names):
    server = StdioServerParameters(command=twig, args=["serve"], env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        reading = asyncio.create_task(drain(session)) if hasattr(session, "incoming_messages") else None
        begun = await session.initialize()
        seen = {"version": begun.protocolVersion}
        for name in names:
            got = await session.get_prompt(name, {})
            seen[name] = [message.content.type for message in got.messages]
            for tool in ("expand_prompt", "use_prompt"):
                got = await session.call_tool(tool, {"command": name, "input": ""})
                seen[f"{name} by {tool}"] = ["error" if got.isError else part.type for part in got.content]
        print(json.dumps(seen))
        if reading:
            reading.cancel()


asyncio.run(visit(sys.argv[1], sys.argv[2:]))
