"""`geode setup` in a pseudo-terminal: from nothing to a served thread, and what goes wrong."""

from __future__ import annotations

import stat
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.geode_command import run_geode, serving
from fakes.setup_story import (
    CHANNELS,
    WRITTEN,
    begin,
    check_secrecy,
    empty_towns,
    environ_of,
    home_environ,
    paste,
    paste_slack,
    read_config,
    slack_environ,
)
from fakes.setup_terminal import setting_up
from fakes.three_towns import ThreeTowns

from channels.rehearsal.discord_state import ANA, GENERAL, GUILD
from channels.rehearsal.model import RehearsalModel
from channels.rehearsal.model_http import API_KEY
from channels.rehearsal.telegram_state import ANA as TELEGRAM_ANA
from channels.rehearsal.telegram_state import BOT_ID, CLUB

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
async def towns(tmp_path: Path) -> AsyncIterator[ThreeTowns]:
    async with empty_towns(tmp_path) as towns:
        yield towns


async def test_setup_takes_every_default_and_serves_the_page(tmp_path: Path) -> None:
    async with setting_up(home_environ(tmp_path)) as terminal:
        questions = ("Model", "Time zone", CHANNELS, "Write it?")
        await terminal.play(*((question, "") for question in questions))
        assert await terminal.end() == 0

    written = read_config(tmp_path)
    assert written["agent"]["model"] == "rehearsal"
    assert written["channels"] == {"web": {}}
    assert stat.S_IMODE((tmp_path / "geode.toml").stat().st_mode) == 0o600
    assert "geode serve" in terminal.screen
    environ = home_environ(tmp_path, GEODE_CHANNELS__WEB__LISTEN="127.0.0.1:0")
    async with serving(environ) as served:
        await served.wait_line("web is up")


async def test_setup_brings_slack_from_nothing_to_a_served_thread(towns: ThreeTowns) -> None:
    environ = slack_environ(towns)
    async with setting_up(environ) as terminal:
        await begin(terminal, "slack")
        await paste_slack(terminal, towns)
        await terminal.play(
            ("Which of them", "1, 2"),
            ("Who may talk there", "all"),
            ("Who are its operators", "1"),
            ("When does it answer?", ""),
            ("Who may talk there", "1"),
            ("Who are its operators", ""),
            ("Write it?", ""),
            ("Send a test message to #general?", "y"),
        )
        await terminal.see("It was sent")
        assert await terminal.end() == 0

    (sent,) = towns.slack.bot_posts("C0GENERAL")
    assert "GEODE" in sent.text
    written = read_config(towns.home)
    assert written["agent"]["timezone"] == "Europe/Berlin"
    assert [each["where"] for each in written["bindings"]] == [
        "T0REHEARSAL/C0GENERAL",
        "T0REHEARSAL/dm",
    ]
    assert written["bindings"][1]["operators"] == ["U0ANA"]
    secrets = (towns.slack.bot_token, towns.slack.app_token)
    check_secrecy(terminal, towns.home, *secrets)
    async with serving(environ) as served:
        await served.wait_line("slack is up")
        await towns.ask_slack()
    check_secrecy(terminal, towns.home, *secrets)
    assert [line for line in served.lines + served.errors if secrets[0] in line] == []


async def test_setup_finds_discord_channels_and_the_owner_of_the_bot(towns: ThreeTowns) -> None:
    environ = environ_of(towns, GEODE_CHANNELS__DISCORD__PROXY=towns.discord.proxy_url)
    async with setting_up(environ) as terminal:
        await begin(terminal, "discord")
        await terminal.see("Message Content Intent")
        await terminal.see("oauth2/authorize")
        await paste(terminal, "bot token", towns.discord.bot_token)
        await terminal.play(
            ("Which of them", "1"),
            ("Who may talk there", ""),
            ("Who are its operators", ""),
            ("When does it answer?", ""),
            ("Write it?", ""),
            ("Send a test message", "y"),
        )
        await terminal.see("It was sent")
        assert await terminal.end() == 0

    (binding,) = read_config(towns.home)["bindings"]
    assert binding["where"] == f"{GUILD}/{GENERAL}"
    assert binding["people"] == binding["operators"] == [ANA]
    assert len(towns.discord.bot_posts(GENERAL)) == 1
    check_secrecy(terminal, towns.home, towns.discord.bot_token)
    async with serving(environ) as served:
        await served.wait_line("discord is up")
        await towns.ask_discord()


