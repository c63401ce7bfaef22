"""`list_files`: what one folder of the session's workspace holds, with sizes."""

from __future__ import annotations

import stat
from functools import partial

from geode.errors import ToolError
from geode.messages import JsonObject, Mode, SessionId
from geode.steps import DataClass, Done, Effect, Ending, NotApplied, SafetyPolicy, Tool, ToolContext
from geode.tools import beneath, schema
from geode.tools.blocking import run_to_end
from geode.tools.output import cap_text
from geode.tools.paths import PATH_BYTES_MAX, WorkspacePath, parse_path, show_name
from geode.tools.workspace import Workspaces

POLICY = SafetyPolicy(
    effect=Effect.READ, data_class=DataClass.PERSONAL, approval="none", modes=frozenset(Mode)
)
ENTRIES_MAX = 500


def build(workspaces: Workspaces) -> Tool:
    """The tool over these workspaces."""

    async def list_files(context: ToolContext, arguments: JsonObject) -> Ending:
        try:
            path = parse_path(schema.text_of(arguments, "path"))
            listing = await run_to_end(partial(_list, workspaces, context.session_id, path))
        except ToolError as exc:
            return NotApplied(str(exc))
        return Done(listing)

    return Tool(
        name="list_files",
        description="List one folder of the workspace with sizes in bytes. '.' is the workspace.",
        schema=schema.closed_object(
            ("path",), path=schema.string("relative path", chars_max=PATH_BYTES_MAX)
        ),
        policy=POLICY,
        handler=list_files,
    )


def _list(workspaces: Workspaces, session: SessionId, path: WorkspacePath) -> str:
    if not path.given and not workspaces.has_session(session):
        return "The workspace is empty."
    with workspaces.open_folder(session, path) as folder:
        entries = beneath.list_folder(folder)
    if not entries:
        return "The workspace is empty." if not path.given else f"{path.text} is empty."
    lines = [_line(entry) for entry in entries[:ENTRIES_MAX]]
    if len(entries) > ENTRIES_MAX:
        lines.append(
            f"[… {len(entries) - ENTRIES_MAX:,} more of {len(entries):,} are not listed …]"
        )
    return cap_text("\n".join(lines))


def _line(entry: beneath.Entry) -> str:
    name, mode = show_name(entry.name), entry.status.st_mode
    if entry.is_folder:
        return f"{name}/"
    if entry.is_file:
        return f"{name} ({entry.status.st_size:,} bytes)"
    if stat.S_ISREG(mode):
        return f"{name} (hard link, not opened)"
    if stat.S_ISLNK(mode):
        return f"{name} (link, not followed)"
    return f"{name} (not a file)"
