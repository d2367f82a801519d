"""A server made with the package mcp, which gives each item of a list a text of its own."""

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel

print('{"level": "info", "msg": "starting"}', flush=True)
server = MCPServer("lists")


@server.tool()
def cities() -> list[str]:
    """Lists cities."""
    return ["Oslo", "Rome"]


@server.tool()
def weather(city: str) -> dict[str, float]:
    """Tells the weather."""
    return {"temperature": 21.0}


class Where(BaseModel):
    city: str


@server.tool()
async def move(ctx: Context) -> str:
    """Asks where to."""
    return str(await ctx.elicit("Where to?", schema=Where))


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("no such city")


server.run()
