"""Every channel: what fits is one message, what does not is split, and nothing is lost or cut."""

from contextlib import suppress
from pathlib import Path

from fakes.contract_cases import on
from fakes.contract_desk import open_desk
from fakes.contract_platform import ContractPlatform

from geode.errors import ChannelError
from geode.messages import InboundMessage, OutboundBody, Place
from geode.ports import Channel

ASTRAL = "\N{GRINNING FACE}"
RESERVED = 100
"""So much a channel may keep for words of its own, such as that a message may be doubled."""


@on()
async def test_longest_text_is_one_message_and_shown_whole(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()
        text = "x" * (desk.channel.limits.text_units_max - RESERVED)

        await desk.post(place, text)

        assert await desk.wait_settled() == ["sent"]
        (shown,) = platform.shown(place)
        assert "".join(shown.split()) == text


@on()
async def test_astral_characters_are_counted_as_the_platform_does_and_never_halved(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()

        await desk.post(place, ASTRAL * 5_000)

        assert await desk.wait_settled() == ["sent"]
        shown = "".join(platform.shown(place))
        assert "".join(shown.split()) == ASTRAL * 5_000


@on()
async def test_plan_gives_at_least_one_part_with_its_plain_text(platform: ContractPlatform) -> None:
    channel = platform.make_channel()

    for markdown in ("", "   ", "**bold** text", "```\nopen fence", "| a |\n|---|\n| b |"):
        parts = channel.plan(OutboundBody(markdown))

        assert parts, markdown
        assert all(part.plain.strip() for part in parts), markdown
        assert channel.plan(OutboundBody(markdown)) == parts


@on()
async def test_part_without_payload_goes_out_as_its_plain_text(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()
        (part,) = desk.channel.plan(OutboundBody("some words"))
        plain = type(part)({}, "2 * 3 * 4 = _24_")

        sent = await desk.channel.send(place, plain, "plain:0")
        await desk.channel.edit(place, sent, type(part)({}, "edited * words *"))

        (shown,) = platform.shown(place)
        assert shown.replace("\\", "") == "edited * words *"


async def hint(channel: Channel, place: Place, message_id: str) -> None:
    """Every hint a channel may be asked for; only a `ChannelError` may come of it."""
    for is_on in (True, True, False, False):
        with suppress(ChannelError):
            await channel.react(place, message_id, is_on=is_on)
    for line in ("Reading", "Reading", ""):
        with suppress(ChannelError):
            await channel.set_status(place, line)


@on()
async def test_hints_are_best_effort_and_fail_as_channel_errors_only(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        message_id = await platform.begin("hello", "side")
        place = await desk.place_of(message_id)

        await hint(desk.channel, place, message_id)
        await hint(desk.channel, place, "")
        platform.remove_side()
        await hint(desk.channel, place, message_id)
        await platform.go_down()
        await hint(desk.channel, place, message_id)
        await desk.delivery.mark_working(place, message_id, is_on=True)

        assert platform.shown(place) == []
        await platform.come_back()
        await desk.wait_up()


@on()
async def test_nothing_but_what_people_say_comes_in(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        message_id = await platform.begin("hello")
        place = await desk.place_of(message_id)
        await desk.post(place, "we said this")
        await desk.wait_settled()
        await platform.make_noise(place, message_id)

        follow = await platform.follow(place, "and now?")
        await desk.place_of(follow)

        said = [(m.kind, m.text) for m in desk.door.of(InboundMessage)]
        assert said == [("message", "hello"), ("message", "and now?")]
        assert len(desk.messages()) == 2
