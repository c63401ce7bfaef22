"""What a message has attached: files that can be fetched, and what can only be named; pure."""

from __future__ import annotations

from typing import Final

from channels.fields import int_of, object_of, objects_of, text_of
from geode.messages import FileRef, JsonObject

KINDS: Final = {
    "document": ("file", ""),
    "video": ("video.mp4", "video/mp4"),
    "animation": ("animation.mp4", "video/mp4"),
    "audio": ("audio.mp3", "audio/mpeg"),
    "voice": ("voice.ogg", "audio/ogg"),
    "video_note": ("video-note.mp4", "video/mp4"),
}
"""What carries one file, with the name and the type that it has when Telegram says none."""
NAMED: Final = ("sticker", "contact", "location", "poll")
"""What a person may send that is no file to read."""


def read_files(message: JsonObject) -> tuple[FileRef, ...]:
    """Every file of a message; of a photo the largest size."""
    found = [_photo(objects_of(message, "photo"))] if message.get("photo") else []
    # An animation is told twice, once as a document.
    kinds = [name for name in KINDS if not (name == "document" and message.get("animation"))]
    found += [_file(name, object_of(message, name)) for name in kinds if message.get(name)]
    return tuple(file for file in found if file.id)


def name_attachments(message: JsonObject) -> list[str]:
    """A line for each thing that is attached and cannot be read."""
    return [f"[attached {name}, not readable here]" for name in NAMED if message.get(name)]


def _photo(sizes: list[JsonObject]) -> FileRef:
    if not sizes:
        return FileRef("", "")
    largest = max(sizes, key=lambda size: int_of(size, "width") * int_of(size, "height"))
    return FileRef(text_of(largest, "file_id"), "photo.jpg", "image/jpeg", _size(largest))


def _file(kind: str, source: JsonObject) -> FileRef:
    name, media_type = KINDS[kind]
    return FileRef(
        text_of(source, "file_id"),
        text_of(source, "file_name") or name,
        text_of(source, "mime_type") or media_type,
        _size(source),
    )


def _size(source: JsonObject) -> int:
    return max(0, int_of(source, "file_size"))
