"""Judges a crash run from outside: the transcript, the effects' ledgers, the database at rest."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakes.crash_tale import CARD_OPEN, CARD_OVER, STATUS
from fakes.crash_towns import TelegramTown
from fakes.story import ANSWER_ONE, ANSWER_TWO

LEDGERS = {"ring_bell": "bell.txt", "send_parcel": "parcel.txt"}
ANSWERS = (ANSWER_ONE, ANSWER_TWO, STATUS)
LEFT = {
    "sessions": "SELECT state FROM sessions WHERE state != 'idle'",
    "inbox": "SELECT state FROM inbox WHERE state NOT IN ('done')",
    "outbox": "SELECT kind FROM outbox WHERE state NOT IN ('sent', 'not_applied')",
    "receipts": "SELECT tool FROM receipts WHERE state = 'prepared' "
    "OR tool = 'send_parcel' AND state != 'reconciled'",
    "turns": "SELECT id FROM turns WHERE state != 'done'",
    "cards": "SELECT c.state FROM cards c JOIN receipts r ON r.id = c.subject "
    "WHERE r.tool = 'send_parcel' AND c.state != 'decided'",
}


@dataclass(slots=True)
class Verdict:
    """What a run came to, judged from outside."""

    lost: list[str] = field(default_factory=list[str])
    doubled: list[str] = field(default_factory=list[str])
    twice: list[str] = field(default_factory=list[str])
    other: list[str] = field(default_factory=list[str])
    marked: list[str] = field(default_factory=list[str])
    """What stands twice and says so; only where a platform lets nobody look, and no failure."""
    was_reached: bool = False

    @property
    def is_good(self) -> bool:
        """Nothing lost, nothing doubled unsaid, no effect run twice, nothing odd."""
        return not (self.lost or self.doubled or self.twice or self.other)


def judge_run(told: dict[str, Any] | None, home: Path) -> Verdict:
    """Nothing lost, nothing doubled, no effect twice, nothing left open or dangling."""
    verdict = Verdict()
    if told is None:
        verdict.lost.append("the story did not come to its end")
        return verdict
    _judge_texts(verdict, told)
    if told["marks"]:
        verdict.other.append(f"marks left: {told['marks']}")
    _judge_effects(verdict, told, home)
    _judge_database(verdict, home)
    return verdict


def wait_delivered(home: Path, timeout_s: float) -> bool:
    """Whether the outbox holds nothing open, now or within that time."""
    deadline = time.monotonic() + timeout_s
    while True:
        with closing(sqlite3.connect(home / "geode.db")) as db:
            if not db.execute(LEFT["outbox"]).fetchall():
                return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.05)


def _judge_texts(verdict: Verdict, told: dict[str, Any]) -> None:
    verdict.lost += [
        answer for answer in ANSWERS if not any(answer in text for text in told["texts"])
    ]
    counts = Counter[str]()
    for text in told["texts"]:
        subject = _subject_of(text)
        counts[subject] += max(1, text.count(subject))
    surplus = [f"{subject} x{count}" for subject, count in counts.items() if count > 1]
    copies = sum(count - 1 for count in counts.values())
    left = [f"progress left: {text}" for text in told["progress"]]
    if surplus + left and copies + len(left) <= told["marked"]:
        verdict.marked += surplus + left
    else:
        verdict.doubled += surplus
        verdict.other += left


def _subject_of(text: str) -> str:
    """What a message is about: the card is one, however it reads now."""
    if CARD_OVER in text or CARD_OPEN in text:
        return CARD_OPEN
    found = next((answer for answer in ANSWERS if answer in text), "")
    return found or text.removesuffix(TelegramTown.doubled_mark)


def _judge_effects(verdict: Verdict, told: dict[str, Any], home: Path) -> None:
    for tool, name in LEDGERS.items():
        ledger = home / name
        strokes = ledger.read_text().splitlines() if ledger.exists() else []
        if len(strokes) > 1:
            verdict.twice.append(f"{tool} ran {len(strokes)} times: {strokes}")
        with sqlite3.connect(home / "geode.db") as db:
            query = "SELECT id, state FROM receipts WHERE tool = ?"
            found = db.execute(query, (tool,)).fetchall()
        for receipt, state in found:
            if state == "committed" and not strokes:
                verdict.other.append(f"{receipt} committed, but {tool} did not run")
            if state == "uncertain" and not any(receipt in text for text in told["texts"]):
                verdict.other.append(f"{receipt} is uncertain and the thread was not told")
        if strokes and not found:
            verdict.other.append(f"{tool} ran without a receipt")


def _judge_database(verdict: Verdict, home: Path) -> None:
    with sqlite3.connect(home / "geode.db") as db:
        for name, query in LEFT.items():
            rows = db.execute(query).fetchall()
            if rows:
                verdict.other.append(f"{name} left: {rows}")
        files = db.execute(
            "SELECT tool, count(*) FROM receipts WHERE state IN ('committed', 'reconciled') "
            "GROUP BY tool HAVING count(*) > 1"
        ).fetchall()
        verdict.twice += [f"{tool} x{count}" for tool, count in files]
