"""A server made with FastMCP: results of many types, and lines on standard output."""

from fastmcp import Context, FastMCP
from pydantic import BaseModel

print("fastmcp server is starting", flush=True)
server = FastMCP("stock")


class Item(BaseModel):
    name: str
    amount: int


@server.tool
def describe(name: str) -> str:
    """Describes an item."""
    return f"{name} is in stock ✓"


@server.tool
def amount(name: str) -> int:
    """Counts an item."""
    return len(name)


@server.tool
def names() -> list[str]:
    """Lists the items."""
    return ["nut", "bolt"]


@server.tool
def item() -> Item:
    """Returns an item."""
    return Item(name="nut", amount=3)


@server.tool
def chatty() -> str:
    """Writes to standard output."""
    print("chatty was called", flush=True)
    return "done"


@server.tool
async def order(ctx: Context) -> str:
    """Asks for a name, and orders."""
    answer = await ctx.elicit("Who orders?", response_type=str)
    return f"{answer.action}: {getattr(answer, 'data', '')}"


server.run(show_banner=False)
