"""What a model server answers by itself: rules a reader can predict, no model in sight; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, cast

import orjson

from channels.fields import object_of, objects_of, text_of, to_object
from channels.rehearsal.model_answers import Answer, text, tool_use
from geode.messages import JsonObject, JsonValue

LABEL = "(rehearsal model server)"
ECHO_CHARS_MAX = 400
_CALL = re.compile(r"\bcall\s+(?P<name>[\w-]{1,64})\s*(?P<arguments>\{.*\})?", re.DOTALL)
_SAY = re.compile(r"\bsay\s+(?P<words>.+)", re.DOTALL)
_SPOKEN = re.compile(r"<message\b[^>]*>(.*?)</message>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the rules look at, whichever API carried it."""

    words: str
    """What was said last."""
    tools: frozenset[str]
    results: tuple[str, ...]
    """Of the calls that were answered last; not empty: they are what is to be summed up."""
    schema: JsonObject = field(default_factory=dict[str, JsonValue])
    """What the answer must fit; empty: it is free."""


def answer_by_rule(asked: Asked, number: int) -> Answer:
    """Results are summed up; `call NAME {…}` calls an offered tool; `say …` says it; else an echo.

    `number` makes the ids of calls different from each other.
    """
    if asked.results:
        return _speak("The tools gave: " + "; ".join(asked.results))
    called = _CALL.search(asked.words)
    if called is not None and called["name"] in asked.tools:
        arguments = _read_arguments(called["arguments"] or "{}")
        return Answer([tool_use(called["name"], arguments, f"toolu_{number}")], "tool_use")
    said = _SAY.search(asked.words)
    return _speak(said["words"] if said is not None else f"You wrote: “{_shorten(asked.words)}”")


def _speak(words: str) -> Answer:
    return Answer([text(f"{_shorten(words.strip())}\n\n{LABEL}")])


def _shorten(words: str) -> str:
    return words if len(words) <= ECHO_CHARS_MAX else words[: ECHO_CHARS_MAX - 1] + "…"


def _read_arguments(raw: str) -> JsonObject:
    try:
        return to_object(orjson.loads(raw))
    except orjson.JSONDecodeError:
        return {}


def read_messages(body: dict[str, Any]) -> Asked:
    """The view of an Anthropic request."""
    source = cast("JsonObject", body)
    tools = frozenset(text_of(tool, "name") for tool in objects_of(source, "tools"))
    last = (objects_of(source, "messages") or [{}])[-1]
    blocks = objects_of(last, "content")
    results = [_text_in(b.get("content")) for b in blocks if b.get("type") == "tool_result"]
    schema = object_of(object_of(object_of(source, "output_config"), "format"), "schema")
    return Asked(_last_words(_text_in(last.get("content"))), tools, tuple(results), schema)


def read_chat(body: dict[str, Any]) -> Asked:
    """The view of a Chat Completions request."""
    source = cast("JsonObject", body)
    functions = [object_of(tool, "function") for tool in objects_of(source, "tools")]
    messages = objects_of(source, "messages")
    asked = _read_turn(messages, functions, "role", "tool", "content")
    wanted = object_of(object_of(source, "response_format"), "json_schema")
    return replace(asked, schema=object_of(wanted, "schema"))


def read_responses(body: dict[str, Any]) -> Asked:
    """The view of a Responses request."""
    source = cast("JsonObject", body)
    items = objects_of(source, "input")
    if isinstance(source.get("input"), str):
        items = [{"content": source["input"]}]
    kind, output = "function_call_output", "output"
    asked = _read_turn(items, objects_of(source, "tools"), "type", kind, output)
    wanted = object_of(object_of(source, "text"), "format")
    return replace(asked, schema=object_of(wanted, "schema"))


def _read_turn(
    items: list[JsonObject], tools: list[JsonObject], key: str, result: str, content: str
) -> Asked:
    results: list[str] = []
    words = ""
    for item in reversed(items):
        if item.get(key) == result:
            results.insert(0, _text_in(item.get(content)))
        elif results or item.get("role", "user") == "user":
            words = _last_words(_text_in(item.get("content")))
            break
    return Asked(words, frozenset(text_of(tool, "name") for tool in tools), tuple(results))


def _text_in(content: JsonValue) -> str:
    if isinstance(content, str):
        return content
    parts = objects_of({"parts": content}, "parts")
    return "\n".join(words for part in parts if (words := text_of(part, "text")))


def _last_words(words: str) -> str:
    """The newest message when the words hold messages marked as such, else all of them."""
    spoken = _SPOKEN.findall(words)
    return str(spoken[-1]).strip() if spoken else words.strip()
