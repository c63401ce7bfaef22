"""Talking over the control socket: kept once, answered once, decided once, seen by every client."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from fakes.card_room import DID_NOT, HAPPENED, PARCEL, burn
from fakes.gate_room import make_tool
from fakes.scripted_model import call, say
from fakes.terminal_world import Row, TerminalWorld, has_answer, open_cards, open_terminal

from geode.errors import ControlError
from geode.messages import Mode
from geode.steps import Effect, ModelReply, StepSnapshot
from geode.store.tables import cards, inbox, sessions, turns
from geode.transcripts import RoomMessage

KEY = "a-key-of-a-test"


async def test_message_is_answered_and_its_fate_is_told(tmp_path: Path) -> None:
    async with open_terminal(tmp_path, [say("Hello **you**")]) as world:
        said = await world.say("Hi")
        rows = await world.watch(has_answer("Hello **you**"))

        asking = await world.settle(said["id"])
        assert [(row["kind"], row["markdown"]) for row in rows] == [
            ("said", "Hi"),
            ("answer", "Hello **you**"),
        ]
        assert asking == {
            "state": "answered",
            "reason": "natural",
            "termination": "NATURAL",
            "verification": "passed",
            "review": "",
            "message_ids": [rows[-1]["id"]],
        }
        assert await world.column(sessions.c.mode) == ["ipc"]


async def test_session_of_a_local_terminal_is_a_repl(tmp_path: Path) -> None:
    async with open_terminal(tmp_path, [say("Hello")], mode=Mode.REPL) as world:
        await world.say("Hi")
        await world.watch(has_answer("Hello"))

        assert await world.column(turns.c.mode) == ["repl"]


async def test_message_that_a_client_repeats_is_one(tmp_path: Path) -> None:
    async with open_terminal(tmp_path, [say("Once")]) as world:
        first = await world.say("Hi", key=KEY)
        second = await world.say("Hi", key=KEY)
        await world.watch(has_answer("Once"))

        assert first["id"] == second["id"]
        assert len(await world.column(inbox.c.id)) == 1


async def test_conversations_are_apart_and_two_clients_of_one_see_the_same(tmp_path: Path) -> None:
    async with open_terminal(tmp_path, [say("In one"), say("In two")]) as world:
        await world.say("Hi", name="one")
        first = await world.watch(has_answer("In one"), name="one")
        await world.say("Hi", name="two")
        await world.watch(has_answer("In two"), name="two")

        again = await world.watch(has_answer("In one"), name="one")
        assert [row["id"] for row in again] == [row["id"] for row in first]
        assert not has_answer("In two")(again)


@pytest.mark.parametrize("text", ["/status", "!status", "status"])
async def test_command_is_obeyed_without_the_model(tmp_path: Path, text: str) -> None:
    async with open_terminal(tmp_path, [say("Hello")]) as world:
        await world.say("Hi")
        await world.watch(has_answer("Hello"))

        await world.say(text)
        rows = await world.watch(lambda rows: [r for r in rows if r["kind"] == "notice"])

        assert "Idle" in rows[-1]["markdown"]
        assert len(world.model.steps) == 1


async def test_command_that_nobody_knows_is_told_so(tmp_path: Path) -> None:
    async with open_terminal(tmp_path) as world:
        said = await world.say("/statis")

        rows = await world.watch(lambda rows: [r for r in rows if r["kind"] == "notice"])
        assert said["outcome"] == "refused"
        assert "`status`" in rows[-1]["markdown"]


async def test_stop_ends_a_turn_whose_model_does_not_answer(tmp_path: Path) -> None:
    reached = asyncio.Event()

    async def hang(_step: StepSnapshot) -> ModelReply:
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with open_terminal(tmp_path, [hang]) as world:
        await world.say("Hi")
        await asyncio.wait_for(reached.wait(), 10)
        busy = await world.ask("listen", name="main", seen="x")

        await world.say("/stop")
        await world.watch(lambda rows: [r for r in rows if "topped" in r["markdown"]])

        assert busy["is_busy"]
        assert await world.column(turns.c.reason) == ["user_cancelled"]


async def leave_card(world: TerminalWorld) -> Row:
    await world.say("send it")
    (card,) = open_cards(await world.watch(open_cards))
    return card


def parcel_world(folder: Path) -> AbstractAsyncContextManager[TerminalWorld]:
    tool = make_tool("send_parcel", Effect.COMMUNICATE, burn).tool
    script = [call(("send_parcel", PARCEL)), say("I do not know")]
    return open_terminal(folder, script, tools=(tool,))


async def test_card_is_decided_by_the_number_and_label_of_its_button(tmp_path: Path) -> None:
    async with parcel_world(tmp_path) as world:
        card = await leave_card(world)
        labels = [button["label"] for button in card["card"]["buttons"]]
        assert labels == [HAPPENED, DID_NOT]
        assert "nonce" not in str(card)
        press = {"name": "main", "id": card["id"], "words": ""}

        for wrong in ({"choice": 1, "label": DID_NOT}, {"choice": 3, "label": HAPPENED}):
            with pytest.raises(ControlError, match="no such button"):
                await world.ask("press", key=KEY, **press, **wrong)
        with pytest.raises(ControlError, match="no such button"):
            await world.ask("press", key=KEY, **{**press, "name": "b"}, choice=2, label=DID_NOT)
        done = await world.ask("press", key=KEY, **press, choice=2, label=DID_NOT)

        assert done["outcome"] == "decided"
        assert await world.column(cards.c.choice) == ["did_not"]
        assert (await world.column(cards.c.decided_by))[0] == (
            f"terminal:{world.daemon.terminal.owner.id}"
        )
        await world.watch(lambda rows: rows and not open_cards(rows))
        opened = await world.ask("open", name="main")
        assert opened["cards"] == []


async def test_card_that_waits_is_there_for_a_client_that_comes_later(tmp_path: Path) -> None:
    async with parcel_world(tmp_path) as world:
        card = await leave_card(world)

        opened = await world.ask("open", name="main", limit=0)

        assert opened["messages"] == []
        assert [each["id"] for each in opened["cards"]] == [card["id"]]


async def test_file_comes_in_pieces_and_reaches_the_workspace(tmp_path: Path) -> None:
    content = b"one,two\n" * 100_000
    async with open_terminal(tmp_path, [say("Read")]) as world:
        half = len(content) // 2
        for offset, piece in ((0, content[:half]), (half, content[half:])):
            kept = await world.ask(
                "attach",
                key=KEY,
                offset=offset,
                piece=base64.b64encode(piece).decode(),
                is_last=offset > 0,
            )
        file = {"name": "numbers.csv", **kept}
        assert kept == {
            "sha256": hashlib.sha256(content).hexdigest(),
            "size_bytes": len(content),
        }

        await world.say("see the file", files=[file])
        await world.watch(has_answer("Read"))

        (found,) = (tmp_path / "files").rglob("numbers.csv")
        assert found.read_bytes() == content


BAD = {
    "name": ("say", {"name": "a/b", "key": KEY, "text": "x"}, "A conversation's name"),
    "key": ("say", {"name": "a", "key": "../../x", "text": "x"}, "A key has"),
    "nothing": ("say", {"name": "a", "key": KEY, "text": " "}, "nothing to say"),
    "long": ("say", {"name": "a", "key": KEY, "text": "x" * 100_001}, "100,000 characters"),
    "more": ("say", {"name": "a", "key": KEY, "text": "x", "as": "root"}, "no argument 'as'"),
    "path": (
        "say",
        {
            "name": "a",
            "key": KEY,
            "text": "",
            "files": [{"name": "x", "sha256": "../geode.db", "size_bytes": 1}],
        },
        "sha256 that chat.attach gave",
    ),
    "wait": ("listen", {"name": "a", "wait_s": 21}, "wait_s is a whole number"),
    "gap": ("attach", {"key": KEY, "offset": 9, "piece": ""}, "in order"),
    "piece": ("attach", {"key": KEY, "piece": "%%%"}, "base64"),
}


@pytest.mark.parametrize(("verb", "arguments", "sentence"), BAD.values(), ids=BAD.keys())
async def test_request_that_is_none_is_refused_in_a_sentence(
    tmp_path: Path, verb: str, arguments: dict[str, object], sentence: str
) -> None:
    async with open_terminal(tmp_path) as world:
        with pytest.raises(ControlError, match=sentence):
            await world.ask(verb, **arguments)

        assert await world.column(inbox.c.id) == []


async def test_listeners_are_bounded_and_other_verbs_go_on(tmp_path: Path) -> None:
    async with open_terminal(tmp_path) as world:
        seen = (await world.ask("open", name="main"))["mark"]
        waiting = [
            asyncio.create_task(world.ask("listen", name="main", seen=seen, wait_s=20))
            for _ in range(24)
        ]
        async with asyncio.timeout(10):
            while len(world.daemon.terminal.news._listeners) < 24:  # noqa: ASYNC110 - no event
                await asyncio.sleep(0.01)

        with pytest.raises(ControlError, match="Too many terminals"):
            await world.ask("listen", name="main", seen=seen, wait_s=20)
        assert (await world.ask("open", name="main"))["state"] == "idle"

        await world.ask("say", name="main", key=KEY, text="/help")
        views = await asyncio.gather(*waiting)
        assert all(view["messages"] for view in views)


async def test_message_that_was_kept_and_not_taken_is_answered_after_a_restart(
    tmp_path: Path,
) -> None:
    async with open_terminal(tmp_path) as world:
        terminal = world.daemon.terminal
        here, key = terminal.thread_of("main"), "said:main:k"
        await terminal.transcript.put(RoomMessage(here, key, {"text": "Hi"}, terminal.owner))

    async with open_terminal(tmp_path, [say("There you are")]) as world:
        await world.watch(has_answer("There you are"))

        assert len(await world.column(inbox.c.id)) == 1
