"""The names that tools of MCP servers have here: exact, short, and like no other; pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

SERVER_NAME = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*", re.ASCII)
SERVER_CHARS_MAX = 24
NAME_CHARS_MAX = 64
"""Some model providers take no longer name."""
JOINT = "__"
_NAME = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_SAME = str.maketrans("01!|5", "olll" + "s", "_-")
"""Characters that read alike in many typefaces, and those that only separate."""

BUILT_IN = frozenset(
    {
        *("list_files", "read_file", "grep_files", "write_file", "edit_file", "read_document"),
        *("web_fetch", "web_search", "memory_save", "memory_search", "run_bash", "computer"),
        *("send_message", "schedule_job", "delegate_task", "update_plan"),
    }
)
"""Names that tools of GEODE itself have or will have."""


def join_name(server: str, tool: str) -> str:
    """The tool's name before the gate and the model: `server__tool`."""
    return f"{server}{JOINT}{tool}"


def skeleton(name: str) -> str:
    """What is left of a name for the eye: equal for names that a person could mistake."""
    plain = unicodedata.normalize("NFKC", name).casefold().translate(_SAME)
    return plain.replace("i", "l").replace("rn", "m").replace("vv", "w")


_BUILT_IN_SHAPES = {skeleton(name): name for name in sorted(BUILT_IN)}


def fault_of_server(name: str) -> str:
    """Why a server cannot have this name; empty when it can."""
    if SERVER_NAME.fullmatch(name) is None or len(name) > SERVER_CHARS_MAX:
        return (
            f"{name[:60]!r} cannot name a server; write a name of at most {SERVER_CHARS_MAX} "
            f'lower-case letters and digits, with single underscores between them, such as "db"'
        )
    return ""


def fault_of_tool(server: str, tool: str) -> str:
    """Why a tool cannot have this name; empty when it can."""
    name = join_name(server, tool)
    if _NAME.fullmatch(tool) is None:
        return (
            f"{tool[:60]!r} has characters that no model provider takes in a tool's name; "
            f'give the tool another one here: name = "..." of letters, digits, _ and -'
        )
    if len(name) > NAME_CHARS_MAX:
        return (
            f"{name[:100]} is longer than {NAME_CHARS_MAX} characters; give the tool a shorter "
            f'name here: name = "..."'
        )
    twin = _BUILT_IN_SHAPES.get(skeleton(name))
    if twin is not None:
        return f"{name} could be mistaken for GEODE's own {twin}; name the server or tool otherwise"
    return ""


def find_twins(names: Iterable[str]) -> tuple[str, str] | None:
    """Two different places in the list whose names a person could mistake for each other."""
    seen: dict[str, str] = {}
    for name in names:
        shape = skeleton(name)
        if shape in seen:
            return seen[shape], name
        seen[shape] = name
    return None
