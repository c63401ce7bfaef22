"""What may be offered of a server's list, and why the rest may not; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from geode.errors import McpSchemaError
from geode.mcp.definitions import Definition
from geode.mcp.schemas import make_plain
from geode.messages import JsonObject
from geode.settings_mcp import McpServerSettings, McpToolSettings
from geode.settings_mcp_names import join_name
from geode.steps import Absence
from geode.store.pinned_tools import Pin


@dataclass(frozen=True, slots=True)
class Offer:
    """A listed tool whose definition was accepted and can be used."""

    tool: str
    """The server's own name."""
    name: str
    """Its name before the gate and the model."""
    settings: McpToolSettings
    definition: Definition
    schema: JsonObject


@dataclass(frozen=True, slots=True)
class Listing:
    """One look at a server: what it may offer, and each configured tool that it may not."""

    offers: Mapping[str, Offer] = field(default_factory=dict[str, Offer])
    """By the server's own names."""
    absences: Mapping[str, Absence] = field(default_factory=dict[str, Absence])
    """By the server's own names."""
    unlisted: tuple[str, ...] = ()
    """What the server offers and the configuration does not list."""


def shown_name(server: str, tool: str, settings: McpToolSettings) -> str:
    """The tool's name before the gate and the model."""
    return join_name(server, settings.name or tool)


def pick_listed(
    settings: McpServerSettings, definitions: Sequence[Definition]
) -> tuple[Definition, ...]:
    """Those that the configuration lists, that stand once, and that are not too large to keep."""
    counts = Counter(each.tool for each in definitions)
    return tuple(
        each
        for each in definitions
        if each.tool in settings.tools and counts[each.tool] == 1 and not each.is_too_large
    )


def judge_listing(
    server: str,
    settings: McpServerSettings,
    definitions: Sequence[Definition],
    pins: Mapping[str, Pin],
) -> Listing:
    """Compare a server's list with the configuration and the accepted definitions."""
    counts = Counter(each.tool for each in definitions)
    found = {each.tool: each for each in definitions}
    offers: dict[str, Offer] = {}
    absences: dict[str, Absence] = {}
    for tool, written in settings.tools.items():
        definition = found.get(tool)
        if definition is None:
            absences[tool] = _not_offered(server, tool)
        elif counts[tool] > 1:
            absences[tool] = _twice(server, tool, counts[tool])
        else:
            judged = _judge(server, written, definition, pins.get(tool))
            if isinstance(judged, Absence):
                absences[tool] = judged
            else:
                offers[tool] = judged
    unlisted = tuple(sorted(found.keys() - settings.tools.keys()))
    return Listing(offers, absences, unlisted)


def _judge(
    server: str, written: McpToolSettings, definition: Definition, pin: Pin | None
) -> Offer | Absence:
    tool = definition.tool
    if definition.is_too_large:
        return _refused(server, tool, "its definition is too large")
    if pin is None or pin.digest != definition.digest:
        return _changed(server, tool)
    try:
        schema = make_plain(definition.schema)
    except McpSchemaError as error:
        return _refused(server, tool, str(error))
    except (ValueError, RecursionError):
        # The definition's text without secrets need not be JSON any more.
        return _refused(server, tool, "its definition cannot be read")
    return Offer(tool, shown_name(server, tool, written), written, definition, schema)


def _not_offered(server: str, tool: str) -> Absence:
    return Absence("mcp.not_offered", f"The server {server} does not offer {tool} now.")


def _twice(server: str, tool: str, times: int) -> Absence:
    return Absence(
        "mcp.name_twice",
        f"The server {server} offers {times} tools named {tool}, so nobody knows which is meant.",
    )


def _refused(server: str, tool: str, reason: str) -> Absence:
    return Absence(
        "mcp.definition_refused", f"{tool} of the server {server} is left out: {reason}."
    )


def _changed(server: str, tool: str) -> Absence:
    return Absence(
        "mcp.definition_changed",
        f"The server {server} describes {tool} otherwise than when it was accepted; an operator "
        f"can look at the change with: geode mcp accept {server} {tool}",
    )
