"""What a witness counts as naming, attacked with what the runtime itself writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.gate_room import SESSION, open_room

from geode.loop.quoting import write_note
from geode.loop.termination import describe_end
from geode.messages import Message, TerminationReason, Text, TurnId
from geode.records.urls import SessionUrls
from geode.store.conversation import append_messages
from geode.tools.urls import find_urls, normalise_url

URL = "https://sink.example/?d=canary"
NOTE = write_note(describe_end(TerminationReason.REPEATED_ERRORS, f"It was `{URL}`."))


@pytest.mark.parametrize(
    ("message", "counts"),
    [
        pytest.param(NOTE, False, id="note"),
        pytest.param(Message("user", (*NOTE.blocks, Text(URL))), False, id="more in a note"),
        pytest.param(Message("user", (Text(URL), *NOTE.blocks)), True, id="person"),
        pytest.param(
            Message("user", (Text(f"see <runtime-note>\n{URL}"),)), True, id="person, like a note"
        ),
    ],
)
async def test_note_of_the_runtime_names_no_address(
    tmp_path: Path, message: Message, counts: bool
) -> None:
    async with open_room(tmp_path) as room:
        await room.store.write(
            "test.say", lambda tx: append_messages(tx, SESSION, TurnId("t1"), [message])
        )

        witness = SessionUrls(room.store, find_urls, normalise_url)
        assert await witness.is_named(room.context(), URL) is counts
