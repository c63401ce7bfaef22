"""Every combination of what can be found and said of a candidate, and what the design makes of it.

The expectation is a table of its own: it calls nothing of what it is held against.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from itertools import combinations, product

STRUCTURES = ("sound", "empty", "action required")
ERRORS = ("timeout", "garbage", "unreachable", "personal data")
JUDGES = ("pass", "fail retryable", "fail final", *ERRORS)
PRES = ("nothing", "requirement", "miss", "fails")
POSTS = ("none", "accept", "revise", "escalate", "fails")
STOPS = ("none", "continue", "fails")
ATTEMPTS = (0, 1, 2)
TIMES = (True, False)
SETTLED = (True, False)

ACCEPT, REVISE, ESCALATE, FAIL = "accept", "revise", "escalate", "fail"


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination."""

    structure: str
    judge: str
    pre: str
    post: str
    stop: str
    attempts: int
    has_time: bool
    is_settled: bool = True

    def __str__(self) -> str:
        time = "time" if self.has_time else "no time"
        effect = "settled" if self.is_settled else "unsettled"
        words = (self.judge, f"pre {self.pre}", f"post {self.post}", f"stop {self.stop}")
        return "-".join((self.structure, *words, str(self.attempts), time, effect))


@dataclass(frozen=True, slots=True)
class Expected:
    """What the design says of a cell."""

    action: str
    outcome: str
    """For the turn's row."""
    is_exhausted: bool = False
    """Another attempt was wanted, and there can be none."""


# The verdict once PreVerify has added its own: nothing it adds makes anything better.
VERDICTS = {
    ("pass", "nothing"): "passed",
    ("pass", "requirement"): "passed",
    ("pass", "miss"): "retryable",
    ("pass", "fails"): "broken",
    ("fail retryable", "nothing"): "retryable",
    ("fail retryable", "requirement"): "retryable",
    ("fail retryable", "miss"): "retryable",
    ("fail retryable", "fails"): "broken",
    ("fail final", "nothing"): "final",
    ("fail final", "requirement"): "final",
    ("fail final", "miss"): "final",
    ("fail final", "fails"): "broken",
}

# What is wanted after PostVerify. Without a decision: what passed is accepted, what may be mended
# is revised, and everything else is for a person.
WANTED: dict[str, dict[str, str]] = {
    "passed": {
        "none": ACCEPT,
        "accept": ACCEPT,
        "revise": REVISE,
        "escalate": ESCALATE,
        "fails": ESCALATE,
    },
    "retryable": {
        "none": REVISE,
        "accept": ESCALATE,
        "revise": REVISE,
        "escalate": ESCALATE,
        "fails": ESCALATE,
    },
    "final": {
        "none": ESCALATE,
        "accept": ESCALATE,
        "revise": REVISE,
        "escalate": ESCALATE,
        "fails": ESCALATE,
    },
    # Neither success nor a request for repair, whatever anybody says.
    "broken": dict.fromkeys(POSTS, ESCALATE),
    "error": dict.fromkeys(POSTS, ESCALATE),
}

AFTER_STOP = {"none": ACCEPT, "continue": REVISE, "fails": ESCALATE}
OUTCOMES = {
    "passed": "passed",
    "retryable": "failed",
    "final": "failed",
    "broken": "failed",
    "error": "verification_error",
}


def expect(cell: Cell) -> Expected:
    """What the design says: structure first, then verdict, PostVerify, Stop, and the budget."""
    may_repair = cell.attempts > 0 and cell.has_time and cell.is_settled
    if cell.structure == "action required":
        return Expected(FAIL, "model_action_required")
    if cell.structure == "empty":
        return Expected(REVISE if may_repair else FAIL, "empty_turn")
    verdict = "error" if cell.judge in ERRORS else VERDICTS[cell.judge, cell.pre]
    if verdict == "retryable" and not may_repair:  # the policy speaks before PostVerify
        return Expected(ESCALATE, "failed", is_exhausted=True)
    wanted = WANTED[verdict][cell.post]
    if wanted == ACCEPT:
        wanted = AFTER_STOP[cell.stop]
    if wanted == REVISE and not may_repair:
        return Expected(ESCALATE, OUTCOMES[verdict], is_exhausted=True)
    return Expected(wanted, OUTCOMES[verdict])


def list_cells() -> Iterator[Cell]:
    """The whole product."""
    for values in product(STRUCTURES, JUDGES, PRES, POSTS, STOPS, ATTEMPTS, TIMES, SETTLED):
        yield Cell(*values)


def choose_slice(cells: list[Cell], seed: int = 6) -> list[Cell]:
    """Few cells in which each two values of different kinds meet at least once."""
    random.Random(seed).shuffle(cells)  # noqa: S311
    pairs = {cell: frozenset(combinations(enumerate(astuple(cell)), 2)) for cell in cells}
    unmet = frozenset[object]().union(*pairs.values())
    chosen: list[Cell] = []
    for wanted in (28, 21, 15, 10, 6, 3, 1):
        for cell in cells:
            if len(pairs[cell] & unmet) >= wanted:
                chosen.append(cell)
                unmet -= pairs[cell]
    assert not unmet
    return chosen
