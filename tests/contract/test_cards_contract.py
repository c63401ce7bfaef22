"""Every channel: a card is shown whole, its buttons come back as presses, once decided never."""

from pathlib import Path

from fakes.contract_cases import on
from fakes.contract_desk import open_desk
from fakes.contract_platform import ContractPlatform

from geode.messages import Button, ButtonPress, Card, OutboundBody
from geode.reply import sentences
from geode.store.tables import cards, dedupe, inbox, receipts

YES = Button("It happened", "nonceYES-0123456789_ab", "primary")
NO = Button("It did not", "nonceNO-0123456789_abc", "danger")
SAY = Button("Say more", "nonceSAY-0123456789_ab", asks="What did you see?")
CARD = Card("Did it happen?", "The **deploy** was cut.", (("tool", "deploy"),), (YES, NO, SAY))


@on("buttons")
async def test_card_shows_title_body_fields_and_buttons_in_order(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()

        message_id = await desk.send_card(place, CARD)

        (shown,) = platform.shown(place)
        assert all(word in shown for word in ("Did it happen?", "deploy", "was cut", "tool"))
        assert platform.labels(place, message_id) == [YES.label, NO.label, SAY.label]


@on("buttons")
async def test_press_comes_in_with_its_nonce_thread_message_and_person(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()
        message_id = await desk.send_card(place, CARD)

        await platform.press(place, message_id, NO.label, "ben")

        await desk.wait_for(lambda: desk.door.of(ButtonPress))
        (press,) = desk.door.of(ButtonPress)
        ben = await desk.sender_of(place, "ben")
        assert (press.nonce, press.thread, press.message_id, press.text, press.is_direct) == (
            *(NO.nonce, place.thread, message_id, "", False),
        )
        assert press.presser.id == ben


@on("buttons")
async def test_words_that_a_button_asks_for_are_the_press(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()
        message_id = await desk.send_card(place, CARD)

        await platform.press(place, message_id, SAY.label, words="half of it, & <no> more")

        await desk.wait_for(lambda: desk.door.of(ButtonPress))
        (press,) = desk.door.of(ButtonPress)
        assert (press.nonce, press.text) == (SAY.nonce, "half of it, & <no> more")
        assert (press.thread, press.message_id) == (place.thread, message_id)


@on("buttons")
async def test_card_in_a_direct_message_is_pressed_there(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin(where="direct")
        message_id = await desk.send_card(place, CARD)

        await platform.press(place, message_id, YES.label)

        await desk.wait_for(lambda: desk.door.of(ButtonPress))
        (press,) = desk.door.of(ButtonPress)
        assert (press.thread, press.message_id) == (place.thread, message_id)
        assert press.is_direct


@on("buttons")
async def test_two_presses_are_two_events_of_one_card(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()
        message_id = await desk.send_card(place, CARD)

        await platform.press(place, message_id, YES.label, "ana")
        await platform.press(place, message_id, NO.label, "ben")

        await desk.wait_for(lambda: len(desk.door.of(ButtonPress)) == 2)
        presses = desk.door.of(ButtonPress)
        assert {press.nonce for press in presses} == {YES.nonce, NO.nonce}
        assert len({press.dedupe_key for press in presses}) == 2
        assert {press.message_id for press in presses} == {message_id}


@on("buttons")
async def test_press_after_a_restart_is_the_same_press(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()
        message_id = await desk.send_card(place, CARD)

    async with open_desk(tmp_path, platform) as desk:
        await platform.press(place, message_id, YES.label)

        await desk.wait_for(lambda: desk.door.of(ButtonPress))
        press = desk.door.of(ButtonPress)[0]
        assert (press.nonce, press.thread, press.message_id) == (
            *(YES.nonce, place.thread, message_id),
        )


@on("buttons")
async def test_decided_card_has_no_live_button(platform: ContractPlatform, tmp_path: Path) -> None:
    decided = Card("Did it happen?", "It happened, says Ana.")
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()
        message_id = await desk.send_card(place, CARD)
        (part,) = desk.channel.plan(OutboundBody("decided", "card", decided))

        await desk.channel.edit(place, message_id, part)
        await desk.channel.edit(place, message_id, part)

        assert platform.labels(place, message_id) == []
        (shown,) = platform.shown(place)
        assert "It happened, says Ana." in shown


@on("buttons")
async def test_strangers_press_stores_nothing(platform: ContractPlatform, tmp_path: Path) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()
        message_id = await desk.send_card(place, CARD)

        await platform.press(place, message_id, YES.label, "stranger")

        await desk.wait_for(lambda: desk.door.inner.ignored["access.stranger"])
        assert len(await desk.column(dedupe.c.key)) == 1
        assert len(await desk.column(inbox.c.text)) == 1


@on("buttons")
async def test_over_long_card_is_shown_whole_and_can_be_pressed(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    words = [f"word{number}" for number in range(2_000)]
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()

        message_id = await desk.send_card(place, Card("Long", " ".join(words), (), (YES, NO)))
        await platform.press(place, message_id, YES.label)

        await desk.wait_for(lambda: desk.door.of(ButtonPress))
        (press,) = desk.door.of(ButtonPress)
        assert (press.nonce, press.message_id) == (YES.nonce, message_id)
        shown = " ".join(platform.shown(place)).split()
        assert [word for word in shown if word.startswith("word")] == words


@on("buttons")
async def test_two_presses_decide_once_and_the_card_ends(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()
        message_id = await desk.ask_about_effect(place)
        happened, did_not = platform.labels(place, message_id)

        await platform.press(place, message_id, happened)
        await platform.press(place, message_id, did_not)

        await desk.wait_for(lambda: len(desk.door.of(ButtonPress)) == 2)
        await desk.wait_for(lambda: platform.labels(place, message_id) == [])
        outcomes = [each.outcome for each in desk.door.outcomes]
        assert outcomes.count("decided") == 1
        assert await desk.column(cards.c.choice) == ["happened"]
        assert await desk.column(receipts.c.result) == ["happened"]
        (shown,) = platform.shown(place)
        assert "Settled" in shown


@on("buttons")
async def test_press_after_a_restart_decides(platform: ContractPlatform, tmp_path: Path) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()
        message_id = await desk.ask_about_effect(place)

    async with open_desk(tmp_path, platform) as desk:
        await platform.press(place, message_id, "It did not happen")

        await desk.wait_column(cards.c.state, "decided")
        await desk.wait_for(lambda: platform.labels(place, message_id) == [])
        assert await desk.column(receipts.c.state) == ["reconciled"]


@on("buttons")
async def test_who_may_not_decide_is_told_so_and_the_card_stays(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()
        message_id = await desk.ask_about_effect(place)
        labels = platform.labels(place, message_id)

        await platform.press(place, message_id, labels[0], "ben")

        await desk.wait_for(lambda: platform.whispers("ben"))
        assert sentences.ONLY_OPERATORS in platform.whispers("ben")[0].replace("\\", "")
        assert await desk.column(cards.c.state) == ["open"]
        assert platform.labels(place, message_id) == labels
