"""Every channel: what is said once is seen once, in order, whatever happens to the answer."""

from pathlib import Path

from fakes.contract_cases import on
from fakes.contract_desk import KillAt, open_desk
from fakes.contract_platform import ContractPlatform
from fakes.contract_telegram import TelegramPlatform

from geode.reply import sentences
from geode.store.outbox import NewOutbox
from geode.store.tables import outbox, outbox_parts

STORY = [f"line {number}" for number in range(1, 6)]


@on("one_copy")
async def test_send_whose_answer_is_lost_is_seen_once(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()
        platform.drop_send_response()

        await desk.post(place, "once", "after")

        assert await desk.wait_settled() == ["sent", "sent"]
        assert platform.shown(place) == ["once", "after"]


async def test_first_telegram_send_whose_answer_is_lost_is_seen_twice_and_marked(
    tmp_path: Path,
) -> None:
    async with TelegramPlatform() as platform, open_desk(tmp_path, platform) as desk:
        place = await desk.begin()
        platform.drop_send_response()

        await desk.post(place, "doubtful", "after")

        assert await desk.wait_settled() == ["sent", "sent"]
        first, again, after = platform.shown(place)
        assert (first, after) == ("doubtful", "after")
        assert "doubtful" in again
        assert (await desk.column(outbox_parts.c.error))[0] == sentences.POSSIBLY_DOUBLED


@on("edit")
async def test_edit_whose_answer_is_lost_leaves_one_message(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()
        await desk.queue(place, NewOutbox("progress", "t1", "working", place.reply_to, "t1"))
        await desk.wait_settled()
        platform.drop_edit_response()

        await desk.queue(place, NewOutbox("answer", "t1", "the answer", place.reply_to, "t1"))

        assert await desk.wait_settled() == ["sent", "sent"]
        assert platform.shown(place) == ["the answer"]


@on()
async def test_rows_and_parts_of_a_long_answer_appear_in_order(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    words = [f"word{number}" for number in range(2_000)]
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()

        await desk.post(place, *STORY, " ".join(words))

        await desk.wait_settled()
        shown = platform.shown(place)
        assert shown[: len(STORY)] == STORY
        assert len(shown) > len(STORY) + 1
        assert " ".join(shown[len(STORY) :]).split() == words


@on()
async def test_slow_thread_does_not_hold_another_one_up(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        one, two = await desk.begin(where="one"), await desk.begin(where="two")
        platform.hold_sends("slow", 1.5)

        await desk.post(one, "slow")
        await desk.post(two, "quick")

        await desk.wait_for(lambda: platform.shown(two) == ["quick"])
        bodies, states = await desk.column(outbox.c.body), await desk.column(outbox.c.state)
        assert states[bodies.index("slow")] == "sending"
        await desk.wait_settled()
        assert platform.shown(one) == ["slow"]


@on("rate_limit")
async def test_rate_limited_send_waits_and_appears_once(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()
        platform.limit_next_send(1)

        await desk.post(place, "patient", "after")

        assert await desk.wait_settled() == ["sent", "sent"]
        assert platform.shown(place) == ["patient", "after"]


@on()
async def test_place_that_is_gone_is_refused_with_a_reason_and_stops_nobody(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        side, one = await desk.begin(where="side"), await desk.begin(where="one")
        platform.remove_side()

        await desk.post(side, "to nobody")
        await desk.post(one, "to somebody")

        assert await desk.wait_settled() == ["not_applied", "sent"]
        assert platform.shown(one) == ["to somebody"]
        reason = (await desk.column(outbox.c.reason))[0]
        assert reason.endswith(".")
        assert len(reason.split()) > 3


@on("one_copy")
async def test_death_between_send_and_settlement_leaves_one_copy(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform, KillAt("send.after:")) as desk:
        place = await desk.begin()
        await desk.post(place, "once", "after")
        await desk.wait_died()
        assert platform.shown(place) == ["once"]

    async with open_desk(tmp_path, platform) as desk:
        assert await desk.wait_settled() == ["sent", "sent"]

        assert platform.shown(place) == ["once", "after"]


@on()
async def test_death_before_the_send_loses_nothing(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform, KillAt("send.before:")) as desk:
        place = await desk.begin()
        await desk.post(place, "once", "after")
        await desk.wait_died()
        assert platform.shown(place) == []

    async with open_desk(tmp_path, platform) as desk:
        assert await desk.wait_settled() == ["sent", "sent"]

        # A channel that cannot look for the first one may say that this is its second.
        assert [text.splitlines()[0] for text in platform.shown(place)] == ["once", "after"]


@on()
async def test_outage_is_waited_out_and_nothing_is_lost_or_doubled(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()
        await platform.go_down()
        await desk.post(place, *STORY)
        await desk.wait_for(lambda: desk.channel.status().state != "up")

        await platform.come_back()

        await desk.wait_settled(15)
        assert platform.shown(place) == STORY
        await desk.wait_up()
