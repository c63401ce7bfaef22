"""CF-03: an id of 64 bits keeps every digit, from the file to the platform and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from fakes.discord_town import answers, running_daemon
from fakes.scripted_model import say
from fakes.telegram_town import answers as telegram_answers
from fakes.telegram_town import column, telegram_daemon
from sqlalchemy import select

from channels.rehearsal.discord import RehearsalDiscord
from channels.rehearsal.discord_state import GUILD, Person, Room
from channels.rehearsal.telegram import RehearsalTelegram
from channels.rehearsal.telegram_state import BOT_ID, Chat, User
from geode.errors import ConfigError
from geode.serve.control import Control
from geode.settings_load import InstalledChannelModels, load_settings
from geode.store.tables import inbox, sessions, threads

PERSON, ROOM = "1234567890123456789", "1234567890123456787"
"""A double would end both in 768."""
CHAT, TELEGRAM_PERSON = -1002345678901234567, 4503599627370497


def discord_config(person: str, operator: str) -> str:
    return f"""
[channels.discord]
token = "env:DISCORD_BOT_TOKEN"
proxy = "{{proxy}}"

[[bindings]]
channel = "discord"
where = "{GUILD}/{ROOM}"
people = [{person}]
operators = [{operator}]
"""


@pytest.mark.parametrize(
    ("person", "operator"),
    [
        pytest.param(PERSON, f'"{PERSON}"', id="number"),
        pytest.param(f'"{PERSON}"', PERSON, id="text"),
        pytest.param("1", PERSON, id="operator as number"),
    ],
)
async def test_id_of_64_bits_keeps_its_digits_from_the_file_to_discord_and_back_cf_03(
    tmp_path: Path, person: str, operator: str
) -> None:
    async with RehearsalDiscord() as discord:
        discord.world.people[PERSON] = Person(PERSON, "exact")
        near = str(int(PERSON) - 21)
        discord.world.people[near] = Person(near, "near")
        discord.world.add_room(Room(ROOM, "exact"))
        async with running_daemon(discord, tmp_path, discord_config(person, operator)) as daemon:
            rounded = await discord.say(f"<@{discord.bot}> hello", user=near, channel=ROOM)
            post = await discord.say(f"<@{discord.bot}> hello", user=PERSON, channel=ROOM)
            await discord.wait_for(lambda: answers(discord, post.id))
            read = daemon.store.read

            key = f"discord:{GUILD}/{ROOM}"
            bound = [b.key for b in daemon.settings.bindings if b.channel == "discord"]
            assert bound == [key]
            assert await read(lambda tx: tx.execute(select(sessions.c.binding)).scalar()) == key
            assert await read(lambda tx: tx.execute(select(threads.c.channel)).scalar()) == ROOM
            people = await read(lambda tx: list(tx.execute(select(inbox.c.sender_id)).scalars()))
            assert people == [PERSON]
            control = Control(daemon, daemon.store, daemon.clock)
            shown = await control.verbs["sessions.list"]({})
            assert ROOM in json.dumps(shown)
            assert str(int(float(ROOM))) not in json.dumps(shown)
        assert rounded.id not in discord.world.rooms
        assert set(discord.api.refused) <= {"10003"}


@pytest.mark.parametrize("quote", ["", '"'], ids=["number", "text"])
async def test_negative_chat_id_keeps_its_digits_from_the_file_to_telegram_and_back_cf_03(
    tmp_path: Path, quote: str
) -> None:
    person = f"{quote}{TELEGRAM_PERSON}{quote}"
    tmp_path.joinpath("bindings.toml").write_text(
        f'\n[[bindings]]\nchannel = "telegram"\nwhere = "{BOT_ID}/{CHAT}"\n'
        f"people = [{person}]\noperators = [{person}]\n"
    )
    async with RehearsalTelegram() as telegram:
        telegram.town.add_user(User(TELEGRAM_PERSON, "Exact", "exact"))
        telegram.town.add_chat(Chat(CHAT, "supergroup", "exact"))
        async with telegram_daemon(telegram, tmp_path, [say("exactly")]) as daemon:
            telegram.say("@geode_bot hello", user=TELEGRAM_PERSON, chat=CHAT)
            await telegram.wait_for(lambda: telegram_answers(telegram, CHAT) == ["exactly"])

            assert await column(daemon, threads.c.channel) == [str(CHAT)]
            assert await column(daemon, sessions.c.binding) == [f"telegram:{BOT_ID}/{CHAT}"]
            assert await column(daemon, inbox.c.sender_id) == [str(TELEGRAM_PERSON)]


def load(home: Path, value: str) -> tuple[str, ...]:
    path = home / "geode.toml"
    path.write_text(
        '[channels.discord]\n[[bindings]]\nchannel = "discord"\n'
        f'where = "dm/dm"\npeople = [{value}]\noperators = ["1"]\n'
    )
    environ: Mapping[str, str] = {"GEODE_HOME": str(home), "HOME": str(home)}
    loaded = load_settings(path, channel_models=InstalledChannelModels(), environ=environ)
    people = loaded.settings.bindings[0].people
    assert isinstance(people, tuple)
    return people


def test_id_with_a_leading_zero_stays_as_it_is_written_cf_03(tmp_path: Path) -> None:
    assert load(tmp_path, '"0123"') == ("0123",)


@pytest.mark.parametrize("value", ["1e5", '"1e5"', "1234567890123456789.0", "0123", "true"])
def test_id_that_is_no_row_of_digits_is_refused_and_never_becomes_a_number_cf_03(
    tmp_path: Path, value: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        load(tmp_path, value)

    assert str(tmp_path / "geode.toml") in str(refused.value)
