"""`grep_files`: lines that match a pattern, searched in a child that is killed when time is up."""

from __future__ import annotations

from functools import partial

import orjson

from geode.errors import FileRefusedError, ToolError
from geode.messages import JsonObject, Mode, SessionId
from geode.steps import DataClass, Done, Effect, Ending, NotApplied, SafetyPolicy, Tool, ToolContext
from geode.tools import schema
from geode.tools.blocking import ChildOutput, run_child, run_to_end
from geode.tools.output import cap_text
from geode.tools.paths import PATH_BYTES_MAX, parse_path
from geode.tools.workspace import Workspaces

POLICY = SafetyPolicy(
    effect=Effect.READ, data_class=DataClass.PERSONAL, approval="none", modes=frozenset(Mode)
)
SECONDS_MAX = 5.0
MATCHES_MAX = 200


def build(workspaces: Workspaces) -> Tool:
    """The tool over these workspaces."""

    async def grep_files(context: ToolContext, arguments: JsonObject) -> Ending:
        pattern = schema.text_of(arguments, "pattern")
        place = schema.text_of(arguments, "path", ".")
        try:
            work = partial(_search, workspaces, context.session_id, pattern, place)
            return Done(_render(await run_to_end(work)))
        except ToolError as exc:
            return NotApplied(str(exc))

    return Tool(
        name="grep_files",
        description=(
            "Find lines in the workspace's files by a Python regular expression "
            "(an invalid one is searched as plain text). path is a folder or file."
        ),
        schema=schema.closed_object(
            ("pattern",),
            pattern=schema.string("regular expression", chars_max=1_000, chars_min=1),
            path=schema.string("relative path", chars_max=PATH_BYTES_MAX),
        ),
        policy=POLICY,
        handler=grep_files,
    )


def _search(workspaces: Workspaces, session: SessionId, pattern: str, place: str) -> ChildOutput:
    parse_path(place)
    if not workspaces.has_session(session):
        return ChildOutput(b"", is_complete=True)
    with workspaces.open_session(session) as base:
        order = {"base": base, "path": place, "pattern": pattern, "matches_max": MATCHES_MAX}
        return run_child(
            "geode.tools.grep_child",
            orjson.dumps(order),
            seconds_max=SECONDS_MAX,
            pass_fds=(base,),
        )


def _render(output: ChildOutput) -> str:
    lines: list[str] = []
    notes: list[str] = []
    *whole, _unfinished = output.stdout.split(b"\n")
    for row in whole:
        kind, text = orjson.loads(row)
        if kind == "refused":
            raise FileRefusedError(text)
        (lines if kind == "match" else notes).append(text)
    if not output.is_complete:
        notes.append(
            f"[… the search was stopped after {SECONDS_MAX:g} s and is not complete: use a simpler "
            "pattern or a narrower path …]"
        )
    return cap_text("\n".join([*(lines or ["No line matches."]), *notes]))
