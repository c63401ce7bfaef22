"""`send_message`: words of the agent for a listed place, in the name of who asked for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from geode.errors import MessageRefusedError, StaleEpochError, StoreError
from geode.messages import JsonObject, Mode
from geode.steps import DataClass, Done, Effect, Ending, NotApplied, SafetyPolicy, Tool, ToolContext
from geode.tools import schema

POLICY = SafetyPolicy(
    effect=Effect.COMMUNICATE, data_class=DataClass.PERSONAL, approval="none", modes=frozenset(Mode)
)
TEXT_CHARS_MAX = 8_000
TO_CHARS_MAX = 300
MESSAGES_MAX = 5
"""Of one turn."""
NAMED_MAX = 30


class Outlet(Protocol):
    """Where messages for other places are stored for delivery."""

    def list_places(self, context: ToolContext) -> Sequence[str]:
        """The destinations that the call's profile lists."""
        ...

    async def store(self, context: ToolContext, to: str, text: str) -> None:
        """Queue the message under the call's operation, once.

        Raises `MessageRefusedError` when nothing was queued, and `StaleEpochError`.
        """
        ...

    async def has(self, context: ToolContext) -> bool:
        """Whether the call's message is stored."""
        ...


def build(outlet: Outlet) -> Tool:
    """The tool over this outlet."""

    async def send_message(context: ToolContext, arguments: JsonObject) -> Ending:
        to, text = schema.text_of(arguments, "to"), schema.text_of(arguments, "text")
        places = outlet.list_places(context)
        if to not in places:
            return NotApplied(_explain_places(places))
        try:
            await outlet.store(context, to, text.encode("utf-8", "replace").decode())
        except StaleEpochError:
            raise
        except MessageRefusedError as exc:
            return NotApplied(str(exc))
        except StoreError as exc:
            return NotApplied(f"The message was not stored: {exc}")
        return Done(f"Stored for {to}; it is delivered by itself, once. Do not send it again.")

    async def reconcile(context: ToolContext, arguments: JsonObject) -> bool | None:
        del arguments
        return await outlet.has(context)

    return Tool(
        name="send_message",
        description=(
            "Post a message in another place that the operator listed; a wrong `to` is answered "
            "with the list. The answer in this thread needs no call."
        ),
        schema=schema.closed_object(
            ("to", "text"),
            to=schema.string("listed place", chars_max=TO_CHARS_MAX, chars_min=1),
            text=schema.string("Markdown", chars_max=TEXT_CHARS_MAX, chars_min=1),
        ),
        policy=POLICY,
        handler=send_message,
        resources=_place_resources,
        reconcile=reconcile,
    )


def _place_resources(context: ToolContext, arguments: JsonObject) -> tuple[str, ...]:
    del context
    return (f"message:{schema.text_of(arguments, 'to')}",)


def _explain_places(places: Sequence[str]) -> str:
    if not places:
        return (
            "Nothing was sent: no destination is listed; an operator can write send_to in the "
            "profile."
        )
    return f"Nothing was sent: `to` must be one of {', '.join(sorted(places)[:NAMED_MAX])}."
