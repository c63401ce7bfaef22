"""Asks the operator about changed definitions and a project's list; accepts what was shown."""

from __future__ import annotations

from pathlib import Path

import typer

from geode.cli.asking import ask
from geode.cli.mcp_reports import report_project
from geode.cli.tables import show_text
from geode.errors import ConfigError
from geode.mcp.project import project_path, read_project
from geode.settings_load import load_settings

ACCEPTED = 0
NOT_ACCEPTED = 1
_LINE_CHARS_MAX = 400


def accept_changes(server: str, tool: str, config: Path | None, *, is_yes: bool) -> int:
    """One change after the other; exactly the definition that was shown is accepted."""
    wanted = {"server": server, "tool": tool} if tool else {"server": server}
    changes = ask("mcp.changes", wanted, config)["changes"]
    if not changes:
        typer.echo(f"{server}: every tool is described as it was accepted.")
        return ACCEPTED
    left = 0
    for change in changes:
        name = show_text(change["tool"])
        typer.echo(f"{name} of the server {server}:")
        for line in change["lines"]:
            typer.echo(f"  {show_text(line, _LINE_CHARS_MAX)}")
        if not _agrees(f"Accept this definition of {name}?", is_yes=is_yes):
            left += 1
            continue
        digest = change["digest"]
        ask("mcp.accept", {"server": server, "tool": change["tool"], "digest": digest}, config)
        typer.echo(f"{name} is accepted as {digest[:12]}.")
    return NOT_ACCEPTED if left else ACCEPTED


def trust_project(path: Path | None, config: Path | None, *, is_yes: bool) -> int:
    """Show the list below a folder, and record its digest once the operator agrees."""
    configured = load_settings(config).settings.mcp.project
    folder = path or (Path(configured) if configured else Path.cwd())
    file = read_project(folder)
    if file is None:
        raise ConfigError(f"{project_path(folder)} is not there; a project lists servers in it.")
    typer.echo(report_project(file.path, file.parse()))
    if not _agrees(f"Trust {file.path} as it is now?", is_yes=is_yes):
        typer.echo("Not trusted; nothing of it is used.")
        return NOT_ACCEPTED
    kept = ask("trust.record", {"path": file.path, "digest": file.digest}, config)
    typer.echo(f"Trusted as {file.digest[:12]}; any change of the file takes that back.")
    if project_path(configured or "/") != file.path:
        typer.echo(f'It is read once geode.toml says: [mcp] project = "{Path(folder).absolute()}"')
    elif kept["restart"]:
        typer.echo("The running daemon uses it after a restart.")
    return ACCEPTED


def _agrees(question: str, *, is_yes: bool) -> bool:
    return is_yes or typer.confirm(question, default=False)
