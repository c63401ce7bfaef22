"""The chats that people write to the bot from, for `geode setup`; nothing is confirmed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from channels.fields import is_true, object_of, text_of
from channels.telegram.claim import TokenClaim
from channels.telegram.entities import BotIdentity
from channels.telegram.parse import NOT_PEOPLE
from channels.telegram.places import GENERAL, read_person, read_thread
from channels.telegram.web import TelegramWeb
from geode.errors import ChannelDownError
from geode.guides import FoundPlace
from geode.messages import JsonObject, Person
from geode.ports import Clock

POLL_S_MAX = 25.0
PAUSE_S = 1.0
KINDS = ("message", "edited_message")
HOOKED = (
    "A webhook is set for this bot, so its messages go elsewhere: write the ids by hand; "
    "the bot tells them on /whoami."
)


class TelegramDiscovery:
    """Looks at what waits for the bot, and leaves it waiting for `geode serve`."""

    def __init__(self, web: TelegramWeb, claim: TokenClaim, clock: Clock) -> None:
        self._web = web
        self._claim = claim
        self._clock = clock

    async def find(self, wait_s: float) -> Sequence[FoundPlace]:
        """The chats of what waits, or of what comes within that time; raises `ChannelError`."""
        bot = await self._web.identify()
        if holder := await asyncio.to_thread(self._claim.take):
            raise ChannelDownError(
                f"A GEODE of this machine ({holder}) receives with this token: stop it and look "
                "again, or write the ids by hand; the bot tells them on /whoami."
            )
        try:
            if text_of(await self._web.read_webhook(), "url"):
                raise ChannelDownError(HOOKED)
            return await self._look(bot, wait_s)
        finally:
            self._claim.release()

    async def _look(self, bot: BotIdentity, wait_s: float) -> Sequence[FoundPlace]:
        ends = self._clock.monotonic() + wait_s
        while True:
            left = max(0.0, ends - self._clock.monotonic())
            # Without an offset nothing is confirmed: all of it comes again, to us and the daemon.
            updates = await self._web.read_updates(0, int(min(left, POLL_S_MAX)))
            if found := list_places(updates, bot):
                return found
            if left <= 0:
                return ()
            await self._clock.sleep(min(left, PAUSE_S))


def list_places(updates: Sequence[JsonObject], bot: BotIdentity) -> list[FoundPlace]:
    """Groups, their topics, then direct messages, each with the people who wrote there; pure."""
    names: dict[str, str] = {}
    people: dict[str, dict[str, Person]] = {}
    everyone: dict[str, Person] = {}
    for message in (object_of(update, kind) for update in updates for kind in KINDS):
        thread, person = read_thread(message, bot.id), _read_author(message)
        if thread is None or person is None:
            continue
        everyone[person.id] = person
        chat = object_of(message, "chat")
        if text_of(chat, "type") == "private":
            continue
        title = text_of(chat, "title") or thread.channel
        where = f"{bot.id}/{thread.channel}"
        places = {where: title}
        if thread.thread not in ("", GENERAL):
            places[f"{where}/{thread.thread}"] = f"{title}, topic {thread.thread}"
        for place, name in places.items():
            names[place] = name
            people.setdefault(place, {})[person.id] = person
    found = [FoundPlace(w, name, tuple(people[w].values())) for w, name in names.items()]
    direct = FoundPlace(f"{bot.id}/dm", "direct messages", tuple(everyone.values()))
    return [*found, direct] if everyone else []


def _read_author(message: JsonObject) -> Person | None:
    """The person who wrote it; None for bots, channels and anonymous administrators."""
    sender = object_of(message, "from")
    person = read_person(sender)
    is_nobody = person.id == "0" or int(person.id) in NOT_PEOPLE or "sender_chat" in message
    return None if is_nobody or is_true(sender, "is_bot") else person
