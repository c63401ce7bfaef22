"""Who may see and say what on the page, also when bindings name one conversation or change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.contract_desk import Desk, open_desk
from fakes.contract_web import ROOM, SIDE, WebPlatform, form_of, path_of

from geode.messages import Button, ButtonPress, Card, Thread
from geode.ports import CatchUpDirects, CatchUpPlan, CatchUpRoot

YES = Button("Yes", "nonceYES-0123456789_ab")
WAIT_S = 8.0


@pytest.fixture
async def platform() -> AsyncIterator[WebPlatform]:
    async with WebPlatform() as opened:
        yield opened


@pytest.fixture
async def desk(platform: WebPlatform, tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path, platform) as opened:
        yield opened


async def look(platform: WebPlatform, who: str, path: str) -> tuple[int, str]:
    """What that person gets under an address."""
    browser = await platform.browser(who)
    async with browser.get(path) as answer:
        if answer.content_type == "text/event-stream":
            return answer.status, ""
        return answer.status, await answer.text()


async def say(platform: WebPlatform, who: str, path: str, text: str) -> int:
    """What comes of that person's words there."""
    browser = await platform.browser(who)
    async with browser.post(path, data=form_of(text=text, key=f"{who}-{len(text)}")) as answer:
        return answer.status


async def test_conversation_with_people_of_its_own_is_seen_by_these_alone(
    platform: WebPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin("for ben alone")
        file = await platform.share(place, "a.txt", b"words")
        await desk.place_of(file)
        other = await desk.begin("for all", "two")
    where = f"local/{ROOM}/{place.thread.thread}"
    own = {"channel": "web", "where": where, "people": ["ben", "stranger"], "operators": ["ben"]}
    platform.bindings = (*WebPlatform.bindings, own)
    platform.places = (*WebPlatform.places, place.thread)
    inside = (path_of(place.thread), f"{path_of(place.thread)}/events", f"/files/{file}/0/a.txt")

    async with open_desk(tmp_path, platform) as desk:
        for path in inside:
            assert (await look(platform, "ana", path))[0] == 404, path
            assert (await look(platform, "ben", path))[0] == 200, path
            assert (await look(platform, "stranger", path))[0] == 200, path
        lists = {who: (await look(platform, who, f"/rooms/{ROOM}"))[1] for who in ("ana", "ben")}
        assert "for ben alone" not in lists["ana"]
        assert "for ben alone" in lists["ben"]
        assert (await look(platform, "stranger", path_of(other.thread)))[0] == 404
        assert "for all" not in (await look(platform, "stranger", f"/rooms/{ROOM}"))[1]
        assert await say(platform, "ana", path_of(place.thread), "let me in") == 404
        assert await say(platform, "stranger", f"/rooms/{ROOM}", "a new one") == 404
        assert await say(platform, "stranger", path_of(place.thread), "may I?") == 201
        assert sorted(await desk.stored()) == ["", "for all", "for ben alone", "may I?"]
    kept = await platform.transcript.read_people(Thread("web", "local", ROOM, ""), after="")
    assert not [m for m in kept if m.payload["text"] in ("let me in", "a new one")]


async def test_room_that_a_reload_brings_is_there_and_one_that_it_takes_is_gone(
    platform: WebPlatform, desk: Desk
) -> None:
    side = await desk.begin("hello", "side")
    ana = await platform.browser("ana")
    stream = await ana.get(f"{path_of(side.thread)}/events")
    assert await stream.content.readline()

    desk.channel.follow([place for place in platform.places if place.channel != SIDE])

    async with asyncio.timeout(WAIT_S):
        while await stream.content.readline():
            pass
    stream.close()
    assert (await look(platform, "ana", path_of(side.thread)))[0] == 404
    assert f"/rooms/{SIDE}" not in (await look(platform, "ana", f"/rooms/{ROOM}"))[1]

    desk.channel.follow(platform.places)

    assert (await look(platform, "ana", path_of(side.thread)))[0] == 200
    assert await say(platform, "ana", path_of(side.thread), "here again") == 201


async def test_press_on_a_message_that_does_not_stand_there_is_refused_and_kept_nowhere(
    platform: WebPlatform, desk: Desk
) -> None:
    place, other = await desk.begin(), await desk.begin("hello", "side")
    card = await desk.send_card(place, Card("Sure?", buttons=(YES,)))
    ana = await platform.browser("ana")
    revision = await platform.transcript.read_revision()
    spots = [(other.thread, card), (place.thread, "999"), (place.thread, "")]
    for thread, message in spots:
        fields = {"room": thread.channel, "thread": thread.thread, "message": message}
        form = form_of(nonce=YES.nonce, key="k", words="", **fields)
        async with ana.post("/press", data=form) as answer:
            assert answer.status == 404, fields

    assert desk.door.of(ButtonPress) == []
    assert await platform.transcript.read_revision() == revision


async def test_own_room_is_read_back_from_where_it_was_confirmed(
    platform: WebPlatform, desk: Desk
) -> None:
    await desk.begin("first", "direct")
    last = await platform.begin("second", "direct")
    await desk.place_of(last)
    await desk.wait_for(lambda: not desk.catch_up.is_due("web"))
    heard = len(desk.door.heard)
    directs = CatchUpDirects("local", ("ana",), 1)

    await desk.channel.catch_up(
        CatchUpPlan((CatchUpRoot("local", "dm-ana", last),), (), (directs,)), desk.door
    )
    behind = len(desk.door.heard)
    await desk.channel.catch_up(CatchUpPlan((), (), (directs,)), desk.door)

    assert behind == heard
    assert len(desk.door.heard) == heard + 2


async def test_room_with_the_name_of_an_own_room_is_shown_to_nobody(tmp_path: Path) -> None:
    async with WebPlatform() as platform:
        binding = {"channel": "web", "where": "local/dm-ben", "operators": ["ana"]}
        platform.bindings = (*WebPlatform.bindings, binding)
        platform.places = (*WebPlatform.places, Thread("web", "local", "dm-ben", ""))
        async with open_desk(tmp_path, platform) as desk:
            assert (await look(platform, "ana", "/rooms/dm-ben/-"))[0] == 404
            assert await say(platform, "ana", "/rooms/dm-ben/-", "hello") == 404
            findings = await desk.channel.diagnose()

    assert [f.sentence for f in findings if f.level == "fault"] == [
        'local/dm-ben is the name of somebody\'s own room; bind "local/dm", or another name.'
    ]


async def test_page_that_is_closed_makes_room_for_another_of_the_same_person(
    platform: WebPlatform, desk: Desk
) -> None:
    place = await desk.begin("hello")
    ana = await platform.browser("ana")
    path = f"{path_of(place.thread)}/events"
    opened = [await ana.get(path) for _ in range(20)]
    for each in opened:
        assert await each.content.readline()
    assert (await look(platform, "ana", path))[0] == 503

    opened.pop().close()

    async with asyncio.timeout(WAIT_S):
        while (await look(platform, "ana", path))[0] != 200:  # noqa: ASYNC110 - asked over HTTP
            await asyncio.sleep(0.05)
    for each in opened:
        each.close()
