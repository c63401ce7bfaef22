"""What commands answer: Markdown for the person who asked, plain and short; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from geode.ports import ChannelStatus
from geode.reply.escaping import escape_markdown, escape_unseen, quote_name

SUMMARIES: Mapping[str, str] = {
    "help": "what you may ask for here",
    "whoami": "your id and what you are here",
    "status": "what I am doing and what is left of the budget",
    "usage": "tokens and cost of this conversation and of today",
    "stop": "end what runs here and drop the messages that wait",
    "new": "begin afresh: I forget what was said in this conversation",
    "why": "which tool calls were refused, and by which rule; `why ID` tells all of one",
    "model": "which model answers",
    "effects": "effects whose outcome nobody knows, and how to settle them",
    "compact": "shorten what I carry of this conversation before the next answer",
}
"""One line for every verb that is built, in the order of /help."""

LINE_CHARS_MAX = 160
REASON_CHARS_MAX = 2_000
"""Of a refusal's reason, in a list and alone."""

NO_CONVERSATION = "There is no conversation here yet. Write to me, and it begins."
INSIDE_A_THREAD = (
    "A slash command does not tell me which thread you mean. Inside a thread, write `!{verb}`."
)
HELP = "`help` lists those you may use here."
UNKNOWN = f"I do not know that command. {HELP}"
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
    "When I take this conversation up again, I first shorten what I carry of it; what is under way "
    "now goes on. Nothing that was said here is deleted."
)
SHORT_ALREADY = "There is nothing to shorten: I carry little of this conversation."
NEW_ANYWAY = "There is nothing to shorten: the next message begins a new chapter."
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
    *, state: str, model: str, session_id: str, tokens: int, left: str, reviews: int
) -> str:
    """The first line of /status."""
    return (
        f"{state.replace('_', ' ').capitalize()} · model `{model}` · session `{session_id}` · "
        f"{tokens:,} tokens · budget left: {left} · pending reviews: {reviews} · next job: none"
    )


def describe_cards(count: int) -> list[str]:
    """The line of /status about cards that nobody has decided; none when there are none."""
    if not count:
        return []
    return ["1 card waits for an operator." if count == 1 else f"{count} cards wait for operators."]


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
    return f"{_usd(left_micro_usd)} today"


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


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A tool call that was refused: text of the model and of tools, so all of it is quoted."""

    id: str
    tool: str
    rule: str
    reason: str


def describe_refusals(refused: Sequence[RefusedCall]) -> str:
    """The calls that were refused last, newest first, each on one line."""
    if not refused:
        return NO_REFUSAL
    lines = [f"- {_say_refused(call, LINE_CHARS_MAX)}" for call in refused]
    return "\n".join(
        ["Refused last, newest first:", *lines, "`why ID` tells what would change one."]
    )


def describe_unknown_call(word: str) -> str:
    """What is said of an id that names no call of this conversation, wherever else it may."""
    return f"No call here is called {quote_name(word)}. `why` lists the last that were refused."


def describe_unknown(near: str) -> str:
    """What is said of a word that is no command, with the one that was perhaps meant."""
    return f"I do not know that command. Did you mean `{near}`? {HELP}" if near else UNKNOWN


def _say_refused(call: RefusedCall, chars_max: int) -> str:
    reason = " ".join(call.reason.split())
    reason = reason if len(reason) <= chars_max else f"{reason[: chars_max - 1]}…"
    told = escape_markdown(escape_unseen(reason))
    return f"`{call.id}` {quote_name(call.tool)}: {told} Rule: `{call.rule}`."


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
