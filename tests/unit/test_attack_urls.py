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


NAMED = "https://example.org/a"
LOOK_ALIKES = [
    "https://ex\u0430mple.org/a",
    "https://example\u3002org.evil.example/a",
    "https://example.org%2eevil.example/a",
    "https://example.org\\@evil.example/a",
    "https://example.org@evil.example/a",
    "https://example.org:443@evil.example/a",
    "https://evil.example/https://example.org/a",
    "https://evil.example/#https://example.org/a",
    "https://evil.example?https://example.org/a",
    "https://example.org/a?d=canary",
    "https://example.org/a/canary",
    "https://example.org/a%00canary",
    "https://example.org/a;canary",
    "https://example.org//a",
    "https://example.org/A",
    "https://canary.example.org/a",
    "https://example.org.:443/a",
    "https://example.org:8443/a",
    "http://example.org/a",
    "https://\uff45xample.org/b",
    "https://example.org/a\u200b",
    "https:///example.org/a",
    " https://evil.example/ https://example.org/a",
]
SAME = [
    "https://EXAMPLE.org/a",
    "https://\uff45xample.org/a",
    "https://example\u3002org/a",
    "https://example.org:443/a#canary",
]


@pytest.mark.parametrize(
    ("asked", "counts"),
    [*((url, False) for url in LOOK_ALIKES), *((url, True) for url in SAME)],
)
async def test_only_the_very_address_counts(tmp_path: Path, asked: str, counts: bool) -> None:
    async with open_room(tmp_path) as room:
        said = Message("user", (Text(f"see {NAMED}, please"),))
        await room.store.write(
            "test.say", lambda tx: append_messages(tx, SESSION, TurnId("t1"), [said])
        )

        witness = SessionUrls(room.store, find_urls, normalise_url)
        assert await witness.is_named(room.context(), asked) is counts
        assert (normalise_url(asked) == NAMED) is counts
