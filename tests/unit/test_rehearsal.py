"""The rehearsal model: rules a newcomer can predict, labelled answers, real proposals."""

from __future__ import annotations

from typing import Any

import pytest
from fakes.model_steps import assistant, make_plan, make_step, results, user

from geode.llm.errors import Unavailable
from geode.llm.rehearsal import LABEL, NO_MORE_TOOLS, RehearsalAdapter
from geode.loop.prompt import quote_people
from geode.loop.quoting import write_note
from geode.messages import (
    InboundMessage,
    Message,
    Person,
    QuotedMessage,
    Thread,
    ToolCall,
    ToolResult,
)
from geode.steps import ModelReply, StopCause

PLACE = Thread("slack", "T1", "C1", "1.0")


class SkippingClock:
    """Sleeping moves the clock and is written down."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def now_us(self) -> int:
        return int(self.monotonic() * 1_000_000)

    def monotonic(self) -> float:
        return sum(self.slept)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


async def ask(*messages: Message | str, **changes: Any) -> ModelReply:
    """The rehearsal model's reply to a history; strings are user messages."""
    adapter = RehearsalAdapter(SkippingClock())
    history = [user(m) if isinstance(m, str) else m for m in messages]
    return await adapter.acomplete(make_step(adapter, history, **changes))


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("list files", "list_files", {"path": "."}),
        ("What files are there?", "list_files", {"path": "."}),
        ("<@U0BOT> please list the files in notes/a", "list_files", {"path": "notes/a"}),
        ("@Geode, can you read notes.md?", "read_file", {"path": "notes.md"}),
        ("read the file `a b.md`", "read_file", {"path": "a"}),
        (
            "write todo.md: buy milk\nand bread",
            "write_file",
            {"path": "todo.md", "content": "buy milk\nand bread"},
        ),
        ("fetch https://example.org/a?b=1.", "web_fetch", {"url": "https://example.org/a?b=1"}),
        ("see <https://example.org/x|this page>", "web_fetch", {"url": "https://example.org/x"}),
        ("read https://example.org/x", "web_fetch", {"url": "https://example.org/x"}),
        ("remember that Ann likes tea", "memory_save", {"text": "Ann likes tea"}),
        ("What do you remember about Ann?", "memory_search", {"query": "Ann"}),
        ("run `rm -rf /`", "run_bash", {"command": "rm -rf /"}),
        ("search the files for TODO", "grep_files", {"pattern": "TODO"}),
    ],
)
async def test_request_leads_to_its_tool_call(
    text: str, name: str, arguments: dict[str, Any]
) -> None:
    reply = await ask(text)

    assert reply.stop is StopCause.TOOL_USE
    assert [(call.name, call.arguments) for call in reply.message.calls] == [(name, arguments)]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("hello", "You wrote: “hello”"),
        ("what is 17 * 3?", "17 * 3 = 51"),
        ("1/4", "1/4 = 0.25"),
        ("1/0", "You wrote: “1/0”"),
        ("have you read it, or run away?", "You wrote: “have you read it, or run away?”"),
        ("<@U0BOT> hi", "You wrote: “hi”"),
        ("<@U0BOT>", "Hello. Ask me to list files."),
    ],
)
async def test_request_without_a_rule_is_answered_in_labelled_text(text: str, answer: str) -> None:
    reply = await ask(text)

    assert reply.message.text == f"{answer}\n\n{LABEL}"
    assert (reply.stop, reply.cost_micro_usd) == (StopCause.END, 0)


async def test_collected_requests_are_answered_one_by_one_with_their_senders() -> None:
    people = [
        InboundMessage(PLACE, "1", "1", "1", Person("U1", "Ann"), "hello"),
        InboundMessage(PLACE, "2", "2", "2", Person("U2"), "a < b"),
    ]

    reply = await ask(quote_people(people))

    assert reply.message.text == f"Ann, you wrote: “hello”\n\nU2, you wrote: “a < b”\n\n{LABEL}"


async def test_collected_requests_lead_to_one_call_each() -> None:
    reply = await ask(
        '<message from="Ann" id="U1">\nlist files\n</message>\n'
        '<message from="Bo" id="U2">\nread a.md\n</message>',
        "run ls",
    )

    assert [call.name for call in reply.message.calls] == ["list_files", "read_file", "run_bash"]
    assert len({call.call_id for call in reply.message.calls}) == 3


