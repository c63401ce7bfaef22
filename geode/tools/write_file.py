"""`write_file`: a whole file of the session's workspace, new or replaced, or nothing at all."""

from __future__ import annotations

from functools import partial

from geode.errors import PathRefusedError, ToolError
from geode.messages import JsonObject, Mode, SessionId
from geode.steps import (
    LOCK_ONLY,
    Applied,
    DataClass,
    Done,
    Effect,
    Ending,
    NotApplied,
    SafetyPolicy,
    Tool,
    ToolContext,
)
from geode.tools import schema
from geode.tools.blocking import run_to_end
from geode.tools.paths import PATH_BYTES_MAX, WorkspacePath, parse_file_path
from geode.tools.workspace import Workspaces

POLICY = SafetyPolicy(
    effect=Effect.MUTATE, data_class=DataClass.PERSONAL, approval="none", modes=frozenset(Mode)
)


def build(workspaces: Workspaces) -> Tool:
    """The tool over these workspaces."""

    async def write_file(context: ToolContext, arguments: JsonObject) -> Ending:
        try:
            path = parse_file_path(schema.text_of(arguments, "path"))
            content = encode_text(schema.text_of(arguments, "content"))
            work = partial(
                workspaces.write_file, context.session_id, path, content, context.operation_id
            )
            written = await run_to_end(work)
        except ToolError as exc:
            return NotApplied(str(exc))
        if not written.is_flushed:
            return Applied(unflushed(path))
        verb = "Wrote the new file" if written.was_new else "Replaced"
        return Done(f"{verb} {path.text} ({len(content):,} bytes).")

    async def reconcile(context: ToolContext, arguments: JsonObject) -> bool | None:
        try:
            path = parse_file_path(schema.text_of(arguments, "path"))
            content = encode_text(schema.text_of(arguments, "content"))
        except ToolError:
            return False
        return await run_to_end(partial(_has_happened, workspaces, context, path, content))

    return Tool(
        name="write_file",
        description="Write a text file of the workspace; replaces it if it exists.",
        schema=schema.closed_object(
            ("path", "content"),
            path=schema.string("relative path", chars_max=PATH_BYTES_MAX, chars_min=1),
            content=schema.string("the whole text", chars_max=workspaces.limits.file_bytes_max),
        ),
        policy=POLICY,
        handler=write_file,
        resources=file_resources,
        reconcile=reconcile,
    )


def file_resources(context: ToolContext, arguments: JsonObject) -> tuple[str, ...]:
    """One key per file, equal for every spelling of its path, and the lock of the workspace."""
    lock = workspace_lock(context.session_id)
    try:
        path = parse_file_path(schema.text_of(arguments, "path"))
    except PathRefusedError:
        # The handler refuses such a call; a key of its own keeps it from blocking any file.
        return f"file:{context.session_id}:", lock
    return file_key(context.session_id, path), lock


def file_key(session: SessionId, path: WorkspacePath) -> str:
    """The resource key of one file."""
    return f"file:{session}:{path.text}"


def workspace_lock(session: SessionId) -> str:
    """The lock that whatever writes into a workspace takes, so that a command is alone in it."""
    return f"{LOCK_ONLY}workspace:{session}"


def encode_text(text: str) -> bytes:
    """UTF-8; raises `ToolError` for half characters, which have no bytes."""
    try:
        return text.encode()
    except UnicodeEncodeError as exc:
        raise ToolError("The text holds half of a character (a lone surrogate).") from exc


def unflushed(path: WorkspacePath) -> str:
    """The error when the disk did not confirm a rename."""
    return f"{path.text} was written, but the disk did not confirm it; a power cut may undo it."


def _has_happened(
    workspaces: Workspaces, context: ToolContext, path: WorkspacePath, content: bytes
) -> bool | None:
    """Nothing else writes a file with an open receipt, so other content says it did not."""
    try:
        found = workspaces.read_back(context.session_id, path, context.operation_id)
    except (PathRefusedError, OSError):
        return None
    if found is None:
        return False
    if found.writer is not None:
        return found.writer == context.operation_id
    return found.content == content
