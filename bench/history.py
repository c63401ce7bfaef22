"""The stored conversation that a resume starts from, the same for both sides."""

from __future__ import annotations

from dataclasses import dataclass

QUESTION = (
    "Please look at how the folder is laid out and tell me what changed since the last time, "
    "which of the files matter for the report, and what is still missing in it. "
)
REPLY = (
    "The folder holds the same files as before. The report needs the two tables and the notes; "
    "the summary is still missing, and the second table has no source named yet. "
)
LISTING = "notes.md (1,204 bytes)\nreport.md (18,332 bytes)\ntables/\nsources.txt (640 bytes)"


@dataclass(frozen=True, slots=True)
class Said:
    """One message: a text, a tool call or its result."""

    role: str
    text: str = ""
    call_id: str = ""
    path: str = ""


def make_history(count: int) -> list[Said]:
    """So many messages, in rounds of question, tool call, result, answer."""
    rounds: list[Said] = []
    for number in range(0, count, 4):
        call_id = f"toolu_past_{number}"
        rounds += [
            Said("user", f"{QUESTION}({number})"),
            Said("assistant", call_id=call_id, path=f"tables/{number}"),
            Said("user", LISTING, call_id=call_id),
            Said("assistant", f"{REPLY}({number})"),
        ]
    return rounds[:count]
