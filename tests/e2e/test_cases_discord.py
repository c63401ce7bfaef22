"""Discord told end to end: a real daemon, its real client, a strict local Discord."""

from __future__ import annotations

from pathlib import Path

from fakes.discord_town import answers, running_daemon
from fakes.discord_world import HELLO

from channels.rehearsal.discord import RehearsalDiscord
from channels.rehearsal.discord_state import BEN, GENERAL, OTHER, Posted


async def answered(discord: RehearsalDiscord, room: str, count: int = 1) -> list[str]:
    """The answers of a place, once there are so many."""
    await discord.wait_for(lambda: len(answers(discord, room)) >= count)
    return answers(discord, room)


async def ask(discord: RehearsalDiscord, text: str = HELLO, room: str = "") -> Posted:
    return await discord.say(text, **({"channel": room} if room else {}))


async def test_mention_is_answered_once_in_its_thread_and_the_thread_is_followed(
    tmp_path: Path,
) -> None:
    async with RehearsalDiscord() as discord, running_daemon(discord, tmp_path):
        post = await ask(discord)
        assert len(await answered(discord, post.id)) == 1
        await ask(discord, "and now?", post.id)
        assert len(await answered(discord, post.id, 2)) == 2

        await discord.wait_for(lambda: post.reactions == {"👀": []})
        assert discord.methods.counters["threads_opened"] == 1
        assert discord.bot_posts(post.room) == []
        # A catch-up may look into the thread before the first answer has opened it.
        assert set(discord.api.refused) <= {"10003"}


async def test_lost_response_of_a_post_leaves_one_visible_copy(tmp_path: Path) -> None:
    async with RehearsalDiscord() as discord, running_daemon(discord, tmp_path):
        discord.fault("drop_response", method="message.create", times=2)
        post = await ask(discord)
        await answered(discord, post.id)
        again = await ask(discord, "again", post.id)
        await answered(discord, post.id, 2)

        await discord.wait_for(lambda: again.reactions == {"👀": []})
        assert len(discord.bot_posts(post.id)) == 2
        assert discord.methods.counters["nonce_repeats"] >= 1


async def test_message_during_a_resume_is_answered_once_dc_03(tmp_path: Path) -> None:
    async with RehearsalDiscord() as discord, running_daemon(discord, tmp_path):
        discord.gateway.kill_all()
        post = await ask(discord)
        await answered(discord, post.id)
        await discord.gateway.replay(3)
        last = await ask(discord)
        await answered(discord, last.id)

        assert discord.gateway.counters["resumes"] == 1
        assert len(discord.bot_posts(post.id)) == 1


async def test_message_while_the_daemon_was_away_is_answered_once_dc_03(tmp_path: Path) -> None:
    async with RehearsalDiscord() as discord:
        async with running_daemon(discord, tmp_path):
            first = await ask(discord)
            await answered(discord, first.id)
        missed = await ask(discord)
        discord.gateway.sessions.clear()
        async with running_daemon(discord, tmp_path):
            await answered(discord, missed.id)
            last = await ask(discord)
            await answered(discord, last.id)

        assert len(discord.bot_posts(missed.id)) == 1
        assert len(discord.bot_posts(first.id)) == 1


async def test_category_serves_forum_posts_and_a_nearer_rule_wins_dc_06(tmp_path: Path) -> None:
    async with RehearsalDiscord() as discord:
        discord.world.rooms[OTHER].parent = discord.world.rooms[GENERAL].parent
        async with running_daemon(discord, tmp_path) as daemon:
            denied = await ask(discord, room=OTHER)
            served = await discord.open_post(HELLO)
            assert len(await answered(discord, served.id)) == 1
            direct = await discord.say("hi", channel="")
            assert len(await answered(discord, direct.room)) == 1

            assert denied.id not in discord.world.rooms
            assert set(daemon.intake.ignored) == {"access.stranger"}
            allowed = await discord.say(HELLO, user=BEN, channel=OTHER)
            assert len(await answered(discord, allowed.id)) == 1
