"""The demo's summary counts what the thread shows, so a lost or doubled answer fails it."""

from __future__ import annotations

from typing import Any

import pytest

from geode.cli.demo_count import LABEL, Said, count_thread
from geode.reply import sentences

SAID = (
    Said("1", "Wrote the new file"),
    Said("2", "`run_bash`"),
    Said("3", "17 * 3 = 51"),
    Said("4", "100 - 58 = 42"),
)
WRITTEN = {"state": "committed"}


def _person(ts: str) -> dict[str, Any]:
    return {"ts": ts, "text": "a question", "is_deleted": False}


def _bot(ts: str, text: str, *, is_deleted: bool = False) -> dict[str, Any]:
    return {"ts": ts, "text": text, "bot_id": "BBOT", "is_deleted": is_deleted}


def _thread() -> list[dict[str, Any]]:
    return [
        *(_person(one.ts) for one in SAID),
        _bot("11", f"Wrote the new file a.md\n\n{LABEL}"),
        _bot("12", f"I asked for `run_bash` and did not get it: Refused (x): y\n\n{LABEL}"),
        _bot("13", sentences.HELD),
        _bot("14", f"17 * 3 = 51\n\n100 - 58 = 42\n\n{LABEL}"),
    ]


def _answer_apart(thread: list[dict[str, Any]]) -> None:
    thread[7:] = [_bot("14", f"17 * 3 = 51 {LABEL}"), _bot("15", f"100 - 58 = 42 {LABEL}")]


def test_whole_thread_has_no_fault() -> None:
    tally = count_thread(SAID, _thread(), [WRITTEN], 0)

    assert tally.faults == []
    assert (tally.messages, tally.answers, tally.lost, tally.doubled) == (4, 3, 0, 0)


def test_deleted_message_is_no_answer() -> None:
    thread = _thread()
    thread[4]["is_deleted"] = True

    assert count_thread(SAID, thread, [WRITTEN], 0).lost == 1


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        pytest.param(lambda t: t.pop(4), "never answered", id="lost"),
        pytest.param(lambda t: t.append({**t[4], "ts": "20"}), "more than once", id="doubled"),
        pytest.param(lambda t: t.append(_bot("20", LABEL)), "belong to no message", id="unasked"),
        pytest.param(lambda t: t.append(_person("20")), "never answered", id="unknown question"),
        pytest.param(lambda t: t.pop(6), "told to wait 0 times", id="not told"),
        pytest.param(lambda t: t.append({**t[6], "ts": "20"}), "wait 2 times", id="told twice"),
        pytest.param(
            lambda t: t[5].update(text=f"`run_bash` failed {LABEL}"), "its reason", id="no reason"
        ),
        pytest.param(_answer_apart, "not collected", id="two turns"),
    ],
)
def test_thread_with_a_fault_is_told(change: Any, fault: str) -> None:
    thread = _thread()
    change(thread)

    faults = count_thread(SAID, thread, [WRITTEN], 0).faults

    assert [sentence for sentence in faults if fault in sentence], faults


@pytest.mark.parametrize(
    ("effects", "refused", "fault"),
    [
        pytest.param([], 0, "0 effects", id="no effect"),
        pytest.param([WRITTEN, WRITTEN], 0, "2 effects", id="effect twice"),
        pytest.param([WRITTEN, {"state": "uncertain"}], 0, "unknown outcome", id="uncertain"),
        pytest.param([WRITTEN], 3, "refused 3 calls", id="refused call"),
    ],
)
def test_effects_and_refused_calls_are_counted(
    effects: list[dict[str, Any]], refused: int, fault: str
) -> None:
    faults = count_thread(SAID, _thread(), effects, refused).faults

    assert len(faults) == 1
    assert fault in faults[0]
