"""`geode mcp` and `geode trust`: other servers' tools, their changes, and a project's list."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

mcp_app = typer.Typer(help="Servers of other tools (MCP).", no_args_is_help=True)

Config: TypeAlias = Annotated[
    Path | None, typer.Option("--config", help="The configuration file; default: geode.toml.")
]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", help="Accept without asking.")]


@mcp_app.command("list")
def list_servers(config: Config = None) -> None:
    """List the servers and how they are."""
    from geode.cli.asking import ask  # noqa: PLC0415 - settings are heavy
    from geode.cli.mcp_reports import report_servers  # noqa: PLC0415

    typer.echo(report_servers(ask("mcp.list", {}, config)))


@mcp_app.command("tools")
def list_tools(
    server: Annotated[str, typer.Argument(metavar="[SERVER]")] = "", config: Config = None
) -> None:
    """List the tools of the servers: what each may do, or why it cannot be had."""
    from geode.cli.asking import ask  # noqa: PLC0415 - settings are heavy
    from geode.cli.mcp_reports import report_tools  # noqa: PLC0415

    typer.echo(report_tools(ask("mcp.tools", {"server": server} if server else {}, config)))


@mcp_app.command("accept")
def accept(
    server: Annotated[str, typer.Argument(metavar="SERVER")],
    tool: Annotated[str, typer.Argument(metavar="[TOOL]")] = "",
    config: Config = None,
    yes: Yes = False,
) -> None:
    """Show what changed in a server's tools since they were accepted, and accept it."""
    from geode.cli.mcp_accept import accept_changes  # noqa: PLC0415 - settings are heavy

    raise typer.Exit(accept_changes(server, tool, config, is_yes=yes))


def trust(
    path: Annotated[
        Path | None, typer.Argument(metavar="[PATH]", help="The project; default: [mcp] project.")
    ] = None,
    config: Config = None,
    yes: Yes = False,
) -> None:
    """Show what a project's own list of servers would start, and accept it as it is now."""
    from geode.cli.mcp_accept import trust_project  # noqa: PLC0415 - settings are heavy

    raise typer.Exit(trust_project(path, config, is_yes=yes))
