"""What Discord demands of a call's body; pure, each breach a refusal with Discord's code."""

from __future__ import annotations

from channels.fields import int_of, list_of, object_of, objects_of, text_of
from channels.rehearsal.discord_components import check_components
from channels.rehearsal.discord_components import invalid as _invalid
from channels.rehearsal.discord_refusal import DiscordRefusalError
from geode.messages import JsonObject

CONTENT_MAX = 2_000
NONCE_MAX = 25
THREAD_NAME_MAX = 100
ARCHIVE_MINUTES = (60, 1440, 4320, 10080)
SUPPRESS_EMBEDS, SUPPRESS_NOTIFICATIONS = 1 << 2, 1 << 12
EPHEMERAL = 1 << 6
MENTION_KINDS = {"users", "roles", "everyone"}


def check_message(
    body: JsonObject, *, is_edit: bool = False, is_private: bool = False, has_files: bool = False
) -> None:
    """Refuse what Discord would refuse, and a body that leaves mentions to their default."""
    content = body.get("content")
    if content is not None and not isinstance(content, str):
        raise _invalid("content: Could not interpret as string.")
    if isinstance(content, str) and len(content.encode("utf-16-le")) // 2 > CONTENT_MAX:
        raise _invalid(f"content: Must be {CONTENT_MAX} or fewer in length.")
    if not (content or "").strip() and not has_files and not (is_edit and content is None):
        raise DiscordRefusalError(50006)
    _check_mentions(body)
    check_components(body)
    allowed = SUPPRESS_EMBEDS | (0 if is_edit else SUPPRESS_NOTIFICATIONS)
    allowed |= EPHEMERAL if is_private else 0
    if int_of(body, "flags") & ~allowed:
        raise _invalid("flags: Invalid flags.")
    if not is_edit and not is_private:
        _check_nonce(body)


def _check_mentions(body: JsonObject) -> None:
    """The field is optional for Discord and required here: its default pings everybody."""
    if "allowed_mentions" not in body:
        raise _invalid("allowed_mentions: This stand-in wants it on every message.")
    mentions = object_of(body, "allowed_mentions")
    kinds = [kind for kind in list_of(mentions, "parse") if isinstance(kind, str)]
    if set(kinds) - MENTION_KINDS:
        raise _invalid("allowed_mentions: Unknown kind.")
    for kind in ("users", "roles"):
        if kind in kinds and list_of(mentions, kind):
            raise _invalid("allowed_mentions: parse and the list exclude each other.")


def _check_nonce(body: JsonObject) -> None:
    nonce = body.get("nonce")
    if nonce is not None and len(str(nonce)) > NONCE_MAX:
        raise _invalid(f"nonce: Must be {NONCE_MAX} or fewer in length.")
    if body.get("enforce_nonce") and not nonce:
        raise _invalid("nonce: Required with enforce_nonce.")


def check_thread(body: JsonObject) -> str:
    """The name of a thread to be opened."""
    name = text_of(body, "name")
    if not 1 <= len(name.strip()) <= THREAD_NAME_MAX:
        raise _invalid(f"name: Must be between 1 and {THREAD_NAME_MAX} in length.")
    if int_of(body, "auto_archive_duration", 1440) not in ARCHIVE_MINUTES:
        raise _invalid("auto_archive_duration: Not one of the values.")
    return name


def is_pinging(body: JsonObject) -> bool:
    """Whether a body lets its text notify everyone or a role."""
    kinds = list_of(object_of(body, "allowed_mentions"), "parse")
    return "everyone" in kinds or "roles" in kinds or bool(objects_of(body, "mentions"))
