"""What hooks make of a call that has ended: text added as data, or the result withheld."""

from __future__ import annotations

from dataclasses import dataclass, replace

from geode.gate.admit import Admitted
from geode.gate.settle import say
from geode.gate.trace import TraceStep
from geode.hooks.decisions import AddContext, EndedCall, PostToolUse, ProposedCall, Withhold
from geode.hooks.registry import HookRegistry
from geode.records.call_entries import CallEnding
from geode.records.outcomes import explain_uncertain
from geode.store.receipts import ReceiptState, Settlement
from geode.tools.urls import find_urls


@dataclass(frozen=True, slots=True)
class Afterword:
    """What the model is to see beside the result, or in its place."""

    added: str = ""
    withheld: str = ""
    """Not empty: the sentence that stands for the result."""
    trace: tuple[TraceStep, ...] = ()

    def apply(self, text: str) -> str:
        """The text as the model sees it."""
        return self.withheld or (say(text + self.added) if self.added else text)

    def keeps_urls(self, *, named: bool) -> bool:
        """Whether the addresses in the text may still be opened: a hook's own never may.

        Text cannot be taken apart again once it is stored, so a hook's address closes them all.
        """
        return named and not self.withheld and not find_urls(self.added)


NOTHING_SAID = Afterword()


async def ask_hooks(
    hooks: HookRegistry, admitted: Admitted, ending: CallEnding, text: str, *, is_error: bool
) -> Afterword:
    """Show an ended call to the PostToolUse hooks; one that fails withholds."""
    if not hooks.has_hooks:
        return NOTHING_SAID
    answers = await hooks.post_tool_use(EndedCall(show(admitted), ending, text, is_error))
    return read_answers(admitted.tool.name, answers)


def read_answers(tool: str, answers: tuple[PostToolUse, ...]) -> Afterword:
    """The hooks' answers together: one that withholds outweighs all that add."""
    for answer in answers:
        if isinstance(answer, Withhold):
            rule = "hook.failed" if answer.has_failed else "hook.withheld"
            sentence = (
                f"The result of {tool} was withheld by the hook {answer.hook}. {answer.reason}"
            )
            step = TraceStep("post_tool_use", "refuse", rule, answer.hook)
            return Afterword(withheld=say(sentence), trace=(step,))
    added = [answer for answer in answers if isinstance(answer, AddContext)]
    notes = "".join(f"\n\n[The hook {each.hook} adds, as data:]\n{each.text}" for each in added)
    steps = tuple(TraceStep("post_tool_use", "pass", "hook.added", each.hook) for each in added)
    return Afterword(added=notes, trace=steps)


def apply_to_settlement(
    afterword: Afterword, settlement: Settlement, admitted: Admitted
) -> Settlement:
    """The settlement with the words that the model sees, so that a restart tells it the same."""
    if afterword is NOTHING_SAID:
        return settlement
    if settlement.state is ReceiptState.COMMITTED and not settlement.error:
        return replace(settlement, result=afterword.apply(settlement.result))
    if settlement.state is ReceiptState.UNCERTAIN and afterword.withheld:
        tool, receipt_id = admitted.tool.name, admitted.context.operation_id
        why = explain_uncertain(tool, receipt_id, afterword.withheld)
        return replace(settlement, error=say(why))
    return replace(settlement, error=afterword.apply(settlement.error))


def show(admitted: Admitted) -> ProposedCall:
    """The call as hooks see it."""
    policy = admitted.tool.policy
    return ProposedCall(
        admitted.tool.name,
        policy.effect,
        policy.data_class,
        admitted.arguments,
        admitted.context,
    )
