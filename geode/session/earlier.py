"""Reads what people said in a thread before its first mention; a help, so it stops no session."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from geode.errors import ChannelError
from geode.log import get_logger
from geode.messages import QuotedMessage
from geode.ports import Channel, Clock
from geode.session.claims import EarlierDue
from geode.session.secrecy import TakeOut
from geode.store import inbox, sessions
from geode.store.database import Store, Tx

log = get_logger(__name__)

EARLIER_TIMEOUT_S = 15.0


class EarlierMessages:
    """Stores a thread's earlier messages as quoted data, once."""

    def __init__(
        self, store: Store, channels: Mapping[str, Channel], clock: Clock, take_out: TakeOut = str
    ) -> None:
        self._store = store
        self._channels = channels
        self._clock = clock
        self._take_out = take_out

    async def read(self, due: EarlierDue) -> None:
        """Read and store them, or store that there was nothing to read."""
        channel = self._channels.get(due.thread.platform)
        quotes: Sequence[QuotedMessage] = ()
        try:
            async with asyncio.timeout(EARLIER_TIMEOUT_S):
                found = await channel.read_earlier(due.thread, due.before) if channel else ()
            quotes = [replace(each, text=self._take_out(each.text)) for each in found]
        except (ChannelError, TimeoutError) as error:
            log.warning("earlier_messages_unread", session=due.session_id, reason=str(error))
        except Exception:  # boundary: channel event
            log.exception("earlier_messages_unread", session=due.session_id)

        def unit(tx: Tx) -> None:
            # No lease is held yet: another worker may have read them meanwhile.
            if sessions.set_earlier_read(tx, due.session_id):
                inbox.add_quotes(tx, due.session_id, quotes, self._clock.now_us())

        await self._store.write("earlier", unit)
