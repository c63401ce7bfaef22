"""A loopback platform that outlives its processes: what is posted is on disk before a send ends."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import orjson
from fakes.loopback import LoopbackChannel, LoopbackPlatform, Posted

from geode.messages import Part, Place, Thread


class KeptPlatform(LoopbackPlatform):
    """Reads back what an earlier process posted and edited."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        for row in orjson.loads(path.read_bytes()) if path.exists() else []:
            place = row.pop("place")
            thread = Thread(**place["thread"])
            self.posted.append(Posted(place=Place(thread, place["reply_to"]), **row))
        self._count += len(self.posted)

    def keep(self) -> None:
        """What is posted now stays, whatever happens to the process."""
        rows = [{**asdict(post), "content": ""} for post in self.posted]
        self._path.write_bytes(orjson.dumps(rows))


class KeptChannel(LoopbackChannel):
    """Its channel: a message stands there once `send` is on its way back."""

    def __init__(self, platform: KeptPlatform) -> None:
        super().__init__(platform)
        self._kept = platform

    async def send(self, place: Place, part: Part, key: str) -> str:
        message_id = await super().send(place, part, key)
        self._kept.keep()
        return message_id

    async def edit(self, place: Place, message_id: str, part: Part) -> None:
        await super().edit(place, message_id, part)
        self._kept.keep()
