"""`memory_save`: one note that belongs to the binding and outlives the session."""

from __future__ import annotations

from geode.errors import StaleEpochError, StoreError
from geode.messages import JsonObject, Mode
from geode.ports import MemoryStore
from geode.steps import DataClass, Done, Effect, Ending, NotApplied, SafetyPolicy, Tool, ToolContext
from geode.tools import schema

POLICY = SafetyPolicy(
    effect=Effect.MUTATE, data_class=DataClass.PERSONAL, approval="none", modes=frozenset(Mode)
)
NOTE_CHARS_MAX = 4_000


def build(memory: MemoryStore) -> Tool:
    """The tool over this store."""

    async def memory_save(context: ToolContext, arguments: JsonObject) -> Ending:
        text = schema.text_of(arguments, "text").encode("utf-8", "replace").decode().strip()
        if not text:
            return NotApplied("The note is empty; nothing was saved.")
        try:
            await memory.save(context, text)
        except StaleEpochError:
            raise
        except StoreError as exc:
            return NotApplied(f"The note was not saved: {exc}")
        return Done("Saved.")

    async def reconcile(context: ToolContext, arguments: JsonObject) -> bool | None:
        del arguments
        return await memory.has(context)

    return Tool(
        name="memory_save",
        description="Remember a short note for later conversations in this place.",
        schema=schema.closed_object(
            ("text",), text=schema.string("the note", chars_max=NOTE_CHARS_MAX, chars_min=1)
        ),
        policy=POLICY,
        handler=memory_save,
        resources=_memory_resources,
        reconcile=reconcile,
    )


def _memory_resources(context: ToolContext, arguments: JsonObject) -> tuple[str, ...]:
    del arguments
    return (f"memory:{context.binding}",)
