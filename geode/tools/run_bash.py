"""`run_bash`: in the catalogue so that a refusal can name it; nothing runs without a sandbox."""

from __future__ import annotations

from geode.messages import JsonObject, Mode
from geode.steps import DataClass, Effect, Ending, NotApplied, SafetyPolicy, Tool, ToolContext
from geode.tools import schema

POLICY = SafetyPolicy(
    effect=Effect.EXECUTE,
    data_class=DataClass.PERSONAL,
    approval="ask",
    modes=frozenset({Mode.REPL, Mode.IPC}),
)


def build() -> Tool:
    """The tool; its handler refuses every call."""
    return Tool(
        name="run_bash",
        description="Run a shell command in the workspace. Not available yet.",
        schema=schema.closed_object(
            ("command",), command=schema.string("the command", chars_max=20_000, chars_min=1)
        ),
        policy=POLICY,
        handler=_refuse,
        resources=_shell_resources,
    )


async def _refuse(context: ToolContext, arguments: JsonObject) -> Ending:
    del context, arguments
    return NotApplied("run_bash does nothing yet: commands will run only inside a sandbox.")


def _shell_resources(context: ToolContext, arguments: JsonObject) -> tuple[str, ...]:
    del arguments
    return (f"shell:{context.session_id}",)
