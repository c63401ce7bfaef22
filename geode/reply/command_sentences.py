"""What commands answer: Markdown for the person who asked, plain and short; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from geode.ports import ChannelStatus
from geode.reply.escaping import escape_markdown, escape_unseen, quote_name

SUMMARIES: Mapping[str, str] = {
    "help": "what you may ask for here",
    "whoami": "your id and what you are here",
    "status": "what I am doing and what is left of the budget",
    "usage": "tokens and cost of this conversation and of today",
    "stop": "end what runs here and drop the messages that wait",
    "new": "begin afresh: I forget what was said in this conversation",
    "why": "why tool calls were refused in this conversation",
    "model": "which model answers",
    "effects": "effects whose outcome nobody knows, and how to settle them",
    "compact": "shorten what I carry of this conversation before the next answer",
}
"""One line for every verb that is built, in the order of /help."""

NO_CONVERSATION = "There is no conversation here yet. Write to me, and it begins."
INSIDE_A_THREAD = (
    "A slash command does not tell me which thread you mean. Inside a thread, write `!{verb}`."
)
UNKNOWN = "I do not know that command. `help` lists those you may use here."
NOT_YOURS = "Only an operator of this place may use `{verb}`; ask one of them."
NOT_BUILT = "`{verb}` is not built in this version."
NOT_YOUR_REVIEW = (
    "An answer waits here for a review, and only an operator may drop it; ask one of them."
)

STOPPING = "I am stopping."
STOPPING_ALREADY = "I am stopping already."
NOTHING_RUNS = "Nothing is running here."
ASKED_SINCE = "What runs here was asked for after that, so it goes on."
APPROVAL_DENIED = "What waited for an approval is denied."
REVIEW_REJECTED = "The answer that waited for a review is dropped."
NO_REVIEW = "No answer waits for a review here."
NO_JOBS = "There are no scheduled jobs here."
NO_COMPUTER = "Computer use is off, and this version cannot switch it on."
NO_REFUSAL = "No tool call of this conversation was refused."
COMPACTION = (
    "Before the next answer I shorten what I carry of this conversation. "
    "Nothing that was said here is deleted."
)
COMPACTION_LATER = (
    "After the turn that runs now I shorten what I carry of this conversation. "
    "Nothing that was said here is deleted."
)
NEW_CHAPTER = (
    "The next message begins a new chapter: I no longer know what was said here before. "
    "Files and memory stay."
)
NEW_CHAPTER_LATER = (
    "This takes effect for the next message that I take up: it begins a new chapter, "
    "and what was said before is no longer known to me. Files and memory stay."
)


def describe_help(verbs: Iterable[str]) -> str:
    """One line for each command that this person may use and that is built."""
    lines = [f"- `{verb}`: {SUMMARIES[verb]}" for verb in SUMMARIES if verb in frozenset(verbs)]
    head = "You may use these here, as `/status` where the platform has such commands, or as"
    return "\n".join([f"{head} `!status` in a thread:", *lines])


def describe_person(person_id: str, place: str, role: str, binding: str) -> str:
    """Who somebody is to us."""
    return f"You are `{person_id}` in `{place}`. Here you are {role}. Binding: `{binding}`."


def describe_state(
    *, state: str, model: str, session_id: str, tokens: int, left: str, cards: int
) -> str:
    """The first line of /status."""
    waiting = "1 open card" if cards == 1 else f"{cards} open cards"
    return (
        f"{state.replace('_', ' ').capitalize()} · model `{model}` · session `{session_id}` · "
        f"{tokens:,} tokens · {left} · 0 reviews waiting, {waiting} · next job: none"
    )


def describe_channels(channels: Mapping[str, ChannelStatus]) -> str:
    """The health of every channel, for operators."""
    told = [
        f"{name}: {status.state}" + (f" ({status.reason})" if status.reason else "")
        for name, status in sorted(channels.items())
    ]
    return f"Channels: {', '.join(told) or 'none'}"


def describe_left(left_micro_usd: int | None) -> str:
    """What is left of the day's budget."""
    if left_micro_usd is None:
        return "no daily limit"
    return f"{_usd(left_micro_usd)} left today"


def describe_spent(name: str, *, turns: int, read: int, written: int, micro_usd: int) -> str:
    """One line of /usage; `read` and `written` are tokens."""
    counted = "1 turn" if turns == 1 else f"{turns:,} turns"
    return f"{name}: {counted}, {read:,} tokens read, {written:,} written, {_usd(micro_usd)}"


def describe_budget(per_day_usd: float | None, left_micro_usd: int | None) -> str:
    """The last line of /usage."""
    if per_day_usd is None or left_micro_usd is None:
        return "There is no daily limit."
    limit = _usd(int(per_day_usd * 1_000_000))
    return f"Budget: {limit} per day, {_usd(left_micro_usd)} left today"


def describe_model(model: str, wanted: str) -> str:
    """Which model answers; it cannot be changed from a chat."""
    told = f"The model is `{model}`."
    if not wanted:
        return told
    return f"{told} It is set in `geode.toml`, under `[agent]`, `model`, and not from a chat."


def describe_effects(uncertain: Sequence[tuple[str, str]]) -> str:
    """Tool and receipt of each effect that waits for a person's word."""
    if not uncertain:
        return "No effect of this conversation has an unknown outcome."
    lines = [f"- `{tool}`: `{receipt_id}`" for tool, receipt_id in uncertain]
    return "\n".join(
        [
            "Nobody knows whether these happened. Nothing of them is run again by itself.",
            *lines,
            "Settle each on its card, or with `geode effects settle ID happened` or "
            "`geode effects settle ID did-not`.",
        ]
    )


def describe_refusals(refused: Sequence[tuple[str, ...]]) -> str:
    """Tool, rule and reason of the calls that were refused last, newest first."""
    if not refused:
        return NO_REFUSAL
    lines = [
        f"- {quote_name(tool)}: {escape_markdown(escape_unseen(reason))} Rule: `{rule}`"
        for tool, rule, reason in refused
    ]
    return "\n".join(["Refused last, newest first:", *lines])


def describe_stop(said: str, dropped: int) -> str:
    """What /stop did, with the messages that are not answered any more."""
    if not dropped:
        return said
    if dropped == 1:
        return f"{said} 1 message that waited was dropped."
    return f"{said} {dropped} messages that waited were dropped."


def tell_others(name: str, answer: str) -> str:
    """What a thread is told of a command that was given and answered in private."""
    return f"Asked by {quote_name(name)}: {answer}"


def _usd(micro_usd: int) -> str:
    return f"${micro_usd / 1_000_000:.2f}"
