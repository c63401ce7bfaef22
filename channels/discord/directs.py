"""Direct messages by person: opening one again changes nothing, and its id is remembered."""

from __future__ import annotations

from collections import OrderedDict

from channels.discord.rest import DiscordRest
from channels.fields import text_of

KNOWN_MAX = 5_000


class Directs:
    """The ids of direct messages; Discord frowns on many being opened, so each is asked once."""

    def __init__(self, rest: DiscordRest) -> None:
        self._rest = rest
        self._known: OrderedDict[str, str] = OrderedDict()

    async def find(self, person: str) -> str:
        """The channel of the direct message with a person; raises `ChannelError`."""
        channel = self._known.get(person, "")
        if not channel:
            channel = text_of(await self._rest.open_direct(person), "id")
            self._known[person] = channel
            if len(self._known) > KNOWN_MAX:
                self._known.popitem(last=False)
        return channel
