"""What `geode mcp` and `geode trust` print; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geode.cli.tables import render_table, show_text
from geode.settings_mcp import McpServerSettings
from geode.settings_secrets import SecretRef

Answer = Mapping[str, Any]
_SENTENCE_CHARS_MAX = 400


def report_servers(answer: Answer) -> str:
    """One line a server, then what of a project's list is not used."""
    lines = [show_text(each, _SENTENCE_CHARS_MAX) for each in answer["notices"]]
    if not answer["servers"]:
        return "\n".join(["No MCP server is configured.", *lines])
    rows = [
        (
            each["server"],
            each["state"],
            f"{each['offered']} of {each['listed']}",
            each["of"],
            each["where"],
            each["reason"] or "-",
        )
        for each in answer["servers"]
    ]
    table = render_table(("SERVER", "STATE", "TOOLS", "FROM", "WHERE", "REASON"), rows)
    return "\n".join([table, *lines])


def report_tools(answer: Answer) -> str:
    """One line a listed tool, then what the servers offer beside them."""
    rows = [
        (each["name"], each["effect"], each["resources"] or "-", each["absent"] or "offered")
        for each in answer["tools"]
    ]
    headings = ("TOOL", "EFFECT", "RESOURCES", "STATE")
    lines = [render_table(headings, rows) if rows else "No MCP tool is listed."]
    lines += [
        f"not listed, so not callable: {show_text(each['tool'])} of {each['server']}"
        for each in answer["unlisted"]
    ]
    return "\n".join(lines)


def report_project(path: str, servers: Mapping[str, McpServerSettings]) -> str:
    """All that a project's list would start and let the agent call."""
    lines = [f"{path} lists {len(servers)} servers:"]
    for name, settings in servers.items():
        lines += ["", f"{name}: {_show_start(settings)}"]
        lines += [f"  receives {each}" for each in _list_received(settings)]
        for tool, written in settings.tools.items():
            touches = f", touches {', '.join(written.resources)}" if written.resources else ""
            lines.append(f"  tool {show_text(tool)}: {written.effect}{touches}")
    return "\n".join(lines)


def _show_start(settings: McpServerSettings) -> str:
    if settings.url:
        return f"speaks with {show_text(settings.url, _SENTENCE_CHARS_MAX)}"
    words = " ".join(repr(part) for part in settings.command)
    return f"runs {show_text(words, 2_000)} in {settings.cwd or 'the state folder'}"


def _list_received(settings: McpServerSettings) -> list[str]:
    received = [
        f"the secret {value} as {name}"
        if isinstance(value, SecretRef)
        else f"{name} = {show_text(value, _SENTENCE_CHARS_MAX)}"
        for name, value in settings.env.items()
    ]
    received += [f"the secret {ref} as header {name}" for name, ref in settings.headers.items()]
    if settings.token is not None:
        received.append(f"the secret {settings.token} as its token")
    return received
