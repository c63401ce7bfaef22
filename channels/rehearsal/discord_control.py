"""The control interface of the local Discord: what people do, what goes wrong, what was counted."""

from __future__ import annotations

import base64

from channels.fields import int_of, is_true, list_of, object_of, text_of
from channels.rehearsal.control import ControlRoutes, Verb
from channels.rehearsal.discord_core import DiscordCore
from channels.rehearsal.discord_interactions import button_of
from channels.rehearsal.discord_refusal import DiscordRefusalError
from channels.rehearsal.discord_state import ANA, FORUM, GENERAL, Posted
from channels.rehearsal.discord_wire import message_json
from geode.messages import JsonObject, JsonValue


class DiscordControl(ControlRoutes):
    """The verbs of this stand-in."""

    refusals = (DiscordRefusalError,)

    def __init__(self, discord: DiscordCore) -> None:
        self._discord = discord
        verbs: dict[str, Verb] = {
            "say": self._say,
            "edit": self._edit,
            "delete": self._delete,
            "thread": self._thread,
            "forum_post": self._forum_post,
            "event": self._event,
            "room": self._room,
            "press": self._press,
            "submit": self._submit,
            "command": self._command,
            "whispers": self._whispers,
            "attach": self._attach,
            "commands": self._commands,
            "interactions": self._interactions,
            "intent": self._intent,
            "transcript": self._transcript,
            "gateway": self._gateway,
        }
        super().__init__(discord, verbs)

    async def _say(self, asked: JsonObject) -> JsonObject:
        post = await self._discord.say(
            text_of(asked, "text"),
            user=text_of(asked, "user") or ANA,
            channel=text_of(asked, "channel") if "channel" in asked else GENERAL,
            is_heard="is_heard" not in asked or is_true(asked, "is_heard"),
            **object_of(asked, "extra"),
        )
        return {"channel": post.room, "id": post.id}

    def _named(self, asked: JsonObject) -> Posted:
        return self._discord.find(text_of(asked, "channel"), text_of(asked, "id"))

    async def _edit(self, asked: JsonObject) -> JsonObject:
        await self._discord.edit(self._named(asked), text_of(asked, "text"))
        return {}

    async def _delete(self, asked: JsonObject) -> JsonObject:
        await self._discord.delete(self._named(asked))
        return {}

    async def _thread(self, asked: JsonObject) -> JsonObject:
        room = await self._discord.open_thread(
            text_of(asked, "name") or "thread",
            channel=text_of(asked, "channel") or GENERAL,
            is_hidden=is_true(asked, "is_hidden"),
        )
        return {"channel": room.id}

    async def _forum_post(self, asked: JsonObject) -> JsonObject:
        post = await self._discord.open_post(
            text_of(asked, "text"),
            user=text_of(asked, "user") or ANA,
            forum=text_of(asked, "channel") or FORUM,
        )
        return {"channel": post.room, "id": post.id}

    async def _event(self, asked: JsonObject) -> JsonObject:
        await self._discord.gateway.dispatch(text_of(asked, "type"), object_of(asked, "data"))
        return {}

    async def _room(self, asked: JsonObject) -> JsonObject:
        """Change a place: `refusal` is the code of every call on it, `denied` names calls."""
        room = self._discord.world.rooms[text_of(asked, "channel")]
        if "refusal" in asked:
            room.refusal = int_of(asked, "refusal")
        if "denied" in asked:
            room.denied = {one for one in list_of(asked, "denied") if isinstance(one, str)}
        room.is_archived = is_true(asked, "is_archived")
        room.is_locked = is_true(asked, "is_locked")
        return {}

    async def _press(self, asked: JsonObject) -> JsonObject:
        """Press the button with that label, or that id, under a message."""
        post = self._named(asked)
        wanted = text_of(asked, "custom_id") or button_of(post, text_of(asked, "label"))
        pressed = await self._discord.press(post, wanted, user=text_of(asked, "user") or ANA)
        return {"token": pressed.token}

    async def _submit(self, asked: JsonObject) -> JsonObject:
        opened = self._discord.book.asked[text_of(asked, "token")]
        return {"token": (await self._discord.submit(opened, text_of(asked, "text"))).token}

    async def _command(self, asked: JsonObject) -> JsonObject:
        used = await self._discord.command(
            text_of(asked, "name"),
            text_of(asked, "argument"),
            user=text_of(asked, "user") or ANA,
            channel=text_of(asked, "channel") if "channel" in asked else GENERAL,
        )
        return {"token": used.token}

    async def _whispers(self, asked: JsonObject) -> JsonObject:
        """What came of one interaction, or of all: the first answer, the form, the words."""
        token, user = text_of(asked, "token"), text_of(asked, "user")
        found: list[JsonValue] = [
            {
                "token": one.token,
                "user": one.user,
                "channel": one.room,
                "answered": one.answered,
                "form": one.form,
                "texts": list[JsonValue](one.texts),
            }
            for one in self._discord.book.asked.values()
            if token in ("", one.token) and user in ("", one.user)
        ]
        return {"interactions": found}

    async def _attach(self, asked: JsonObject) -> JsonObject:
        content = base64.b64decode(text_of(asked, "content"))
        file = (text_of(asked, "name"), text_of(asked, "media_type"), content)
        post = await self._discord.attach(
            text_of(asked, "text"),
            file,
            user=text_of(asked, "user") or ANA,
            channel=text_of(asked, "channel") if "channel" in asked else GENERAL,
        )
        return {"channel": post.room, "id": post.id}

    async def _commands(self, asked: JsonObject) -> JsonObject:
        return {"commands": list[JsonValue](self._discord.world.commands)}

    async def _interactions(self, asked: JsonObject) -> JsonObject:
        """`are_deaf`: the first answer of each new interaction comes too late."""
        self._discord.book.are_deaf = is_true(asked, "are_deaf")
        return {}

    async def _intent(self, asked: JsonObject) -> JsonObject:
        self._discord.world.has_content_intent = is_true(asked, "is_on")
        return {}

    async def _transcript(self, asked: JsonObject) -> JsonObject:
        world, channel = self._discord.world, text_of(asked, "channel")
        rooms = [channel] if channel else list(world.posts)
        messages: list[JsonValue] = [
            self._post_json(post) for room in rooms for post in world.posts.get(room, [])
        ]
        return {"messages": messages}

    def _post_json(self, post: Posted) -> JsonObject:
        """A message with everything a test or a demo may ask about it."""
        return {
            **message_json(self._discord.world, post),
            "text": post.text,
            "name": self._discord.world.people[post.author].name,
            "edits": list[JsonValue](post.edits),
            "arguments": post.arguments,
            "is_deleted": post.is_deleted,
        }

    async def _gateway(self, asked: JsonObject) -> JsonObject:
        gateway = self._discord.gateway
        match text_of(asked, "do"):
            case "reconnect":
                await gateway.ask_reconnect()
            case "invalidate":
                await gateway.invalidate(is_resumable=is_true(asked, "is_resumable"))
            case "replay":
                return {"count": await gateway.replay(int_of(asked, "count", 1))}
            case "close":
                await gateway.close_all(int_of(asked, "code", 4000))
            case "kill":
                return {"count": gateway.kill_all()}
            case "freeze":
                return {"count": gateway.freeze_all()}
            case "refuse_identify":
                gateway.identify_close = int_of(asked, "code")
            case "refuse_resume":
                gateway.resume_close = int_of(asked, "code")
            case unknown:
                raise ValueError(f"unknown gateway action {unknown!r}")
        return {}
