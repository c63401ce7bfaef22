"""Every channel: a command in the platform's own form comes in as one, and its answer goes back."""

from pathlib import Path

from fakes.contract_cases import on
from fakes.contract_desk import open_desk
from fakes.contract_platform import ContractPlatform

from geode.messages import ChatCommand, InboundMessage


@on("commands")
async def test_command_comes_in_with_verb_argument_and_person(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()

        await platform.command(place, "model", "other/model two", "ben")

        await desk.wait_for(lambda: desk.door.of(ChatCommand))
        command = desk.door.of(ChatCommand)[0]
        assert (command.verb, command.argument) == ("model", "other/model two")
        assert command.sender.id == await desk.sender_of(place, "ben")
        assert command.is_private or command.thread == place.thread
        assert "model" not in " ".join(await desk.stored())


@on("commands")
async def test_answer_to_a_command_reaches_the_caller(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin(where="direct")
        desk.door.answers = ["All is **well**, 3 < 4."]

        await platform.command(place, "status", "")

        await desk.wait_for(lambda: platform.whispers("ana"))
        await desk.wait_for(lambda: "well" in " ".join(platform.whispers("ana")))
        assert desk.door.of(ChatCommand)[0].is_direct


@on("commands")
async def test_mention_with_a_marked_verb_is_a_command_and_a_verb_with_more_words_is_not(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        await platform.begin("!usage")
        await desk.begin("usage of the server, please")

        await desk.wait_for(lambda: desk.door.of(ChatCommand))
        assert [command.verb for command in desk.door.of(ChatCommand)] == ["usage"]
        assert await desk.stored() == ["usage of the server, please"]


@on("commands")
async def test_written_command_has_its_place_among_the_messages(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin("first")
        await platform.follow(place, "!stop")
        await desk.wait_for(lambda: desk.door.of(ChatCommand))
        await desk.place_of(await platform.follow(place, "last"))

        first, last = (message.order_key for message in desk.door.of(InboundMessage))
        assert first < desk.door.of(ChatCommand)[0].order_key < last
