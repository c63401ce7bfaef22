"""What comes in loses our own secrets and keeps everything that only looks like one."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.gate_room import make_tool

from geode.messages import JsonObject
from geode.reply.redaction import REDACTED, Redactor
from geode.session.secrecy import hide_secrets
from geode.steps import Applied, Done, Ending, NotApplied, ToolContext

OURS = "sk-ant-OURS-0123456789+abc"
THEIRS = "xoxb-1234567890-somebodyelse"


def test_registered_secret_is_taken_out_in_every_spelling_and_a_stranger_stays() -> None:
    redactor = Redactor([OURS])

    taken = redactor.take_out(f"{OURS} {OURS.replace('+', '%2B')} {THEIRS}")

    assert taken == f"{REDACTED} {REDACTED} {THEIRS}"


def test_redactor_without_secrets_takes_nothing_out() -> None:
    assert Redactor().take_out(f"{OURS} {THEIRS}") == f"{OURS} {THEIRS}"


@pytest.mark.parametrize("text", ["", "plain", "a [redacted] word"])
def test_text_without_a_secret_is_the_same_object(text: str) -> None:
    assert Redactor([OURS]).take_out(text) is text


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        (Done(f"see {OURS}", names_urls=True), Done(f"see {REDACTED}", names_urls=True)),
        (NotApplied(f"no {OURS}"), NotApplied(f"no {REDACTED}")),
        (Applied(f"but {OURS}"), Applied(f"but {REDACTED}")),
    ],
)
async def test_tool_says_none_of_our_secrets(
    tmp_path: Path, ending: Ending, expected: Ending
) -> None:
    async def body(_context: ToolContext, _arguments: JsonObject) -> Ending:
        return ending

    tool = hide_secrets(make_tool("leaky", body=body).tool, Redactor([OURS]).take_out)

    assert await tool.handler(None, {}) == expected  # type: ignore[arg-type]
