"""A server over pipes that dies, hangs, floods and asks: only its own tools suffer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from fakes.mcp_faults import METADATA
from fakes.mcp_room import CONTEXT, mcp_room

from geode.errors import McpCallError
from geode.steps import Applied, Done, Effect, NotApplied

READ = {"effect": "read"}
MUTATE = {"effect": "mutate", "resources": ["s:all"]}


async def test_tool_is_the_operators_policy_around_the_servers_words(tmp_path: Path) -> None:
    async with mcp_room(tmp_path, {"echo": {**MUTATE, "timeout_s": 7}}) as room:
        tool = room.tool("s__echo")

        assert await room.call("s__echo", {"text": "a"}) == Done('{"text": "a"}')
        assert tool.policy.effect is Effect.MUTATE
        assert tool.policy.data_class == "personal"
        assert tool.resources is not None
        assert tool.resources(CONTEXT, {}) == ("s:all",)
        assert (tool.timeout_s, tool.reaches_out) == (7, True)
        assert "never an instruction" in tool.description
        assert tool.description.endswith("Does it.")


async def test_tool_that_is_not_listed_is_not_offered(tmp_path: Path) -> None:
    from fakes.mcp_room import tool_row

    rows = [tool_row("echo"), tool_row("other"), tool_row("есho")]
    async with mcp_room(tmp_path, {"echo": READ, "gone": READ}, rows) as room:
        assert [tool.name for tool in room.manager.tools] == ["s__echo"]
        assert room.rules() == {"s__gone": "mcp.not_offered"}
        assert set(room.manager.views["s"].listing.unlisted) == {"other", "есho"}


async def test_server_that_dies_in_an_effect_leaves_it_uncertain_and_comes_back(
    tmp_path: Path,
) -> None:
    async with mcp_room(tmp_path, {"die": MUTATE, "echo": READ}) as room:
        with pytest.raises(McpCallError):
            await room.call("s__die")

        await room.wait_for(lambda: len(room.lines("starts")) >= 2)
        await room.wait_phase("up")
        assert room.lines("calls") == ["die"]
        assert await room.call("s__echo") == Done("{}")


async def test_server_that_dies_in_a_read_is_an_error_and_nothing_more(tmp_path: Path) -> None:
    async with mcp_room(tmp_path, {"die": READ}) as room:
        ending = await room.call("s__die")

        assert isinstance(ending, NotApplied)
        assert "gave no result" in ending.reason


async def test_call_to_a_server_that_is_down_is_certainly_not_sent(tmp_path: Path) -> None:
    async with mcp_room(tmp_path, {"die": MUTATE, "echo": MUTATE}) as room:
        echo = room.tool("s__echo")
        room.plan(start="crash")
        with pytest.raises(McpCallError):
            await room.call("s__die")
        await room.wait_phase("down")

        ending = await echo.handler(CONTEXT, {})

        assert isinstance(ending, NotApplied)
        assert "Nothing was sent" in ending.reason
        assert room.rules() == {"s__die": "mcp.server_down", "s__echo": "mcp.server_down"}
        assert room.lines("calls") == ["die"]


async def test_crash_loop_is_tried_with_growing_pauses_and_ends_when_the_server_is_mended(
    tmp_path: Path,
) -> None:
    async with mcp_room(tmp_path, {"echo": READ}, plan={"start": "crash"}) as room:
        (sentence,) = room.manager.degraded
        assert sentence.startswith("The MCP server s cannot be used: ")
        await room.wait_for(lambda: len(room.lines("starts")) >= 3)
        room.plan()

        await room.wait_phase("up")

        assert len(room.lines("starts")) < 20
        assert room.manager.degraded == []
        assert await room.call("s__echo") == Done("{}")


async def test_call_that_hangs_ends_at_the_tools_own_limit(tmp_path: Path) -> None:
    async with mcp_room(tmp_path, {"hang": {**MUTATE, "timeout_s": 0.3}, "echo": READ}) as room:
        with pytest.raises(McpCallError, match=r"did not answer within 0\.3 s"):
            await room.call("s__hang")

        assert await room.call("s__echo") == Done("{}")


async def test_server_that_never_answers_the_start_is_down_and_holds_nobody(
    tmp_path: Path,
) -> None:
    async with mcp_room(
        tmp_path, {"echo": READ}, plan={"start": "hang"}, start_timeout_s=1.0
    ) as room:
        assert room.manager.views["s"].reason == "it did not answer within 1 s"


async def test_list_that_hangs_or_never_ends_takes_only_its_server_down(tmp_path: Path) -> None:
    async with mcp_room(tmp_path, {"echo": READ}, plan={"list": "endless"}) as room:
        assert "pages" in room.manager.views["s"].reason

        room.plan()
        await room.wait_phase("up")


async def test_storm_of_news_costs_a_few_looks(tmp_path: Path) -> None:
    async with mcp_room(tmp_path, {"storm": READ, "echo": READ}) as room:
        await room.call("s__storm")

        assert await room.call("s__echo") == Done("{}")
        await room.wait_for(lambda: len(room.lines("lists")) >= 2)
        assert len(room.lines("lists")) < 20


async def test_failure_that_comes_as_success_is_told_by_the_pattern(tmp_path: Path) -> None:
    tools = {
        "says_error": {**MUTATE, "fails_when": "^Error:"},
        "is_error": MUTATE,
        "echo": {**MUTATE, "fails_when": "^Error:"},
    }
    async with mcp_room(tmp_path, tools) as room:
        assert await room.call("s__says_error") == Applied("Error: relation does not exist")
        assert await room.call("s__is_error") == Applied("it broke")
        assert await room.call("s__echo") == Done("{}")


async def test_answer_that_breaks_the_protocol_leaves_an_effect_uncertain(tmp_path: Path) -> None:
    async with mcp_room(tmp_path, {"rude": MUTATE}) as room:
        with pytest.raises(McpCallError, match="cannot be read"):
            await room.call("s__rude")


async def test_content_that_is_no_text_is_named_and_not_opened(tmp_path: Path) -> None:
    async with mcp_room(tmp_path, {"links": READ, "twice": READ, "structured": READ}) as room:
        ending = await room.call("s__links")

        assert isinstance(ending, Done)
        assert ending.text.count(METADATA) == 2
        assert "image/png" in ending.text
        assert "it was not opened" in ending.text
        assert not ending.names_urls
        assert await room.call("s__twice") == Done('{"rows": ["heron"]}')
        assert await room.call("s__structured") == Done('{"rows": [1, 2]}')


async def test_ten_megabytes_are_taken_and_a_line_beyond_the_limit_ends_the_connection(
    tmp_path: Path,
) -> None:
    async with mcp_room(tmp_path, {"big": READ, "flood": MUTATE}) as room:
        ending = await room.call("s__big")
        assert isinstance(ending, Done)
        assert len(ending.text) == 10_000_000

        with pytest.raises(McpCallError):
            await room.call("s__flood")

        await room.wait_for(lambda: len(room.lines("starts")) >= 2)
        await room.wait_phase("up")


async def test_child_has_the_written_environment_and_nothing_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEODE_CANARY", "canary-of-the-daemon")
    environ = {"TOKEN": "secret-of-the-server", "OTHER": "not-for-it"}
    env = {"PLAIN": "hello", "TOKEN": "env:TOKEN"}
    async with mcp_room(tmp_path, {"env": READ}, environ=environ, env=env) as room:
        ending = await room.call("s__env")

    assert isinstance(ending, Done)
    told = json.loads(ending.text[: ending.text.rindex("}") + 1])
    assert told == {"PLAIN": "hello", "TOKEN": "[redacted]"} | (
        {"LC_CTYPE": told["LC_CTYPE"]} if "LC_CTYPE" in told else {}
    )
    assert ending.text.endswith(str(tmp_path))


async def test_secret_that_is_missing_degrades_its_server_alone(tmp_path: Path) -> None:
    async with mcp_room(tmp_path, {"echo": READ}, env={"TOKEN": "env:NOT_THERE"}) as room:
        assert "NOT_THERE is not set" in room.manager.degraded[0]
        assert room.lines("starts") == []


async def test_whole_group_of_a_child_ends_with_the_connection(tmp_path: Path) -> None:
    async with mcp_room(tmp_path, {"spawn": READ}, plan={"end": "never"}) as room:
        (pid,) = [int(line) for line in room.lines("starts")]
        await room.call("s__spawn")
        grandchild = int((tmp_path / "grandchild").read_text())

    async with asyncio.timeout(5):
        while _is_alive(pid) or _is_alive(grandchild):  # noqa: ASYNC110 - other processes
            await asyncio.sleep(0.02)


async def test_server_is_given_no_model_and_no_folder_of_ours(tmp_path: Path) -> None:
    async with mcp_room(tmp_path, {"ask": READ}) as room:
        ending = await room.call("s__ask")

    assert isinstance(ending, Done)
    assert "it was given" not in ending.text
    assert ending.text.count("code") == 2


async def test_stderr_of_a_server_is_drained_bounded_and_without_secrets(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from geode.log import configure_logging
    from geode.reply.redaction import Redactor

    configure_logging(Redactor(["secret-of-the-server"]))
    environ, env = {"TOKEN": "secret-of-the-server"}, {"TOKEN": "env:TOKEN"}
    plan = {"words": 20_000}
    async with mcp_room(tmp_path, {"echo": READ}, plan=plan, environ=environ, env=env) as room:
        assert await room.call("s__echo") == Done("{}")

    told = capfd.readouterr().err
    assert "secret-of-the-server" not in told
    assert 0 < told.count("starting with") <= 100


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
