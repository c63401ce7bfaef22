"""The terminal's own binding: one person, a mode with somebody beside it, no time limit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.scripted_model import ScriptedModel

from geode.app import Daemon, Seams
from geode.attended import bind_terminal, mode_of, rebind_terminal, time_limit_s
from geode.changes import merge_settings
from geode.errors import ConfigError
from geode.intake.access import BoundChannel, find_binding
from geode.llm.routes import ModelRoute
from geode.messages import InboundMessage, Mode, Person, SessionId, Thread
from geode.settings import Settings
from geode.settings_load import Loaded, load_settings
from geode.store.sessions import find_session, read_session

SLACK = {"channel": "slack", "where": "T1/C1", "people": ["U1"], "operators": ["U1"]}
HERE = Thread("terminal", "local", "1000", "main")


def settings_of(**more: object) -> Settings:
    return Settings.model_validate({"bindings": [SLACK], **more})


def said(thread: Thread, number: int, person: str) -> InboundMessage:
    return InboundMessage(
        thread, f"{number}", f"{number}", f"d{number}", Person(person), "hi", is_addressed=True
    )


def test_terminal_is_bound_for_one_person_without_a_time_limit() -> None:
    settings = bind_terminal(settings_of(), "1000", Mode.IPC)

    binding = find_binding(settings.bindings, BoundChannel(HERE))
    assert binding is not None
    assert binding.people == binding.operators == binding.approvers == ("1000",)
    assert (mode_of(binding), time_limit_s(binding), binding.profile) == (
        Mode.IPC,
        None,
        "terminal",
    )
    assert (mode_of(settings.bindings[0]), time_limit_s(settings.bindings[0])) == (
        Mode.DAEMON,
        300.0,
    )


def test_terminal_has_the_profile_that_the_settings_name() -> None:
    profiles = {"careful": {"tools": ["read_file"]}}
    settings = settings_of(agent={"terminal_profile": "careful"}, profiles=profiles)

    assert bind_terminal(settings, "1", Mode.REPL).bindings[-1].profile == "careful"


def test_reload_keeps_the_terminal_and_takes_over_its_profile_alone() -> None:
    profiles = {"careful": {"tools": ["read_file"]}}
    before = bind_terminal(settings_of(), "7", Mode.REPL)
    new = settings_of(agent={"terminal_profile": "careful", "name": "Other"}, profiles=profiles)

    merged, waiting = merge_settings(before, new)
    after = rebind_terminal(merged, before)

    binding = after.bindings[-1]
    assert (binding.people, mode_of(binding), binding.profile) == (("7",), Mode.REPL, "careful")
    assert after.agent.name == "Geode"
    assert waiting == ["agent.name changed and waits for a restart"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[agent]\nterminal_profile = 'x'", "agent.terminal_profile is 'x', which does not exist"),
        ("[channels.terminal]\n", "[channels.terminal] is built in and has no settings"),
        (
            "[[bindings]]\nchannel='terminal'\nwhere='local/1'\noperators=['1']",
            "bindings[1].channel is 'terminal', which is not configured",
        ),
    ],
    ids=["profile", "channel", "binding"],
)
def test_configuration_cannot_write_the_terminal_itself(
    tmp_path: Path, text: str, sentence: str
) -> None:
    (tmp_path / "geode.toml").write_text(text)

    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path / "geode.toml", environ={"GEODE_HOME": str(tmp_path)})

    assert sentence in str(caught.value)


async def open_daemon(folder: Path, mode: Mode) -> Daemon:
    route = ModelRoute(ScriptedModel([]), "scripted/model", "model", 150_000, 8_000)
    loaded = Loaded(settings_of(), {}, None, folder)
    return await Daemon.open(loaded, environ={}, seams=Seams(route=route), terminal=mode)


async def mode_stored(daemon: Daemon, thread: Thread) -> str:
    def look(tx: object) -> str:
        session_id = find_session(tx, thread)  # type: ignore[arg-type]
        assert session_id is not None
        return str(read_session(tx, SessionId(session_id)).mode)  # type: ignore[arg-type]

    return await daemon.store.read(look)


async def test_sessions_have_the_mode_of_their_binding_and_follow_its_change(
    tmp_path: Path,
) -> None:
    daemon = await open_daemon(tmp_path, Mode.IPC)
    me = daemon.settings.bindings[-1].operators[0]
    here, slack = replace(HERE, channel=me), Thread("slack", "T1", "C1", "1.1")
    await daemon.intake.accept(said(here, 1, me))
    await daemon.intake.accept(said(slack, 2, "U1"))
    assert await mode_stored(daemon, here) == "ipc"
    assert await mode_stored(daemon, slack) == "daemon"
    await daemon.close()

    daemon = await open_daemon(tmp_path, Mode.REPL)
    await daemon.intake.accept(said(here, 3, me))
    await daemon.intake.accept(said(slack, 4, "U1"))

    assert await mode_stored(daemon, here) == "repl"
    assert await mode_stored(daemon, slack) == "daemon"
    await daemon.close()


async def test_nobody_else_may_talk_at_the_terminal(tmp_path: Path) -> None:
    daemon = await open_daemon(tmp_path, Mode.IPC)
    me = daemon.settings.bindings[-1].operators[0]

    accepted = await daemon.intake.accept(said(replace(HERE, channel=me), 1, "4242"))

    assert (accepted.outcome, accepted.reason) == ("ignored", "access.stranger")
    await daemon.close()
