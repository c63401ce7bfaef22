"""LM-01 to LM-06 and LM-08 end to end: a model that misbehaves over HTTP, and what people see."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from fakes.gate_room import answer_done, make_tool
from fakes.model_town import Town, http_route, http_town, restarted
from fakes.town import answers

from channels.rehearsal.model import RehearsalModel
from channels.rehearsal.model_answers import (
    Answer,
    Failure,
    broken_tool_use,
    redacted_thinking,
    text,
    thinking,
    tool_use,
)
from channels.rehearsal.model_anthropic_rules import blocks_of
from channels.rehearsal.slack import RehearsalSlack
from geode.llm.routes import ModelRoute
from geode.ports import SystemClock
from geode.steps import Effect, Ending, ToolContext

CHANNEL = "C0GENERAL"


def results_of(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Every tool result of a request by its call id."""
    return {
        block["tool_use_id"]: block
        for message in body["messages"]
        for block in blocks_of(message)
        if block["type"] == "tool_result"
    }


def words_of(block: dict[str, Any]) -> str:
    """The text of a tool result."""
    content = block["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


class Hanging:
    """A tool body that begins and never ends by itself."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    async def __call__(self, _context: ToolContext, _arguments: Any) -> Ending:
        self.begun.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


# LM-01


@pytest.mark.parametrize("effect", [Effect.READ, Effect.COMMUNICATE])
async def test_death_between_call_and_result_leaves_a_conversation_that_goes_on_lm_01(
    tmp_path: Path, effect: Effect
) -> None:
    note, hanging = make_tool("note", Effect.MUTATE), Hanging()
    hang = make_tool("hang", effect, hanging)
    tools = (note.tool, hang.tool)
    batch = Answer(
        [tool_use("note", {"text": "a"}, "toolu_a"), tool_use("hang", {"text": "b"}, "toolu_b")],
        "tool_use",
    )
    held = asyncio.Event()
    async with RehearsalModel(batch, Answer(hold=held)) as server, RehearsalSlack() as slack:
        async with restarted(tmp_path, slack, server, tools=tools) as town:
            post = await slack.say("<@UBOT> do both")
            await hanging.begun.wait()
            await _wait_row(town, "receipts", "state", "committed", tool="note")
            town.kill()
        async with restarted(tmp_path, slack, server, tools=tools) as town:
            await town.wait_for(lambda: len(server.requests) == 2)
            town.kill()
        held.set()
        async with restarted(tmp_path, slack, server, tools=tools) as town:
            number = 2 if effect is Effect.COMMUNICATE else 1
            await town.wait_answers(post.ts, number)
            await town.ask("hi", post.ts)
            await town.wait_idle()

    assert server.refusals == []
    second, third = server.requests[1:3]
    assert second.body["messages"] == third.body["messages"]
    found = results_of(second.body)
    assert not found["toolu_a"].get("is_error")
    assert found["toolu_b"]["is_error"]
    assert "interrupted" in words_of(found["toolu_b"]).lower()
    assert (len(note.entered), len(hang.entered)) == (1, 1)
    if effect is Effect.COMMUNICATE:
        assert sum("`hang` was interrupted" in said for said in answers(slack, post.ts)) == 1


async def _wait_row(town: Town, table: str, column: str, value: str, **where: object) -> None:
    async with asyncio.timeout(10):
        while await town.rows(table, column, **where) != [value]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


# LM-02


async def test_broken_arguments_are_told_to_the_model_and_the_good_call_runs_lm_02(
    tmp_path: Path,
) -> None:
    note = make_tool("note", Effect.MUTATE)
    raws = ['{"city": "San Fra', "", "null", "[1]", '{"a":1,}', "x" * 2_000_000]
    bad = [broken_tool_use("note", raw, f"toolu_{n}") for n, raw in enumerate(raws)]
    batch = Answer([*bad, tool_use("note", {"text": "good"}, "toolu_good")], "tool_use")
    async with http_town(tmp_path, batch, Answer([text("one ran")]), tools=[note.tool]) as town:
        post = await town.ask("<@UBOT> note it")

        assert answers(town.slack, post.ts) == ["one ran"]
        assert note.entered == [{"text": "good"}]
        assert town.server.refusals == []
        found = results_of(town.server.requests[1].body)
        assert not found["toolu_good"].get("is_error")
        for number in range(len(raws)):
            result = found[f"toolu_{number}"]
            assert result["is_error"], number
            assert 20 < len(words_of(result)) < 1_200


# LM-03


@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded", "no_such_reason"])
async def test_cut_answer_runs_none_of_its_calls_and_is_told_lm_03(
    tmp_path: Path, stop: str
) -> None:
    note = make_tool("note", Effect.MUTATE)
    cut = Answer(
        [
            tool_use("note", {"text": "whole"}, "toolu_1"),
            tool_use("write_file", {"path": "a.md"}, "toolu_2"),
        ],
        stop,
    )
    async with http_town(tmp_path, fallback=cut, tools=[note.tool]) as town:
        post = await town.ask("<@UBOT> write it down")
        asked = len(town.server.requests)
        town.server.fallback = Answer([text("better now")])
        await town.ask("again", post.ts)

        said = answers(town.slack, post.ts)
        assert asked <= 3
        assert note.entered == []
        assert list((tmp_path / "files").rglob("a.md")) == []
        assert "cut" in said[0] or "no longer fits" in said[0]
        assert said[1] == "better now"
        assert town.server.refusals == []


async def test_refusal_is_shown_as_such_without_a_second_call_lm_03(tmp_path: Path) -> None:
    async with http_town(tmp_path, Answer([], "refusal")) as town:
        post = await town.ask("<@UBOT> help me with something bad")

        assert len(town.server.requests) == 1
        assert answers(town.slack, post.ts)[0].startswith("The model refused this request.")
        await town.ask("then something good", post.ts)
        assert town.server.refusals == []


async def test_paused_answer_is_sent_back_and_goes_on_lm_03(tmp_path: Path) -> None:
    paused = Answer([text("let me see")], "pause_turn")
    async with http_town(tmp_path, paused, Answer([text("seen")])) as town:
        post = await town.ask("<@UBOT> look")

        assert answers(town.slack, post.ts) == ["seen"]
        last = town.server.requests[1].body["messages"][-1]
        assert (last["role"], blocks_of(last)[0]["text"]) == ("assistant", "let me see")


# LM-04


async def test_signed_reasoning_survives_the_store_and_a_restart_byte_for_byte_lm_04(
    tmp_path: Path,
) -> None:
    """The server compares the reasoning of the last answer with what it sent."""
    thought = Answer(
        [
            thinking("ümlauts and \u2028 odd\u0000 bytes", "SIG=="),
            redacted_thinking("ENCRYPTED"),
            text("let me look"),
            tool_use("list_files", {"path": "."}),
        ],
        "tool_use",
    )
    held = asyncio.Event()
    async with (
        RehearsalModel(thought, Answer(hold=held), Answer([text("done")])) as server,
        RehearsalSlack() as slack,
    ):
        async with restarted(tmp_path, slack, server) as town:
            post = await slack.say("<@UBOT> think")
            await town.wait_for(lambda: len(server.requests) == 2)
            town.kill()
        held.set()
        async with restarted(tmp_path, slack, server) as town:
            await town.wait_answers(post.ts, 1)

    assert server.refusals == []
    assert len(server.requests) == 3
    sent = [b for m in server.requests[2].body["messages"] for b in blocks_of(m)]
    assert {"thinking", "redacted_thinking"} <= {block["type"] for block in sent}


def measured(*blocks: dict[str, Any], stop: str = "end_turn") -> Any:
    """An answer whose usage is what the request really weighs."""

    def make(body: dict[str, Any]) -> Answer:
        tokens = len(str(body["messages"])) // 4 + 2_000
        usage = {"input_tokens": tokens, "output_tokens": 50}
        is_summary = "<transcript>" in str(body["messages"][-1])
        return Answer([text("what was said")] if is_summary else list(blocks), stop, usage)

    return make


def small_route(server: RehearsalModel) -> ModelRoute:
    return http_route(server, context_tokens=12_000, output_tokens=1_000)


async def test_compaction_keeps_reasoning_and_pairs_acceptable_lm_04(tmp_path: Path) -> None:
    thought = measured(
        thinking("t" * 400, "SIG"), text("look"), tool_use("list_files", {"path": "."})
    )
    replies: list[Any] = []
    for _ in range(5):
        replies += [
            lambda body: Answer(thought(body).blocks, "tool_use", thought(body).usage),
            measured(text("a long answer " * 900)),
        ]
    async with http_town(tmp_path, fallback=measured(text("ok")), route=small_route) as town:
        post = await town.ask("<@UBOT> begin")
        for number in range(5):
            town.server.script[:] = [_unless_summary(r) for r in replies[2 * number :][:2]]
            await town.slack.say(f"go on {number} " + "word " * 1_500, thread_ts=post.ts)
            await _wait_row(town, "turns", "reason", "natural", number=number + 2)

        assert town.server.refusals == []
        is_summary = ["<transcript>" in str(r.body["messages"][-1]) for r in town.server.requests]
        assert any(is_summary)
        assert await town.rows("turns", "reason") == ["natural"] * 6


def _unless_summary(reply: Any) -> Any:
    def make(body: dict[str, Any]) -> Answer:
        if "<transcript>" in str(body["messages"][-1]):
            return measured()(body)
        return reply(body)

    return make


# LM-05

BROKEN = [
    pytest.param(Answer([text("Hello there")], error_after=(2, "overloaded_error")), id="before"),
    pytest.param(Answer([text("Hello there")], error_after=(4, "overloaded_error")), id="in-text"),
    pytest.param(
        Answer(
            [tool_use("note", {"text": "half"})], "tool_use", error_after=(4, "overloaded_error")
        ),
        id="in-a-call",
    ),
    pytest.param(Answer([text("Hello there")], cut_after=4), id="cut"),
    pytest.param(Answer([text("Hello there")], has_stop=False), id="no-stop"),
    pytest.param(Failure(529, "overloaded_error"), id="http-529"),
]


@pytest.mark.parametrize("broken", BROKEN)
async def test_broken_stream_is_tried_again_and_one_whole_answer_is_shown_lm_05(
    tmp_path: Path, broken: Any
) -> None:
    note = make_tool("note", Effect.MUTATE)
    async with http_town(tmp_path, broken, Answer([text("Whole")]), tools=[note.tool]) as town:
        post = await town.ask("<@UBOT> hello")

        assert answers(town.slack, post.ts) == ["Whole"]
        assert len(town.server.requests) == 2
        assert note.entered == []
        stored = "".join(await town.rows("messages", "body"))
        assert "Hello there" not in stored
        assert "half" not in stored


@pytest.mark.parametrize("broken", BROKEN)
async def test_provider_that_stays_broken_is_one_clear_sentence_lm_05(
    tmp_path: Path, broken: Any
) -> None:
    note = make_tool("note", Effect.MUTATE)
    async with http_town(tmp_path, fallback=broken, tools=[note.tool]) as town:
        post = await town.ask("<@UBOT> hello")
        (said,) = answers(town.slack, post.ts)
        asked = len(town.server.requests)
        town.server.fallback = Answer([text("back again")])
        await town.ask("try now", post.ts)

        assert asked == 4
        assert "Anthropic is overloaded or broke off its answer" in said
        assert "again in a while" in said
        assert answers(town.slack, post.ts)[1] == "back again"
        assert town.server.refusals == []


class HeldClock(SystemClock):
    """The adapter's clock: a long wait lasts until the test ends it."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.over = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        await self.over.wait()


async def test_long_wait_is_kept_told_once_and_ends_in_an_answer_lm_05(tmp_path: Path) -> None:
    clock = HeldClock()
    limited = Failure(429, "rate_limit_error", headers={"retry-after": "240"})
    async with http_town(
        tmp_path,
        limited,
        Answer([text("patience paid")]),
        route=lambda server: http_route(server, clock=clock),
        binding="time_budget_s = 1000",
    ) as town:
        post = await town.slack.say("<@UBOT> hello")
        await town.wait_for(lambda: clock.waits)
        progress = town.slack.bot_posts
        await town.wait_for(
            lambda: any("asks to wait 240 s" in p.text for p in progress(CHANNEL, post.ts))
        )
        assert len(town.server.requests) == 1
        assert town.daemon.lanes.active
        clock.over.set()
        await town.wait_answers(post.ts, 1)

        assert clock.waits == [240]
        (shown,) = progress(CHANNEL, post.ts)
        told = [edit for edit in shown.edits if "asks to wait" in str(edit["text"])]
        assert (shown.text, len(told)) == ("patience paid", 1)


# LM-06

EMPTY = [
    pytest.param([], id="nothing"),
    pytest.param([text("")], id="empty-text"),
    pytest.param([text(" \n ")], id="white-space"),
    pytest.param([thinking("only thoughts", "SIG")], id="reasoning-only"),
]


@pytest.mark.parametrize("blocks", EMPTY)
async def test_empty_answer_is_asked_once_more_and_poisons_nothing_lm_06(
    tmp_path: Path, blocks: list[dict[str, Any]]
) -> None:
    async with http_town(tmp_path, Answer(blocks), Answer([text("now in words")])) as town:
        post = await town.ask("<@UBOT> hello")
        await town.ask("and again", post.ts)

        assert answers(town.slack, post.ts)[0] == "now in words"
        assert len(town.server.requests) == 3
        assert town.server.refusals == []
        assert not [b for b in await town.rows("messages", "body") if '"text":""' in b]


@pytest.mark.parametrize("blocks", EMPTY)
async def test_model_that_stays_empty_is_one_sentence_and_not_silence_lm_06(
    tmp_path: Path, blocks: list[dict[str, Any]]
) -> None:
    async with http_town(tmp_path, fallback=Answer(blocks)) as town:
        post = await town.ask("<@UBOT> hello")
        asked = len(town.server.requests)
        town.server.fallback = Answer([text("words at last")])
        await town.ask("again", post.ts)

        said = answers(town.slack, post.ts)
        assert asked <= 4
        assert "answer was empty" in said[0]
        assert said[1:] == ["words at last"]
        assert town.server.refusals == []


async def test_answer_of_calls_only_stores_and_sends_no_blank_text_lm_06(tmp_path: Path) -> None:
    calls = Answer([text(""), tool_use("list_files", {"path": "."})], "tool_use")
    async with http_town(tmp_path, calls, Answer([text("none")])) as town:
        await town.ask("<@UBOT> files?")

        assert town.server.refusals == []
        assert not [b for b in await town.rows("messages", "body") if '"text":""' in b]


# LM-08


async def test_prompt_that_fills_the_window_ends_the_turn_with_the_way_out_lm_08(
    tmp_path: Path,
) -> None:
    """43,000 tokens that nothing can shorten, in a window of 33,536."""
    heavy = make_tool("heavy", Effect.MUTATE, answer_done)
    described = type(heavy.tool)(
        **{
            **{f: getattr(heavy.tool, f) for f in heavy.tool.__dataclass_fields__},
            "description": "many words " * 16_000,
        }
    )
    async with http_town(
        tmp_path,
        tools=[described],
        route=lambda server: http_route(server, context_tokens=33_536, output_tokens=32_000),
    ) as town:
        post = await town.ask("<@UBOT> hello")

        (said,) = answers(town.slack, post.ts)
        assert said.startswith("This conversation no longer fits into the model")
        assert "Begin afresh with `/new`" in said
        assert len(town.server.requests) <= 4
        assert heavy.entered == []


async def test_compaction_that_reduces_nothing_stops_after_two_tries_lm_08(
    tmp_path: Path,
) -> None:
    """The provider says that the conversation is as long as before, whatever is left out."""
    usage = {"input_tokens": 60_000, "output_tokens": 50}
    runs: list[str] = []

    def stubborn(body: dict[str, Any]) -> Answer:
        if "<transcript>" in str(body["messages"][-1]):
            runs.append("summary")
            return Answer([text("x" * 20_000)], usage=usage)
        runs.append("call")
        call_id = f"toolu_{len(runs)}"
        return Answer([tool_use("list_files", {"path": "."}, call_id)], "tool_use", usage)

    async with http_town(
        tmp_path,
        fallback=stubborn,
        route=lambda server: http_route(server, context_tokens=33_536, output_tokens=8_000),
    ) as town:
        post = await town.ask("<@UBOT> hello")

        (said,) = answers(town.slack, post.ts)
        assert "no longer fits" in said
        assert runs.count("summary") <= 2
        assert len(runs) <= 4
        assert town.server.refusals == []
