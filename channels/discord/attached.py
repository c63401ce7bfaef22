"""What people attach, as file references: named by place, message and attachment; pure."""

from __future__ import annotations

from channels.fields import int_of, object_of, objects_of, text_of
from geode.messages import FileRef, JsonObject


def read_files(message: JsonObject) -> tuple[FileRef, ...]:
    """The files of a message, those of forwarded messages included."""
    place = f"{text_of(message, 'channel_id')}/{text_of(message, 'id')}"
    return tuple([_read_file(shown, place) for shown in _all_of(message)])


def url_of(message: JsonObject, attachment: str) -> str:
    """Where Discord keeps that attachment of the message now; its addresses expire."""
    found = [shown for shown in _all_of(message) if text_of(shown, "id") == attachment]
    return text_of(found[0], "url") if found else ""


def _all_of(message: JsonObject) -> list[JsonObject]:
    forwarded = [object_of(shot, "message") for shot in objects_of(message, "message_snapshots")]
    shown = [file for one in (message, *forwarded) for file in objects_of(one, "attachments")]
    return [file for file in shown if text_of(file, "id")]


def _read_file(shown: JsonObject, place: str) -> FileRef:
    attachment = text_of(shown, "id")
    return FileRef(
        id=f"{place}/{attachment}",
        name=text_of(shown, "filename") or attachment,
        media_type=text_of(shown, "content_type").partition(";")[0].strip(),
        size_bytes=int_of(shown, "size"),
        url=text_of(shown, "url"),
    )
