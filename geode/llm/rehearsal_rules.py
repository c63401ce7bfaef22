"""What the rehearsal model makes of a request: rules a newcomer can predict; pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from geode.messages import JsonObject, Message

_TAGGED = re.compile(r"<message\b([^>]*)>(.*?)</message>", re.DOTALL)
_CURRENT = re.compile(r"<current-request>(.*?)</current-request>", re.DOTALL)
_DATA = re.compile(
    r"<(earlier|edited|runtime-note|first-request|summary|transcript)\b[^>]*>.*?</\1>", re.DOTALL
)
_ATTRIBUTE = re.compile(r'\b(from|id)="([^"]*)"')
_SENT_BACK = re.compile(r"^Your (?:last )?answer was not (?:accepted|delivered)\b", re.MULTILINE)
_MENTION = re.compile(r"^\s*(?:(?:<@[^>]+>|@\S+)[\s,:]*)+")
_POLITE = r"(?:^|[\n:.,;]\s*)(?:(?:please|now|then|hey|hi|can you|could you)[\s,]+)*"
_URL = re.compile(r"https?://[^\s<>|\"'`)\]]+")
_SLOW = re.compile(
    _POLITE + r"slow\s+(\d+(?:\.\d+)?)(?:\s*s\b|\s+seconds?\b)?[\s,:]*", re.IGNORECASE
)
_FAIL = re.compile(r"[\s,;]*(?:\band\s+)?\bfail\s+the\s+check(\s+once)?\b[\s,:;.]*", re.IGNORECASE)
_SUM = re.compile(r"(?<![\w.])(-?\d{1,9})\s*([-+*/x])\s*(-?\d{1,9})(?![\w.])")


@dataclass(frozen=True, slots=True)
class Request:
    """What one person asked, with their name when the conversation says it."""

    sender: str
    text: str


class Failure(Enum):
    """How the first answer to a request fails its check."""

    ONCE = "once"
    """Another attempt mends it."""
    FOR_GOOD = "for good"
    """Only a person can say what happens to it."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One tool call a request leads to."""

    name: str
    arguments: JsonObject


def read_requests(messages: Sequence[Message]) -> list[Request]:
    """What people asked last: their newest messages, quoted data and notes left out."""
    found: list[Request] = []
    for message in reversed(messages):
        if message.role == "assistant" and found:
            break
        if message.role == "user":
            found = [*_split_senders(message.text), *found]
    return found


def is_repair(messages: Sequence[Message]) -> bool:
    """Whether the runtime has sent an answer to the newest request back."""
    for message in reversed(messages):
        if message.is_note and _SENT_BACK.search(message.text):
            return True
        if message.role == "user" and not message.is_note:
            return False
    return False


def is_transcript(messages: Sequence[Message]) -> bool:
    """Whether the step asks for a summary of a transcript and not for an answer."""
    return bool(messages) and messages[-1].text.startswith("<transcript>")


def _split_senders(text: str) -> list[Request]:
    current = _CURRENT.search(text)
    rest = current.group(1) if current is not None else _DATA.sub("", text)
    tagged = list(_TAGGED.finditer(rest))
    if not tagged:
        plain = _clean(rest)
        return [Request("", plain)] if plain else []
    return [
        Request(_find_sender(match.group(1)), words)
        for match in tagged
        if (words := _clean(match.group(2)))
    ]


def _find_sender(attributes: str) -> str:
    named = {key: value for key, value in _ATTRIBUTE.findall(attributes) if value}
    return named.get("from") or named.get("id") or ""


def _clean(text: str) -> str:
    return _MENTION.sub("", text.strip()).strip()


def take_delay(text: str) -> tuple[float, str]:
    """The seconds of `slow N`, and the request without those words."""
    match = _SLOW.search(text)
    if match is None:
        return 0.0, text
    return min(float(match.group(1)), 600.0), (text[: match.start()] + text[match.end() :]).strip()


def take_failure(text: str) -> str:
    """The request without the words that make its check fail."""
    return _FAIL.sub(" ", text).strip()


def find_failure(text: str) -> Failure | None:
    """How the check of a request is to fail: `fail the check`, or `fail the check once`."""
    match = _FAIL.search(text)
    return None if match is None else Failure.ONCE if match[1] else Failure.FOR_GOOD


def _rule(
    pattern: str, build: Callable[[re.Match[str]], Proposal]
) -> tuple[re.Pattern[str], Callable[[re.Match[str]], Proposal]]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL), build


def _bare(text: str | None) -> str:
    return (text or "").strip().strip("`\"'").strip()


_RULES = (
    _rule(
        _POLITE
        + r"(?:(?:list|show)\s+(?:me\s+)?(?:the\s+|all\s+|my\s+)*files|(?:what|which)\s+files)"
        r"(?:.*?\bin\s+(?P<path>[\w./-]+))?",
        lambda m: Proposal("list_files", {"path": _bare(m["path"]) or "."}),
    ),
    _rule(
        _POLITE + r"write\s+(?:the\s+)?(?:file\s+)?(?P<path>[^\s:]+)\s*:\s*(?P<content>.+)",
        lambda m: Proposal(
            "write_file", {"path": _bare(m["path"]), "content": m["content"].strip()}
        ),
    ),
    _rule(
        r"what\s+do\s+you\s+(?:remember|know)\s+about\s+(?P<query>[^?\n]+)",
        lambda m: Proposal("memory_search", {"query": _bare(m["query"])}),
    ),
    _rule(
        _POLITE + r"remember(?:\s+that)?[\s:]+(?P<text>.+)",
        lambda m: Proposal("memory_save", {"text": m["text"].strip()}),
    ),
    _rule(
        _POLITE + r"run\s+(?:the\s+command\s+)?(?P<command>[^\n]+)",
        lambda m: Proposal("run_bash", {"command": _bare(m["command"])}),
    ),
    _rule(
        _POLITE + r"(?:grep|search)\s+(?:the\s+)?(?:files\s+)?for\s+(?P<pattern>[^\n]+)",
        lambda m: Proposal("grep_files", {"pattern": _bare(m["pattern"])}),
    ),
    _rule(
        _POLITE + r"read\s+(?:the\s+)?(?:file\s+)?(?!https?:)(?P<path>[^\s,;?]+)",
        lambda m: Proposal("read_file", {"path": _bare(m["path"])}),
    ),
    _rule(
        _URL.pattern,
        lambda m: Proposal("web_fetch", {"url": m[0].rstrip(".,;:!?")}),
    ),
)


def propose(text: str) -> Proposal | None:
    """The tool call that a request leads to: the first rule that fits, whatever the plan holds."""
    for pattern, build in _RULES:
        match = pattern.search(text)
        if match is not None:
            return build(match)
    return None


def answer_in_text(request: Request) -> str:
    """An answer that needs no tool: a small sum, or the request said back."""
    found = _SUM.search(request.text)
    if found is not None and (result := _calculate(*found.groups())) is not None:
        return f"{found.group(0).strip()} = {result}"
    who = f"{request.sender}, you" if request.sender else "You"
    quoted = request.text if len(request.text) <= 500 else request.text[:499] + "…"
    return f"{who} wrote: “{quoted}”"


def _calculate(left: str, sign: str, right: str) -> str | None:
    a, b = int(left), int(right)
    if sign == "/":
        return f"{a / b:g}" if b else None
    return str({"+": a + b, "-": a - b}.get(sign, a * b))
