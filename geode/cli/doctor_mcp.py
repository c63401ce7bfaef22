"""What `geode doctor` hears from each MCP server: whether it starts, and what it offers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from geode.mcp.configured import look_for_project
from geode.mcp.server import Pauses, SecretKeeper, ServerParts
from geode.mcp.words import FIELD_CHARS_MAX, clean_words
from geode.ports import Finding, SystemClock
from geode.settings_load import Loaded
from geode.settings_mcp import McpServerSettings
from geode.store.pinned_tools import Pin, Sighting

ASK_S = 60.0
LOOK_S = 0.05
UNLISTED_SHOWN = 10


async def ask_servers(
    loaded: Loaded, keeper: SecretKeeper, environ: Mapping[str, str]
) -> Sequence[Finding]:
    """Start every server of the configuration once, all at the same time, and end it again."""
    settings = loaded.settings
    found = await asyncio.to_thread(look_for_project, settings)
    findings = [Finding("warning", "project", found)] if isinstance(found, str) else []
    if settings.mcp.servers:
        parts = ServerParts(
            SystemClock(), keeper, environ, loaded.state_folder, _take_as_seen, Pauses()
        )
        asked = [_ask(name, each, parts) for name, each in settings.mcp.servers.items()]
        for answer in await asyncio.gather(*asked):
            findings.extend(answer)
    return findings


async def _ask(name: str, settings: McpServerSettings, parts: ServerParts) -> list[Finding]:
    # The SDK is heavy and belongs to those who configured a server.
    from geode.mcp.connection import ServerConnection  # noqa: PLC0415

    connection = ServerConnection(name, settings, parts)
    running = asyncio.create_task(connection.run(), name=f"mcp server {name}")
    deadline = parts.clock.monotonic() + min(settings.start_timeout_s, ASK_S) + 1
    while connection.view.phase == "starting" and parts.clock.monotonic() < deadline:
        await parts.clock.sleep(LOOK_S)
    view = connection.view
    running.cancel()
    await asyncio.wait({running})
    if view.phase != "up":
        return [Finding("fault", name, view.reason.rstrip(".") + ".")]
    found = [Finding("ok", name, f"It offers {len(view.listing.offers)} of the listed tools.")]
    found += [Finding("fault", name, why.sentence) for why in view.listing.absences.values()]
    if view.listing.unlisted:
        shown = [clean_words(each, FIELD_CHARS_MAX) for each in view.listing.unlisted]
        more = f" and {len(shown) - UNLISTED_SHOWN} more" if len(shown) > UNLISTED_SHOWN else ""
        names = ", ".join(shown[:UNLISTED_SHOWN])
        found.append(Finding("ok", name, f"It offers too, and nobody may call: {names}{more}."))
    return found


async def _take_as_seen(server: str, seen: Sequence[Sighting]) -> Mapping[str, Pin]:
    """The doctor keeps nothing: what is offered now is only looked at."""
    return {each.tool: Pin(server, each.tool, each.digest, each.definition, "") for each in seen}
