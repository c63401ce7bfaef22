"""A decision hook and an observer as an installed package brings them."""

from __future__ import annotations

from collections import Counter

from geode.hooks.decisions import AskPerson, PreToolUse, Proceed, ProposedCall
from geode.hooks.events import TOOL_REFUSED, LifecycleEvent

CHARS_MAX = 2_000


async def ask_before_long_texts(call: ProposedCall) -> PreToolUse:
    """A person looks at every long text before it is written, saved or sent."""
    texts = [each for each in call.arguments.values() if isinstance(each, str)]
    if any(len(text) > CHARS_MAX for text in texts):
        return AskPerson("toy", f"A text of more than {CHARS_MAX} characters.")
    return Proceed()


class RefusalCount:
    """Counts refusals by rule. A class is a factory: GEODE makes one object of it at start."""

    def __init__(self) -> None:
        self.by_rule: Counter[str] = Counter()

    async def __call__(self, event: LifecycleEvent) -> None:
        """Take one event; a failure here would change nothing."""
        if event.name == TOOL_REFUSED:
            self.by_rule[str(event.body["rule"])] += 1
