"""`geode serve` as an operator meets it: who owns the state, how it ends, what it says."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from fakes.geode_command import run_geode, serving
from fakes.town import answers, town_environ, write_config

from channels.rehearsal.slack import RehearsalSlack
from geode.ports import NoFailpoints, SystemClock
from geode.serve.endpoint import SOCKET_NAME
from geode.store.database import Store

pytestmark = pytest.mark.timeout(60)


async def test_serve_says_where_it_listens(tmp_path: Path) -> None:
    async with RehearsalSlack() as slack:
        config = write_config(tmp_path, slack.base_url)
        async with serving(town_environ(slack, tmp_path), is_started=True) as daemon:
            await daemon.wait_line("slack is up")

            assert f"configuration: {config}" in daemon.lines
            assert f"state: {tmp_path / 'geode.db'}" in daemon.lines
            assert f"listening: {tmp_path / SOCKET_NAME}, slack" in daemon.lines
            assert f"ready: pid {daemon.process.pid}" in daemon.lines


async def test_second_daemon_refuses_and_the_first_is_unharmed(tmp_path: Path) -> None:
    async with RehearsalSlack() as slack:
        write_config(tmp_path, slack.base_url)
        environ = town_environ(slack, tmp_path)
        async with serving(environ) as first:
            await first.wait_line("slack is up")

            second = await run_geode(environ, "serve")
            post = await slack.say("<@UBOT> what is 20 + 3?")
            await slack.wait_for(lambda: answers(slack, post.ts))

        assert second.code == 1
        assert f"geode serve (pid {first.process.pid}, since 20" in second.err
        assert len(second.sentences) == 1
        assert "20 + 3 = 23" in answers(slack, post.ts)[0]
        assert slack.counters()["socket"]["opens"] == 1


async def test_sigterm_lets_the_running_turn_end_and_be_delivered(tmp_path: Path) -> None:
    async with RehearsalSlack() as slack:
        write_config(tmp_path, slack.base_url)
        async with serving(town_environ(slack, tmp_path)) as daemon:
            await daemon.wait_line("slack is up")
            post = await slack.say("<@UBOT> slow 1, then what is 20 + 3?")
            await slack.wait_for(lambda: slack.bot_posts("C0GENERAL", post.ts))

            daemon.send(signal.SIGTERM)
            code = await daemon.wait_end()

        assert code == 0
        assert daemon.lines[-1] == "stopped"
        assert len(answers(slack, post.ts)) == 1
        assert "20 + 3 = 23" in answers(slack, post.ts)[0]
        assert not (tmp_path / SOCKET_NAME).exists()


async def test_second_signal_ends_the_daemon_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    async with RehearsalSlack() as slack:
        write_config(tmp_path, slack.base_url)
        environ = town_environ(slack, tmp_path)
        async with serving(environ) as daemon:
            await daemon.wait_line("slack is up")
            post = await slack.say("<@UBOT> slow 2, then what is 20 + 3?")
            await slack.wait_for(lambda: slack.bot_posts("C0GENERAL", post.ts))
            daemon.send(signal.SIGINT)
            await daemon.wait_line("stopping")
            daemon.send(signal.SIGINT)

            code = await daemon.wait_end(timeout_s=1.5)

        assert code == 128 + signal.SIGINT
        assert "geode: SIGINT again, ending at once" in daemon.errors
        async with serving(environ):
            await slack.wait_for(lambda: answers(slack, post.ts), 20)
        assert len(answers(slack, post.ts)) == 1


async def test_killed_daemon_is_replaced_and_answers_once(tmp_path: Path) -> None:
    async with RehearsalSlack() as slack:
        write_config(tmp_path, slack.base_url)
        environ = town_environ(slack, tmp_path)
        async with serving(environ) as daemon:
            await daemon.wait_line("slack is up")
            post = await slack.say("<@UBOT> slow 1, then what is 20 + 3?")
            await slack.wait_for(lambda: slack.bot_posts("C0GENERAL", post.ts))
            daemon.send(signal.SIGKILL)
            await daemon.wait_end()

        assert (tmp_path / SOCKET_NAME).exists()
        async with serving(environ) as next_one:
            await slack.wait_for(lambda: answers(slack, post.ts), 20)
            status = await run_geode(environ, "status")
            next_one.send(signal.SIGTERM)
            await next_one.wait_end()

        assert status.out.startswith("geode is running\n")
        assert len(answers(slack, post.ts)) == 1
        assert len(slack.bot_posts("C0GENERAL", post.ts)) == 1


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param(None, "is not set", id="absent"),
        pytest.param("", "is empty", id="empty"),
        pytest.param("changeme", "placeholder", id="placeholder"),
        pytest.param("${MISSING}", "unexpanded placeholder", id="unexpanded"),
    ],
)
async def test_missing_token_is_one_sentence_that_names_the_variable(
    tmp_path: Path, value: str | None, reason: str
) -> None:
    async with RehearsalSlack() as slack:
        write_config(tmp_path, slack.base_url)
        environ = dict(town_environ(slack, tmp_path))
        del environ["SLACK_BOT_TOKEN"]
        if value is not None:
            environ["SLACK_BOT_TOKEN"] = value

        ended = await run_geode(environ, "serve")

        assert ended.code == 1
        assert len(ended.sentences) == 1
        assert "SLACK_BOT_TOKEN" in ended.err
        assert reason in ended.err
        assert slack.counters()["calls"] == {}


@pytest.mark.parametrize("variable", ["SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"])
async def test_refused_token_is_one_sentence_without_the_token(
    tmp_path: Path, variable: str
) -> None:
    token = f"{'xoxb' if 'BOT' in variable else 'xapp'}-canary-1234567890"
    async with RehearsalSlack() as slack:
        write_config(tmp_path, slack.base_url)
        environ = dict(town_environ(slack, tmp_path)) | {variable: token}

        ended = await run_geode(environ, "serve")

    assert ended.code == 1
    assert len(ended.sentences) == 1
    assert variable in ended.sentences[0]
    assert "invalid_auth" in ended.sentences[0]
    assert "canary" not in ended.out + ended.err


async def test_slack_outage_at_the_start_is_waited_out(tmp_path: Path) -> None:
    async with RehearsalSlack() as gone:
        port = int(gone.origin.rpartition(":")[2])
    write_config(tmp_path, gone.base_url)
    async with serving(town_environ(gone, tmp_path)) as daemon:
        said = await daemon.wait_line("slack is down: ")
        async with RehearsalSlack(port=port) as slack:
            await daemon.wait_line("slack is up")

            post = await slack.say("<@UBOT> what is 20 + 3?")
            await slack.wait_for(lambda: answers(slack, post.ts))

    assert said.endswith(".")


async def test_unreachable_model_is_one_sentence_in_the_thread(tmp_path: Path) -> None:
    model = """
