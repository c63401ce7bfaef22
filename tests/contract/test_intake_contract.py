"""Every channel: what people say comes in once, in the platform's order, and nothing else does."""

from pathlib import Path

from fakes.contract_cases import on
from fakes.contract_desk import open_desk
from fakes.contract_platform import ContractPlatform

from geode.store.tables import dedupe, inbox, sessions

STORY = [f"line {number}" for number in range(1, 7)]


@on()
async def test_quick_messages_arrive_in_the_order_of_the_platform(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        one, two = await desk.begin("first", "one"), await desk.begin("second", "two")

        said = [await platform.follow(place, text) for text in STORY for place in (one, two)]

        await desk.wait_for(lambda: set(said) <= set(desk.ids()))
        for place in (one, two):
            assert [message.text for message in desk.messages(place)][1:] == STORY
        assert await desk.column(inbox.c.state) == ["queued"] * 14


@on()
async def test_message_carries_who_said_what_where(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin("what is new?")
        follow = await platform.follow(place, "and today?", "ben")
        await desk.place_of(follow)

        ana, ben = desk.messages()
        assert (ana.text, ben.text) == ("what is new?", "and today?")
        assert ana.is_addressed
        assert ana.sender.id != ben.sender.id
        assert ana.thread == ben.thread
        assert (ana.kind, ana.is_direct) == ("message", False)
        assert ana.sent_at_us > 1_000_000_000_000_000
        assert {m.thread.platform for m in (ana, ben)} == {platform.name}


@on("unaddressed")
async def test_message_without_a_mention_is_not_addressed(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin("what is new?")
        await desk.place_of(await platform.follow(place, "and today?", "ben"))

        assert [message.is_addressed for message in desk.messages()] == [True, False]


@on()
async def test_direct_message_is_one_thread_and_addressed(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        first = await desk.begin("hello", "direct")
        second = await desk.begin("again", "direct")

        messages = desk.messages()
        assert [(m.text, m.is_direct, m.is_addressed) for m in messages] == [
            ("hello", True, True),
            ("again", True, True),
        ]
        assert first.thread == second.thread
        assert first.thread.thread == ""


@on()
async def test_stranger_stores_nothing_live_or_read_back(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        await platform.begin("let me in", "one", "stranger")
        await platform.begin("let me in", "direct", "stranger")
        last = await desk.begin("I may", "one")
        await desk.wait_for(lambda: desk.door.inner.ignored["access.stranger"])
    await platform.begin("let me in again", "two", "stranger")

    async with open_desk(tmp_path, platform) as desk:
        follow = await platform.follow(last, "still here")
        await desk.place_of(follow)

        assert await desk.stored() == ["I may", "still here"]
        assert len(await desk.column(sessions.c.id)) == 1
        assert len(await desk.column(dedupe.c.key)) == 2


@on()
async def test_what_was_said_while_away_arrives_exactly_once(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        one = await desk.begin("first", "one")
        direct = await desk.begin("in private", "direct")
    said = [await platform.follow(one, text) for text in STORY]
    said.append(await platform.follow(direct, "also in private"))
    said.append(await platform.begin("a new thread", "two"))

    async with open_desk(tmp_path, platform) as desk:
        await desk.wait_for(lambda: set(said) <= set(desk.ids()))
    async with open_desk(tmp_path, platform) as desk:
        after = await desk.begin("and live again", "one")
        await desk.wait_for(lambda: not desk.catch_up.is_due(platform.name))

        stored = await desk.stored()
        assert sorted(stored) == sorted(
            ["first", *STORY, "in private", "also in private", "a new thread", "and live again"]
        )
        assert [text for text in stored if text in STORY] == STORY
        assert after.thread.platform == platform.name


@on()
async def test_first_direct_message_said_while_away_arrives(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        await desk.begin("in the channel")
    said = await platform.begin("are you there?", "direct")

    async with open_desk(tmp_path, platform) as desk:
        await desk.place_of(said)

        assert sorted(await desk.stored()) == ["are you there?", "in the channel"]


@on()
async def test_what_was_said_while_the_line_was_cut_arrives_exactly_once(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        one = await desk.begin("first", "one")
        await platform.cut_receiving()
        said = [await platform.follow(one, text) for text in STORY]

        await desk.wait_for(lambda: set(said) <= set(desk.ids()), 15)

        await desk.wait_for(lambda: not desk.catch_up.is_due(platform.name))
        assert await desk.stored() == ["first", *STORY]


@on()
async def test_message_that_could_not_be_stored_comes_again_and_is_stored_once(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        one = await desk.begin("first", "one")
        desk.door.refusals = 1

        said = await platform.follow(one, "no room at first")

        await desk.wait_for(lambda: said in desk.ids())
        assert desk.door.refusals == 0
        await desk.wait_for(lambda: not desk.catch_up.is_due(platform.name))
        assert await desk.stored() == ["first", "no room at first"]


@on()
async def test_message_that_was_not_committed_when_we_died_is_stored_after_the_restart(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        one = await desk.begin("first", "one")
        await desk.wait_for(lambda: desk.door.waiting == 0)
        desk.door.gate.clear()
        said = await platform.follow(one, "cut off")
        await desk.wait_for(lambda: desk.door.waiting)
        assert said not in desk.ids()

    async with open_desk(tmp_path, platform) as desk:
        await desk.wait_for(lambda: said in desk.ids())

        assert await desk.stored() == ["first", "cut off"]


@on("line")
async def test_status_tells_an_outage_and_its_end(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        await platform.go_down()
        await desk.wait_for(lambda: desk.channel.status().state == "down")
        reason = desk.channel.status().reason
        await platform.come_back()

        await desk.wait_up()

        assert reason.endswith(".")
        assert (desk.channel.name, desk.channel.status().reason) == (platform.name, "")


@on()
async def test_stop_before_start_and_twice_is_harmless(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    never_started = platform.make_channel()
    await never_started.stop()
    await never_started.stop()

    async with open_desk(tmp_path, platform) as desk:
        await desk.begin("hello")
    await desk.channel.stop()
    assert desk.channel.name == platform.name
