"""What `geode audit verify` found, as text for an operator; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from geode.cli.tables import render_table, show_time

MEANS = {
    "altered": "this row is not what was written",
    "missing": "the rows before this one are gone",
    "out of order": "this row does not belong here",
    "cut off": "the rows from here on are gone, or the session's head was changed",
    "no session": "there are rows of a session that does not exist",
}


def report_audit(found: Mapping[str, Any]) -> str:
    """How much holds, and the first bad row of each broken session."""
    counted = f"{found['rows']:,} rows of {found['sessions']:,} sessions"
    pruned = f"; {found['pruned']:,} older rows were pruned" if found["pruned"] else ""
    if not found["faults"]:
        return f"The timeline holds: {counted} are as they were written{pruned}."
    rows = [
        (
            each["session"],
            each["seq"],
            each["fault"],
            each["kind"] or "-",
            show_time(each["at_us"]) if each["at_us"] else "-",
            MEANS[each["fault"]],
        )
        for each in found["faults"]
    ]
    table = render_table(("SESSION", "ROW", "FAULT", "KIND", "AT (UTC)", "WHAT"), rows)
    return f"The timeline does not hold ({counted} were good before that{pruned}):\n\n{table}"


def report_json(found: Mapping[str, Any]) -> str:
    """The same for a program."""
    return orjson.dumps(found).decode()
