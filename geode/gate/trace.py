"""The trace of one call through the gate: which rule answered what, step by step; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Stage: TypeAlias = Literal[
    "scope",
    "middleware",
    "policy",
    "schema",
    "pre_tool_use",
    "permission_request",
    "approval",
    "locks",
    "receipt",
    "dispatch",
    "post_tool_use",
]
"""The steps of the gate in their order; after a rewrite the first ones stand there again."""
Answer: TypeAlias = Literal["pass", "ask", "rewrite", "refuse"]


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step's answer and the rule that gave it."""

    stage: Stage
    answer: Answer
    rule: str
    note: str = ""
    """A few words for people, such as a hook's name; never arguments."""