async def test_setup_waits_for_somebody_to_write_on_telegram(towns: ThreeTowns) -> None:
    environ = environ_of(towns, GEODE_CHANNELS__TELEGRAM__API_URL=towns.telegram.base_url)
    async with setting_up(environ) as terminal:
        await begin(terminal, "telegram")
        await terminal.see("privacy mode")
        await paste(terminal, "bot token", towns.telegram.bot_token)
        await terminal.see("Write to the bot now")
        await towns.telegram.wait_for(lambda: towns.telegram.api.calls["getUpdates"], 20)
        towns.telegram.say("/whoami", chat=CLUB)
        await terminal.play(
            ("Which of them", "1"),
            ("Who may talk there", ""),
            ("Who are its operators", ""),
            ("When does it answer?", ""),
            ("Write it?", ""),
            ("Send a test message", "y"),
        )
        await terminal.see("It was sent")
        assert await terminal.end() == 0

    (binding,) = read_config(towns.home)["bindings"]
    assert binding["where"] == f"{BOT_ID}/{CLUB}"
    assert binding["operators"] == [str(TELEGRAM_ANA)]
    assert towns.telegram.queue.confirmed_below == 0
    check_secrecy(terminal, towns.home, towns.telegram.bot_token)
    async with serving(environ) as served:
        await served.wait_line("telegram is up")
        await towns.ask_telegram()


async def test_setup_takes_ids_by_hand_and_wants_an_operator(towns: ThreeTowns) -> None:
    async with setting_up(slack_environ(towns)) as terminal:
        await begin(terminal, "slack")
        await paste_slack(terminal, towns)
        await terminal.play(("Which of them", "hand"), ("The place's id", "#general"))
        await terminal.see("does not name a place on slack; write platform ids")
        await terminal.play(("The place's id", "T0REHEARSAL/C0GENERAL"), ("Who may talk", "@ana"))
        await terminal.see("is not a slack id; names and @handles can be taken over")
        await terminal.play(("Who may talk there", "U0ANA, U0BEN"), ("its operators", ""))
        await terminal.see("Choose at least one operator, by number or id.")
        await terminal.play(
            ("Who are its operators", "U0BEN"), ("When does it answer?", "2"), ("Write it?", "")
        )
        await terminal.answer("Send a test message", "")
        assert await terminal.end() == 0

    (binding,) = read_config(towns.home)["bindings"]
    assert binding["people"] == ["U0ANA", "U0BEN"]
    assert binding["operators"] == ["U0BEN"]
    assert binding["respond"] == "always"
    assert towns.slack.bot_posts("C0GENERAL") == []


async def test_setup_checks_the_key_and_asks_again(tmp_path: Path) -> None:
    async with RehearsalModel() as model:
        environ = home_environ(tmp_path, GEODE_PROVIDERS__ANTHROPIC__BASE_URL=model.url)
        async with setting_up(environ) as terminal:
            await terminal.answer("Model", "2")
            await paste(terminal, "API key", "sk-ant-of-nobody-0123456789")
            await terminal.answer("Model id", "")
            await terminal.see("Give another key.")
            await paste(terminal, "API key", API_KEY)
            await terminal.answer("Model id", "")
            await terminal.see("anthropic accepts the key")
            await terminal.play(("Time zone", "Mars/Base"), ("Time zone", ""))
            await terminal.play((CHANNELS, ""), ("Write it?", ""))
            assert await terminal.end() == 0

    written = read_config(tmp_path)
    assert written["agent"]["model"] == "anthropic/claude-opus-5-5"
    assert written["providers"]["anthropic"]["api_key"] == (
        f"file:{tmp_path}/secrets/anthropic-api-key"
    )
    assert '"Europe/Berlin"' in terminal.screen.replace("'", '"')
    assert model.calls["messages"] == 0
    check_secrecy(terminal, tmp_path, API_KEY, "sk-ant-of-nobody-0123456789")


