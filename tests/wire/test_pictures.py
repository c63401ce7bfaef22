"""A picture reaches the model as its bytes, through the real SDK, and never bricks a thread."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fakes.pictures import SIGN_IN_PAGE, make_png
from fakes.scripted_model import say
from fakes.spine_room import SpineRoom, open_room

from channels.rehearsal.model import RehearsalModel
from channels.rehearsal.model_answers import Failure
from channels.rehearsal.model_anthropic_rules import blocks_of
from channels.rehearsal.model_http import API_KEY
from geode.llm.adapters.anthropic import AnthropicAdapter, AnthropicSettings
from geode.llm.retry import RetryPolicy
from geode.ports import SystemClock

BAD_PICTURE = Failure(400, "invalid_request_error", "messages.0: Could not process image")


@pytest.fixture
async def room(tmp_path: Path):
    async with open_room(tmp_path, clock=SystemClock()) as opened:
        yield opened


@asynccontextmanager
async def open_town(room: SpineRoom, *script: Any) -> AsyncIterator[tuple[RehearsalModel, Any]]:
    """A strict model server, and a way to run the room's next turn against it."""
    async with RehearsalModel(*script) as server:
        settings = AnthropicSettings(API_KEY, server.url)
        adapter = AnthropicAdapter(settings, room.clock, RetryPolicy())

        async def run_turn() -> None:
            # A worker of its own each time: nothing is remembered in the process.
            worker = room.worker(model=adapter, sees=True)
            await worker.runner.run_session(await room.session_id())

        try:
            yield server, run_turn
        finally:
            await adapter.aclose()


def pictures_in(body: dict[str, Any]) -> list[bytes]:
    return [
        base64.b64decode(block["source"]["data"])
        for message in body["messages"]
        for block in blocks_of(message)
        if block["type"] == "image"
    ]


def words_in(body: dict[str, Any]) -> str:
    return "\n".join(
        block.get("text", "") for message in body["messages"] for block in blocks_of(message)
    )


async def test_model_sees_the_bytes_of_the_picture_in_this_turn_and_the_next(
    room: SpineRoom,
) -> None:
    picture = make_png(40, 30)
    await room.say("what is this?", files=(room.platform.attach(picture, "photo.png"),))
    async with open_town(room) as (server, run_turn):
        await run_turn()
        await room.say("and its colour?")
        await run_turn()

    assert [pictures_in(request.body) for request in server.requests] == [[picture], [picture]]
    assert server.refusals == []
    assert len(await room.said("answer")) == 2


async def test_web_page_in_the_place_of_a_picture_never_becomes_one(room: SpineRoom) -> None:
    """SL-06: the turn runs with a note, and so does the next."""
    file = room.platform.attach(SIGN_IN_PAGE, "F1.png", media_type="image/png")
    await room.say("look", files=(file,))
    async with open_town(room) as (server, run_turn):
        await run_turn()
        await room.say("hello")
        await run_turn()

    assert [pictures_in(request.body) for request in server.requests] == [[], []]
    assert "web page instead of the file" in words_in(server.requests[0].body)
    assert server.refusals == []


async def test_picture_that_the_provider_refuses_stops_no_turn(room: SpineRoom) -> None:
    """LM-07: text-only turns go on, and a good picture is shown again."""
    bad, good = make_png(3, 3), make_png(4, 4)
    await room.say("look", files=(room.platform.attach(bad, "bad.png"),))
    async with open_town(room, BAD_PICTURE) as (server, run_turn):
        await run_turn()
        await room.say("hello")
        await run_turn()
        await room.say("this one?", files=(room.platform.attach(good, "good.png"),))
        await run_turn()

    seen = [pictures_in(request.body) for request in server.requests]
    assert seen == [[bad], [], [], [good]]
    assert "did not accept: bad.png" in words_in(server.requests[1].body)
    assert await room.said("answer") == ["ok"] * 3


async def test_request_that_is_refused_without_its_pictures_too_keeps_them(
    room: SpineRoom,
) -> None:
    picture = make_png(3, 3)
    await room.say("look", files=(room.platform.attach(picture, "a.png"),))
    wrong = Failure(400, "invalid_request_error", "model: not allowed")
    async with open_town(room, wrong, wrong) as (server, run_turn):
        await run_turn()
        await room.say("again")
        await run_turn()

    seen = [pictures_in(request.body) for request in server.requests]
    assert seen == [[picture], [], [picture]]


@pytest.mark.parametrize("harm", ["gone", "changed"])
async def test_private_copy_that_is_not_as_it_was_becomes_a_line(
    room: SpineRoom, harm: str
) -> None:
    await room.say("look", files=(room.platform.attach(make_png(), "a.png"),))
    async with open_town(room) as (server, run_turn):
        await run_turn()
        (copy,) = (room.folder / "kept").glob("*/*")
        copy.unlink() if harm == "gone" else copy.write_bytes(make_png(9, 9))
        await room.say("and now?")
        await run_turn()

    assert pictures_in(server.requests[1].body) == []
    assert "[picture that is not available any more: a.png]" in words_in(server.requests[1].body)


async def test_change_in_the_workspace_changes_no_picture(room: SpineRoom) -> None:
    picture = make_png()
    await room.say("look", files=(room.platform.attach(picture, "a.png"),))
    async with open_town(room) as (server, run_turn):
        await run_turn()
        (own,) = (room.folder / "files").glob("*/attachments/*")
        own.write_bytes(SIGN_IN_PAGE)
        await room.say("and now?")
        await run_turn()

    assert pictures_in(server.requests[1].body) == [picture]


async def test_eight_pictures_are_shown_with_one_request(room: SpineRoom) -> None:
    files = [room.platform.attach(make_png(n + 1, 1), f"{n}.png") for n in range(10)]
    await room.say("look", files=files)
    async with open_town(room) as (server, run_turn):
        await run_turn()

    assert len(pictures_in(server.requests[0].body)) == 8
    assert words_in(server.requests[0].body).count("not shown to you, as 8 pictures are") == 2


async def test_old_pictures_become_lines_once_a_request_is_full(room: SpineRoom) -> None:
    async with open_town(room) as (server, run_turn):
        for turn in range(4):
            files = [
                room.platform.attach(make_png(turn + 1, n + 1), f"{turn}-{n}.png") for n in range(8)
            ]
            await room.say("look", files=files)
            await run_turn()

    last = server.requests[-1].body
    assert len(pictures_in(last)) == 20
    assert words_in(last).count("[picture shown earlier: ") == 12
    assert "[picture shown earlier: 0-0.png]" in words_in(last)


async def test_model_without_eyes_gets_the_line_only(room: SpineRoom) -> None:
    await room.say("look", files=(room.platform.attach(make_png(), "a.png"),))
    worker = room.worker(replies=[say("seen")])

    await worker.runner.run_session(await room.session_id())

    (message,) = worker.model.steps[0].messages
    assert len(message.blocks) == 1
    assert '[attached file "a.png", image/png, ' in message.text
