"""The operator's verbs answer over the socket and, without a daemon, from the store."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.geode_command import GEODE, Ended, command_environ, run_geode, serving
from fakes.town import answers, town_environ, write_config
from sqlalchemy import Connection, insert

from channels.rehearsal.slack import RehearsalSlack
from geode.messages import Mode, ReceiptId, SessionId, Thread, TurnId
from geode.ports import NoFailpoints, SystemClock
from geode.steps import Effect
from geode.store.database import Store
from geode.store.lock import StateLock
from geode.store.receipts import Intent, ReceiptState, Settlement, insert_receipt, settle_receipt
from geode.store.sessions import NewSession, bind_session
from geode.store.tables import outbox

pytestmark = pytest.mark.timeout(60)
BINDING = "slack:T0REHEARSAL/C0GENERAL"


async def _write_state(home: Path) -> None:
    """A session with an uncertain and a committed effect, and a reply on its way."""
    store = Store.open(home / "geode.db", SystemClock(), NoFailpoints())

    def unit(tx: Connection) -> None:
        thread = Thread("slack", "T0REHEARSAL", "C0GENERAL", "1.000100")
        session_id = SessionId("s1")
        bind_session(
            tx, thread, NewSession(session_id, BINDING, Mode.DAEMON, is_direct=False), 1_000_000
        )
        for number, state in ((1, ReceiptState.COMMITTED), (2, ReceiptState.UNCERTAIN)):
            intent = Intent(
                id=ReceiptId(f"r{number}"),
                session_id=session_id,
                turn_id=TurnId("t1"),
                step=1,
                position=number,
                epoch=1,
                binding=BINDING,
                mode=Mode.DAEMON,
                tool="write_file",
                effect=Effect.MUTATE,
                call_id="c",
                arguments='{"path":"a\\u001b[31m.md"}',
                arguments_hash="h",
                keys=(f"file:{number}",),
            )
            insert_receipt(tx, intent, 3_000_000 - number)
            settle_receipt(tx, intent.id, Settlement(state, error="It was interrupted."), 4_000_000)
        tx.execute(
            insert(outbox).values(
                session_id=session_id,
                kind="answer",
                episode="t1",
                body="{}",
                due_at_us=2**62,
                created_at_us=5_000_000,
                reason="Slack is down\x1b]0;owned\x07",
            )
        )

    await store.write("fill", unit)
    await store.close()


def _environ(home: Path) -> dict[str, str]:
    return {"GEODE_HOME": str(home), "HOME": str(home)}


def _row(ended: Ended, first: str) -> str:
    assert ended.code == 0, ended.err
    return next(line for line in ended.out.splitlines() if line.startswith(first))


async def test_verbs_without_any_state_answer_and_make_nothing(tmp_path: Path) -> None:
    home = tmp_path / "state"
    environ = _environ(home)

    status = await run_geode(environ, "status", cwd=tmp_path)
    sessions = await run_geode(environ, "sessions", "list", cwd=tmp_path)
    effects = await run_geode(environ, "effects", "list", cwd=tmp_path)
    shown = await run_geode(environ, "sessions", "show", "s1", cwd=tmp_path)

    assert status.out.startswith("geode is not running\n")
    assert sessions.out == "No session yet.\n"
    assert effects.out == "No effects yet, and no reply on its way.\n"
    assert (shown.code, shown.sentences) == (1, ["geode: There is no session 's1'."])
    assert not home.exists()


async def test_read_verbs_work_without_a_daemon(tmp_path: Path) -> None:
    await _write_state(tmp_path)
    environ = _environ(tmp_path)

    status = await run_geode(environ, "status")
    sessions = await run_geode(environ, "sessions", "list")
    shown = await run_geode(environ, "sessions", "show", "s1")
    effects = await run_geode(environ, "effects", "list")

    assert status.out.startswith("geode is not running\n")
    assert "effects uncertain  1" in status.out
    assert "idle" in _row(sessions, "s1 ")
    assert "slack/T0REHEARSAL/C0GENERAL/1.000100" in _row(sessions, "s1 ")
    assert "slack/T0REHEARSAL/C0GENERAL/1.000100" in _row(shown, "thread")
    assert [line[:2] for line in effects.out.splitlines()[1:3]] == ["r2", "r1"]
    assert "uncertain" in _row(effects, "r2")
    assert "answer" in _row(effects, "o1")


async def test_text_from_outside_cannot_drive_the_terminal(tmp_path: Path) -> None:
    await _write_state(tmp_path)

    effects = await run_geode(_environ(tmp_path), "effects", "list")

    assert "\x1b" not in effects.out
    assert "\\x1b]0;owned\\x07" in effects.out


async def test_effect_is_settled_once_without_a_daemon(tmp_path: Path) -> None:
    await _write_state(tmp_path)
    environ = _environ(tmp_path)

    settled = await run_geode(environ, "effects", "settle", "r2", "did-not")
    again = await run_geode(environ, "effects", "settle", "r2", "happened")
    effects = await run_geode(environ, "effects", "list")
    shown = await run_geode(environ, "sessions", "show", "s1")

    assert settled.out == "r2 (write_file) is settled: it did not happen.\n"
    assert (again.code, again.sentences) == (
        1,
        ["geode: The effect r2 is reconciled, not uncertain."],
    )
    assert "did_not (by operator:" in _row(effects, "r2")
    assert "effect_settled" in shown.out


async def test_effect_is_settled_once_through_the_daemon(tmp_path: Path) -> None:
    await _write_state(tmp_path)
    async with RehearsalSlack() as slack:
        write_config(tmp_path, slack.base_url)
        environ = town_environ(slack, tmp_path)
        async with serving(environ) as daemon:
            await daemon.wait_line("ready")

            settled = await run_geode(environ, "effects", "settle", "r2", "happened")
            again = await run_geode(environ, "effects", "settle", "r2", "happened")
            unknown = await run_geode(environ, "effects", "settle", "r9", "happened")
            reply = await run_geode(environ, "effects", "settle", "o1", "happened")
            effects = await run_geode(environ, "effects", "list")

    assert settled.out == "r2 (write_file) is settled: it happened.\n"
    assert again.sentences == ["geode: The effect r2 is reconciled, not uncertain."]
    assert unknown.sentences == ["geode: There is no effect 'r9'."]
    assert "o1 is a chat reply" in reply.err
    assert [ended.code for ended in (again, unknown, reply)] == [1, 1, 1]
    assert "happened (by operator:" in _row(effects, "r2")


async def test_read_verbs_ask_the_running_daemon(tmp_path: Path) -> None:
    async with RehearsalSlack() as slack:
        write_config(tmp_path, slack.base_url)
        environ = town_environ(slack, tmp_path)
        async with serving(environ) as daemon:
            await daemon.wait_line("slack is up")
            post = await slack.say("<@UBOT> write notes.txt: buy milk")
            await slack.wait_for(lambda: answers(slack, post.ts))

            status = await run_geode(environ, "status")
            sessions = await run_geode(environ, "sessions", "list")
            session_id = sessions.out.splitlines()[1].split()[0]
            shown = await run_geode(environ, "sessions", "show", session_id)
            effects = await run_geode(environ, "effects", "list")
            listed = await run_geode(environ, "sessions", "why", session_id)
            call_id = listed.out.splitlines()[1].split()[0]
            why = await run_geode(environ, "sessions", "why", session_id, call_id)
            daemon.send(signal.SIGTERM)
            await daemon.wait_end()
        without_daemon = await run_geode(environ, "sessions", "why", session_id, call_id)

    assert "write_file" in _row(listed, call_id)
    assert _row(why, "answer").split()[:2] == ["answer", "allowed"]
    assert "the profile grants the tool" in why.out
    assert "buy milk" in why.out
    assert without_daemon.out == why.out
    assert status.out.startswith("geode is running\n")
    assert "channel slack      up" in status.out
    assert "rehearsal" in _row(status, "model")
    assert post.ts in _row(sessions, session_id)
    assert "natural" in _row(shown, "1 ")
    assert [kind for kind in ("turn_started", "tool_call", "turn_ended") if kind in shown.out] == [
        "turn_started",
        "tool_call",
        "turn_ended",
    ]
    assert "committed" in _row(effects, "r")


async def test_held_state_without_a_socket_names_its_holder(tmp_path: Path) -> None:
    await _write_state(tmp_path)
    with StateLock.acquire(tmp_path, SystemClock(), command="geode migrate"):
        ended = await run_geode(_environ(tmp_path), "status")

    assert ended.code == 1
    assert len(ended.sentences) == 1
    assert "geode migrate (pid " in ended.err


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        pytest.param(["bogus"], "No such command", id="unknown verb"),
        pytest.param(["effects", "settle", "r1", "maybe"], "happened or did-not", id="outcome"),
        pytest.param(["effects", "settle", "r1"], "Missing argument", id="missing argument"),
        pytest.param(["sessions", "list", "--limit", "0"], "limit", id="limit"),
        pytest.param(["serve", "--log", "xml"], "json or console", id="log style"),
    ],
)
async def test_wrong_usage_ends_with_code_two(
    tmp_path: Path, arguments: list[str], part: str
) -> None:
    ended = await run_geode(_environ(tmp_path), *arguments)

    assert ended.code == 2
    assert part in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    "arguments", [["status"], ["sessions", "list"], ["effects", "list"], ["serve"]]
)
async def test_missing_configuration_file_is_one_sentence(
    tmp_path: Path, arguments: list[str]
) -> None:
    ended = await run_geode(_environ(tmp_path), *arguments, "--config", "nowhere.toml")

    assert ended.code == 1
    assert len(ended.sentences) == 1
    assert "nowhere.toml" in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["status"],
        ["effects"],
        ["doctor", "--json"],
        ["setup", "--print-manifest"],
        ["serve", "--config", "nowhere.toml"],
    ],
    ids=" ".join,
)
async def test_started_command_says_and_returns_what_a_forked_one_does(
    tmp_path: Path, arguments: list[str]
) -> None:
    environ = _environ(tmp_path) | {"GEODE_CHANNELS__WEB__LISTEN": "127.0.0.1:0"}

    started = await run_geode(environ, *arguments, is_started=True)
    forked = await run_geode(environ, *arguments)

    assert started == forked
    assert started.out + started.err


def test_help_imports_nothing_that_a_verb_needs(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", GEODE, "--help"],
        env=command_environ(_environ(tmp_path)),
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    loaded = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()}

    assert "typer" in loaded
    assert loaded & {"asyncio", "pydantic", "rich", "sqlalchemy", "aiohttp", "structlog"} == set()
    for verb in ("serve", "status", "demo", "sessions", "effects"):
        assert f"\n  {verb} " in ended.stdout
