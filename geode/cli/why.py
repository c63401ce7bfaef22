"""Why a tool call was allowed or refused, as text for an operator; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geode.cli.tables import render_pairs, render_table, show_text, show_time

Answer = Mapping[str, Any]
LINE_CHARS_MAX = 2_400


def report_why(answer: Answer) -> str:
    """The last calls of a session, one a line; or one call with every step of the gate."""
    return _report_call(answer["call"]) if "call" in answer else _report_calls(answer)


def _report_calls(answer: Answer) -> str:
    if not answer["calls"]:
        return "No tool call yet."
    rows = [
        (row["id"], row["answer"], row["tool"], row["rule"], show_time(row["at_us"]), row["reason"])
        for row in answer["calls"]
    ]
    table = render_table(("CALL", "ANSWER", "TOOL", "RULE", "AT (UTC)", "REASON"), rows)
    return f"{table}\n\nAll about one: geode sessions why ID CALL"


def _report_call(call: Answer) -> str:
    head = render_pairs(
        [
            ("call", f"{call['id']} of session {call['session']}, operation {call['operation']}"),
            ("tool", call["tool"]),
            ("answer", f"{call['answer']} ({call['rule']})"),
            ("at", show_time(call["at_us"])),
            ("ended", call["ending"].replace("_", " ") or "-"),
        ]
    )
    steps = [
        (number, step["stage"].replace("_", " ") or "-", step["answer"], step["rule"], _what(step))
        for number, step in enumerate(call["steps"], start=1)
    ]
    parts = [head, render_table(("STEP", "STAGE", "ANSWER", "RULE", "WHAT"), steps)]
    told = (
        ("Reason", call["reason"]),
        ("What would change it", call["change"]),
        ("Decided again with the present settings, for comparison", call["now"]),
        ("Arguments", call["arguments"]),
    )
    parts += [f"{name}: {show_text(text, LINE_CHARS_MAX)}" for name, text in told if text]
    return "\n\n".join(parts)


def _what(step: Answer) -> str:
    return f"{step['means']} ({step['note']})" if step["note"] else str(step["means"])
