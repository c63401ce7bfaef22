"""The update queue of the stand-in: long polling, true confirmation by offset, one poller."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass

from channels.fields import int_of, list_of
from geode.messages import JsonObject, JsonValue

LIMIT_DEFAULT = 100
NOT_BY_DEFAULT = frozenset({"chat_member", "message_reaction", "message_reaction_count"})


class PollEndedError(Exception):
    """A newer poll took over; the older one is answered with a conflict."""


@dataclass(slots=True)
class Webhook:
    """Where updates are posted to, and how the last attempt went wrong."""

    url: str
    secret: str
    failure: str = ""


class UpdateQueue:
    """Updates stay until a later poll names a higher offset."""

    def __init__(self, first_id: int = 100) -> None:
        self._next_id = first_id
        self._updates: list[JsonObject] = []
        self._allowed: frozenset[str] | None = None
        self._changed = asyncio.Event()
        self._poll = 0
        self.webhook: Webhook | None = None
        self.confirmed_below = 0
        """Every update below this was confirmed; what is confirmed never comes again."""
        self.delivered: Counter[int] = Counter()
        """How often each update was handed out."""
        self.polls_ended = 0

    @property
    def waiting(self) -> list[JsonObject]:
        """What is not confirmed yet, in order."""
        return list(self._updates)

    def push(self, **fields: JsonValue) -> int:
        """Queue an update of any kind and return its id; a kind nobody asked for is dropped."""
        update_id = self._next_id
        self._next_id += 1
        if self._is_wanted(next(iter(fields), "")):
            self._updates.append({"update_id": update_id, **fields})
            self._changed.set()
        return update_id

    def jump(self, next_id: int) -> None:
        """Let the next update have any id, as after a week of silence."""
        self._next_id = next_id

    def _is_wanted(self, kind: str) -> bool:
        if self._allowed is None:
            return kind not in NOT_BY_DEFAULT
        return kind in self._allowed

    async def poll(self, call: JsonObject) -> list[JsonObject]:
        """One getUpdates; raises `PollEndedError` when another one begins meanwhile."""
        self._poll += 1
        mine = self._poll
        self._changed.set()
        if "allowed_updates" in call:
            self.allow([n for n in list_of(call, "allowed_updates") if isinstance(n, str)])
        self._confirm(int_of(call, "offset"))
        await self._wait(mine, int_of(call, "timeout"))
        if mine != self._poll:
            self.polls_ended += 1
            raise PollEndedError
        found = self._updates[: int_of(call, "limit", LIMIT_DEFAULT)]
        for update in found:
            self.delivered[int_of(update, "update_id")] += 1
        return found

    def allow(self, names: list[str]) -> None:
        """Hand over these kinds of updates only; none: Telegram's own choice."""
        self._allowed = frozenset(names) if names else None

    def settle(self, update_id: int) -> None:
        """A webhook took the update."""
        self._updates = [u for u in self._updates if int_of(u, "update_id") != update_id]

    def end_polls(self) -> None:
        """Let whoever waits be answered at once."""
        self._poll += 1
        self._changed.set()

    def _confirm(self, offset: int) -> None:
        if offset > 0:
            self.confirmed_below = max(self.confirmed_below, offset)
            self._updates = [u for u in self._updates if int_of(u, "update_id") >= offset]

    async def _wait(self, mine: int, timeout_s: int) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                while not self._updates and mine == self._poll:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return
