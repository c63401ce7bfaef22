"""What was missed is read back as what it is: files, commands, groups, people of other firms."""

from fakes.slack_intake import MemoryIntake
from fakes.slack_world import SlackWorld, slack_world

from channels.rehearsal.slack_state import Posted, Room
from geode.messages import Thread
from geode.ports import CatchUpPlan, CatchUpRoot

TEAM, ROOM = "T0REHEARSAL", "C0GENERAL"


def write(world: SlackWorld, text: str, channel: str = ROOM, thread_ts: str = "") -> Posted:
    """Somebody writes while nobody listens."""
    workspace = world.slack.workspace
    made = Posted(channel, workspace.next_ts(), "U0ANA", text, thread_ts=thread_ts)
    return workspace.add_post(made)


async def read_back(world: SlackWorld, after: Posted) -> MemoryIntake:
    missed = MemoryIntake()
    plan = CatchUpPlan((CatchUpRoot(TEAM, after.channel, after.ts),))
    await world.channel.catch_up(plan, missed)
    return missed


async def test_missed_command_is_one_and_answered_to_nobody() -> None:
    async with slack_world() as world:
        first = write(world, "start")
        root = write(world, "<@UBOT> begin")
        write(world, "!new", thread_ts=root.ts)
        write(world, "<@UBOT> stop", thread_ts=root.ts)
        write(world, "go on", thread_ts=root.ts)

        missed = await read_back(world, first)

        assert [command.verb for command in missed.commands] == ["new", "stop"]
        assert {command.thread.thread for command in missed.commands} == {root.ts}
        assert missed.texts == ["begin", "go on"]
        assert world.slack.workspace.ephemerals == []


async def test_command_that_was_heard_live_is_a_duplicate_in_the_catch_up() -> None:
    async with slack_world() as world:
        first = write(world, "start")
        await world.slack.say("<@UBOT> !status")
        await world.wait_for(lambda: world.intake.commands)

        plan = CatchUpPlan((CatchUpRoot(TEAM, ROOM, first.ts),))
        await world.channel.catch_up(plan, world.intake)

        assert len(world.intake.commands) == 1


async def test_missed_file_without_words_is_a_message() -> None:
    async with slack_world() as world:
        first = write(world, "start")
        await world.slack.share("plan.pdf", b"%PDF", media_type="application/pdf")

        missed = await read_back(world, first)

        (message,) = missed.stored
        assert (message.text, message.is_catch_up) == ("", True)
        assert [file.name for file in message.files] == ["plan.pdf"]
        assert await world.channel.download(message.files[0], 100) == b"%PDF"


async def test_missed_message_of_a_group_stands_in_a_shared_place() -> None:
    async with slack_world() as world:
        members = set(world.slack.workspace.people)
        world.slack.workspace.add_room(Room("G0GROUP", "mpdm", members, is_mpim=True))
        first = write(world, "start", "G0GROUP")
        write(world, "<@UBOT> hi", "G0GROUP")

        (message,) = (await read_back(world, first)).stored

        assert message.thread == Thread("slack", TEAM, "G0GROUP", message.message_id)
        assert not message.is_direct
        assert message.is_addressed
        assert not message.sender.is_external
