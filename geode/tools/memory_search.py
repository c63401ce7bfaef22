"""`memory_search`: the binding's notes that contain a text, in any script."""

from __future__ import annotations

from geode.errors import StoreError
from geode.messages import JsonObject, Mode
from geode.ports import MemoryStore
from geode.steps import DataClass, Done, Effect, Ending, NotApplied, SafetyPolicy, Tool, ToolContext
from geode.tools import schema
from geode.tools.output import cap_text, escape_controls

POLICY = SafetyPolicy(
    effect=Effect.READ, data_class=DataClass.PERSONAL, approval="none", modes=frozenset(Mode)
)
NOTES_MAX = 50


def build(memory: MemoryStore) -> Tool:
    """The tool over this store."""

    async def memory_search(context: ToolContext, arguments: JsonObject) -> Ending:
        query = schema.text_of(arguments, "query").encode("utf-8", "replace").decode()
        try:
            notes = await memory.search(context.binding, query, NOTES_MAX + 1)
        except StoreError as exc:
            return NotApplied(f"The notes could not be read: {exc}")
        return Done(_render(list(notes)))

    return Tool(
        name="memory_search",
        description="Find saved notes of this place that contain the query, newest first.",
        schema=schema.closed_object(
            ("query",), query=schema.string("text to find, any script", chars_max=500, chars_min=1)
        ),
        policy=POLICY,
        handler=memory_search,
    )


def _render(notes: list[str]) -> str:
    if not notes:
        return "No note contains that."
    lines = [f"- {escape_controls(note)}" for note in notes[:NOTES_MAX]]
    if len(notes) > NOTES_MAX:
        lines.append(f"[… only the newest {NOTES_MAX} are shown; search for something narrower …]")
    return cap_text("\n".join(lines))