async def test_setup_goes_on_with_a_key_that_cannot_be_checked(tmp_path: Path) -> None:
    environ = home_environ(
        tmp_path,
        GEODE_PROVIDERS__ANTHROPIC__BASE_URL="http://127.0.0.1:9",
        ANTHROPIC_API_KEY=API_KEY,
    )
    async with setting_up(environ) as terminal:
        await terminal.play(("Model", ""), ("Use the API key in env:ANTHROPIC_API_KEY?", ""))
        await terminal.answer("Model id", "")
        await terminal.see("The key is not checked")
        await terminal.play(("Time zone", ""), (CHANNELS, ""), ("Write it?", ""))
        await terminal.see("Start it with ANTHROPIC_API_KEY set")
        assert await terminal.end() == 0

    assert read_config(tmp_path)["providers"]["anthropic"]["api_key"] == "env:ANTHROPIC_API_KEY"
    check_secrecy(terminal, tmp_path, API_KEY)


async def test_setup_keeps_comments_and_a_copy_of_the_file_that_was_there(
    tmp_path: Path,
) -> None:
    (tmp_path / "geode.toml").write_text(WRITTEN)
    async with setting_up(home_environ(tmp_path)) as terminal:
        await terminal.see("That file is there")
        await terminal.play(("Model", ""), ("Time zone [Asia/Tokyo]", "UTC"), (CHANNELS, ""))
        await terminal.see('-timezone = "Asia/Tokyo"')
        await terminal.answer("Write it?", "")
        assert await terminal.end() == 0

    text = (tmp_path / "geode.toml").read_text()
    assert (tmp_path / "geode.toml.bak-1").read_text() == WRITTEN
    for comment in ("# ours, with care", "# who answers", "# the page", "# any port", "# the room"):
        assert comment in text
    assert tomllib.loads(text)["agent"] == {
        "name": "Rock",
        "timezone": "UTC",
        "model": "rehearsal",
    }
    assert tomllib.loads(text)["bindings"] == tomllib.loads(WRITTEN)["bindings"]


BOUND = """
[channels.slack]

[[bindings]]
channel = "slack"
where = "T0REHEARSAL/C0GENERAL"
people = ["U0BEN"] # only he
operators = ["U0BEN"]
respond = "always"
time_budget_s = 30
"""


async def test_setup_offers_what_a_place_has_already(towns: ThreeTowns) -> None:
    (towns.home / "geode.toml").write_text(BOUND)
    async with setting_up(towns.environ | slack_environ(towns)) as terminal:
        await terminal.play(("Model", ""), ("Time zone", "Asia/Tokyo"), (CHANNELS, ""))
        await terminal.play(("Use the bot token", ""), ("Use the app-level token", ""))
        await terminal.see("It serves T0REHEARSAL/C0GENERAL.")
        await terminal.play(("Add or change a place?", "y"), ("Which of them", "1"))
        await terminal.play(
            ("Who may talk there (numbers, all, members or ids) [U0BEN]", "U0BEN, U0ANA"),
            ("decide (numbers or ids) [U0BEN]", ""),
            ("When does it answer? [2]", ""),
            ("Write it?", ""),
            ("Send a test message", ""),
        )
        assert await terminal.end() == 0

    (binding,) = read_config(towns.home)["bindings"]
    assert binding == {
        "channel": "slack",
        "where": "T0REHEARSAL/C0GENERAL",
        "people": ["U0BEN", "U0ANA"],
        "operators": ["U0BEN"],
        "respond": "always",
        "time_budget_s": 30,
    }
    assert "# only he" in (towns.home / "geode.toml").read_text()


async def test_setup_prints_the_manifest_of_slack(tmp_path: Path) -> None:
    ended = await run_geode(home_environ(tmp_path), "setup", "--print-manifest")

    assert ended.code == 0, ended.err
    assert "socket_mode_enabled: true" in ended.out
