"""One message and what came of it: for `geode ask`, and for lines that come through a pipe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geode.cli.chat_card import ShownCard, read_card
from geode.cli.chat_files import ArrivedFile, read_files
from geode.cli.chat_talk import OVER, Talk
from geode.messages import DELIVERABLE
from geode.reply.sentences import POINTERS

ANSWERED = 0
FAILED = 1
AWAITING = 2
REVIEWING = 3
"""The answer did not pass its check and waits for an operator."""
UNANSWERED = {
    "removed": "The message was dropped before it was taken up.",
    "skipped": "The message was too old to act on when it arrived.",
}
"""What became of messages that no turn took."""
WAITS_FOR_REVIEW = (
    "The answer did not pass its check and waits for an operator; "
    "look at it with: geode reviews show {id}"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one message came to."""

    code: int
    text: str
    """What was answered, or why nothing was."""
    state: str
    reason: str
    files: tuple[ArrivedFile, ...] = ()
    cards: tuple[ShownCard, ...] = ()
    """Decisions that wait for somebody."""
    termination: str = ""
    """How the turn ended, as a mark: `EXTERNAL_VERIFICATION_REQUIRED` has no answer."""
    verification: str = ""
    review: str = ""
    """The review that has to be decided before there is an answer."""


async def ask_once(
    talk: Talk, text: str, files: tuple[Path, ...] = (), *, skips_verification: bool = False
) -> Outcome:
    """Say something, and wait until it is answered, refused, or waits for a decision."""
    said = await talk.say(text, files, skips_verification=skips_verification)
    rows: dict[str, dict[str, Any]] = {}
    if not talk.awaited:
        return await _hear_command(talk, said)
    async for news in talk.listen():
        rows |= {row["id"]: row for row in news.rows}
        if news.about == said["id"] and news.asking["state"] in OVER:
            return conclude(rows, news.asking)
    raise AssertionError("a listener has no end")


def conclude(rows: dict[str, dict[str, Any]], asking: Any) -> Outcome:
    """What a message came to, from what its client was told; pure."""
    cards = tuple(
        card for row in rows.values() if (card := read_card(row)) is not None and card.buttons
    )
    marks = {name: asking[name] for name in ("termination", "verification", "review")}
    if asking["review"]:
        return Outcome(REVIEWING, "", "awaiting_review", asking["reason"], **marks)
    if asking["state"] == "awaiting":
        return Outcome(AWAITING, "", "awaiting", "", cards=cards)
    ours = [rows[each] for each in asking["message_ids"] if each in rows]
    words = [row["markdown"] for row in ours if row["markdown"] not in POINTERS]
    files = tuple(file for row in ours for file in read_files(row))
    reason = asking["reason"]
    words = words or [UNANSWERED[reason]] if reason in UNANSWERED else words
    code = ANSWERED if reason in DELIVERABLE else FAILED
    return Outcome(code, "\n\n".join(words), "answered", reason, files, cards, **marks)


async def _hear_command(talk: Talk, said: dict[str, Any]) -> Outcome:
    """A command, or a message that was not taken: what the runtime says to it."""
    is_obeyed = said["outcome"] == "answered"
    code, text = ANSWERED if is_obeyed else FAILED, said["answer"]
    async for news in talk.listen():
        words = [row["markdown"] for row in news.rows if row["kind"] == "notice"]
        text = "\n\n".join(words) or text
        if words or not news.is_busy:
            break
    return Outcome(code, text, said["outcome"], said["reason"])
