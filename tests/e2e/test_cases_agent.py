"""AG-04 and AG-06 end to end: a model that goes in circles, and output that is too much."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from fakes.gate_room import make_tool
from fakes.model_town import Town, http_town
from fakes.town import answers

from channels.rehearsal.model_answers import Answer, text, tool_use
from channels.rehearsal.model_anthropic_rules import blocks_of
from geode.loop.guards import REPEATS_MAX, REPEATS_WARNED
from geode.messages import JsonObject
from geode.steps import Done, Effect, Ending, ToolContext

TWO: JsonObject = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
}
ROUNDS = 40


def last_results(body: dict[str, Any]) -> list[str]:
    """The texts of the tool results at the end of a request."""
    found: list[str] = []
    for block in blocks_of(body["messages"][-1]):
        if block["type"] == "tool_result":
            content = block["content"]
            found.append(
                content if isinstance(content, str) else "".join(p["text"] for p in content)
            )
    return found


def circling(*calls: tuple[str, dict[str, Any]]) -> Any:
    """A model that proposes these calls in turn, for ever."""
    count = 0

    def propose(_body: dict[str, Any]) -> Answer:
        nonlocal count
        name, arguments = calls[count % len(calls)]
        count += 1
        return Answer([tool_use(name, arguments, f"toolu_{count}")], "tool_use")

    return propose


@pytest.mark.parametrize(
    ("calls", "executions_max"),
    [
        pytest.param([("todo", {})], 2 * REPEATS_MAX, id="same"),
        pytest.param(
            [("todo", {"a": 1, "b": 2}), ("todo", {"b": 2, "a": 1})],
            2 * REPEATS_MAX,
            id="reordered",
        ),
        pytest.param([("todo", {"a": 1}), ("todo", {"a": 2})], 4 * REPEATS_MAX, id="alternating"),
    ],
)
async def test_repeated_call_is_warned_refused_and_ends_the_turn_ag_04(
    tmp_path: Path, calls: list[tuple[str, dict[str, Any]]], executions_max: int
) -> None:
    todo = make_tool("todo", Effect.READ, schema=TWO)
    limits = f"steps_max = {ROUNDS}"
    async with http_town(tmp_path, tools=[todo.tool], limits=limits) as town:
        town.server.fallback = circling(*calls)
        post = await town.ask("<@UBOT> look after it")
        rounds = len(town.server.requests)
        town.server.fallback = circling(calls[0])
        town.server.script = [circling(calls[0]), Answer([text("still fine")])]
        before = len(todo.entered)
        await town.ask("once more", post.ts)

        said = answers(town.slack, post.ts)
        assert REPEATS_WARNED <= before <= executions_max
        assert rounds <= executions_max + 2
        assert said[0].startswith("I repeated the same step without getting further")
        assert said[1] == "still fine"
        assert len(todo.entered) == before + 1
        assert town.server.refusals == []
        warned = [r for r in town.server.requests if "the same result 3 times" in str(r.body)]
        assert warned


async def test_polling_whose_result_changes_is_not_blocked_ag_04(tmp_path: Path) -> None:
    count = 0

    async def tick(_context: ToolContext, _arguments: JsonObject) -> Ending:
        nonlocal count
        count += 1
        return Done(f"{count} of 12")

    poll = make_tool("poll", Effect.READ, tick, schema=TWO)
    async with http_town(tmp_path, tools=[poll.tool], limits=f"steps_max = {ROUNDS}") as town:
        keep_on = circling(("poll", {}))
        town.server.script = [keep_on] * 12 + [Answer([text("finished")])]
        post = await town.ask("<@UBOT> wait for it")

        assert answers(town.slack, post.ts) == ["finished"]
        assert count == 12


async def read_file(town: Town, root: str, name: str, content: bytes, times: int = 1) -> str:
    """What the model gets to read of a file of that content."""
    (folder,) = [p.parent for p in (town.daemon.store.path.parent / "files").rglob("seed.txt")]
    with (folder / name).open("wb") as stream:
        for _ in range(times):
            stream.write(content)
    town.server.script = [
        Answer([tool_use("read_file", {"path": name})], "tool_use"),
        Answer([text(f"read {name}")]),
    ]
    await town.ask(f"read {name}", root)
    (result,) = last_results(town.server.requests[-1].body)
    return result


async def seeded(town: Town) -> str:
    """A thread whose workspace exists."""
    town.server.script = [
        Answer([tool_use("write_file", {"path": "seed.txt", "content": "x"})], "tool_use"),
        Answer([text("seeded")]),
    ]
    return (await town.ask("<@UBOT> begin")).ts


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def test_huge_and_binary_files_reach_the_model_small_and_valid_ag_06(
    tmp_path: Path,
) -> None:
    async with http_town(tmp_path) as town:
        root = await seeded(town)
        odd = await read_file(town, root, "odd.txt", b"ok\xff\xfe\xf0!")
        before = resident_bytes()
        huge = await read_file(town, root, "huge.txt", b"y\n" * 5_000, times=5_000)
        grown = resident_bytes() - before
        noise = await read_file(town, root, "noise.bin", os.urandom(500_000) + b"\0" * 500_000)
        wide = await read_file(town, root, "wide.txt", "語".encode() * 50_000)

        assert len(huge.encode()) <= 65_536
        assert "50000000" in huge.replace(",", "").replace(" ", "")
        assert "ok\ufffd\ufffd\ufffd!" in odd
        assert len(noise.encode()) <= 65_536
        assert len(wide.encode()) <= 65_536
        assert "\ufffd" not in wide
        assert grown < 20_000_000
        assert town.server.refusals == []
        assert await town.rows("turns", "reason") == ["natural"] * 5


async def test_many_long_lines_found_by_grep_are_cut_with_their_number_ag_06(
    tmp_path: Path,
) -> None:
    async with http_town(tmp_path) as town:
        root = await seeded(town)
        (folder,) = [p.parent for p in (tmp_path / "files").rglob("seed.txt")]
        (folder / "lines.txt").write_text(("needle " + "z" * 1_000 + "\n") * 20_000)
        town.server.script = [
            Answer([tool_use("grep_files", {"pattern": "needle"})], "tool_use"),
            Answer([text("found")]),
        ]
        await town.ask("grep", root)

        (found,) = last_results(town.server.requests[-1].body)
        assert "needle" in found
        assert len(found.encode()) <= 65_536
        assert town.server.refusals == []
