"""The one gate of everything said: no mention in it notifies anybody; pure."""

from __future__ import annotations

from channels.fields import object_of
from geode.messages import JsonObject

NOBODY: JsonObject = {"parse": [], "replied_user": False}
SPOKEN = frozenset({"content", "components", "attachments", "embeds"})
"""A body with one of these is a message."""


def silence(body: JsonObject) -> JsonObject:
    """A call's body in which every message, an interaction's answer included, pings nobody."""
    if "data" in body:
        return {**body, "data": silence(object_of(body, "data"))}
    is_form = "title" in body
    if is_form or not SPOKEN & body.keys():
        return body
    return {**body, "allowed_mentions": NOBODY}
