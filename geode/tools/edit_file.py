"""`edit_file`: replaces the one place where a text occurs, or nothing at all."""

from __future__ import annotations

import unicodedata
from functools import partial

from geode.errors import FileRefusedError, PathRefusedError, ToolError
from geode.messages import JsonObject, Mode
from geode.steps import (
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
from geode.tools.workspace import Workspaces, Written
from geode.tools.write_file import encode_text, file_resources, unflushed

POLICY = SafetyPolicy(
    effect=Effect.MUTATE, data_class=DataClass.PERSONAL, approval="none", modes=frozenset(Mode)
)


PLACES_MAX = 100
"""How many occurrences are counted."""
LINES_TOLD_MAX = 10
ALIKE_LINES_MAX = 50
ALIKE_CHARS_MAX = 200_000


def build(workspaces: Workspaces) -> Tool:
    """The tool over these workspaces."""

    async def edit_file(context: ToolContext, arguments: JsonObject) -> Ending:
        try:
            path = parse_file_path(schema.text_of(arguments, "path"))
            written = await run_to_end(
                partial(_edit, workspaces, context, path, _change(arguments))
            )
        except ToolError as exc:
            return NotApplied(str(exc))
        return Done(f"Edited {path.text}.") if written.is_flushed else Applied(unflushed(path))

    async def reconcile(context: ToolContext, arguments: JsonObject) -> bool | None:
        try:
            path = parse_file_path(schema.text_of(arguments, "path"))
        except ToolError:
            return False
        work = partial(_has_happened, workspaces, context, path, _change(arguments))
        return await run_to_end(work)

    text_max = workspaces.limits.file_bytes_max
    return Tool(
        name="edit_file",
        description="Replace a text that occurs exactly once in a file of the workspace.",
        schema=schema.closed_object(
            ("path", "old", "new"),
            path=schema.string("relative path", chars_max=PATH_BYTES_MAX, chars_min=1),
            old=schema.string("exact present text", chars_max=text_max, chars_min=1),
            new=schema.string("text in its place", chars_max=text_max),
        ),
        policy=POLICY,
        handler=edit_file,
        resources=file_resources,
        reconcile=reconcile,
    )


def replace_once(text: str, old: str, new: str) -> str:
    """The text with the only occurrence replaced; raises `FileRefusedError` with the true number.

    When the text does not occur as written, its composed and decomposed forms and Windows line
    ends are tried, since a model cannot see which of them a file uses.
    """
    if old == new:
        raise FileRefusedError("The new text is the old one; nothing was changed.")
    for spelled_old, spelled_new in _spellings(old, new):
        places = find_places(text, spelled_old)
        if len(places) == 1:
            return text.replace(spelled_old, _fit_line_ends(text, spelled_new), 1)
        if places:
            raise FileRefusedError(
                f"The old text occurs {_tell_places(text, places)}; give more of its surroundings "
                "so that it occurs once. Nothing was changed."
            )
    hint = _find_alike(text, old)
    raise FileRefusedError(f"The old text does not occur (0 times).{hint} Nothing was changed.")


def find_places(text: str, part: str) -> list[int]:
    """Where the part begins, overlapping places included; no more than are told and one."""
    # Each place may cost as much as the part is long, and there may be millions of them.
    places: list[int] = []
    place = text.find(part)
    while place >= 0 and len(places) <= PLACES_MAX:
        places.append(place)
        place = text.find(part, place + 1)
    return places


def _tell_places(text: str, places: list[int]) -> str:
    if len(places) > PLACES_MAX:
        return f"more than {PLACES_MAX} times"
    lines = [f"{text.count(chr(10), 0, place) + 1:,}" for place in places[:LINES_TOLD_MAX]]
    if len(places) > LINES_TOLD_MAX:
        return f"{len(places)} times, first on lines {', '.join(lines)}"
    return f"{len(places)} times, on lines {', '.join(lines[:-1])} and {lines[-1]}"


def _fit_line_ends(text: str, new: str) -> str:
    """The new text with Windows line ends when the file has no others."""
    if "\r\n" not in text or "\n" in text.replace("\r\n", ""):
        return new
    return new.replace("\r\n", "\n").replace("\n", "\r\n")


def _find_alike(text: str, old: str) -> str:
    """A sentence that names the first place which differs from the old text in its spaces only."""
    wanted = [" ".join(line.split()) for line in old.strip().splitlines()]
    if not any(wanted) or len(wanted) > ALIKE_LINES_MAX or len(text) > ALIKE_CHARS_MAX:
        return ""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    for number in range(len(lines) - len(wanted) + 1):
        if lines[number : number + len(wanted)] == wanted:
            return f" But line {number + 1:,} begins a text that differs in its spaces only."
    return ""


def judge_edit(text: str, old: str, new: str) -> bool | None:
    """Whether the edit has happened, by the present text alone; None when that cannot say."""
    if old == new:
        return None
    has_old = any(spelled in text for spelled, _ in _spellings(old, new))
    has_new = bool(new) and any(spelled in text for _, spelled in _spellings(old, new))
    if has_new and not has_old:
        return True
    if has_old and not has_new:
        return False
    return None


def _change(arguments: JsonObject) -> tuple[str, str]:
    return schema.text_of(arguments, "old"), schema.text_of(arguments, "new")


def _spellings(old: str, new: str) -> list[tuple[str, str]]:
    pairs = [
        (old, new),
        (unicodedata.normalize("NFC", old), new),
        (unicodedata.normalize("NFD", old), new),
    ]
    if "\r" not in old:
        pairs.append((old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")))
    return list(dict.fromkeys(pairs))


def _edit(
    workspaces: Workspaces, context: ToolContext, path: WorkspacePath, change: tuple[str, str]
) -> Written:
    try:
        text = workspaces.read_whole(context.session_id, path).decode()
    except UnicodeDecodeError as exc:
        raise FileRefusedError(f"{path.text} is not UTF-8 text. Nothing was changed.") from exc
    content = encode_text(replace_once(text, *change))
    return workspaces.write_file(context.session_id, path, content, context.operation_id)


def _has_happened(
    workspaces: Workspaces, context: ToolContext, path: WorkspacePath, change: tuple[str, str]
) -> bool | None:
    try:
        found = workspaces.read_back(context.session_id, path, context.operation_id)
    except (PathRefusedError, OSError):
        return None
    if found is None:
        return False
    if found.writer is not None:
        return found.writer == context.operation_id
    return judge_edit(found.content.decode("utf-8", "replace"), *change)
