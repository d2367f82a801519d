"""A server made with the package mcp, which gives each item of a list a text of its own."""

from mcp.server import MCPServer

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


server.run()
