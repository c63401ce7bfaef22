"""`geode doctor`: asks each configured platform what works and what the operator must mend."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import typer

from geode.errors import ChannelError
from geode.ports import ChannelContext, Finding, NoFailpoints, SystemClock
from geode.reply.redaction import Redactor
from geode.roster import Opening, open_channel, resolve_channels
from geode.settings import Settings
from geode.settings_load import load_settings

ASK_S = 60.0


def run_doctor(config: Path | None) -> int:
    """Print a line for each finding; 0 when everything that is configured can be used."""
    settings = load_settings(config).settings
    wanted = resolve_channels(settings, os.environ)
    redactor = Redactor()
    is_well = bool(settings.channels)
    if not settings.channels:
        typer.echo("no channel is configured; add one such as [channels.slack]")
    for name in settings.channels:
        opening = wanted.openings.get(name)
        if opening is None:
            found: Sequence[Finding] = (Finding("fault", "secret", wanted.missing[name]),)
        else:
            redactor.register(*opening.secrets.values())
            found = asyncio.run(_ask(name, opening, settings, redactor))
        is_well = is_well and all(finding.level != "fault" for finding in found)
        for finding in found:
            line = f"{name} {finding.subject}: {finding.level}: {finding.sentence}"
            typer.echo(redactor.redact(line))
    return 0 if is_well else 1


async def _ask(
    name: str, opening: Opening, settings: Settings, redactor: Redactor
) -> Sequence[Finding]:
    context = ChannelContext(SystemClock(), redactor, NoFailpoints())
    channel = open_channel(name, opening, context, settings.bindings)
    try:
        async with asyncio.timeout(ASK_S):
            return await channel.diagnose()
    except ChannelError as error:
        return (Finding("fault", "network", str(error)),)
    except TimeoutError:
        return (Finding("fault", "network", f"It did not answer within {ASK_S:g} s."),)
