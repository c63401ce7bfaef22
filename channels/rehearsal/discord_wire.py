"""The world's people, places and messages in Discord's own JSON; nothing here changes anything."""

from __future__ import annotations

import re
from typing import Literal

from channels.rehearsal.discord_state import (
    BOT,
    CATEGORY_KIND,
    DIRECT,
    FORUM_KIND,
    GUILD,
    THREAD,
    DiscordWorld,
    Person,
    Posted,
    Room,
    stamp_of,
)
from geode.messages import JsonObject, JsonValue

CONTENT_INTENT_LIMITED = 1 << 19
MEMBERS_INTENT_LIMITED = 1 << 15
RESUME_URL = "wss://resume.discord.gg"
PERMISSIONS = "2248473465835073"
JOINED = "2026-01-01T00:00:00.000000+00:00"

_MENTION = re.compile(r"<@!?([0-9]+)>")
_CHANNEL_KINDS = (0, FORUM_KIND, CATEGORY_KIND)
_EMPTY_LISTS = (
    *("presences", "voice_states", "stage_instances", "guild_scheduled_events"),
    *("emojis", "stickers", "features", "soundboard_sounds"),
)
_ZEROS = (
    *("verification_level", "default_message_notifications", "explicit_content_filter"),
    *("mfa_level", "nsfw_level", "premium_tier", "system_channel_flags", "afk_timeout"),
)


def user_json(person: Person) -> JsonObject:
    """A user."""
    shown: JsonObject = {
        "id": person.id,
        "username": person.name,
        "discriminator": "0",
        "global_name": person.name.title() if person.name else None,
        "avatar": None,
    }
    return shown | ({"bot": True} if person.is_bot else {})


def member_json(person: Person | None = None) -> JsonObject:
    """What a message in a server says about its author beside the user."""
    nick = person.nick if person else ""
    return {
        "roles": [],
        "joined_at": JOINED,
        "deaf": False,
        "mute": False,
        "flags": 0,
        "nick": nick or None,
        "avatar": None,
    }


def application_json(world: DiscordWorld) -> JsonObject:
    """Our application; its flags say which privileged intents are on."""
    return {
        "id": BOT,
        "name": "geode",
        "description": "",
        "icon": None,
        "bot_public": False,
        "bot_require_code_grant": False,
        "owner": user_json(next(p for p in world.people.values() if not p.is_bot)),
        "team": None,
        "verify_key": "0" * 64,
        "flags": (
            (CONTENT_INTENT_LIMITED if world.has_content_intent else 0)
            | (MEMBERS_INTENT_LIMITED if world.has_members_intent else 0)
        ),
        "interactions_endpoint_url": None,
    }


def room_json(world: DiscordWorld, room: Room) -> JsonObject:
    """A channel object of the kind that the place is."""
    if room.kind == DIRECT:
        recipient = user_json(world.people[room.recipient])
        return {"id": room.id, "type": DIRECT, "last_message_id": None, "recipients": [recipient]}
    shown: JsonObject = {
        "id": room.id,
        "type": room.kind,
        "guild_id": GUILD,
        "name": room.name,
        "parent_id": room.parent or None,
        "last_message_id": room.last or None,
        "rate_limit_per_user": 0,
        "flags": 0,
    }
    return shown | (_thread_fields(world, room) if room.kind == THREAD else _channel_fields(room))


def _channel_fields(room: Room) -> JsonObject:
    fields: JsonObject = {"position": 0, "permission_overwrites": [], "topic": None, "nsfw": False}
    if room.kind == FORUM_KIND:
        tags: list[JsonValue] = []
        fields |= {"available_tags": tags, "default_reaction_emoji": None, "default_sort_order": 0}
    return fields


def _thread_fields(world: DiscordWorld, room: Room) -> JsonObject:
    return {
        "owner_id": BOT,
        "message_count": len(world.posts[room.id]),
        "member_count": 1,
        "total_message_sent": len(world.posts[room.id]),
        "thread_metadata": {
            "archived": room.is_archived,
            "auto_archive_duration": 1440,
            "archive_timestamp": stamp_of(room.id),
            "create_timestamp": stamp_of(room.id),
            "locked": room.is_locked,
        },
        "member": {"id": room.id, "user_id": BOT, "join_timestamp": JOINED, "flags": 0},
    }


def guild_json(world: DiscordWorld) -> JsonObject:
    """GUILD_CREATE: the server with its channels and active threads."""
    shown = [room for room in world.rooms.values() if not room.is_hidden]
    everyone: JsonObject = {
        "id": GUILD,
        "name": "@everyone",
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "position": 0,
        "permissions": PERMISSIONS,
        "managed": False,
        "mentionable": False,
        "flags": 0,
    }
    empty: JsonObject = {name: [] for name in _EMPTY_LISTS}
    zeros: JsonObject = dict.fromkeys(_ZEROS, 0)
    facts: JsonObject = {
        "id": GUILD,
        "name": "rehearsal",
        "owner_id": next(iter(world.people)),
        "member_count": len(world.people),
        "joined_at": JOINED,
        "large": False,
        "unavailable": False,
        "roles": [everyone],
        "channels": [room_json(world, room) for room in shown if room.kind in _CHANNEL_KINDS],
        "threads": [room_json(world, room) for room in shown if room.kind == THREAD],
        "members": [{"user": user_json(world.people[BOT]), **member_json()}],
        "preferred_locale": "en-US",
        "icon": None,
        "splash": None,
        "banner": None,
        "description": None,
    }
    return empty | zeros | facts


def message_json(
    world: DiscordWorld, post: Posted, *, form: Literal["rest", "gateway"] = "rest"
) -> JsonObject:
    """A message as the REST API shows it, or with what the gateway adds to it."""
    room = world.rooms[post.room]
    text = post.text if _may_read(world, post, room) else ""
    named = dict.fromkeys(_MENTION.findall(post.text))
    shown: JsonObject = {
        "id": post.id,
        "channel_id": post.room,
        "author": user_json(world.people[post.author]),
        "content": text,
        "timestamp": stamp_of(post.id),
        "edited_timestamp": post.edits[-1]["at"] if post.edits else None,
        "tts": False,
        "mention_everyone": False,
        "mentions": [user_json(world.people[one]) for one in named if one in world.people],
        "mention_roles": [],
        "attachments": [],
        "embeds": [],
        "components": [],
        "pinned": False,
        "type": post.kind,
        "flags": post.flags,
    }
    if post.reactions:
        shown["reactions"] = [
            {"emoji": {"id": None, "name": emoji}, "count": len(users), "me": BOT in users}
            for emoji, users in post.reactions.items()
        ]
    if form == "gateway" and room.kind != DIRECT:
        shown |= {"guild_id": GUILD, "member": member_json(world.people[post.author])}
    return shown | post.shown | post.extra


def _may_read(world: DiscordWorld, post: Posted, room: Room) -> bool:
    """Without the intent a bot reads its own words, direct messages and what mentions it."""
    if world.has_content_intent or post.author == BOT or room.kind == DIRECT:
        return True
    return BOT in _MENTION.findall(post.text)
