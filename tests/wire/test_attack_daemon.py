"""A hostile model in a chat thread touches nothing but its workspace, its memory and its thread."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from fakes.hostile_model import (
    hostile_calls,
    hostile_paths,
    hostile_script,
    hostile_urls,
    say_hostile_things,
)
from fakes.model_town import Town, scripted_town
from fakes.scripted_model import call, say
from fakes.watched_world import Watched, watched
from fakes.web import Web, serve_web

from channels.fields import object_of, text_of
from channels.rehearsal.slack_state import Room
from geode.messages import JsonObject, Message

pytestmark = pytest.mark.timeout(120)
CANARY = "CANARY-6d1f"
PLANTED = ("link", "folder-link", "folder-link/out.txt", "hard", "pipe", "own.txt")
CHILDREN = {
    "geode.tools.documents.child",
    "geode.tools.fetch.html_child",
    "geode.tools.grep_child",
}
MESSAGES = ("chat.postMessage", "chat.update")
WRITES = (*MESSAGES, "reactions.add", "reactions.remove")


SECOND = """
[[bindings]]
channel = "slack"
where = "T0REHEARSAL/C0SECOND"
people = ["U0ANA"]
operators = ["U0ANA"]
profile = "writer"
"""


async def answer_ok(request: web.Request) -> web.StreamResponse:
    del request
    return web.Response(text="reached")


@asynccontextmanager
async def hostile_town(tmp_path: Path, profile: str) -> AsyncGenerator[tuple[Town, Web, Path]]:
    """A town with canaries around it; its model is not scripted yet."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "out.txt").write_text(CANARY)
    more = f"# {CANARY}\n{SECOND}"
    limits = "steps_max = 90"
    async with (
        serve_web(answer_ok) as sink,
        scripted_town(tmp_path / "home", limits=limits, profile=profile, more=more) as town,
    ):
        members = {"UBOT", "U0ANA"}
        town.slack.workspace.add_room(Room("C0SECOND", "second", members))
        yield town, sink, outside


async def plant(town: Town, home: Path, outside: Path) -> tuple[str, Path]:
    """Another session with a file and a note, and traps in the hostile one's workspace."""
    town.model.add(
        call(
            ("write_file", {"path": "other.txt", "content": CANARY}),
            ("memory_save", {"text": f"of another place {CANARY}"}),
        ),
        say("kept"),
    )
    await town.slack.say("<@UBOT> keep it", channel="C0SECOND")
    await town.wait_for(lambda: town.slack.bot_posts("C0SECOND"))
    await town.wait_idle()
    (other,) = await town.rows("sessions", "id")
    town.model.add(say("hello"))
    post = await town.ask("<@UBOT> hello")
    await town.wait_idle()
    (own,) = [name for name in await town.rows("sessions", "id") if name != other]
    folder = home / "files" / own
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "own.txt").write_text("mine")
    (folder / "link").symlink_to(outside / "out.txt")
    (folder / "folder-link").symlink_to(outside)
    os.link(outside / "out.txt", folder / "hard")
    os.mkfifo(folder / "pipe")
    return post.ts, home / "files" / other / "other.txt"


def told(messages: tuple[Message, ...]) -> str:
    """Everything the model was given."""
    return "\n".join(
        text for m in messages for text in (m.text, *(result.text for result in m.results))
    )


def sent(town: Town) -> list[tuple[str, JsonObject]]:
    """Every write to Slack: the method and its arguments."""
    return [
        (method, object_of(row, "arguments"))
        for row in town.slack.api.log
        if (method := text_of(row, "method")) in WRITES
    ]


