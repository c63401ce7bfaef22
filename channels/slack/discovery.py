"""The places of a workspace that the bot is in, and the people there, for `geode setup`."""

from __future__ import annotations

from collections.abc import Sequence

from channels.fields import is_true, list_of, object_of, objects_of, text_of
from channels.slack.failures import PlatformRefusedError, TokenRefusedError
from channels.slack.names import name_of
from channels.slack.web import SlackWeb
from geode.errors import ChannelDownError, ChannelError
from geode.guides import FoundPlace
from geode.messages import JsonObject, Person

PAGE = 200
PAGES_MAX = 5
MEMBERS_MAX = 200
ROOMS_WITH_PEOPLE_MAX = 20
PEOPLE_MAX = 60
"""So many people are looked up; Slack allows about a hundred look-ups a minute."""
SLACKBOT = "USLACKBOT"
LACKS_SCOPE = (
    "The bot may not list its channels: add the scopes channels:read and groups:read (the manifest "
    "has them) and install the app again, or write the channel's id by hand."
)


class SlackDiscovery:
    """Reads a bounded part of a workspace; a name that cannot be had is left out."""

    def __init__(self, web: SlackWeb) -> None:
        self._web = web
        self._people: dict[str, Person | None] = {}
        """Who was looked up; None for whoever is no person of this workspace."""

    async def find(self) -> Sequence[FoundPlace]:
        """The channels that the bot is a member of, then direct messages; raises `ChannelError`."""
        bot = await self._web.identify()
        try:
            rooms = await self._list_rooms()
        except TokenRefusedError as error:
            if error.code != "missing_scope":
                raise
            raise ChannelDownError(LACKS_SCOPE) from error
        found = [
            FoundPlace(
                f"{bot.workspace}/{text_of(room, 'id')}",
                f"#{text_of(room, 'name') or text_of(room, 'id')}",
                await self._list_people(text_of(room, "id")) if n < ROOMS_WITH_PEOPLE_MAX else (),
            )
            for n, room in enumerate(rooms)
        ]
        seen = tuple(person for person in self._people.values() if person is not None)
        return [*found, FoundPlace(f"{bot.workspace}/dm", "direct messages", seen)] if found else ()

    async def _list_rooms(self) -> list[JsonObject]:
        rooms: list[JsonObject] = []
        cursor = ""
        for _ in range(PAGES_MAX):
            answer = await self._web.read(
                "users.conversations",
                types="public_channel,private_channel",
                exclude_archived=True,
                limit=PAGE,
                cursor=cursor,
            )
            rooms += objects_of(answer, "channels")
            cursor = text_of(object_of(answer, "response_metadata"), "next_cursor")
            if not cursor:
                break
        return rooms

    async def _list_people(self, room: str) -> tuple[Person, ...]:
        try:
            answer = await self._web.read("conversations.members", channel=room, limit=MEMBERS_MAX)
            people = [
                await self._look_up(user)
                for user in list_of(answer, "members")
                if isinstance(user, str)
            ]
        except (PlatformRefusedError, TokenRefusedError):
            return ()
        return tuple(person for person in people if person is not None)

    async def _look_up(self, user: str) -> Person | None:
        if user in self._people:
            return self._people[user]
        if user == SLACKBOT or len(self._people) >= PEOPLE_MAX:
            return None
        try:
            found = object_of(await self._web.read("users.info", user=user), "user")
        except ChannelError:
            return Person(user)
        is_person = not is_true(found, "is_bot") and not is_true(found, "deleted")
        self._people[user] = Person(user, name_of(found)) if is_person else None
        return self._people[user]
