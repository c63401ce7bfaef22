"""Discord told end to end: a real daemon, its real client, a strict local Discord."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.discord_town import CONFIG, answers, running_daemon
from fakes.discord_world import HELLO

from channels.rehearsal.discord import RehearsalDiscord
from channels.rehearsal.discord_state import (
    ANA,
    BEN,
    GENERAL,
    OTHER,
    STRANGER,
    Person,
    Posted,
)


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


async def test_same_message_live_twice_read_back_and_replayed_is_one_turn_dc_03(
    tmp_path: Path,
) -> None:
    async with RehearsalDiscord() as discord:
        twice = Posted(GENERAL, "1100000000000000001", ANA, HELLO)
        discord.world.add_post(twice)
        async with running_daemon(discord, tmp_path):
            await discord.announce(twice)
            await discord.announce(twice)
            await answered(discord, twice.id)
        async with running_daemon(discord, tmp_path):
            await discord.announce(twice)
            last = await ask(discord)
            await answered(discord, last.id)

        assert len(discord.bot_posts(twice.id)) == 1
        assert discord.methods.counters["threads_opened"] == 2


def read_state(home: Path) -> bytes:
    """Every byte of the database."""
    return b"".join(file.read_bytes() for file in home.rglob("*.db*"))


async def test_slash_command_of_a_person_is_answered_to_them_alone(tmp_path: Path) -> None:
    async with RehearsalDiscord() as discord, running_daemon(discord, tmp_path):
        post = await ask(discord)
        await answered(discord, post.id)
        before = len(discord.bot_posts(post.id))

        asked = await discord.command("status", channel=post.id)
        await discord.wait_for(lambda: asked.texts)

        assert asked.whispers[0]["flags"] & 64
        assert asked.answered == 5
        assert len(discord.bot_posts(post.id)) == before


async def test_stranger_is_refused_in_private_and_stores_nothing(tmp_path: Path) -> None:
    async with RehearsalDiscord() as discord, running_daemon(discord, tmp_path) as daemon:
        asked = await discord.command("status", "my secret words", user=STRANGER)
        await discord.wait_for(lambda: asked.texts)

        assert asked.texts == ["You cannot use this here."]
        assert discord.bot_posts(GENERAL) == []
        assert "access.stranger" in daemon.intake.ignored
        post = await ask(discord, "<@910000000000000002> plain words")
        await answered(discord, post.id)
        state = read_state(tmp_path)
        assert b"plain words" in state
        assert b"my secret words" not in state


async def test_command_written_in_a_thread_is_answered_there_without_a_turn(
    tmp_path: Path,
) -> None:
    async with RehearsalDiscord() as discord, running_daemon(discord, tmp_path):
        post = await ask(discord)
        await answered(discord, post.id)

        await ask(discord, "!whoami", post.id)

        texts = await answered(discord, post.id, 2)
        assert ANA in texts[1]


async def test_intent_that_is_off_ends_discord_only_and_is_named_dc_02(tmp_path: Path) -> None:
    async with RehearsalDiscord() as discord, running_daemon(discord, tmp_path) as daemon:
        discord.world.has_content_intent = False
        await discord.gateway.close_all(4014)

        status = daemon.channels["discord"].status
        await discord.wait_for(lambda: "message content intent" in status().reason)
        await discord.wait_for(lambda: status().state == "degraded")
        assert discord.gateway.counters["connections"] == 1
        assert daemon.channels["discord"].name == "discord"


@pytest.mark.parametrize("spelt", ["1234567890123456789", '"1234567890123456789"'])
async def test_id_of_sixty_four_bits_keeps_every_digit_cf_03(tmp_path: Path, spelt: str) -> None:
    person = "1234567890123456789"
    config = CONFIG.replace(f'people = ["{ANA}"]', f"people = [{spelt}]")
    async with RehearsalDiscord() as discord:
        discord.world.people[person] = Person(person, "long")
        async with running_daemon(discord, tmp_path, config):
            post = await discord.say(HELLO, user=person)
            await answered(discord, post.id)
            direct = await discord.say("hi", user=person, channel="")
            await answered(discord, direct.room)

        assert discord.api.refused.keys() <= {"10003"}
