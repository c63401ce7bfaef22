"""One configured server as the rest of the process sees it: its state and what it offers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from geode.mcp.listing import Listing, Offer, shown_name
from geode.messages import JsonObject, Mode
from geode.ports import Clock
from geode.settings_mcp import McpServerSettings
from geode.steps import (
    Absence,
    DataClass,
    Effect,
    Ending,
    SafetyPolicy,
    Tool,
    ToolContext,
)
from geode.store.pinned_tools import Pin, Sighting

Phase = Literal["starting", "up", "down"]


class SecretKeeper(Protocol):
    """What a connection needs of the redactor."""

    def register(self, *secrets: str) -> None:
        """Take these values out of everything from now on."""
        ...

    def take_out(self, text: str) -> str:
        """The text without the registered secrets."""
        ...


@dataclass(frozen=True, slots=True)
class Pauses:
    """How patient a connection is."""

    retry_first_s: float = 1.0
    retry_max_s: float = 60.0
    steady_s: float = 30.0
    """A connection that held so long is tried again at once when it breaks."""
    news_first_s: float = 0.5
    """Between news of a changed list and the look at it; doubles while news keeps coming."""
    news_max_s: float = 60.0
    look_s: float = 300.0
    """Between two looks without any news."""


@dataclass(frozen=True, slots=True)
class ServerParts:
    """What every connection of a process is made with."""

    clock: Clock
    keeper: SecretKeeper
    environ: Mapping[str, str]
    """Where `env:NAME` is looked up; no child inherits it."""
    state_folder: Path
    record: Callable[[str, Sequence[Sighting]], Awaitable[Mapping[str, Pin]]]
    """Stores what a server listed; its pins by tool."""
    pauses: Pauses = field(default_factory=Pauses)


@dataclass(frozen=True, slots=True)
class ServerView:
    """A server at one moment."""

    phase: Phase
    reason: str
    listing: Listing


class Caller(Protocol):
    """Whatever sends a call to a server."""

    async def call(self, offer: Offer, context: ToolContext, arguments: JsonObject) -> Ending:
        """Run one call of a tool that was offered; see `ServerConnection.call`."""
        ...


def view_of_absent(name: str, settings: McpServerSettings, phase: Phase, reason: str) -> ServerView:
    """A server of which nothing can be had, and the sentence for each of its tools."""
    if phase == "starting":
        why = Absence("mcp.server_starting", f"The server {name} is still being started.")
    else:
        why = Absence(
            "mcp.server_down",
            f"The server {name} cannot be used now: {reason.rstrip('.')}. It is tried again.",
        )
    return ServerView(phase, reason, Listing(absences=dict.fromkeys(settings.tools, why)))


def build_tool(server: str, offer: Offer, description: str, caller: Caller) -> Tool:
    """The tool as the gate knows it: the policy is the operator's, the words are the server's."""
    written = offer.settings

    async def handle(context: ToolContext, arguments: JsonObject) -> Ending:
        return await caller.call(offer, context, arguments)

    def name_resources(_context: ToolContext, _arguments: JsonObject) -> tuple[str, ...]:
        return written.resources

    return Tool(
        name=shown_name(server, offer.tool, written),
        description=description,
        schema=offer.schema,
        policy=SafetyPolicy(
            effect=Effect(written.effect),
            data_class=DataClass(written.data_class),
            approval=written.approval,
            modes=frozenset(Mode),
        ),
        handler=handle,
        resources=name_resources if written.resources else None,
        timeout_s=written.timeout_s,
        # What a foreign server does with an argument is unknown, so one approval is for one call.
        reaches_out=True,
    )
