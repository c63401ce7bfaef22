"""Evidence is written in order and redacted, and whatever befalls it changes nothing else."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from geode.messages import JsonObject, SessionId
from geode.records import evidence, evidence_file
from geode.records.evidence import EvidenceLedger
from geode.records.evidence_file import list_files, prune_files
from geode.records.evidence_rows import evidence_of
from geode.reply.redaction import Redactor
from geode.store.timeline import AppendedEntry, TimelineEntry

DAY_US = 86_400_000_000
NOON_US = 20_000 * DAY_US + DAY_US // 2  # 2024-10-04
SECRET = "hunter2hunter2"
VERDICT: JsonObject = {
    "action": "escalate",
    "rule": "verification_error",
    "outcome": "verification_error",
    "structure": "sound",
    "attempt": 1,
    "misses": ["The answer names Ada's address"],
    "miss_codes": ["judge_timed_out"],
    "candidate": "c" * 64,
    "request_hash": "d" * 64,
    "judge_model": "anthropic/claude",
    "judge_calls": 1,
    "judge_input_tokens": 100,
    "judge_output_tokens": 10,
    "judge_cost_micro_usd": None,
    "elapsed_ms": 12,
}


def append(kind: str, seq: int = 1, at_us: int = NOON_US, **body: Any) -> AppendedEntry:
    entry = TimelineEntry(kind, body, "t1")
    return AppendedEntry(SessionId("s1"), entry, seq, f"{seq:064x}", at_us)


def end(seq: int, at_us: int = NOON_US) -> AppendedEntry:
    return append("turn_ended", seq, at_us, reason="natural", verification="passed")


def write(folder: Path, *appended: AppendedEntry) -> EvidenceLedger:
    """A process that hears of these and ends."""
    ledger = EvidenceLedger(folder, Redactor([SECRET]))
    ledger.record(appended)
    ledger.close()
    return ledger


def read(folder: Path) -> list[dict[str, Any]]:
    """Every whole row, in the order of the days."""
    lines = [line for path in list_files(folder / "evidence") for line in _lines(path)]
    return [json.loads(line) for line in lines]


def _lines(path: Path) -> Iterator[str]:
    for line in path.read_text().splitlines():
        if line.startswith("{") and line.endswith("}"):
            yield line


def test_verdict_is_told_by_codes_hashes_and_figures(tmp_path: Path) -> None:
    write(tmp_path, append("verification", 7, **VERDICT))

    (row,) = read(tmp_path)
    assert row == {
        "n": 1,
        "at": "2024-10-04T12:00:00.000Z",
        "kind": "verification_policy",
        "session": "s1",
        "turn": "t1",
        "attempt": 1,
        "structure": "sound",
        "outcome": "verification_error",
        "rule": "verification_error",
        "action": "escalate",
        "candidate": "c" * 64,
        "request_hash": "d" * 64,
        "miss_codes": ["judge_timed_out"],
        "judge_model": "anthropic/claude",
        "judge_calls": 1,
        "judge_input_tokens": 100,
        "judge_output_tokens": 10,
        "judge_cost_micro_usd": None,
        "elapsed_ms": 12,
        "timeline_seq": 7,
        "timeline_hash": f"{7:064x}",
    }


@pytest.mark.parametrize(
    ("kind", "body", "told"),
    [
        (
            "tool_call",
            {"operation": "r1", "tool": "write_file", "effect": "mutate", "rule": "granted"},
            {"operation": "r1", "tool": "write_file", "effect": "mutate", "rule": "granted"},
        ),
        (
            "tool_refused",
            {"operation": "r1", "tool": "rm -rf\n/", "rule": "scope", "reason": "words"},
            {"operation": "r1", "rule": "scope"},
        ),
        (
            "tool_outcome",
            {"operation": "r1", "tool": "look", "ending": "failed", "text": "w", "elapsed_ms": 3},
            {"operation": "r1", "tool": "look", "ending": "failed", "elapsed_ms": 3},
        ),
        (
            "approval_ended",
            {"operation": "r1", "tool": "look", "state": "denied", "by": "a: b\n", "words": "w"},
            {"operation": "r1", "tool": "look", "state": "denied"},
        ),
        (
            "review_decided",
            {"review": "v1", "candidate": "c", "state": "rejected", "by": "slack:U1", "words": "w"},
            {"review": "v1", "candidate": "c", "state": "rejected", "by": "slack:U1"},
        ),
    ],
    ids=["call", "refusal", "ending", "approval", "review"],
)
def test_row_has_no_words_of_anybody(kind: str, body: JsonObject, told: JsonObject) -> None:
    row = evidence_of(append(kind, **body))

    assert row is not None
    assert {key: row[key] for key in told} == told
    assert "words" not in row
    assert "reason" not in row
    assert "rm -rf" not in json.dumps(row)


def test_what_is_no_evidence_is_not_written(tmp_path: Path) -> None:
    write(tmp_path, append("compacted", 1, summary="words"))

    assert not (tmp_path / "evidence").exists()


def test_secrets_are_replaced_and_the_line_stays_json(tmp_path: Path) -> None:
    write(tmp_path, append("turn_started", 1, number=1, model=f"local/{SECRET}"))

    (row,) = read(tmp_path)
    assert row["model"] == "local/[redacted]"
    assert SECRET not in next(iter(list_files(tmp_path / "evidence"))).read_text()


class Garbling:
    """A redactor that takes a quotation mark along."""

    def redact(self, text: str) -> str:
        return text.replace('"natural"', "[redacted]")

    def take_out(self, text: str) -> str:
        return text


def test_row_that_redaction_breaks_is_withheld(tmp_path: Path) -> None:
    ledger = EvidenceLedger(tmp_path, Garbling())
    ledger.record([end(1), end(2)])
    ledger.close()

    assert [(row["n"], row["kind"]) for row in read(tmp_path)] == [(1, "withheld"), (2, "withheld")]


def test_each_day_has_its_file_for_the_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write(tmp_path, end(1), end(2, NOON_US + DAY_US // 2 - 1), end(3, NOON_US + DAY_US // 2))
    finally:
        os.umask(before)

    files = list_files(tmp_path / "evidence")
    assert [path.name for path in files] == [
        "evidence-2024-10-04.jsonl",
        "evidence-2024-10-05.jsonl",
    ]
    assert [path.stat().st_mode & 0o777 for path in files] == [0o600, 0o600]
    assert (tmp_path / "evidence").stat().st_mode & 0o777 == 0o700
    assert [row["n"] for row in read(tmp_path)] == [1, 2, 3]


def test_numbers_go_on_over_restarts_days_and_a_clock_set_back(tmp_path: Path) -> None:
    for at_us in (NOON_US, NOON_US + 3 * DAY_US, NOON_US, NOON_US + DAY_US):
        write(tmp_path, end(1, at_us), end(2, at_us))

    assert sorted(row["n"] for row in read(tmp_path)) == [*range(1, 9)]


TORN = ['{"n": 3, "at": "20', '{"n": 3}{"n"', "\x00\x00\x00", '{"n": "3"}', "3", '{"n": true'[:-2]]


@pytest.mark.parametrize("torn", TORN, ids=range(len(TORN)))
def test_torn_last_line_is_closed_and_the_numbers_go_on(tmp_path: Path, torn: str) -> None:
    write(tmp_path, end(1), end(2))
    (path,) = list_files(tmp_path / "evidence")
    with path.open("a") as opened:
        opened.write(torn)

    write(tmp_path, end(3))

    lines = path.read_text().split("\n")
    assert lines[2] == torn
    assert json.loads(lines[3])["n"] == 3
    assert lines[4:] == [""]


def test_wide_file_is_made_narrow_again(tmp_path: Path) -> None:
    write(tmp_path, end(1))
    (path,) = list_files(tmp_path / "evidence")
    path.chmod(0o644)

    write(tmp_path, end(2))

    assert path.stat().st_mode & 0o777 == 0o600


def test_link_in_the_files_place_is_not_followed(tmp_path: Path) -> None:
    folder, target = tmp_path / "evidence", tmp_path / "other"
    folder.mkdir()
    target.write_text("")
    (folder / "evidence-2024-10-04.jsonl").symlink_to(target)

    ledger = write(tmp_path, end(1))

    assert (ledger.lost, target.read_text()) == (1, "")


def test_folder_that_cannot_be_made_costs_a_log_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "evidence").write_text("in the way")
    ledger = EvidenceLedger(tmp_path, Redactor())

    for number in range(1, 4):
        ledger.record([end(number)])
    ledger.close()

    assert ledger.lost == 3
    assert capsys.readouterr().out.count("evidence_not_written") == 1


class Disk:
    """Writes only so many bytes, then it is full, until there is room again."""

    def __init__(self, room: int) -> None:
        self.room = room
        self._write = os.write

    def write(self, descriptor: int, content: Any) -> int:
        taken = min(self.room, len(content))
        if not taken:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= taken
        return self._write(descriptor, bytes(content[:taken]))


def test_full_disk_loses_rows_says_how_many_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, end(1))
    disk = Disk(400)
    monkeypatch.setattr(evidence_file.os, "write", disk.write)
    ledger = EvidenceLedger(tmp_path, Redactor())
    ledger.record([end(number) for number in range(2, 12)])
    wait_until(lambda: ledger.lost == 10)

    disk.room = 1_000_000
    ledger.record([end(12)])
    ledger.close()

    rows = read(tmp_path)
    whole = [row["n"] for row in rows]
    assert whole == [*range(1, len(rows) + 1)]
    assert [row["count"] for row in rows if row["kind"] == "evidence_lost"] == [10]
    assert rows[-1]["timeline_seq"] == 12


def test_slow_disk_keeps_nobody_up_and_what_is_too_much_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    append_lines = evidence_file.append_lines

    def wait(path: Path, lines: Sequence[bytes]) -> None:
        go_on.wait(10)
        append_lines(path, lines)

    monkeypatch.setattr(evidence, "append_lines", wait)
    monkeypatch.setattr(evidence, "WAITING_MAX", 20)
    ledger = EvidenceLedger(tmp_path, Redactor())
    for number in range(100):
        ledger.record([end(number)])
    lost = ledger.lost
    go_on.set()
    ledger.close()

    assert lost >= 100 - 20 - evidence.BATCH_MAX
    assert lost > 0
    rows = [row for row in read(tmp_path) if row["kind"] == "turn_ended"]
    assert len(rows) == 100 - ledger.lost
    assert [row["timeline_seq"] for row in rows] == [*range(len(rows))]


def test_old_days_are_dropped(tmp_path: Path) -> None:
    write(tmp_path, *(end(1, NOON_US + day * DAY_US) for day in range(3)))

    gone = prune_files(tmp_path / "evidence", date(2024, 10, 6))

    assert gone == 2
    assert [row["n"] for row in read(tmp_path)] == [3]


def wait_until(is_so: Callable[[], bool]) -> None:
    """Poll what another thread does; fails after a while."""
    pause = threading.Event()
    for _ in range(1_000):
        if is_so():
            return
        pause.wait(0.01)
    raise AssertionError