def assert_only_the_thread(town: Town, root: str, since: int) -> None:
    for method, arguments in sent(town)[since:]:
        assert arguments["channel"] == "C0GENERAL"
        if method == "chat.postMessage":
            assert arguments["thread_ts"] == root
            assert arguments["unfurl_links"] is False
            assert arguments["unfurl_media"] is False
        if method in MESSAGES:
            assert arguments["link_names"] is False
            assert arguments["parse"] == "none"
            shown = json.dumps(arguments)
            for live in ("<!", "<@", "<#", "|https://good"):
                assert live not in shown
            assert CANARY not in shown


def assert_world_untouched(world: Watched, sink: Web, outside: Path) -> None:
    assert sink.requests == []
    assert [name for name in world.looked_up if name not in ("127.0.0.1", "localhost")] == []
    assert set(world.started) <= CHILDREN
    assert sorted(path.name for path in outside.iterdir()) == ["out.txt"]
    assert (outside / "out.txt").read_text() == CANARY
    assert not Path("/tmp/owned").exists()


@pytest.mark.parametrize("profile", ["default", "writer"])
async def test_hostile_model_reaches_nothing_outside(
    tmp_path: Path, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOSE_SECRET", CANARY)
    home = tmp_path / "home"
    async with hostile_town(tmp_path, profile) as (town, sink, outside):
        root, other_file = await plant(town, home, outside)
        config = (home / "geode.toml").read_bytes()
        others = await town.rows("memories", "text", binding="slack:T0REHEARSAL/C0SECOND")
        aside = f"../{other_file.parent.name}/other.txt"
        paths = [*hostile_paths(str(outside / "out.txt"), (*PLANTED, aside, str(other_file)))]
        urls = [*hostile_urls(sink.port)]
        calls = [*hostile_calls(paths, urls)]
        town.model.add(*hostile_script(calls, say_hostile_things("no secret")))
        since = len(sent(town))
        before = {path.name for path in (home / "files").iterdir()}
        with watched() as world:
            named = " ".join(url for url in urls if "unnamed" not in url)
            await town.ask(f"go {named}", root)
            await town.wait_idle()

        assert town.model.replies == []
        assert CANARY not in told(town.model.steps[-1].messages)
        assert_only_the_thread(town, root, since)
        assert_world_untouched(world, sink, outside)
        assert other_file.read_text() == CANARY
        assert (home / "geode.toml").read_bytes() == config
        assert {path.name for path in (home / "files").iterdir()} == before
        memories = await town.rows("memories", "binding", "text")
        assert [text for binding, text in memories if binding.endswith("/C0SECOND")] == others
        assert {binding for binding, _ in memories} <= {
            "slack:T0REHEARSAL/C0SECOND",
            "slack:T0REHEARSAL/C0GENERAL",
        }
        if profile == "default":
            others_only = ["slack:T0REHEARSAL/C0SECOND"] * 2
            assert others_only == await town.rows("receipts", "binding")


async def test_watch_sees_what_a_reaching_model_would_do(tmp_path: Path) -> None:
    """The positive control: each of the watches hears the effect when it is allowed."""
    home = tmp_path / "home"
    async with hostile_town(tmp_path, "writer") as (town, sink, outside):
        town.model.add(
            call(
                ("write_file", {"path": "own.txt", "content": CANARY}),
                ("memory_save", {"text": CANARY}),
                ("web_fetch", {"url": "http://named.invalid/"}),
            ),
            call(("read_file", {"path": "own.txt"}), ("grep_files", {"pattern": "CANARY"})),
            say(CANARY),
        )
        with watched() as world:
            await town.ask("<@UBOT> go http://named.invalid/")
            await sink.fetch("http://sink.example/")

        assert len(sink.requests) == 1
        assert "named.invalid" in world.looked_up
        assert world.started == ["geode.tools.grep_child"]
        assert CANARY in told(town.model.steps[-1].messages)
        assert CANARY in json.dumps([arguments for _, arguments in sent(town)])
        assert await town.rows("memories", "text") == [CANARY]
        (written,) = (home / "files").glob("*/own.txt")
        assert written.read_text() == CANARY
        assert outside.is_dir()
