"""A server of one tool that answers at once, for what a call of it costs its client."""

from __future__ import annotations

from mcp.server import MCPServer

server = MCPServer("bench")


@server.tool(description="Say the text again.")
def echo(text: str) -> str:
    return text


if __name__ == "__main__":
    server.run("stdio")
