"""The verbs of `geode`; each imports what it needs when it runs, so that `--help` costs nothing."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Annotated, TypeAlias, cast

import typer

from geode.cli.audit_commands import audit_app
from geode.cli.mcp_commands import mcp_app, trust
from geode.cli.review_commands import reviews_app
from geode.errors import GeodeError

FAILED = 1
ROWS = 20

app = typer.Typer(
    name="geode",
    help="A self-hosted agent that answers in your team's chat threads.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
sessions_app = typer.Typer(help="Conversations: one per thread.", no_args_is_help=True)
effects_app = typer.Typer(help="What tools did to the world, and replies on their way.")
app.add_typer(sessions_app, name="sessions")
app.add_typer(effects_app, name="effects")
app.add_typer(reviews_app, name="reviews")
app.add_typer(audit_app, name="audit")
app.add_typer(mcp_app, name="mcp")
app.command()(trust)

Config: TypeAlias = Annotated[
    Path | None, typer.Option("--config", help="The configuration file; default: geode.toml.")
]
Limit: TypeAlias = Annotated[int, typer.Option("--limit", min=1, max=500, help="Rows to show.")]


@app.command()
def serve(
    config: Config = None,
    log: Annotated[
        str, typer.Option("--log", help="Log lines as json or console; default: by the terminal.")
    ] = "",
    until_stdin_closes: Annotated[bool, typer.Option("--until-stdin-closes", hidden=True)] = False,
) -> None:
    """Run the daemon until SIGTERM or Ctrl-C."""
    from geode.cli.serve import run_serve  # noqa: PLC0415 - the daemon is heavy

    if log not in {"", "json", "console"}:
        raise typer.BadParameter("write json or console", param_hint="--log")
    raise typer.Exit(run_serve(config, log, until_stdin_closes=until_stdin_closes))


@app.command()
def setup(
    config: Annotated[
        Path | None, typer.Option("--config", help="The file to write; default: geode.toml.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Take every default, ask nothing.")] = False,
    manifest: Annotated[
        bool, typer.Option("--print-manifest", help="Print the Slack app's manifest and end.")
    ] = False,
) -> None:
    """Ask what is wanted, check it with the platforms, and write geode.toml."""
    from geode.cli.setup import print_manifest, run_setup  # noqa: PLC0415 - channels are heavy

    raise typer.Exit(print_manifest() if manifest else run_setup(config, is_yes=yes))


@app.command()
def doctor(
    config: Config = None,
    as_json: Annotated[bool, typer.Option("--json", help="The findings for a program.")] = False,
) -> None:
    """Look at everything that is configured, and say what is missing and what to do."""
    from geode.cli.doctor import run_doctor  # noqa: PLC0415 - channels are heavy

    raise typer.Exit(run_doctor(config, as_json=as_json))


@app.command()
def chat(
    name: Annotated[str, typer.Option("--name", help="The conversation; default: main.")] = "",
    new: Annotated[bool, typer.Option("--new", help="Begin a conversation of its own.")] = False,
    local: Annotated[
        bool, typer.Option("--local", help="Without a daemon: everything in this process.")
    ] = False,
    config: Config = None,
) -> None:
    """Talk to the agent here: at a terminal, or one message a line through a pipe."""
    from geode.cli.chat import MAIN, make_name, run_chat  # noqa: PLC0415 - the daemon is heavy

    if name and new:
        raise typer.BadParameter("a new conversation gets its own name", param_hint="--new")
    chosen = make_name("chat") if new else name or MAIN
    raise typer.Exit(run_chat(config, chosen, is_local=local))


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question; - or none: standard input.")] = "",
    file: Annotated[
        list[str] | None, typer.Option("--file", help="A file to attach; - is standard input.")
    ] = None,
    name: Annotated[str, typer.Option("--name", help="The conversation to ask it in.")] = "",
    save: Annotated[
        Path | None, typer.Option("--save", help="The folder for files that come with the answer.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The answer for a program.")] = False,
    skip_verification: Annotated[
        bool, typer.Option("--skip-verification", help="Do not check this answer; it says so.")
    ] = False,
) -> None:
    """Ask the running daemon one thing: 0 is answered, 2 and 3 wait for somebody, 1 failed."""
    from geode.cli.ask import Question, run_ask  # noqa: PLC0415 - the chat is heavy

    asked = Question(question, tuple(file or ()), name, save, as_json, skip_verification)
    raise typer.Exit(run_ask(asked))


@app.command()
def status(config: Config = None) -> None:
    """Say whether the daemon runs and how it is."""
    from geode.cli.asking import ask  # noqa: PLC0415 - settings are heavy
    from geode.cli.reports import report_status  # noqa: PLC0415

    typer.echo(report_status(ask("status", {}, config)))


@sessions_app.command("list")
def list_sessions(config: Config = None, limit: Limit = ROWS) -> None:
    """List sessions, the most recently active first."""
    from geode.cli.asking import ask  # noqa: PLC0415 - settings are heavy
    from geode.cli.reports import report_sessions  # noqa: PLC0415

    typer.echo(report_sessions(ask("sessions.list", {"limit": limit}, config)))


@sessions_app.command("show")
def show_session(
    session_id: Annotated[str, typer.Argument(metavar="ID")],
    config: Config = None,
    limit: Limit = ROWS,
) -> None:
    """Show one session: its thread, its turns with their reasons, its timeline."""
    from geode.cli.asking import ask  # noqa: PLC0415 - settings are heavy
    from geode.cli.reports import report_session  # noqa: PLC0415

    answer = ask("sessions.show", {"id": session_id, "limit": limit}, config)
    typer.echo(report_session(answer))


@sessions_app.command("why")
def explain_call(
    session_id: Annotated[str, typer.Argument(metavar="ID")],
    call: Annotated[
        str, typer.Argument(metavar="CALL", help="c12, or an effect's or a call's id.")
    ] = "",
    config: Config = None,
    limit: Limit = ROWS,
) -> None:
    """Say by which rules a tool call was allowed or refused, and what would change it."""
    from geode.cli.asking import ask  # noqa: PLC0415 - settings are heavy
    from geode.cli.why import report_why  # noqa: PLC0415

    wanted = {"id": session_id, "limit": limit} | ({"call": call} if call else {})
    typer.echo(report_why(ask("sessions.why", wanted, config)))


@effects_app.command("list")
def list_effects(config: Config = None, limit: Limit = ROWS) -> None:
    """List effects, those of unknown outcome first, and replies that are not delivered yet."""
    from geode.cli.asking import ask  # noqa: PLC0415 - settings are heavy
    from geode.cli.reports import report_effects  # noqa: PLC0415

    typer.echo(report_effects(ask("effects.list", {"limit": limit}, config)))


@effects_app.command("settle")
def settle_effect(
    effect_id: Annotated[str, typer.Argument(metavar="ID")],
    outcome: Annotated[str, typer.Argument(metavar="happened|did-not")],
    config: Config = None,
) -> None:
    """Say whether an effect of unknown outcome happened, so that its resources are free again."""
    from geode.cli.asking import ask  # noqa: PLC0415 - settings are heavy
    from geode.cli.reports import report_settled  # noqa: PLC0415

    if outcome not in {"happened", "did-not"}:
        raise typer.BadParameter("write happened or did-not", param_hint="OUTCOME")
    typer.echo(report_settled(ask("effects.settle", {"id": effect_id, "outcome": outcome}, config)))


@app.command()
def demo(
    stay: Annotated[bool, typer.Option("--stay", help="Keep it running, to talk to it.")] = False,
    fast: Annotated[bool, typer.Option("--fast", help="Do not pause for reading.")] = False,
    channels: Annotated[
        str, typer.Option("--channels", help="Where: slack, discord, telegram, or all.")
    ] = "slack",
) -> None:
    """Play a conversation against local chat platforms, without account or key."""
    from geode.cli.demo import run_demo  # noqa: PLC0415 - the demo is heavy

    raise typer.Exit(run_demo(channels, is_staying=stay, is_fast=fast))


def main() -> None:
    """Run the command; every failure is one sentence on stderr and a non-zero exit code."""
    sys.excepthook = _tell_bug
    try:
        app()
    except GeodeError as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error}.")
    except ExceptionGroup as group:
        errors = _flatten(group)
        if not all(isinstance(error, GeodeError | OSError) for error in errors):
            raise
        _fail("; ".join(str(error) for error in errors))


def _fail(sentence: str) -> None:
    typer.echo(f"geode: {sentence}", err=True)
    sys.exit(FAILED)


def _flatten(error: Exception) -> list[Exception]:
    if not isinstance(error, ExceptionGroup):
        return [error]
    members = cast("tuple[Exception, ...]", error.exceptions)
    return [leaf for member in members for leaf in _flatten(member)]


def _tell_bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    frames = traceback.extract_tb(trace)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    typer.echo(f"geode: a bug: {kind.__name__}: {error}{place}; please report it.", err=True)
