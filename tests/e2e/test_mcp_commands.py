"""`geode mcp` and `geode trust` as an operator types them, with and without a daemon."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from fakes.geode_command import run_geode
from fakes.mcp_room import PROGRAM, mcp_room, running_manager, server_table, tool_row

from geode.errors import ControlError
from geode.serve.server_control import ServerControl

READ = {"effect": "read"}
TOOLS = {"echo": READ, "change": READ}
CONFIG = """
[mcp]
project = "{project}"
[mcp.servers.s]
command = {command}
[mcp.servers.s.tools.echo]
effect = "read"
[mcp.servers.s.tools.change]
effect = "read"
"""


def _environ(home: Path) -> dict[str, str]:
    command = json.dumps([sys.executable, str(PROGRAM), str(home)])
    (home / "geode.toml").write_text(CONFIG.format(project=home / "p", command=command))
    return {"GEODE_HOME": str(home), "HOME": str(home)}


async def _leave_a_change(home: Path) -> None:
    async with mcp_room(home, TOOLS) as room:
        room.list_next(tool_row("echo", "Other."), tool_row("change"))
        await room.call("s__change")
        await room.wait_for(room.rules)


async def test_change_is_shown_and_accepted_without_a_daemon(tmp_path: Path) -> None:
    await _leave_a_change(tmp_path)
    environ = _environ(tmp_path)

    servers = await run_geode(environ, "mcp", "list")
    tools = await run_geode(environ, "mcp", "tools", "s")
    accepted = await run_geode(environ, "mcp", "accept", "s", "--yes")
    again = await run_geode(environ, "mcp", "accept", "s")
    unknown = await run_geode(environ, "mcp", "accept", "nobody")

    assert "not running" in servers.out
    assert "s__echo" in tools.out
    assert '-  "description": "Does it."' in accepted.out
    assert '+  "description": "Other."' in accepted.out
    assert (accepted.code, again.code) == (0, 0)
    assert again.out == "s: every tool is described as it was accepted.\n"
    assert unknown.sentences == ["geode: There is no MCP server 'nobody'; configured: s."]
    async with mcp_room(tmp_path, TOOLS, [tool_row("echo", "Other."), tool_row("change")]) as room:
        assert room.rules() == {}


async def test_project_is_shown_before_it_is_trusted(tmp_path: Path) -> None:
    (tmp_path / "p" / ".geode").mkdir(parents=True)
    (tmp_path / "p" / ".geode" / "mcp.toml").write_text(
        '[servers.docs]\ncommand = ["/bin/docs", "--all"]\nenv = { KEY = "env:DOCS_KEY" }\n'
        '[servers.docs.tools.search]\neffect = "mutate"\nresources = ["docs:all"]\n'
    )
    environ = _environ(tmp_path)

    refused = await run_geode(environ, "trust")
    trusted = await run_geode(environ, "trust", str(tmp_path / "p"), "--yes")
    servers = await run_geode(environ, "mcp", "list")

    assert refused.code != 0
    assert "runs '/bin/docs' '--all' in the state folder" in trusted.out
    assert "receives the secret env:DOCS_KEY as KEY" in trusted.out
    assert "tool search: mutate, touches docs:all" in trusted.out
    assert trusted.code == 0
    assert "project" in next(line for line in servers.out.splitlines() if line.startswith("docs"))


async def test_doctor_starts_each_server_once_and_says_what_it_offers(tmp_path: Path) -> None:
    rows = [tool_row("echo"), tool_row("more")]
    (tmp_path / "tools.json").write_text(json.dumps(rows))
    environ = _environ(tmp_path)

    found = await run_geode(environ, "doctor")

    lines = [line for line in found.out.splitlines() if line.startswith("mcp ")]
    assert lines == [
        f"mcp project: warning: The project folder {tmp_path / 'p'} is not there.",
        "mcp s: ok: It offers 1 of the listed tools.",
        "mcp s: fault: The server s does not offer change now.",
        "mcp s: ok: It offers too, and nobody may call: more.",
    ]
    assert (tmp_path / "starts").read_text().count("\n") == 1


async def test_verbs_of_a_running_daemon_tell_and_accept_at_once(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text(json.dumps([tool_row("echo"), tool_row("change")]))
    table = {"mcp": {"servers": {"s": server_table(tmp_path, TOOLS)}}}
    async with running_manager(tmp_path, table, {}) as room:
        verbs = ServerControl(room.manager, room.store, is_running=True).verbs
        room.list_next(tool_row("echo", "Other."), tool_row("change"), tool_row("new"))
        await room.call("s__change")
        await room.wait_for(room.rules)

        told = str(await verbs["mcp.tools"]({"server": "s"}))
        (change,) = (await verbs["mcp.changes"]({"server": "s"}))["changes"]  # type: ignore[index,call-overload]
        await verbs["mcp.accept"]({"server": "s", "tool": "echo", "digest": change["digest"]})

        assert "describes echo otherwise" in told
        assert "'tool': 'new'" in told
        assert room.rules() == {}
        (row,) = (await verbs["mcp.list"]({}))["servers"]  # type: ignore[index,call-overload]
        assert (row["state"], row["offered"], row["listed"]) == ("up", 2, 2)
        again = {"server": "s", "tool": "echo", "digest": change["digest"]}
        with pytest.raises(ControlError, match="look at it again"):
            await verbs["mcp.accept"](again)
