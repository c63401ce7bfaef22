"""`geode doctor` by the real command: what is missing on each platform, in turn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from fakes.geode_command import Ended, run_geode
from fakes.source_tree import ROOT
from fakes.three_towns import ThreeTowns, three_towns

from channels.rehearsal.slack_api import SCOPES as GRANTED
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


async def examine(towns: ThreeTowns) -> Ended:
    ended = await run_geode(towns.environ, "doctor")
    heard = ended.out + ended.err
    for secret in (towns.slack.bot_token, towns.discord.bot_token, STALE.partition(":")[2]):
        assert secret not in heard
    return ended


async def test_doctor_finds_nothing_where_all_is_well(tmp_path: Path) -> None:
    async with three_towns(tmp_path) as towns:
        ended = await examine(towns)

    assert ended.code == 0, ended.out + ended.err
    lines = ended.out.splitlines()
    assert {line.split()[0] for line in lines} == {"slack", "discord", "telegram"}
    assert [line for line in lines if ": ok: " not in line] == []
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
