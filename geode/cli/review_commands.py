"""`geode reviews`: answers that did not pass their check and wait for an operator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

reviews_app = typer.Typer(
    help="Answers that did not pass their check and wait for an operator.", no_args_is_help=True
)

Config: TypeAlias = Annotated[
    Path | None, typer.Option("--config", help="The configuration file; default: geode.toml.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="The answer for a program.")]
ReviewId: TypeAlias = Annotated[str, typer.Argument(metavar="ID")]
ONE_DECISION = "write one of --release, --revise WORDS, --reject REASON, --judge-again"


@reviews_app.command("list")
def list_reviews(
    config: Config = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="Rows to show.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the answers that wait, oldest first; nothing of what they say is shown."""
    from geode.cli.asking import ask  # noqa: PLC0415 - settings are heavy
    from geode.cli.review_reports import report_json, report_reviews  # noqa: PLC0415

    answer = ask("reviews.list", {"limit": limit}, config)
    typer.echo(report_json(answer) if as_json else report_reviews(answer))


@reviews_app.command("show")
def show_review(
    review_id: ReviewId,
    personal: Annotated[
        bool, typer.Option("--personal", help="Also show an answer that may hold personal data.")
    ] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Show one with all of its answer, why it did not pass, and what the agent saw."""
    from geode.cli.asking import ask  # noqa: PLC0415 - settings are heavy
    from geode.cli.review_reports import report_json, report_review  # noqa: PLC0415

    answer = ask("reviews.show", {"id": review_id, "personal": personal}, config)
    typer.echo(report_json(answer) if as_json else report_review(answer))


@reviews_app.command("decide")
def decide_review(
    review_id: ReviewId,
    release: Annotated[
        list[bool] | None,
        typer.Option(
            "--release/--judge-again", help="Deliver it as it is, or repeat a check that failed."
        ),
    ] = None,
    revise: Annotated[
        str, typer.Option("--revise", metavar="WORDS", help="Have the agent write another one.")
    ] = "",
    reject: Annotated[
        str, typer.Option("--reject", metavar="REASON", help="Drop it; the asker is told why.")
    ] = "",
    name: Annotated[
        str, typer.Option("--name", help="Who decides, for the record; default: your login.")
    ] = "",
    config: Config = None,
) -> None:
    """Decide one, once; the conversation goes on with it."""
    from geode.cli.asking import ask  # noqa: PLC0415 - settings are heavy
    from geode.cli.review_reports import report_decided  # noqa: PLC0415

    chosen = ["release" if each else "judge_again" for each in release or ()]
    chosen += [name for name, words in (("revise", revise), ("reject", reject)) if words]
    if len(chosen) != 1:
        raise typer.BadParameter(ONE_DECISION, param_hint="DECISION")
    told = {"id": review_id, "decision": chosen[0], "words": revise or reject, "name": name}
    typer.echo(report_decided(ask("reviews.decide", told, config)))
