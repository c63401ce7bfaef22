"""`geode doctor`: what works, what is missing, and the one thing to do about it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Iterator, Sequence
from pathlib import Path

import typer

from geode.cli.doctor_channels import ask_channel, open_channels
from geode.cli.doctor_grants import look_at_grants, look_at_model
from geode.cli.doctor_hooks import look_at_hooks
from geode.cli.doctor_mcp import ask_servers
from geode.cli.doctor_sandbox import look_at_sandbox
from geode.cli.doctor_state import look_at_file, look_at_state
from geode.ports import Finding
from geode.reply.redaction import Redactor
from geode.roster import Wanted, resolve_channels
from geode.settings_load import Loaded, load_settings

Findings = list[tuple[str, Finding]]


def run_doctor(config: Path | None, *, as_json: bool = False) -> int:
    """Print what was found; 0 when everything that is configured can be used."""
    loaded = load_settings(config)
    wanted = resolve_channels(loaded.settings, os.environ)
    redactor = Redactor()
    for opening in wanted.openings.values():
        redactor.register(*opening.secrets.values())
    found = asyncio.run(_examine(loaded, wanted, redactor))
    lines = _write_json(found) if as_json else [*_write_lines(found), _sum_up(found)]
    for line in lines:
        typer.echo(redactor.redact(line))
    return 1 if any(finding.level == "fault" for _, finding in found) else 0


async def _examine(loaded: Loaded, wanted: Wanted, redactor: Redactor) -> Findings:
    """Everything at once; the order of telling is always the same."""
    settings = loaded.settings
    asked: dict[str, Awaitable[Sequence[Finding]]] = {
        "setup": asyncio.to_thread(lambda: _look_at_setup(loaded)),
        "state": asyncio.to_thread(lambda: [*look_at_state(loaded), *look_at_sandbox(loaded)]),
        "model": look_at_model(settings, os.environ),
    }
    if settings.mcp.servers or settings.mcp.project:
        asked["mcp"] = ask_servers(loaded, redactor, os.environ)
    channels = open_channels(wanted.openings, settings, redactor)
    for name in settings.channels:
        channel = channels.get(name)
        missing = wanted.missing.get(name, "")
        asked[name] = ask_channel(channel) if channel else _tell_missing(missing)
    answers = await asyncio.gather(*asked.values())
    return [(name, each) for name, answer in zip(asked, answers, strict=True) for each in answer]


def _look_at_setup(loaded: Loaded) -> Sequence[Finding]:
    return [
        *look_at_file(loaded),
        *look_at_grants(loaded.settings),
        *look_at_hooks(loaded, os.environ),
    ]


async def _tell_missing(sentence: str) -> Sequence[Finding]:
    return (Finding("fault", "secret", sentence),)


def _write_lines(found: Findings) -> Iterator[str]:
    for name, finding in found:
        yield f"{name} {finding.subject}: {finding.level}: {finding.sentence}"


def _write_json(found: Findings) -> list[str]:
    rows = [
        {"of": name, "subject": f.subject, "level": f.level, "sentence": f.sentence}
        for name, f in found
    ]
    return [json.dumps(rows, indent=2)]


def _sum_up(found: Findings) -> str:
    faults = [(name, each) for name, each in found if each.level == "fault"]
    warnings = [(name, each) for name, each in found if each.level == "warning"]
    if not faults and not warnings:
        return "Everything that is configured works."
    name, first = (faults or warnings)[0]
    counts = f"{len(faults)} to mend, {len(warnings)} to look at."
    return f"{counts} First {name} {first.subject}: {first.sentence}"