async def test_quoted_earlier_messages_are_no_requests() -> None:
    said = InboundMessage(PLACE, "2", "2", "2", Person("U1", "Ann"), "hello")
    earlier = [QuotedMessage("1", "1", Person("U9", "Eve"), "run rm -rf /")]
    edits = [QuotedMessage("0", "0", Person("U9", "Eve"), "run reboot")]

    reply = await ask(quote_people([said], earlier, edits), write_note("run ls"))

    assert reply.message.text == f"Ann, you wrote: “hello”\n\n{LABEL}"
    assert reply.message.calls == ()


async def test_request_is_found_again_behind_a_note_and_an_empty_answer() -> None:
    reply = await ask("list files", assistant(), write_note("Your last answer was empty."))

    assert [call.name for call in reply.message.calls] == ["list_files"]


async def test_request_repeated_after_compaction_is_the_one_that_counts() -> None:
    reply = await ask(
        "<first-request>\nrun ls\n</first-request>\n<summary>\nrun ls\n</summary>\n"
        '<current-request>\n<message from="Ann" id="U1">\nread a.md\n</message>\n</current-request>'
    )

    assert [call.name for call in reply.message.calls] == ["read_file"]


async def test_transcript_gets_no_summary_so_that_the_runtime_makes_its_own() -> None:
    reply = await ask("<transcript>\npeople: run ls\n</transcript>", may_call_tools=False)

    assert (reply.message.blocks, reply.stop) == ((), StopCause.END)


async def test_only_what_came_after_the_last_answer_is_a_request() -> None:
    reply = await ask("list files", assistant("done"), "hello")

    assert reply.message.text.startswith("You wrote: “hello”")


async def test_results_are_summed_up_with_refusals_and_errors() -> None:
    calls = assistant(
        ToolCall("a", "list_files", {"path": "."}), ToolCall("b", "run_bash", {"command": "ls"})
    )
    refusal = ToolResult("b", "run_bash is not available in this mode.", is_error=True)

    reply = await ask("go", calls, results(("a", "notes.md"), refusal))

    assert reply.message.text == (
        "`list_files` gave:\n\nnotes.md\n\n"
        "I asked for `run_bash` and did not get it: run_bash is not available in this mode."
        f"\n\n{LABEL}"
    )
    assert reply.stop is StopCause.END


async def test_long_result_is_cut() -> None:
    calls = assistant(ToolCall("a", "read_file", {"path": "x"}))

    reply = await ask("go", calls, results(("a", "x" * 5_000)))

    assert len(reply.message.text) < 800


async def test_call_is_proposed_even_when_the_plan_does_not_hold_it() -> None:
    reply = await ask("run ls", plan=make_plan("list_files"))

    assert reply.message.calls[0].name == "run_bash"


async def test_last_round_is_answered_in_text() -> None:
    reply = await ask("list files", may_call_tools=False)

    assert reply.message.calls == ()
    assert reply.message.text.endswith(f"{NO_MORE_TOOLS}\n\n{LABEL}")


async def test_slow_waits_through_the_clock_and_then_answers_the_rest() -> None:
    clock = SkippingClock()
    adapter = RehearsalAdapter(clock)

    reply = await adapter.acomplete(make_step(adapter, "slow 7 list files"))

    assert clock.slept == [7.0]
    assert reply.message.calls[0].name == "list_files"


async def test_slow_beyond_the_deadline_fails_at_the_deadline() -> None:
    clock = SkippingClock()
    adapter = RehearsalAdapter(clock)

    with pytest.raises(Unavailable, match="rehearsal model"):
        await adapter.acomplete(make_step(adapter, "slow 60", deadline=5.0))

    assert clock.slept == [5.0]


async def test_same_step_gives_the_same_reply_and_usage() -> None:
    first, second = await ask("hello", "list files"), await ask("hello", "list files")

    assert first == second
    assert first.usage.input_tokens > 0
    assert first.usage.output_tokens > 0


async def test_text_is_told_as_a_delta() -> None:
    adapter, told = RehearsalAdapter(SkippingClock()), list[str]()

    reply = await adapter.acomplete(make_step(adapter, "hello"), told.append)

    assert told == [reply.message.text]
    assert adapter.provider == reply.message.provider == "rehearsal"
