"""Calls the agent of a segue mcp serve, and prints what it was told as JSON."""

import asyncio
import json
import os

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

try:
    from mcp import types
    types.ElicitResult
except (ImportError, AttributeError):
    import mcp_types as types

env = dict(os.environ)
server = StdioServerParameters(command=env.pop("SEGUE"), args=json.loads(env.pop("ARGS")), env=env)
told = {"tools": [], "progress": [], "asked": 0}


async def elicit(_context, _params):
    told["asked"] += 1
    return types.ElicitResult(action="decline")


async def progress(_progress, _total, message):
    told["progress"].append(message)


async def main():
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write, elicitation_callback=elicit) as session:
            await session.initialize()
            told["tools"] = [tool.name for tool in (await session.list_tools()).tools]

            async def call(arguments, **options):
                result = await session.call_tool("helper", arguments, **options)
                return result.content[0].text

            told["slow"] = await call({"task": "Wait"}, progress_callback=progress)
            told["wrong"] = await call({"task": 5})
            told["unknown"] = await call({"task": "x", "zzz": 1})
            told["declined"] = await call({"task": "Write"})


asyncio.run(main())
print(json.dumps(told))
