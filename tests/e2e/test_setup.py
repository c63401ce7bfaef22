"""`geode setup` in a pseudo-terminal: from nothing to a served thread, and what goes wrong."""

from __future__ import annotations

import stat
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fakes.geode_command import run_geode, serving
from fakes.setup_terminal import Terminal, setting_up
from fakes.three_towns import ThreeTowns, three_towns

from channels.rehearsal.discord_state import ANA, GENERAL, GUILD
from channels.rehearsal.model import RehearsalModel
from channels.rehearsal.model_http import API_KEY
from channels.rehearsal.telegram_state import ANA as TELEGRAM_ANA
from channels.rehearsal.telegram_state import BOT_ID, CLUB

pytestmark = pytest.mark.timeout(180)

UNTIL_CHANNELS = (("Model", ""), ("Time zone", "Europe/Berlin"))
CHANNELS = "Channels, with commas"
WRONG = "xoxb-wrong-token-of-nobody"
DEAD_URL = "http://127.0.0.1:9/api/"


def list_files(home: Path) -> list[Path]:
    return list(home.iterdir())


@pytest.fixture
async def towns(tmp_path: Path) -> AsyncIterator[ThreeTowns]:
    """Three platforms and an empty home."""
    async with three_towns(tmp_path) as towns:
        for path in list_files(tmp_path):
            path.unlink()
        yield towns


def environ_of(towns: ThreeTowns, **more: str) -> dict[str, str]:
    """What the set-up and the service are started with: addresses, and no token."""
    return {
        "GEODE_HOME": str(towns.home),
        "HOME": str(towns.home),
        "SSL_CERT_FILE": str(towns.discord.ca_path),
        **more,
    }


def slack_environ(towns: ThreeTowns, **more: str) -> dict[str, str]:
    return environ_of(towns, GEODE_CHANNELS__SLACK__API_URL=towns.slack.base_url, **more)


def home_environ(home: Path, **more: str) -> dict[str, str]:
    return {"GEODE_HOME": str(home), "HOME": str(home), **more}


async def paste(terminal: Terminal, label: str, value: str) -> None:
    await terminal.play((f"Where is the {label}", ""), ("(not shown)", value))


async def paste_slack(terminal: Terminal, towns: ThreeTowns) -> None:
    await paste(terminal, "bot token", towns.slack.bot_token)
    await paste(terminal, "app-level token", towns.slack.app_token)


async def begin(terminal: Terminal, channel: str) -> None:
    await terminal.play(*UNTIL_CHANNELS, (CHANNELS, channel))


def read_config(home: Path) -> dict[str, Any]:
    return tomllib.loads((home / "geode.toml").read_text())


def check_secrecy(terminal: Terminal, home: Path, *secrets: str) -> None:
    """No secret was shown, and none stands outside its own private file."""
    for path in home.rglob("*"):
        if not path.is_file() or path.is_socket():
            continue
        held = [secret for secret in secrets if secret.encode() in path.read_bytes()]
        if path.parent.name == "secrets":
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        else:
            assert held == [], path
    assert [secret for secret in secrets if secret in terminal.screen] == []


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


WRITTEN = """# ours, with care
[agent]
name = "Rock"           # who answers
timezone = "Asia/Tokyo" # where we are

[channels.web] # the page
listen = "127.0.0.1:0"  # any port

[[bindings]]
channel = "web"
where = "local/room"    # the room
people = ["local"]
operators = ["local"]
"""


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


async def test_setup_prints_the_manifest_of_slack(tmp_path: Path) -> None:
    ended = await run_geode(home_environ(tmp_path), "setup", "--print-manifest")

    assert ended.code == 0, ended.err
    assert "socket_mode_enabled: true" in ended.out


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
