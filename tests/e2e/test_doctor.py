"""`geode doctor` by the real command: what is missing on each platform, in turn."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from fakes.geode_command import Ended, run_geode, run_in_terminal, serving
from fakes.source_tree import ROOT
from fakes.three_towns import ThreeTowns, three_towns

from channels.rehearsal.discord_state import CATEGORY, GUILD
from channels.rehearsal.slack_api import SCOPES as GRANTED
from channels.rehearsal.telegram_state import BOT_ID, CLUB
from channels.slack.diagnosis import SCOPES

pytestmark = pytest.mark.timeout(60)

STALE = "1234567890:stale-token-of-before"


def spoil_discord_token(towns: ThreeTowns) -> None:
    towns.put_token("discord", STALE)


def spoil_telegram_token(towns: ThreeTowns) -> None:
    towns.put_token("telegram", STALE)


def empty_telegram_token(towns: ThreeTowns) -> None:
    towns.put_token("telegram", "")


def revoke_slack(towns: ThreeTowns) -> None:
    towns.slack.api.revoked = "token_revoked"


def take_scope(towns: ThreeTowns) -> None:
    towns.slack.api.scopes.remove("im:read")


def switch_intent_off(towns: ThreeTowns) -> None:
    towns.discord.world.has_content_intent = False


def leave_server(towns: ThreeTowns) -> None:
    towns.discord.gateway.is_invited = False


def leave_slack_channel(towns: ThreeTowns) -> None:
    towns.slack.workspace.rooms["C0GENERAL"].members.discard(towns.slack.workspace.bot_user)


def bind_unknown_discord_channel(towns: ThreeTowns) -> None:
    write_again(towns, f"{GUILD}/{CATEGORY}", f"{GUILD}/999999999999999999")


def bind_unknown_telegram_chat(towns: ThreeTowns) -> None:
    write_again(towns, f"{BOT_ID}/{CLUB}", f"{BOT_ID}/-100999")


def bind_another_bot(towns: ThreeTowns) -> None:
    write_again(towns, f"{BOT_ID}/{CLUB}", f"77/{CLUB}")


def bind_another_workspace(towns: ThreeTowns) -> None:
    write_again(towns, "T0REHEARSAL/C0GENERAL", "T0OTHER/C0GENERAL")


def damage_database(towns: ThreeTowns) -> None:
    (towns.home / "geode.db").write_bytes(b"not a database, whatever it is called" * 99)


def come_from_the_future(towns: ThreeTowns) -> None:
    with sqlite3.connect(towns.home / "geode.db") as connection:
        connection.execute("create table alembic_version (version_num text)")
        connection.execute("insert into alembic_version values ('0999')")


def forget_model_key(towns: ThreeTowns) -> None:
    towns.write(more='\n[providers.anthropic]\napi_key = "env:NOT_SET_ANYWHERE"\n')


def lose_model_server(towns: ThreeTowns) -> None:
    provider = '\n[providers.anthropic]\napi_key = "env:SLACK_APP_TOKEN"\n'
    towns.write(more=f'{provider}base_url = "http://127.0.0.1:9"\n')


def write_again(towns: ThreeTowns, old: str, new: str) -> None:
    config = towns.home / "geode.toml"
    text = config.read_text()
    assert old in text
    config.write_text(text.replace(old, new))


async def examine(towns: ThreeTowns) -> Ended:
    ended = await run_in_terminal(towns.environ, "doctor")
    heard = ended.out + ended.err
    for secret in (towns.slack.bot_token, towns.discord.bot_token, STALE.partition(":")[2]):
        assert secret not in heard
    return ended


async def test_doctor_finds_nothing_where_all_is_well(tmp_path: Path) -> None:
    async with three_towns(tmp_path) as towns:
        ended = await examine(towns)

    assert ended.code == 0, ended.out + ended.err
    *lines, summary = ended.out.splitlines()
    groups = {"setup", "state", "model", "slack", "discord", "telegram"}
    assert {line.split()[0] for line in lines} == groups
    assert [line for line in lines if ": ok: " not in line] == []
    assert summary == "Everything that is configured works."
    assert towns.telegram.api.calls["getUpdates"] == 0


@pytest.mark.parametrize(
    ("spoil", "begins", "names"),
    [
        (revoke_slack, "slack bot token: fault: ", "env:SLACK_BOT_TOKEN"),
        (take_scope, "slack scopes: fault: ", "im:read"),
        (spoil_discord_token, "discord token: fault: ", "discord.token"),
        (switch_intent_off, "discord message content intent: fault: ", "Privileged"),
        (leave_server, "discord server: fault: ", "invite it"),
        (spoil_telegram_token, "telegram token: fault: ", "telegram.token"),
        (empty_telegram_token, "telegram secret: fault: ", "telegram.token"),
        (leave_slack_channel, "slack place: fault: ", "/invite"),
        (bind_another_workspace, "slack place: fault: ", "T0REHEARSAL"),
        (bind_unknown_discord_channel, "discord place: fault: ", "correct where"),
        (bind_unknown_telegram_chat, "telegram place: fault: ", "add it there"),
        (bind_another_bot, "telegram place: fault: ", "correct where"),
        (damage_database, "state database: fault: ", "backup"),
        (come_from_the_future, "state database: fault: ", "newer GEODE"),
        (forget_model_key, "model route: fault: ", "NOT_SET_ANYWHERE"),
        (lose_model_server, "model route: fault: ", "anthropic"),
    ],
)
async def test_doctor_names_what_is_missing_and_the_one_thing_to_do(
    tmp_path: Path, spoil: Callable[[ThreeTowns], None], begins: str, names: str
) -> None:
    async with three_towns(tmp_path) as towns:
        spoil(towns)
        ended = await examine(towns)

    assert ended.code == 1, ended.out + ended.err
    (line,) = [line for line in ended.out.splitlines() if line.startswith(begins)]
    assert names in line


@pytest.mark.parametrize(
    ("more", "begins", "names"),
    [
        ("[profiles.mute]\ntools = []\n", "setup profile: warning: ", "only talk"),
        ('[profiles.mute]\nask = ["write_file"]\n', "setup approvals: warning: ", "approvers"),
    ],
)
async def test_doctor_says_which_grants_come_to_nothing(
    tmp_path: Path, more: str, begins: str, names: str
) -> None:
    binding = (
        '[channels.web]\nlisten = "127.0.0.1:0"\n[[bindings]]\nchannel = "web"\n'
        'where = "local/room"\npeople = ["local"]\noperators = ["local"]\nprofile = "mute"\n'
    )
    (tmp_path / "geode.toml").write_text(binding + more)

    ended = await run_geode({"GEODE_HOME": str(tmp_path), "HOME": str(tmp_path)}, "doctor")

    assert ended.code == 0, ended.out + ended.err
    *lines, summary = ended.out.splitlines()
    (line,) = [line for line in lines if line.startswith(begins)]
    assert names in line
    assert summary.startswith("0 to mend, 1 to look at. First setup")


async def test_doctor_tells_a_program_the_same(tmp_path: Path) -> None:
    environ = {"GEODE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    environ["GEODE_CHANNELS__WEB__LISTEN"] = "127.0.0.1:0"

    ended = await run_geode(environ, "doctor", "--json")

    found = json.loads(ended.out)
    assert ended.code == 0
    assert {row["of"] for row in found} == {"setup", "state", "model", "web"}
    assert {row["level"] for row in found} <= {"ok", "warning"}
    (override,) = [row for row in found if row["subject"] == "environment"]
    assert "channels.web.listen" in override["sentence"]


async def test_doctor_sees_a_folder_open_to_others_and_a_daemon_that_runs(tmp_path: Path) -> None:
    environ = {"GEODE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    environ["GEODE_CHANNELS__WEB__LISTEN"] = "127.0.0.1:0"
    async with serving(environ) as daemon:
        await daemon.wait_line("web is up")
        os.chmod(tmp_path, 0o755)  # noqa: PTH101, S103 - a moment, in a test
        ended = await run_geode(environ, "doctor")

    assert "state daemon: ok: is running" in ended.out
    assert f"chmod 700 {tmp_path}" in ended.out
    assert ended.code == 0


async def test_doctor_explains_privacy_mode_and_calls_it_no_fault(
    tmp_path: Path,
) -> None:
    async with three_towns(tmp_path) as towns:
        towns.telegram.methods.has_privacy = True
        ended = await examine(towns)

    assert ended.code == 0, ended.out + ended.err
    (line,) = [each for each in ended.out.splitlines() if "telegram privacy: warning: " in each]
    assert "/setprivacy" in line
    assert "administrator" in line


def test_scopes_that_are_asked_for_are_those_of_the_manifest() -> None:
    manifest = yaml.safe_load((ROOT / "deploy" / "slack-manifest.yaml").read_text())

    assert set(manifest["oauth_config"]["scopes"]["bot"]) == SCOPES == set(GRANTED)
