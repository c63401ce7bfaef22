"""`geode audit`: whether what was recorded is still what was written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

audit_app = typer.Typer(help="Whether the records are what was written.", no_args_is_help=True)
BROKEN = 1


@audit_app.callback()
def audit() -> None:
    """Whether the records are what was written."""


@audit_app.command("verify")
def verify(
    session: Annotated[str, typer.Option("--session", metavar="ID", help="Only this one.")] = "",
    config: Annotated[
        Path | None, typer.Option("--config", help="The configuration file; default: geode.toml.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The answer for a program.")] = False,
) -> None:
    """Follow the hash chain of every session; ends with 1 and the first bad row of each."""
    from geode.cli.asking import ask  # noqa: PLC0415 - settings are heavy
    from geode.cli.audit_reports import report_audit, report_json  # noqa: PLC0415

    total: dict[str, Any] = {"sessions": 0, "rows": 0, "faults": [], "pruned": 0}
    after = ""
    while True:
        wanted = {"session": session} if session else {"after": after}
        found = ask("audit.verify", wanted, config)
        total["sessions"] += found["sessions"]
        total["rows"] += found["rows"]
        total["faults"] += found["faults"]
        total["pruned"] = found["pruned"]
        after = found["after"]
        if not after:
            break
    typer.echo(report_json(total) if as_json else report_audit(total))
    raise typer.Exit(BROKEN if total["faults"] else 0)
