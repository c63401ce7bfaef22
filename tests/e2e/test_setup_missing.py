"""`geode setup` in a pseudo-terminal with one thing missing at a time: a sentence names the fix."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from fakes.geode_command import run_geode
from fakes.setup_story import (
    CHANNELS,
    DEAD_URL,
    WRITTEN,
    WRONG,
    begin,
    check_secrecy,
    empty_towns,
    environ_of,
    home_environ,
    list_files,
    paste,
    paste_slack,
    read_config,
    slack_environ,
)
from fakes.setup_terminal import setting_up
from fakes.three_towns import ThreeTowns

from channels.rehearsal.model_http import API_KEY
from channels.rehearsal.telegram_updates import Webhook
from channels.telegram.claim import TokenClaim

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
async def towns(tmp_path: Path) -> AsyncIterator[ThreeTowns]:
    async with empty_towns(tmp_path) as towns:
        yield towns


async def test_setup_asks_again_for_a_token_that_is_refused(towns: ThreeTowns) -> None:
    async with setting_up(slack_environ(towns)) as terminal:
        await begin(terminal, "slack")
        await paste(terminal, "bot token", WRONG)
        await paste(terminal, "app-level token", towns.slack.app_token)
        await terminal.see("FAULT bot token: Slack refused the token (invalid_auth): check")
        await paste(terminal, "bot token", towns.slack.bot_token)
        await terminal.see("ok bot token")
        await terminal.answer("Which of them", "skip")
        await terminal.see("slack is left out")
        await terminal.answer("Write it?", "n")
        assert await terminal.end() == 1

    check_secrecy(terminal, towns.home, WRONG, towns.slack.bot_token)
    assert list_files(towns.home) == []


async def test_setup_names_a_scope_that_was_taken_and_looks_again(towns: ThreeTowns) -> None:
    towns.slack.api.scopes.remove("im:read")
    async with setting_up(slack_environ(towns)) as terminal:
        await begin(terminal, "slack")
        await paste_slack(terminal, towns)
        await terminal.see("FAULT scopes: The bot lacks im:read: add them under OAuth")
        towns.slack.api.scopes.append("im:read")
        await terminal.answer("Mend it, then", "1")
        await terminal.see("ok scopes")
        await terminal.see("Which of them")


async def test_setup_says_to_invite_a_bot_that_is_in_no_channel(towns: ThreeTowns) -> None:
    members = towns.slack.workspace.rooms["C0GENERAL"].members
    members.remove("UBOT")
    async with setting_up(slack_environ(towns)) as terminal:
        await begin(terminal, "slack")
        await paste_slack(terminal, towns)
        await terminal.see("The bot is in no channel: write /invite @Geode in the channel")
        members.add("UBOT")
        await terminal.answer("What now", "")
        await terminal.see("1. #general")


async def test_setup_says_that_a_platform_cannot_be_reached(tmp_path: Path) -> None:
    environ = home_environ(tmp_path, GEODE_CHANNELS__SLACK__API_URL=DEAD_URL)
    async with setting_up(environ) as terminal:
        await begin(terminal, "slack")
        await paste(terminal, "bot token", WRONG)
        await paste(terminal, "app-level token", "xapp-of-nobody")
        await terminal.see("Slack cannot be reached")
        await terminal.see("Check the network and the address")
        await terminal.answer("Mend it, then", "3")
        await terminal.answer("Write it?", "n")
        assert await terminal.end() == 1

    check_secrecy(terminal, tmp_path, WRONG)


async def test_setup_says_why_a_test_message_did_not_arrive(towns: ThreeTowns) -> None:
    async with setting_up(slack_environ(towns)) as terminal:
        await begin(terminal, "slack")
        await paste_slack(terminal, towns)
        await terminal.play(
            ("Which of them", "1"),
            ("Who may talk there", "members"),
            ("Who are its operators", "1"),
            ("When does it answer?", ""),
            ("Write it?", ""),
        )
        towns.slack.workspace.rooms["C0GENERAL"].members.remove("UBOT")
        await terminal.answer("Send a test message", "y")
        await terminal.see("It was not sent: The bot is not in this channel; invite it.")
        assert await terminal.end() == 0

    assert read_config(towns.home)["bindings"][0]["people"] == "members"


def refuse_discord(towns: ThreeTowns) -> None:
    towns.discord.api.token = "another"


def switch_intent_off(towns: ThreeTowns) -> None:
    towns.discord.world.has_content_intent = False


def leave_server(towns: ThreeTowns) -> None:
    towns.discord.gateway.is_invited = False


def refuse_telegram(towns: ThreeTowns) -> None:
    towns.telegram.api.token = "12345:another-token"


def set_webhook(towns: ThreeTowns) -> None:
    towns.telegram.queue.webhook = Webhook("https://example.org", "s")


@pytest.mark.parametrize(
    ("channel", "spoil", "sentence", "question"),
    [
        ("discord", refuse_discord, "Discord refused the token: check channels.discord.token", ""),
        ("discord", switch_intent_off, "Privileged Gateway Intents, in", "Mend it, then"),
        ("discord", leave_server, "The bot is in no server: invite it", "Mend it, then"),
        ("telegram", refuse_telegram, "Telegram refused the token", ""),
        ("telegram", set_webhook, "A webhook is set for this bot", "What now"),
    ],
)
async def test_setup_names_what_is_missing_and_the_fix(
    towns: ThreeTowns,
    channel: str,
    spoil: Callable[[ThreeTowns], None],
    sentence: str,
    question: str,
) -> None:
    token = towns.discord.bot_token if channel == "discord" else towns.telegram.bot_token
    addresses = {
        "GEODE_CHANNELS__DISCORD__PROXY": towns.discord.proxy_url,
        "GEODE_CHANNELS__TELEGRAM__API_URL": towns.telegram.base_url,
    }
    spoil(towns)
    async with setting_up(environ_of(towns, **addresses)) as terminal:
        await begin(terminal, channel)
        await paste(terminal, "bot token", token)
        await terminal.see(sentence)
        await terminal.see(question or "Where is the bot token")
        await terminal.see(": ")
        await terminal.press("c")
        assert await terminal.end() == 130

    check_secrecy(terminal, towns.home, token)
    assert list_files(towns.home) == []


async def test_setup_leaves_a_daemon_its_telegram_updates(towns: ThreeTowns) -> None:
    environ = environ_of(towns, GEODE_CHANNELS__TELEGRAM__API_URL=towns.telegram.base_url)
    claim = TokenClaim(towns.telegram.base_url, towns.telegram.bot_token)
    assert claim.take() == ""
    try:
        async with setting_up(environ) as terminal:
            await begin(terminal, "telegram")
            await paste(terminal, "bot token", towns.telegram.bot_token)
            await terminal.see("receives with this token: stop it and look again")
            await terminal.see("What now")
    finally:
        claim.release()

    assert towns.telegram.api.calls["getUpdates"] == 0


async def test_setup_that_cannot_write_says_so_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("in the way")
    (tmp_path / "geode.toml").write_text(WRITTEN)
    environ = home_environ(tmp_path, GEODE_PROVIDERS__ANTHROPIC__BASE_URL="http://127.0.0.1:9")
    async with setting_up(environ) as terminal:
        await terminal.answer("Model", "2")
        await paste(terminal, "API key", API_KEY)
        await terminal.play(("Model id", ""), ("Time zone", ""), (CHANNELS, ""), ("Write it?", ""))
        await terminal.see("cannot be written")
        await terminal.see("is as it was")
        assert await terminal.end() == 1

    assert (tmp_path / "geode.toml").read_text() == WRITTEN
    assert {path.name for path in list_files(tmp_path)} == {"secrets", "geode.toml"}


async def test_setup_needs_a_terminal_or_yes(tmp_path: Path) -> None:
    ended = await run_geode(home_environ(tmp_path), "setup")
    assert ended.code == 2
    (sentence,) = ended.sentences
    assert "--yes" in sentence
    assert list_files(tmp_path) == []

    taken = await run_geode(home_environ(tmp_path), "setup", "--yes")
    assert taken.code == 0, taken.err
    assert read_config(tmp_path)["channels"] == {"web": {}}


async def test_setup_names_a_folder_that_is_none_before_it_asks(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    async with setting_up(home_environ(tmp_path), "--config", "file/geode.toml") as terminal:
        await terminal.see("is not a folder; name another place with --config.")
        assert await terminal.end() == 1


async def test_setup_names_what_is_wrong_with_the_present_file(tmp_path: Path) -> None:
    (tmp_path / "geode.toml").write_text("[agent]\nnam = 'x'\n")
    async with setting_up(home_environ(tmp_path)) as terminal:
        await terminal.see(f"{tmp_path}/geode.toml: agent.nam is not a known key; did you mean")
        assert await terminal.end() == 1


async def test_setup_with_yes_takes_tokens_from_the_environment_and_never_runs_in_circles(
    towns: ThreeTowns,
) -> None:
    (towns.home / "geode.toml").write_text("[channels.slack]\n")
    ended = await run_geode(slack_environ(towns), "setup", "--yes")
    assert ended.code == 1
    assert ended.sentences == [
        "geode: The bot token (xoxb-…) is missing: set its variable, or run setup in a terminal."
    ]

    towns.slack.workspace.rooms["C0GENERAL"].members.remove("UBOT")
    environ = towns.environ | slack_environ(towns)
    ended = await run_geode(environ, "setup", "--yes")
    assert ended.code == 1
    (sentence,) = ended.sentences
    assert "this needs an answer" in sentence
    assert (towns.home / "geode.toml").read_text() == "[channels.slack]\n"


@pytest.mark.parametrize("key", ["c", "d"])
async def test_setup_that_is_broken_off_writes_nothing(towns: ThreeTowns, key: str) -> None:
    async with setting_up(slack_environ(towns)) as terminal:
        await begin(terminal, "slack")
        await paste_slack(terminal, towns)
        await terminal.see("Which of them")
        await terminal.see(": ")
        await terminal.press(key)
        await terminal.see("Stopped: nothing was written.")
        assert await terminal.end() == 130

    assert list_files(towns.home) == []


async def test_setup_that_is_broken_off_while_it_waits_writes_nothing(towns: ThreeTowns) -> None:
    environ = environ_of(towns, GEODE_CHANNELS__TELEGRAM__API_URL=towns.telegram.base_url)
    async with setting_up(environ) as terminal:
        await begin(terminal, "telegram")
        await paste(terminal, "bot token", towns.telegram.bot_token)
        await towns.telegram.wait_for(lambda: towns.telegram.api.calls["getUpdates"], 20)
        await terminal.press("c")
        await terminal.see("Stopped: nothing was written.")
        assert await terminal.end() == 130

    assert list_files(towns.home) == []
