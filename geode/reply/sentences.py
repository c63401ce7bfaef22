"""Every sentence the runtime says by itself in a thread: plain, and with what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from geode.messages import Person
from geode.reply.escaping import quote_name

WORKING = "Working on it …"
ANSWERED_BELOW = "Answered below."
DECIDED_ABOVE = "Decided above."
POINTERS = (ANSWERED_BELOW, DECIDED_ABOVE)
"""What a message of ours says once another one says what matters; alone it is worth nothing."""
NOT_VERIFIED = "(Not verified: the check was skipped for this answer, as asked.)"
POSSIBLY_DOUBLED = "possibly doubled"
"""Recorded of a part that was sent once more because nobody could look for it."""
POSSIBLY_LOST = "sent twice, and nobody can tell whether it arrived"
COPY_LOST = "its copy is gone or was changed"
"""Why a file is not sent that was kept for it."""
HELD = "I am still working on the message before; yours is kept and comes next."
HELD_FOR_REVIEW = (
    "An answer of mine waits here for a person's decision; your message is kept and comes after it."
)
OVERLOADED = (
    "Too many messages are waiting in this thread, so this one was not taken. "
    "Please send it again once I have answered."
)
OVERLOADED_ALL = (
    "I have more messages waiting than I may take on, so this one was not taken. "
    "Please send it again later."
)
TOO_OLD = (
    "Messages that arrived here while I was away are too old to act on now; "
    "please send what is still needed again."
)
BUTTON_UNKNOWN = "This button decides nothing any more; nothing was changed."
DECIDED_MEANWHILE = "Somebody else decided this a moment ago; nothing was changed."
ONLY_OPERATORS = "Only an operator of this place can decide this; nothing was changed."
ONLY_APPROVERS = "Only an approver of this place can decide this; nothing was changed."
ANOTHER_PERSON = (
    "You asked for this yourself, and here somebody else has to approve it; nothing was changed."
)
PRESS_AGAIN = "That press did not decide anything, and the card is still open: please press again."
WORDS_MISSING = "This needs a few words; please press again and write them. Nothing was changed."
FAULT = "Something went wrong while I took this, so nothing was done. It is in the log."
POISONED = (
    "I tried this three times and had to stop in the middle each time, so I gave it up. "
    "Please ask in another way, or ask an operator to look at the log."
)


def describe_missing_files(faults: Mapping[str, str]) -> str:
    """One line about files that an answer names and that do not come with it, by their path."""
    told = "; ".join(f"`{path.replace('`', '')}` ({reason})" for path, reason in faults.items())
    return f"I could not attach {told}."


def describe_large_file(name: str, bytes_max: int) -> str:
    """What a thread is told about a file that its platform does not take."""
    if bytes_max <= 0:
        return describe_refused_file(name, "this platform takes no files from me")
    return describe_refused_file(name, f"files may have {bytes_max:,} bytes here")


def describe_refused_file(name: str, reason: str) -> str:
    """What a thread is told when its platform does not take a file."""
    return f"`{name.replace('`', '')}` could not be attached: {reason.rstrip('.')}."


def describe_progress(phase: str, tools: tuple[str, ...], elapsed_s: float) -> str:
    """One line of progress: what is being done and for how long; never candidate text."""
    doing = f"using {', '.join(f'`{tool}`' for tool in tools)}" if tools else phase
    return f"Working on it: {doing} ({int(elapsed_s)} s)"


ASKERS_NAMED_MAX = 3


def sign_message(agent_name: str, askers: Sequence[Person], text: str) -> str:
    """A message for another place under a line that says who speaks and for whom."""
    names = [quote_name(f"{each.name} ({each.id})" if each.name else each.id) for each in askers]
    shown = ", ".join(names[:ASKERS_NAMED_MAX])
    more = " and others" if len(names) > ASKERS_NAMED_MAX else ""
    whom = f"at the request of {shown}{more}" if names else "by a task of its own"
    return f"*Sent by {quote_name(agent_name)} {whom}:*\n\n{text}"


def describe_move(old_key: str, new_key: str) -> str:
    """What an operator is told while a binding names a channel by an id it had before."""
    return f"{old_key} has another id now: write {new_key.partition(':')[2]} in its binding."
