"""What each kind of person is answered to each command, in each state of a session."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.commanding import enter_state, give, make_command, said_of, told
from fakes.scripted_model import say
from fakes.spine_room import BINDING, THREAD, SpineRoom, open_room, place_thread
from sqlalchemy import insert, update

from geode.intake.commands import AUDIENCES, may_use
from geode.intake.desk import Audience, Desk
from geode.intake.inbox import Inbox
from geode.messages import ALIASES, COMMANDS, Person, SessionState, Thread
from geode.ports import Accepted, ChannelStatus
from geode.reply import command_sentences as said
from geode.settings import Settings
from geode.store.tables import cards, inbox, outbox, receipts, sessions, threads, turns

PLACE = Thread("loop", "T1", "C1", "")
OPERATOR_VERBS = ("model", "review", "effects", "computer", "compact", "forget")
PEOPLES = {"help", "whoami", "status", "usage", "stop", "new", "why"}
UNBUILT = ("forget",)
STATES = (None, *SessionState)
LAST_STOP = (*(verb for verb in COMMANDS if verb != "stop"), "stop")

PERSONS: dict[str, tuple[Person, Any]] = {
    "operator": (Person("U1"), ["U1", "U2"]),
    "person": (Person("U2"), ["U1", "U2"]),
    "member": (Person("U77"), "members"),
    "stranger": (Person("U77"), ["U1", "U2"]),
    "bot": (Person("U2", is_bot=True), ["U1", "U2"]),
}
"""Who asks, and whom the binding lists."""


@pytest.fixture
async def room(tmp_path: Path):
    async with open_room(tmp_path) as opened:
        yield opened


def expect(verb: str, kind: str, state: SessionState | None) -> tuple[str, str, bool]:
    """Outcome and reason of a command, and whether the thread is told."""
    if kind in ("stranger", "bot"):
        return "ignored", f"access.{kind}", False
    is_operators = verb in OPERATOR_VERBS or (
        verb == "stop" and state is SessionState.AWAITING_REVIEW
    )
    if is_operators and kind != "operator":
        return "refused", "command.not_yours", False
    return "answered", verb, state is not None


@pytest.mark.parametrize("state", STATES, ids=str)
@pytest.mark.parametrize("kind", PERSONS)
async def test_command_is_answered_as_its_audience_and_the_state_say(
    room: SpineRoom, kind: str, state: SessionState | None
) -> None:
    sender, people = PERSONS[kind]
    settings = Settings.model_validate(
        {
            "bindings": [{**BINDING, "people": people}],
            "profiles": {"spine": {"tools": ["list_files"]}},
        }
    )
    await enter_state(room, state)
    door = Inbox(room.store, room.clock, settings, room.wakes)
    found: dict[str, tuple[str, str, bool]] = {}

    for verb in LAST_STOP:
        accepted = await door.accept(replace(make_command(verb, sender.id), sender=sender))
        in_thread = await said_of(room, verb, sender.id)
        found[verb] = (accepted.outcome, accepted.reason, bool(in_thread))
        answers = [*in_thread, *([accepted.answer] if accepted.answer else [])]
        assert len(answers) == (accepted.outcome != "ignored")
        if verb in UNBUILT and accepted.outcome == "answered":
            assert answers == [said.NOT_BUILT.format(verb=verb)]

    assert found == {verb: expect(verb, kind, state) for verb in COMMANDS}
    assert len(await room.rows(sessions.c.id)) == (state is not None)
    assert len(await room.rows(inbox.c.id)) == (state is not None)


def test_every_command_has_its_audience() -> None:
    assert set(AUDIENCES) == set(COMMANDS)
    assert {verb for verb, who in AUDIENCES.items() if who is Audience.OPERATORS} == {
        *OPERATOR_VERBS
    }
    assert set(may_use(Audience.ADMITTED)) == {"help", "whoami"}


@pytest.mark.parametrize(
    ("sender", "listed"),
    [
        ("U1", {*PEOPLES, "model", "effects", "compact"}),
        ("U2", PEOPLES),
    ],
)
async def test_help_lists_what_this_person_may_use_and_nothing_unbuilt(
    room: SpineRoom, sender: str, listed: set[str]
) -> None:
    answer = await told(room, "help", sender)

    lines = [line for line in answer.splitlines() if line.startswith("- ")]
    assert {line.split("`")[1] for line in lines} == listed
    assert len(lines) == len(listed)


async def test_whoami_tells_id_workspace_role_and_binding(room: SpineRoom) -> None:
    answers = [await told(room, "whoami", sender) for sender in ("U1", "U2")]

    assert answers == [
        "You are `U1` in `loop:T1`. Here you are an operator. Binding: `loop:T1/C1`.",
        "You are `U2` in `loop:T1`. Here you are one of its people. Binding: `loop:T1/C1`.",
    ]


async def test_status_tells_state_model_session_tokens_budget_cards_and_next_job(
    room: SpineRoom,
) -> None:
    await enter_state(room, SessionState.AWAITING_APPROVAL)
    session_id = await room.session_id()
    row = {"session_id": session_id, "kind": "effect", "subject": "x", "created_at_us": 1}
    done = {"state": "done", "input_tokens": 1000, "cache_read_tokens": 200, "output_tokens": 34}
    await room.store.write("turn", lambda tx: tx.execute(update(turns).values(**done)) and None)
    kept = [{"id": name, "state": "open", **row} for name in ("c1", "c2")]
    kept.append({"id": "c3", "state": "decided", **row})
    await room.store.write("cards", lambda tx: tx.execute(insert(cards), kept) and None)

    answer = await told(room, "status", "U2")

    assert answer == (
        f"Awaiting approval · model `scripted/model` · session `{session_id}` · 1,234 tokens · "
        "budget left: no daily limit · pending reviews: 0 · next job: none\n"
        "2 cards wait for operators."
    )


async def test_status_counts_the_answer_that_waits_for_a_review(room: SpineRoom) -> None:
    before = await told(room, "review", dedupe_key="without a conversation")
    await enter_state(room, SessionState.AWAITING_REVIEW)

    status, review = await told(room, "status"), await told(room, "review")

    assert before == said.NO_CONVERSATION
    assert status.splitlines()[0].startswith("Awaiting review · ")
    assert " · pending reviews: 1 · " in status.splitlines()[0]
    assert review.startswith("1 answer waits for a review:\n- `v")


async def test_status_tells_operators_alone_how_the_channels_are(room: SpineRoom) -> None:
    states = {"loop": ChannelStatus("up"), "other": ChannelStatus("down", "no route")}
    room.door = Inbox(room.store, room.clock, room.settings, room.wakes, Desk("m", lambda: states))
    await room.say("hi")

    operators, people = await told(room, "status", "U1"), await told(room, "status", "U2")

    assert operators.splitlines()[1:] == ["Channels: loop: up, other: down (no route)"]
    assert len(people.splitlines()) == 1


async def test_usage_tells_what_the_session_and_the_place_used_and_what_is_left(
    room: SpineRoom,
) -> None:
    room.settings = Settings.model_validate(
        {"bindings": [BINDING], "profiles": {"spine": {"cost_usd_per_day": 2.0}}}
    )
    room.door = Inbox(room.store, room.clock, room.settings, room.wakes, room.desk)
    for number in (1, 2):
        await room.say("hi", thread=place_thread(number))
        worker = room.worker(replies=[say("hello", cost_micro_usd=250_000)])
        await worker.runner.run_session(await room.session_id(place_thread(number)))

    answer = await told(room, "usage", "U2")

    assert answer.splitlines() == [
        "- This conversation: 1 turn, 10 tokens read, 5 written, $0.25; "
        "1 check: 110 tokens, $0.000007; $0.25 in all",
        "- This place today: 2 turns, 20 tokens read, 10 written, $0.50; "
        "2 checks: 220 tokens, $0.000014; $0.50 in all",
        "- Budget: $2.00 per day, $1.50 left today",
    ]


async def test_model_is_told_and_not_changed_from_a_chat(room: SpineRoom) -> None:
    shown = await told(room, "model")
    asked = await told(room, "model", dedupe_key="other", argument="anthropic/other")

    assert shown == "The model is `scripted/model`."
    assert asked.startswith(shown)
    assert "`geode.toml`" in asked


async def test_effects_names_what_nobody_knows_and_how_to_settle_it(room: SpineRoom) -> None:
    await room.say("hi")
    values = {
        "session_id": await room.session_id(),
        **dict.fromkeys(("turn_id", "binding", "mode", "call_id"), ""),
        "effect": "mutate",
        **dict.fromkeys(("arguments", "arguments_hash"), ""),
        **dict.fromkeys(("step", "position", "epoch", "prepared_at_us"), 1),
    }
    rows = [
        {"id": "r1", "tool": "send_mail", "state": "uncertain", **values},
        {"id": "r2", "tool": "write_file", "state": "committed", **values},
        {"id": "r3", "tool": "elsewhere", "state": "uncertain", **values, "session_id": "s-other"},
    ]
    assert "No effect" in await told(room, "effects")
    await room.store.write("facts", lambda tx: tx.execute(insert(receipts), rows) and None)

    answer = await told(room, "effects", dedupe_key="again")

    assert "- `send_mail`: `r1`" in answer.splitlines()
    assert "geode effects settle ID happened" in answer
    assert "r2" not in answer
    assert "r3" not in answer


async def test_unknown_command_is_refused_in_private_and_stores_no_notice(room: SpineRoom) -> None:
    await room.say("hi")

    accepted = await give(room, "dance")

    assert accepted == Accepted("refused", "command.unknown", said.UNKNOWN)
    assert await room.rows(outbox.c.id) == []


@pytest.mark.parametrize(
    ("word", "sender", "near"),
    [
        ("statsu", "U2", "status"),
        ("resett", "U2", "new"),
        ("compct", "U1", "compact"),
        ("compct", "U2", ""),
        ("x" * 4_000, "U2", ""),
    ],
)
async def test_unknown_command_hints_at_the_nearest_one_that_the_person_may_use(
    room: SpineRoom, word: str, sender: str, near: str
) -> None:
    accepted = await give(room, word, sender)

    assert accepted == Accepted("refused", "command.unknown", said.describe_unknown(near))


@pytest.mark.parametrize(("alias", "verb"), [*ALIASES.items()])
async def test_alias_is_the_verb_it_stands_for(room: SpineRoom, alias: str, verb: str) -> None:
    await room.say("hi")

    answer = await told(room, alias)

    assert answer == await told(room, verb)


async def test_command_begins_no_conversation_and_no_following(room: SpineRoom) -> None:
    accepted = await give(room, "status")
    message = room.platform.message(THREAD, "among ourselves", is_addressed=False)
    after = await room.door.accept(message)

    assert accepted == Accepted("answered", "status", said.NO_CONVERSATION)
    assert after == Accepted("ignored", "access.not_addressed")
    assert await room.rows(threads.c.session_id, order=threads.c.session_id) == []


@pytest.mark.parametrize("verb", ["status", "usage", "stop", "new", "effects"])
async def test_slash_command_for_a_channel_guesses_no_thread(room: SpineRoom, verb: str) -> None:
    await room.say("hi")

    answer = await told(room, verb, thread=PLACE)

    assert answer == said.INSIDE_A_THREAD.format(verb=verb)
    assert await room.rows(outbox.c.id) == []


async def test_slash_command_in_a_direct_message_is_about_its_session(room: SpineRoom) -> None:
    direct = Thread("loop", "T1", "D1", "")
    room.settings = Settings.model_validate(
        {"bindings": [BINDING, {**BINDING, "where": "T1/dm", "profile": "default"}]}
        | {"profiles": {"spine": {"tools": []}}}
    )
    room.door = Inbox(room.store, room.clock, room.settings, room.wakes, room.desk)
    await room.say("hi", thread=direct, is_direct=True)

    answer = await told(room, "status", thread=direct, is_direct=True)

    assert f"session `{await room.session_id(direct)}`" in answer


async def test_command_in_a_conversation_without_threads_is_answered_in_it(
    room: SpineRoom,
) -> None:
    await room.say("hi", thread=PLACE)

    accepted = await give(room, "status", thread=PLACE, reply_to="m7")

    assert accepted == Accepted("answered", "status")
    assert await room.rows(outbox.c.kind, outbox.c.reply_to) == [("command", "m7")]


@pytest.mark.parametrize("is_private", [False, True])
async def test_redelivered_command_is_answered_once(room: SpineRoom, is_private: bool) -> None:
    await room.say("hi")
    first = await give(room, "status", is_private=is_private)

    second = await give(room, "status", is_private=is_private)

    assert first.outcome == "answered"
    assert second == Accepted("duplicate")
    assert len(await room.rows(outbox.c.id)) == (not is_private)


@pytest.mark.parametrize("verb", ["stop", "new"])
async def test_thread_is_told_of_a_slash_command_that_changes_its_course(
    room: SpineRoom, verb: str
) -> None:
    await room.say("hi", sender="U2")

    answer = await told(room, verb)

    assert await room.said("command") == [f"Asked by name of U1: {answer}"]


async def test_thread_is_told_of_a_command_under_a_name_that_is_only_a_name(
    room: SpineRoom,
) -> None:
    await room.say("hi")
    person = Person("U1", "[free](https://evil.example)\n**Geode** <@U9>")

    await room.door.accept(replace(make_command("new", is_private=True), sender=person))

    (body,) = await room.said("command")
    assert body.startswith(r"Asked by \[free\]\(https://evil.example\) \*\*Geode\*\* \<@U9\>: ")


async def test_command_in_a_burst_is_no_message_of_the_turn(room: SpineRoom) -> None:
    await room.say("one")
    await give(room, "status", "U2")
    await room.say("two", sender="U2")
    worker = room.worker(replies=[say("both")])

    await worker.runner.run_session(await room.session_id())

    request = worker.model.steps[0].messages[-1].text
    assert "one" in request
    assert "two" in request
    assert "status" not in request
    assert await room.said("answer") == ["both"]
    assert await room.said("held") == []


async def test_private_answer_leaves_without_registered_secrets(room: SpineRoom) -> None:
    states = {"loop": ChannelStatus("down", "bad token s3cret")}
    desk = Desk("m", lambda: states, lambda text: text.replace("s3cret", "[secret]"))
    room.door = Inbox(room.store, room.clock, room.settings, room.wakes, desk)
    await room.say("hi")

    answer = await told(room, "status")

    assert "bad token [secret]" in answer


async def test_answer_in_a_thread_is_delivered_as_a_notice(room: SpineRoom) -> None:
    await room.say("hi", sender="U2")
    session_id = await room.session_id()
    worker = room.worker()

    await give(room, "whoami", "U2")
    await worker.deliver(session_id)

    (text,) = room.platform.texts(THREAD)
    assert text.startswith("You are `U2`")


async def test_stranger_leaves_no_row_by_a_command(room: SpineRoom) -> None:
    accepted = await room.door.accept(
        replace(make_command("help"), sender=Person("U9"), dedupe_key="of a stranger")
    )

    assert accepted == Accepted("ignored", "access.stranger")
    assert room.door.ignored == {"access.stranger": 1}
