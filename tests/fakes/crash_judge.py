"""Judges a crash run from outside: the transcript, the bell's ledger, the database at rest."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

from fakes.crash_world import Verdict
from fakes.story import ANSWER_ONE, ANSWER_TWO

ALLOWED_REFUSALS = {"reactions.remove: no_reaction", "reactions.add: already_reacted"}


def judge_run(told: dict[str, Any] | None, home: Path) -> Verdict:
    """Nothing lost, nothing doubled, no effect twice, nothing left open or dangling."""
    verdict = Verdict()
    if told is None:
        verdict.lost.append("the story did not come to its end")
        return verdict
    for answer in (ANSWER_ONE, ANSWER_TWO):
        count = sum(text.count(answer) for text in told["texts"])
        if count == 0:
            verdict.lost.append(answer)
        elif count > 1:
            verdict.doubled.append(f"{answer} x{count}")
    for text, count in Counter(told["texts"]).items():
        if count > 1 and text not in (ANSWER_ONE, ANSWER_TWO):
            verdict.doubled.append(f"{text} x{count}")
    if told["progress"]:
        verdict.other.append(f"progress left: {told['progress']}")
    if told["marks"]:
        verdict.other.append(f"marks left: {told['marks']}")
    _judge_bell(verdict, told, home)
    _judge_database(verdict, home)
    return verdict


def _judge_bell(verdict: Verdict, told: dict[str, Any], home: Path) -> None:
    ledger = home / "bell.txt"
    strokes = ledger.read_text().splitlines() if ledger.exists() else []
    verdict.twice += [line for line, count in Counter(strokes).items() if count > 1]
    if len(strokes) > 1:
        verdict.twice.append(f"{len(strokes)} strokes")
    with sqlite3.connect(home / "geode.db") as db:
        bell = db.execute("SELECT id, state FROM receipts WHERE tool = 'ring_bell'").fetchall()
    for receipt, state in bell:
        if state == "committed" and not strokes:
            verdict.other.append(f"{receipt} committed, but the bell did not ring")
        if state == "uncertain" and not any(receipt in text for text in told["texts"]):
            verdict.other.append(f"{receipt} is uncertain and the thread was not told")
    if strokes and not bell:
        verdict.other.append("the bell rang without a receipt")


def _judge_database(verdict: Verdict, home: Path) -> None:
    with sqlite3.connect(home / "geode.db") as db:
        left = {
            "sessions": "SELECT state FROM sessions WHERE state != 'idle'",
            "inbox": "SELECT state FROM inbox WHERE state NOT IN ('done')",
            "outbox": "SELECT kind FROM outbox WHERE state NOT IN ('sent', 'not_applied')",
            "receipts": "SELECT tool FROM receipts WHERE state = 'prepared'",
            "turns": "SELECT id FROM turns WHERE state != 'done'",
        }
        for name, query in left.items():
            rows = db.execute(query).fetchall()
            if rows:
                verdict.other.append(f"{name} left: {rows}")
        files = db.execute(
            "SELECT tool, count(*) FROM receipts WHERE state IN ('committed', 'reconciled') "
            "GROUP BY tool HAVING count(*) > 1"
        ).fetchall()
        verdict.twice += [f"{tool} x{count}" for tool, count in files]
