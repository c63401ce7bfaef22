"""CF-02 by the real command: a bad channel is named and mended by a reload; the others stay."""

from __future__ import annotations

import os
import pty
import signal
from pathlib import Path

import pytest
from fakes.geode_command import GEODE, Serving, command_environ, run_geode, serving
from fakes.three_towns import ThreeTowns, three_towns

pytestmark = pytest.mark.timeout(120)

STALE = "1234567890:stale-token-of-before"


async def reload(daemon: Serving) -> list[str]:
    """Send the signal; every line said because of it."""
    before = len(daemon.lines)
    daemon.send(signal.SIGHUP)
    while True:
        said = daemon.lines[before:]
        if any("reloaded" in line for line in said):
            return said
        await daemon.wait_lines(before + len(said) + 1)


def connections(towns: ThreeTowns) -> tuple[int, int]:
    """How many sockets Slack and Discord ever opened."""
    return towns.slack.hub.counters["connections"], towns.discord.gateway.counters["connections"]


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        pytest.param("", "is empty", id="empty"),
        pytest.param("changeme", "placeholder", id="changeme"),
        pytest.param("${MISSING}", "unexpanded", id="unexpanded"),
        pytest.param(STALE, "refused the token", id="revoked"),
    ],
)
async def test_bad_token_is_named_and_a_reload_mends_it_beside_the_others_cf_02(
    tmp_path: Path, token: str, reason: str
) -> None:
    async with three_towns(tmp_path) as towns:
        towns.put_token("discord", token)
        async with serving(towns.environ) as daemon:
            await daemon.wait_line("slack is up")
            await daemon.wait_line("telegram is up")
            said = await daemon.wait_line("degraded")
            assert reason in said
            assert f"{tmp_path}/discord.token" in said
            await towns.ask_slack()
            await towns.ask_telegram()
            calls = sum(towns.discord.api.calls.values())
            assert calls <= 1

            slack_before, _ = connections(towns)
            polls = towns.telegram.queue.polls_ended
            towns.put_token("discord", towns.discord.bot_token)
            lines = await reload(daemon)
            await daemon.wait_line("discord is up")

            assert len([line for line in lines if line.startswith("discord is opened")]) == 1
            await towns.ask_discord()
            await towns.ask_slack()
            await towns.ask_telegram()
            assert connections(towns) == (slack_before, 1)
            assert towns.telegram.queue.polls_ended == polls
            assert towns.telegram.api.calls["getMe"] == 1
            heard = "".join([*daemon.lines, *daemon.errors])
            assert STALE.partition(":")[2] not in heard
            assert towns.discord.bot_token not in heard


async def test_three_bad_tokens_end_the_command_with_every_reason_cf_02(tmp_path: Path) -> None:
    async with three_towns(tmp_path) as towns:
        towns.put_token("discord", "changeme")
        towns.put_token("telegram", "")
        environ = towns.environ | {"SLACK_BOT_TOKEN": "${MISSING}"}

        ended = await run_geode(environ, "serve")

        assert ended.code == 1
        (sentence,) = ended.sentences
        for name in ("SLACK_BOT_TOKEN", "discord.token", "telegram.token"):
            assert name in sentence


async def test_invalid_file_changes_nothing_and_is_one_sentence_cf_02(tmp_path: Path) -> None:
    async with three_towns(tmp_path) as towns, serving(towns.environ) as daemon:
        for name in ("slack", "discord", "telegram"):
            await daemon.wait_line(f"{name} is up")
        before = connections(towns)
        towns.write(more="[limits]\nsteps_mx = 3\n")

        (said,) = await reload(daemon)

        assert said.startswith("not reloaded, nothing was changed: ")
        assert "steps_mx" in said
        towns.write("slack", more="[agent]\nmodel = 3\n")
        (said,) = await reload(daemon)
        assert said.startswith("not reloaded, nothing was changed: ")
        await towns.ask_discord()
        assert connections(towns) == before


async def test_reload_adds_removes_and_reopens_only_what_changed_cf_02(tmp_path: Path) -> None:
    async with three_towns(tmp_path) as towns:
        towns.write("slack", "discord")
        async with serving(towns.environ) as daemon:
            await daemon.wait_line("slack is up")
            await daemon.wait_line("discord is up")

            # A token of another place, one channel less, one more, and what needs a restart.
            more = "[limits]\nsteps_max = 7\n"
            towns.write("slack", "telegram", slack_token=f"file:{tmp_path}/slack.token", more=more)
            lines = await reload(daemon)
            await daemon.wait_line("telegram is up")

            assert "discord is removed: it is no longer configured" in lines
            assert "slack is opened anew: its settings changed" in lines
            assert "telegram is opened" in lines
            assert "limits.steps_max changed and waits for a restart" in lines
            await towns.discord.wait_for(lambda: not towns.discord.gateway.connections)
            await towns.slack.wait_for(lambda: len(towns.slack.hub.connections) == 1)
            await towns.ask_slack()
            await towns.ask_telegram()
            before = connections(towns)

            assert [each for each in await reload(daemon) if "opened" in each] == []
            assert connections(towns) == before


async def test_person_taken_out_of_a_binding_is_heard_no_more_after_a_reload_cf_02(
    tmp_path: Path,
) -> None:
    async with three_towns(tmp_path) as towns, serving(towns.environ) as daemon:
        await daemon.wait_line("slack is up")
        await towns.ask_slack()
        file = tmp_path / "geode.toml"
        file.write_text(file.read_text().replace('"U0ANA"', '"U0BEN"'))

        lines = await reload(daemon)
        refused = await towns.slack.say("<@UBOT> what is 20 + 3?")
        allowed = await towns.slack.say("<@UBOT> what is 20 + 3?", user="U0BEN")
        await towns.slack.wait_for(lambda: towns.slack.bot_posts("C0GENERAL", allowed.ts))

        assert "slack:T0REHEARSAL/C0GENERAL is bound otherwise" in lines
        assert towns.slack.bot_posts("C0GENERAL", refused.ts) == []
        assert towns.slack.hub.counters["connections"] == 1


def test_closed_terminal_stops_the_daemon_instead(tmp_path: Path) -> None:
    (tmp_path / "geode.toml").write_text('[channels.telegram]\napi_url = "http://127.0.0.1:9"\n')
    environ = command_environ(
        {"GEODE_HOME": str(tmp_path), "HOME": str(tmp_path), "TELEGRAM_BOT_TOKEN": STALE}
    )
    child, terminal = pty.fork()
    if child == 0:
        os.execve(GEODE, [str(GEODE), "serve"], environ)  # noqa: S606 - our own command
    heard = b""
    while b"ready: pid" not in heard:
        heard += os.read(terminal, 4096)

    os.close(terminal)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
