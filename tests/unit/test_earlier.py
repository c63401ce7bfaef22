"""Earlier messages are a help: a channel that fails to read them stops no session."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from fakes.loopback import LoopbackChannel
from fakes.scripted_model import say
from fakes.spine_room import open_room

from geode.errors import ChannelDownError
from geode.messages import QuotedMessage, Thread


class Unreadable(LoopbackChannel):
    """A channel that cannot give a thread's earlier messages."""

    error: Exception = ChannelDownError("no route")

    async def read_earlier(self, thread: Thread, before: str) -> Sequence[QuotedMessage]:
        raise self.error


@pytest.mark.parametrize("error", [ChannelDownError("no route"), KeyError("messages")])
async def test_turn_begins_whatever_reading_the_earlier_messages_ends_with(
    tmp_path: Path, error: Exception
) -> None:
    async with open_room(tmp_path) as room:
        await room.say("and today?", has_earlier=True)
        channel = Unreadable(room.platform)
        channel.error = error
        worker = room.worker(replies=[say("answered")], channel=channel)

        await worker.runner.run_session(await room.session_id())

        assert await room.said("answer") == ["answered"]