[agent]
model = "anthropic/claude-opus-5-5"

[providers.anthropic]
api_key = "env:ANTHROPIC_API_KEY"
base_url = "http://127.0.0.1:9"
"""
    async with RehearsalSlack() as slack:
        write_config(tmp_path, slack.base_url, binding="time_budget_s = 4", more=model)
        async with serving(town_environ(slack, tmp_path)) as daemon:
            await daemon.wait_line("slack is up")
            post = await slack.say("<@UBOT> hello")

            await slack.wait_for(lambda: _final(slack, post.ts), 30)
            status = await run_geode(town_environ(slack, tmp_path), "status")
            daemon.send(signal.SIGTERM)
            await daemon.wait_end()

        said = _final(slack, post.ts)
        assert len(said) == 1
        assert "\n" not in said[0].strip()
        assert status.out.startswith("geode is running\n")
        assert "sk-ant-test" not in "".join(daemon.errors) + said[0]


def _final(slack: RehearsalSlack, thread_ts: str) -> list[str]:
    texts = [post.text for post in slack.bot_posts("C0GENERAL", thread_ts)]
    return [text for text in texts if not text.startswith("Working on it")]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param("[limits]\nsteps_mx = 3\n", ["steps_mx", "steps_max"], id="unknown key"),
        pytest.param("[limits\n", ["line 1"], id="not TOML"),
        pytest.param('[state]\nurl = "postgresql://db"\n', ["Postgres is"], id="postgres"),
        pytest.param("[channels.slak]\n", ["slak", "slack"], id="misspelt channel"),
        pytest.param(
            '[channels.web]\nlisten = "0.0.0.0:8484"\n', ["token"], id="open to all without a token"
        ),
        pytest.param(
            '[channels.slack]\n[[bindings]]\nchannel="slack"\nwhere="T1/C1"\noperators=["@ana"]\n',
            ["@ana"],
            id="a name instead of an id",
        ),
        pytest.param(
            '[channels.slack]\nbot_token = "xoxb-canary-1234567890"\n',
            ["bot_token", "env:NAME"],
            id="secret written out",
        ),
        pytest.param(
            '[agent]\nmodel = "anthropic/claude-opus-5-5"\n[channels.slack]\n',
            ["api_key"],
            id="model without key",
        ),
    ],
)
async def test_bad_configuration_is_one_sentence_and_the_file_is_left_alone(
    tmp_path: Path, text: str, parts: list[str]
) -> None:
    config = tmp_path / "geode.toml"
    config.write_text(text)
    environ = {"GEODE_HOME": str(tmp_path), "HOME": str(tmp_path)}

    ended = await run_geode(environ, "serve")

    assert ended.code == 1
    assert len(ended.sentences) == 1, ended.err
    assert [part for part in parts if part not in ended.err] == []
    assert "canary" not in ended.err
    assert config.read_text() == text


@pytest.mark.parametrize("damage", ["empty", "half", "text"])
async def test_damaged_database_is_named_and_left_alone(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "geode.db"
    store = Store.open(path, SystemClock(), NoFailpoints())
    await store.close()
    healthy = path.read_bytes()
    content = {"empty": b"", "half": healthy[: len(healthy) // 2], "text": b"jobs = []\n"}[damage]
    path.write_bytes(content)
    async with RehearsalSlack() as slack:
        write_config(tmp_path, slack.base_url)

        ended = await run_geode(town_environ(slack, tmp_path), "serve")
        asked = await run_geode(town_environ(slack, tmp_path), "status")

    for end in (ended, asked):
        assert end.code == 1
        assert len(end.sentences) == 1
        assert str(path) in end.err
    assert path.read_bytes() == content


async def test_state_folder_of_someone_else_is_one_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)  # noqa: ASYNC240 - before anything runs
    async with RehearsalSlack() as slack:
        write_config(tmp_path, slack.base_url)

        ended = await run_geode(town_environ(slack, tmp_path), "serve")

    assert ended.code == 1
    assert ended.sentences == [
        f"geode: The state folder {tmp_path} is not this user's own; "
        f"set GEODE_HOME to a folder that belongs to you alone."
    ]
