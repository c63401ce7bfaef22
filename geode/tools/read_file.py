"""`read_file`: a text file of the session's workspace, whole or by lines, within the output cap."""

from __future__ import annotations

import os
from functools import partial

from geode.errors import FileRefusedError, ToolError
from geode.messages import JsonObject, Mode, SessionId
from geode.steps import DataClass, Done, Effect, Ending, NotApplied, SafetyPolicy, Tool, ToolContext
from geode.tools import schema
from geode.tools.beneath import read_at
from geode.tools.blocking import run_to_end
from geode.tools.content import explain_binary, name_binary
from geode.tools.output import OUTPUT_BYTES_MAX, OutputWindow, cap_bytes, cap_text
from geode.tools.paths import PATH_BYTES_MAX, WorkspacePath, parse_file_path
from geode.tools.workspace import Workspaces

POLICY = SafetyPolicy(
    effect=Effect.READ, data_class=DataClass.PERSONAL, approval="none", modes=frozenset(Mode)
)
SCAN_BYTES_MAX = 64_000_000
"""How far into a file lines are counted."""

_CHUNK_BYTES = 1 << 18


def build(workspaces: Workspaces) -> Tool:
    """The tool over these workspaces."""

    async def read_file(context: ToolContext, arguments: JsonObject) -> Ending:
        first = schema.count_of(arguments, "offset")
        lines = schema.count_of(arguments, "limit")
        try:
            path = parse_file_path(schema.text_of(arguments, "path"))
            if first is None and lines is None:
                work = partial(_read_ends, workspaces, context.session_id, path)
            else:
                work = partial(
                    _read_lines, workspaces, context.session_id, path, (first or 1, lines)
                )
            return Done(await run_to_end(work))
        except ToolError as exc:
            return NotApplied(str(exc))

    return Tool(
        name="read_file",
        description=(
            "Read a text file of the workspace. offset is the first line (from 1) and limit the "
            "number of lines; long output keeps its start and end."
        ),
        schema=schema.closed_object(
            ("path",),
            path=schema.string("relative path", chars_max=PATH_BYTES_MAX, chars_min=1),
            offset=schema.count("first line, from 1"),
            limit=schema.count("number of lines"),
        ),
        policy=POLICY,
        handler=read_file,
    )


def _read_ends(workspaces: Workspaces, session: SessionId, path: WorkspacePath) -> str:
    with workspaces.open_file(session, path) as descriptor:
        size = os.fstat(descriptor).st_size
        head = read_at(descriptor, 0, OUTPUT_BYTES_MAX)
        tail_start = max(0, size - OUTPUT_BYTES_MAX)
        tail = read_at(descriptor, tail_start, OUTPUT_BYTES_MAX) if tail_start else b""
    kind = name_binary(head)
    if kind is not None:
        return explain_binary(path.text, kind, size)
    if not head:
        return f"{path.text} is empty."
    return cap_bytes(head, tail, max(size, len(head)))


def _read_lines(
    workspaces: Workspaces,
    session: SessionId,
    path: WorkspacePath,
    window: tuple[int, int | None],
) -> str:
    first, count = window
    last = None if count is None else first + count - 1
    with workspaces.open_file(session, path) as descriptor:
        kind = name_binary(read_at(descriptor, 0, OUTPUT_BYTES_MAX))
        if kind is not None:
            size = os.fstat(descriptor).st_size
            return explain_binary(path.text, kind, size)
        kept = OutputWindow(OUTPUT_BYTES_MAX - 200)
        line, is_end = _scan(descriptor, kept, first, last)
    if kept.size == 0:
        if is_end:
            raise FileRefusedError(
                f"{path.text} has {line:,} lines; line {first:,} does not exist."
            )
        raise FileRefusedError(
            f"Line {first:,} lies beyond the first {SCAN_BYTES_MAX:,} bytes of {path.text}, "
            "which is as far as lines are counted."
        )
    note = f"[lines {first:,} to {line:,}" + (", the end of the file]" if is_end else "]")
    return cap_text(kept.text().rstrip("\n") + "\n" + note)


def _scan(descriptor: int, kept: OutputWindow, first: int, last: int | None) -> tuple[int, bool]:
    """Collect the lines; the last line's number, and whether the file ended there."""
    line, position, is_open = 0, 0, False
    while position < SCAN_BYTES_MAX:
        chunk = read_at(descriptor, position, _CHUNK_BYTES)
        if not chunk:
            return line, True
        position += len(chunk)
        for piece in _pieces(chunk):
            if not is_open:
                if line == last:
                    return line, False
                line += 1
            is_open = not piece.endswith(b"\n")
            if line >= first:
                kept.add(piece)
    return line, False


def _pieces(chunk: bytes) -> list[bytes]:
    parts = chunk.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
