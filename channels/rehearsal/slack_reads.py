"""The Web API methods that only read the workspace: history, replies, places, people."""

from __future__ import annotations

from typing import TypeVar

from channels.fields import int_of, is_true, text_of
from channels.rehearsal.slack_refusal import SlackRefusalError, find_post, find_room
from channels.rehearsal.slack_state import Person, Posted, Room, Workspace, is_ts, ts_key
from geode.messages import JsonObject, JsonValue

PAGE_MAX = 999
PAGE_DEFAULT = 100
ROOM_KINDS = frozenset({"public_channel", "private_channel", "mpim", "im"})
SCOPE_OF_KIND = {
    "public_channel": "channels:read",
    "private_channel": "groups:read",
    "mpim": "mpim:read",
    "im": "im:read",
}
Item = TypeVar("Item")


class ReadMethods:
    """The reading methods over one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def auth_test(self, call: JsonObject) -> JsonObject:
        """auth.test."""
        workspace = self._workspace
        return {
            "url": "https://rehearsal.slack.com/",
            "team": "Rehearsal",
            "user": workspace.people[workspace.bot_user].name,
            "team_id": workspace.team_id,
            "user_id": workspace.bot_user,
            "bot_id": workspace.bot_id,
            "is_enterprise_install": False,
        }

    async def history(self, call: JsonObject) -> JsonObject:
        """conversations.history: roots, newest first."""
        room = find_room(self._workspace, call)
        posts = [p for p in self._workspace.roots(room.id) if _is_within(p, call)]
        return self._page(call, posts[::-1])

    async def replies(self, call: JsonObject) -> JsonObject:
        """conversations.replies: the root first, then its replies, oldest first."""
        room = find_room(self._workspace, call)
        post = self._workspace.find_post(room.id, text_of(call, "ts"))
        if post is None:
            raise SlackRefusalError("thread_not_found")
        if post.is_reply:
            return self._page(call, [post])
        replies = [p for p in self._workspace.replies(room.id, post.ts) if _is_within(p, call)]
        return self._page(call, [post, *replies])

    def _page(self, call: JsonObject, posts: list[Posted]) -> JsonObject:
        kept, following = _cut(call, posts)
        with_metadata = is_true(call, "include_all_metadata")
        shown: list[JsonValue] = [
            self._workspace.message_json(post, with_metadata=with_metadata) for post in kept
        ]
        return {
            "messages": shown,
            "has_more": bool(following),
            "response_metadata": {"next_cursor": following},
        }

    async def rooms(self, call: JsonObject) -> JsonObject:
        """conversations.list: places of the asked kinds; public channels when none is asked for."""
        return self._list_rooms(call, list(self._workspace.rooms.values()))

    async def own_rooms(self, call: JsonObject) -> JsonObject:
        """users.conversations of the bot itself: the places of the asked kinds that it is in."""
        if text_of(call, "user") not in ("", self._workspace.bot_user):
            raise SlackRefusalError("user_not_found")
        rooms = self._workspace.rooms.values()
        return self._list_rooms(call, [r for r in rooms if self._workspace.bot_user in r.members])

    def _list_rooms(self, call: JsonObject, rooms: list[Room]) -> JsonObject:
        kinds = _kinds_of(call)
        if kinds - ROOM_KINDS:
            raise SlackRefusalError("invalid_types")
        hides_archived = text_of(call, "exclude_archived") in ("1", "true")
        found = [
            room
            for room in rooms
            if _kind_of(room) in kinds and not (hides_archived and room.is_archived)
        ]
        kept, following = _cut(call, found)
        shown: list[JsonValue] = [self._room_json(room) for room in kept]
        return {"channels": shown, "response_metadata": {"next_cursor": following}}

    async def room(self, call: JsonObject) -> JsonObject:
        """conversations.info."""
        room = find_room(self._workspace, call, must_be_member=False)
        return {"channel": self._room_json(room)}

    async def open_direct(self, call: JsonObject) -> JsonObject:
        """conversations.open for one person."""
        user = text_of(call, "users")
        if user not in self._workspace.people:
            raise SlackRefusalError("user_not_found")
        return {"channel": self._room_json(self._workspace.direct_room(user))}

    async def members(self, call: JsonObject) -> JsonObject:
        """conversations.members."""
        room = find_room(self._workspace, call)
        kept, following = _cut(call, sorted(room.members))
        members = list[JsonValue](kept)
        return {"members": members, "response_metadata": {"next_cursor": following}}

    async def person(self, call: JsonObject) -> JsonObject:
        """users.info."""
        person = self._workspace.people.get(text_of(call, "user"))
        if person is None:
            raise SlackRefusalError("user_not_found")
        return {"user": _person_json(person, self._workspace.team_id)}

    async def permalink(self, call: JsonObject) -> JsonObject:
        """chat.getPermalink."""
        room = find_room(self._workspace, call)
        post = find_post(self._workspace, room, text_of(call, "message_ts"))
        anchor = "p" + post.ts.replace(".", "")
        return {"channel": room.id, "permalink": f"https://rehearsal.slack.com/{room.id}/{anchor}"}

    def _room_json(self, room: Room) -> JsonObject:
        shown: JsonObject = {
            "id": room.id,
            "name": room.name,
            "is_channel": not room.is_im,
            "is_im": room.is_im,
            "is_mpim": room.is_mpim,
            "is_member": self._workspace.bot_user in room.members,
            "is_archived": room.is_archived,
        }
        if room.is_im:
            shown["user"] = next(m for m in room.members if m != self._workspace.bot_user)
        return shown


def _cut(call: JsonObject, items: list[Item]) -> tuple[list[Item], str]:
    """The page a call asks for, and the cursor of the next one."""
    limit = int_of(call, "limit", PAGE_DEFAULT)
    if not 1 <= limit <= PAGE_MAX:
        raise SlackRefusalError("invalid_limit")
    cursor = text_of(call, "cursor")
    if cursor and not cursor.isdecimal():
        raise SlackRefusalError("invalid_cursor")
    start = int(cursor or 0)
    following = str(start + limit) if start + limit < len(items) else ""
    return items[start : start + limit], following


def scopes_for_rooms(call: JsonObject) -> tuple[str, ...]:
    """What a token must be allowed in order to list places of the asked kinds."""
    return tuple(SCOPE_OF_KIND[kind] for kind in sorted(_kinds_of(call)) if kind in SCOPE_OF_KIND)


def _kinds_of(call: JsonObject) -> set[str]:
    return set((text_of(call, "types") or "public_channel").split(","))


def _kind_of(room: Room) -> str:
    if room.is_im:
        return "im"
    return "mpim" if room.is_mpim else "public_channel"


def _is_within(post: Posted, call: JsonObject) -> bool:
    oldest, latest, here = call.get("oldest"), call.get("latest"), ts_key(post.ts)
    for name, bound in (("oldest", oldest), ("latest", latest)):
        if bound not in (None, "", "0", 0) and not is_ts(bound):
            raise SlackRefusalError(f"invalid_ts_{name}")
    if here in [ts_key(str(bound)) for bound in (oldest, latest) if is_ts(bound)]:
        return is_true(call, "inclusive")
    is_after = not is_ts(oldest) or here > ts_key(str(oldest))
    return is_after and (not is_ts(latest) or here < ts_key(str(latest)))


def _person_json(person: Person, team_id: str) -> JsonObject:
    return {
        "id": person.id,
        "team_id": team_id,
        "name": person.name,
        "real_name": person.name.title(),
        "is_bot": person.is_bot,
        "profile": {"display_name": person.name, "real_name": person.name.title()},
    }
