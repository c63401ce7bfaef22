"""One Socket Mode connection: one fresh address, one attempt, and signs of life."""

# The SDK's payloads are dicts without types; they are read through channels.fields.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass

import aiohttp
import orjson
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest

from channels.fields import text_of, to_object
from channels.slack.web import SlackWeb
from geode.errors import ChannelDownError
from geode.messages import JsonObject
from geode.ports import Clock

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SocketTimes:
    """How long the socket is given for what, in seconds."""

    connect_s: float = 15.0
    """For the address and the upgrade together."""
    hello_s: float = 10.0
    ping_s: float = 10.0
    """A connection whose ping is not answered within half of this is dead."""
    quiet_s: float = 900.0
    """A connection that delivered nothing for so long is replaced, in case it is deaf."""
    check_s: float = 0.5
    backoff_s_min: float = 1.0
    backoff_s_max: float = 60.0
    stable_s: float = 30.0
    """A connection that lived longer than this starts the backoff afresh."""
    token_retry_s: float = 90.0
    drain_s: float = 5.0
    close_s: float = 2.0


class SingleUseSocket(SocketModeClient):
    """The SDK's client, told to use an address once and to decide nothing about the next one.

    The SDK's own client retries a refused upgrade with the same, used address for ever.
    """

    def __init__(self, web: SlackWeb, app_token: str, clock: Clock, times: SocketTimes) -> None:
        super().__init__(
            app_token=app_token,
            web_client=web.client,
            auto_reconnect_enabled=False,
            ping_interval=times.ping_s,
        )
        self.proxy = web.client.proxy
        self._web = web
        self._clock = clock
        self._times = times
        self.greeted = asyncio.Event()
        self.changed = asyncio.Event()
        """Set when something happened that the owner should look at."""
        self.opened_at = self.heard_at = clock.monotonic()
        self.farewell = ""
        """Slack's reason for wanting this connection replaced."""
        self.in_flight = 0
        """Envelopes that are being accepted."""
        self.on_message_listeners.append(self._note_message)
        self.on_close_listeners.append(self._note_end)
        self.on_error_listeners.append(self._note_end)

    async def connect(self) -> None:
        """Ask for an address and open it; raises a `ChannelError` and never tries again."""
        self.wss_uri = await self._web.open_socket_url(self.app_token)
        try:
            self.current_session = await self.aiohttp_client_session.ws_connect(
                self.wss_uri, autoping=False, heartbeat=self._times.ping_s, proxy=self.proxy
            )
        except aiohttp.WSServerHandshakeError as error:
            raise ChannelDownError(f"Slack refused the socket (HTTP {error.status}).") from error
        except (aiohttp.ClientError, OSError) as error:
            reason = f"The socket could not be opened ({type(error).__name__})."
            raise ChannelDownError(reason) from error
        self.message_receiver = asyncio.ensure_future(self.receive_messages())

    async def connect_to_new_endpoint(self, force: bool = False) -> None:
        """Leave the replacement to the owner, who sees `farewell`."""
        self.changed.set()

    async def _note_message(self, message: aiohttp.WSMessage) -> None:
        self.heard_at = self._clock.monotonic()
        frame = read_frame(message.data)
        match text_of(frame, "type"):
            case "hello":
                self.greeted.set()
            case "disconnect":
                self.farewell = text_of(frame, "reason") or "unknown"
                self.changed.set()
            case _:
                pass

    async def _note_end(self, message: aiohttp.WSMessage) -> None:
        self.changed.set()

    @property
    def is_open(self) -> bool:
        """Whether the connection still stands, as far as this end can know."""
        return self.current_session is not None and not self.current_session.closed

    async def close(self) -> None:
        """Let go of the connection, the tasks and the HTTP session; never waits long."""
        self.closed = True
        for task in (self.message_processor, self.message_receiver):
            if task is not None:
                task.cancel()
        if self.current_session is not None:
            with suppress(TimeoutError, OSError, aiohttp.ClientError):
                async with asyncio.timeout(self._times.close_s):
                    await self.current_session.close()
        await self.aiohttp_client_session.close()


class SlackSocketHandler(AsyncSocketModeHandler):
    """Bolt's own handler around a single-use socket; it acknowledges what the app answers 200."""

    def __init__(self, app: AsyncApp, client: SingleUseSocket) -> None:
        # The parent would make a client of its own, with the SDK's own reconnecting.
        self.app = app
        self.app_token = client.app_token
        self.client = client
        self._socket = client
        client.socket_mode_request_listeners.append(self.handle)

    async def handle(self, client: AsyncBaseSocketModeClient, req: SocketModeRequest) -> None:
        """Run one envelope through the app and acknowledge it over the socket it came on."""
        self._socket.in_flight += 1
        try:
            await super().handle(self._socket, req)
        except (aiohttp.ClientError, OSError) as error:
            # Slack delivers it again on the next connection, where it is a duplicate.
            log.warning("slack_ack_not_sent reason=%s", type(error).__name__)
        finally:
            self._socket.in_flight -= 1


def read_frame(raw: object) -> JsonObject:
    """A text frame as an object; an empty one when it is not JSON."""
    try:
        return to_object(orjson.loads(raw)) if isinstance(raw, str | bytes) else {}
    except orjson.JSONDecodeError:
        return {}
