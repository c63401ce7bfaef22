"""Reviews as text for an operator; nothing in them acts on the terminal; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from geode.cli.tables import render_pairs, render_table, show_text, show_time
from geode.reply.escaping import escape_unseen
from geode.reply.review_cards import describe_word
from geode.settings import TERMINAL

Answer = Mapping[str, Any]
MISSES_CHARS_MAX = 2_000
AGES = ((86_400, "d"), (3_600, "h"), (60, "min"))
NONE_OPEN = "No answer waits for a review."
LOOK = "Look at one: geode reviews show ID"
PERSONAL = (
    "The answer may hold somebody's personal data, so it is not shown here by itself; "
    "geode reviews show {id} --personal shows it."
)
DECIDE = (
    "Decide: geode reviews decide {id} --release, --revise WORDS, --reject REASON{more}",
    ", --judge-again",
)


def report_json(answer: Answer) -> str:
    """One line of plain characters."""
    return json.dumps(answer, ensure_ascii=True)


def report_reviews(answer: Answer) -> str:
    """One line an open review."""
    if not answer["reviews"]:
        return NONE_OPEN
    rows = [
        (row["id"], _show_age(row["age_s"]), row["outcome"], row["place"], _join(row["misses"]))
        for row in answer["reviews"]
    ]
    return f"{render_table(('REVIEW', 'AGE', 'CHECK', 'PLACE', 'WHY'), rows)}\n\n{LOOK}"


def report_review(answer: Answer) -> str:
    """All about one: the answer whole, line by line behind a mark that it cannot forge."""
    parts = [render_pairs(_list_facts(answer))]
    parts += [f"Why: {show_text(each, MISSES_CHARS_MAX)}" for each in answer["misses"]]
    if "candidate" not in answer:
        return "\n\n".join([*parts, PERSONAL.format(id=answer["id"]), _tell_how(answer)])
    if answer["reflection"]:
        parts.append(f"What the judge says of it:\n{quote_lines(answer['reflection'])}")
    parts += [_report_seen(each) for each in answer["evidence"]]
    parts.append(f"The answer:\n{quote_lines(answer['candidate'])}")
    return "\n\n".join([*parts, _tell_how(answer)]).rstrip()


def report_decided(answer: Answer) -> str:
    """What was recorded, and where the answer will stand."""
    said = f"{answer['id']}: {describe_word(answer['state'])} By {show_text(answer['decided_by'])}."
    if answer["platform"] == TERMINAL:
        return f"{said} Read on: geode chat --name {show_text(answer['conversation'])}"
    return said


def quote_lines(text: str) -> str:
    """The text whole, each line behind a bar, with every unseen character written out."""
    return "\n".join(f"| {line}" for line in escape_unseen(text).split("\n"))


def _list_facts(answer: Answer) -> list[tuple[str, object]]:
    decided = f"by {answer['decided_by']}, {show_time(answer['decided_at_us'])} UTC"
    facts: list[tuple[str, object]] = [
        ("review", answer["id"]),
        ("state", describe_word(answer["state"])),
        ("decided", decided if answer["decided_by"] else ""),
        ("words", answer["words"]),
        ("place", answer["place"] or "-"),
        ("session", f"{answer['session']}, turn {answer['turn']}, answer {answer['number']}"),
        ("asked", f"{show_time(answer['asked_at_us'])} UTC, {_show_age(answer['age_s'])} ago"),
        ("check", f"{answer['outcome']} ({answer['rule']})"),
        ("hash", answer["candidate_hash"]),
    ]
    return [(name, value) for name, value in facts if value]


def _report_seen(seen: Mapping[str, Any]) -> str:
    failed = ", an error" if seen["is_error"] else ""
    head = f"The agent saw ({show_text(seen['tool'])}{failed}):"
    return f"{head}\n{quote_lines(seen['text'])}"


def _tell_how(answer: Answer) -> str:
    if answer["state"] != "open":
        return ""
    sentence, again = DECIDE
    more = again if answer["outcome"] == "verification_error" else ""
    return sentence.format(id=answer["id"], more=more)


def _join(misses: Sequence[str]) -> str:
    return "; ".join(misses) or "-"


def _show_age(age_s: int) -> str:
    for size, unit in AGES:
        if age_s >= size:
            return f"{age_s // size} {unit}"
    return f"{age_s} s"
