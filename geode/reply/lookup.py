"""Looks for a part whose send came to no known end, twice, before it may be sent again."""

from __future__ import annotations

from dataclasses import dataclass

from geode.log import get_logger
from geode.ports import Channel, Clock
from geode.reply.sending import Sent, Unfindable, Wait, find_part
from geode.store import outbox
from geode.store.database import Store
from geode.store.outbox import OutboxRow, PartRow

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SendLookup:
    """Asks the platform, and trusts no message that was recorded as another part."""

    store: Store
    clock: Clock
    second_look_s: float

    async def look_twice(
        self, channel: Channel, row: OutboxRow, part: PartRow
    ) -> Sent | Wait | Unfindable | None:
        """What became of the part; None when it may be sent without harm.

        A platform that finds by words or names may find an equal message that is already known as
        another part: then nobody can tell, and the part is sent once more rather than lost.
        """
        found = await self._look(channel, row, part)
        if found is None or isinstance(found, Unfindable):
            await self.clock.sleep(self.second_look_s)
            found = await self._look(channel, row, part)
        return found

    async def _look(
        self, channel: Channel, row: OutboxRow, part: PartRow
    ) -> Sent | Wait | Unfindable | None:
        key = f"{row.id}:{part.number}"
        found = await find_part(channel, row.place, part.part, key=key, since_us=row.created_at_us)
        if not isinstance(found, Sent):
            return found
        place = (row.id, part.number)
        if await self.store.read(
            lambda tx: outbox.is_other_part(tx, row.session_id, found.message_id, place)
        ):
            log.warning("found_another_part", row=row.id, part=part.number)
            return Unfindable()
        return found
