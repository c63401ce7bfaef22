"""The library's client: every frame is handed on as it came, and little is kept."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import aiohttp
import discord
import orjson

from channels.fields import object_of, text_of, to_object
from geode.messages import JsonObject

TakeEvent = Callable[[str, JsonObject], None]

HEARTBEAT_TIMEOUT_S = 60.0
CLOSE_CODE = 4000
FINAL_CLOSES = frozenset({4004, 4010, 4011, 4012, 4013, 4014})
"""With these Discord ends a bot's socket for good."""
RATE_LIMIT_WAIT_S_MAX = 30.0
"""The library waits out a shorter 429 by itself."""


def make_intents() -> discord.Intents:
    """Servers, their messages, direct messages, and what the messages say (privileged)."""
    intents = discord.Intents.none()
    intents.guilds = True
    intents.guild_messages = True
    intents.dm_messages = True
    intents.message_content = True
    return intents


class GatewayClient(discord.Client):
    """One login; the library resumes and identifies, `take` hears every dispatch in order."""

    def __init__(self, take: TakeEvent, on_lost: Callable[[], None], proxy: str) -> None:
        # Nobody speaks here, so what voice would need is no news for the operator.
        discord.VoiceClient.warn_nacl = False
        discord.VoiceClient.warn_dave = False
        # Made here, so that SSL_CERT_FILE counts as it stands now.
        self.own_connector = aiohttp.TCPConnector(limit=0, ssl=ssl.create_default_context())
        super().__init__(
            intents=make_intents(),
            connector=self.own_connector,
            proxy=proxy or None,
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            allowed_mentions=discord.AllowedMentions.none(),
            heartbeat_timeout=HEARTBEAT_TIMEOUT_S,
            max_ratelimit_timeout=RATE_LIMIT_WAIT_S_MAX,
            enable_debug_events=True,
        )
        self._forget_messages()
        self._connect_socket = self.http.ws_connect
        self.http.ws_connect = self._open_socket
        self._take = take
        self._on_lost = on_lost

    def _forget_messages(self) -> None:
        """Keep the library from building messages and interactions.

        Nobody here reads them, and one field of a kind it does not expect would end its socket.
        """
        parsers = self._connection.parsers
        unread = ("MESSAGE_", "INTERACTION_")
        for name in [name for name in parsers if name.startswith(unread)]:
            del parsers[name]

    async def _open_socket(self, url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        """A socket whose final close code outlives its closing.

        The library answers a close before it reads the code. When the socket is gone by then, the
        answer fails, the code is overwritten by 1006, and the library would connect for ever.
        """
        socket = await self._connect_socket(url, compress=compress)
        close = socket.close

        async def close_with_its_code(*, code: int = CLOSE_CODE, message: bytes = b"") -> bool:
            said = socket.close_code
            is_closed = await close(code=code, message=message)
            if said in FINAL_CLOSES and socket.close_code != said:
                raise discord.ConnectionClosed(socket, shard_id=None, code=said)
            return is_closed

        socket.close = close_with_its_code
        return socket

    @asynccontextmanager
    async def open_url(self, url: str) -> AsyncGenerator[aiohttp.ClientResponse]:
        """An address outside the API, without the token, by this login's way to Discord."""
        session = aiohttp.ClientSession(connector=self.own_connector, connector_owner=False)
        async with (
            session,
            session.get(url, proxy=self.http.proxy, allow_redirects=False) as answer,
        ):
            yield answer

    async def on_socket_raw_receive(self, text: str) -> None:
        """Every frame before the library reads it; the calls come in the order of the frames."""
        frame = to_object(orjson.loads(text))
        if name := text_of(frame, "t"):
            self._take(name, object_of(frame, "d"))

    async def on_disconnect(self) -> None:
        """The socket is gone; the library is about to replace it."""
        self._on_lost()

    def has_socket(self) -> bool:
        """Whether a socket was ever opened with this login."""
        # The library says that it always has one; it begins with none.
        return bool(self.ws)

    def has_content_intent(self) -> bool:
        """Whether the application may read what messages say, as it said at the login."""
        flags = self.application_flags
        return flags.gateway_message_content or flags.gateway_message_content_limited

    def own_role(self, guild: str) -> str:
        """The id of the role that the server gave us, or nothing."""
        found = self.get_guild(int(guild)) if guild else None
        role = found.self_role if found else None
        return str(role.id) if role else ""

    async def shut(self) -> None:
        """Close the socket, the session and the connector; safe to call twice."""
        await self.close()
        await self.own_connector.close()
