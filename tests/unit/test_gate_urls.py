"""A URL is named by a person or an outside result of the same session, and by nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.gate_room import SESSION, GateRoom, open_room

from geode.messages import Block, Message, SessionId, Text, ToolCall, ToolResult, TurnId
from geode.records.urls import SessionUrls
from geode.store.conversation import append_messages
from geode.tools.urls import find_urls, normalise_url


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[GateRoom]:
    async with open_room(tmp_path) as opened:
        await opened.add_session("s2")
        yield opened


@pytest.fixture
def witness(room: GateRoom) -> SessionUrls:
    return SessionUrls(room.store, find_urls, normalise_url)


async def say(room: GateRoom, role: str, block: Block, session: str = SESSION) -> None:
    message = Message(role, (block,))  # type: ignore[arg-type]
    await room.store.write(
        "test.say",
        lambda tx: append_messages(tx, SessionId(session), TurnId("t1"), [message]),
    )


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("look at https://example.org/a?b=1 please", "https://example.org/a?b=1"),
        ("(see HTTPS://Example.ORG/a).", "https://example.org/a"),
        ("https://example.org", "https://example.org/"),
        ("https://example.org:443/x", "https://example.org/x"),
        ("https://example.org/x#part", "https://example.org/x"),
        ("https://bücher.example/x", "https://xn--bcher-kva.example/x"),
        ("https://xn--bcher-kva.example/x", "https://bücher.example/x"),
        ("http://127.0.0.1:8080/x", "http://127.0.0.1:8080/x"),
        ("https://a_b.example.org/100%25", "https://a_b.example.org/100%25"),
    ],
)
async def test_url_of_a_person_counts_in_every_spelling(
    room: GateRoom, witness: SessionUrls, said: str, asked: str
) -> None:
    await say(room, "user", Text(said))

    assert await witness.is_named(room.context(), asked)


@pytest.mark.parametrize(
    "asked",
    [
        "https://example.org/other",
        "https://example.org/a?leak=secret",
        "https://example.org/a/b",
        "http://example.org/a",
        "https://evil.example.org/a",
        "https://example.org.evil.example/a",
        "https://user@example.org/a",
        "not a url",
        "",
    ],
)
async def test_url_that_only_resembles_a_named_one_does_not_count(
    room: GateRoom, witness: SessionUrls, asked: str
) -> None:
    await say(room, "user", Text("look at https://example.org/a"))

    assert not await witness.is_named(room.context(), asked)


async def test_url_in_an_outside_result_counts(room: GateRoom, witness: SessionUrls) -> None:
    await say(room, "tool", ToolResult("c", "next: https://example.org/2", names_urls=True))

    assert await witness.is_named(room.context(), "https://example.org/2")


@pytest.mark.parametrize(
    ("role", "block"),
    [
        ("tool", ToolResult("c", "echo https://example.org/a")),
        ("assistant", Text("I will read https://example.org/a")),
        ("assistant", ToolCall("c", "web_fetch", {"url": "https://example.org/a"})),
    ],
    ids=["inside result", "model text", "model call"],
)
async def test_url_the_model_could_have_written_does_not_count(
    room: GateRoom, witness: SessionUrls, role: str, block: Block
) -> None:
    await say(room, role, block)

    assert not await witness.is_named(room.context(), "https://example.org/a")


async def test_url_of_another_session_does_not_count(room: GateRoom, witness: SessionUrls) -> None:
    await say(room, "user", Text("https://example.org/a"), session="s2")

    assert not await witness.is_named(room.context(), "https://example.org/a")
    assert await witness.is_named(room.context(session="s2"), "https://example.org/a")
