"""`delegate_task`: one task for a child session, which has at most what its parent has."""

from __future__ import annotations

from geode.delegation import CHILD_S_MAX, DELEGATE_TASK, Delegate
from geode.messages import JsonObject, Mode
from geode.steps import DataClass, Effect, Ending, NotApplied, SafetyPolicy, Tool, ToolContext
from geode.tools import schema

POLICY = SafetyPolicy(
    # It spends the turn's money and acts in the parent's name, whatever the task turns out to be.
    effect=Effect.EXECUTE,
    data_class=DataClass.PERSONAL,
    approval="ask",
    modes=frozenset({Mode.REPL, Mode.IPC}),
)
PROMPT_CHARS_MAX = 20_000
ENDING_S = 30.0
"""Beyond its own time a child needs a moment to write down how it ended."""


def build(delegate: Delegate) -> Tool:
    """The tool over whatever runs children."""

    async def delegate_task(context: ToolContext, arguments: JsonObject) -> Ending:
        prompt = schema.text_of(arguments, "prompt").encode("utf-8", "replace").decode().strip()
        if not prompt:
            return NotApplied("The task is empty; nothing was begun.")
        return await delegate.run(context, prompt)

    async def reconcile(context: ToolContext, arguments: JsonObject) -> bool | None:
        del arguments
        return await delegate.has_ended(context)

    return Tool(
        name=DELEGATE_TASK,
        description=(
            "Let a child session do one task by itself and return its answer. It knows nothing of "
            "this conversation, so put all it needs into the prompt; it has an empty workspace, at "
            "most the tools granted here, nobody to ask, and it uses up this turn's time and cost."
        ),
        schema=schema.closed_object(
            ("prompt",),
            prompt=schema.string("the whole task", chars_max=PROMPT_CHARS_MAX, chars_min=1),
        ),
        policy=POLICY,
        handler=delegate_task,
        resources=_child_resources,
        reconcile=reconcile,
        timeout_s=CHILD_S_MAX + ENDING_S,
    )


def _child_resources(context: ToolContext, arguments: JsonObject) -> tuple[str, ...]:
    """One child at a time: they share what is left of the turn."""
    del arguments
    return (f"delegate:{context.session_id}",)
