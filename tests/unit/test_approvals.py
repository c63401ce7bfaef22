"""A call that asks runs once a person said yes to exactly it, and in no other case."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.approval_room import (
    APPROVER,
    ASKER,
    DENY,
    LASTING,
    ONCE,
    REASON,
    STRANGER,
    ApprovalRoom,
    make_ask_settings,
    open_approval_room,
)
from fakes.scripted_model import call, say
from fakes.spine_room import place_thread
from sqlalchemy import func, update

from geode.gate.approvals import ASKED_MAX_PER_HOUR, PENDING_MAX
from geode.reply import sentences
from geode.session.expiries import Expiries
from geode.settings import Binding
from geode.store.gate_tables import approvals
from geode.store.tables import inbox, messages, outbox, receipts, turns

LONG = "a" * 3_000
NOTE = ("note", {"text": "buy milk"})
SEND = ("send", {"text": "to Ada"})


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[ApprovalRoom]:
    async with open_approval_room(tmp_path) as opened:
        yield opened


def results_seen(place: ApprovalRoom) -> list[str]:
    """The texts of the results in the last request to the model."""
    return [each.text for each in place.worker.model.steps[-1].messages[-1].results]


async def test_call_that_asks_waits_and_runs_once_after_a_yes(place: ApprovalRoom) -> None:
    await place.ask(call(NOTE), say("noted"))
    assert (await place.state(), place.entered("note")) == ("awaiting_approval", 0)

    accepted = await place.press(ONCE)

    assert (accepted.outcome, accepted.answer) == ("decided", "Recorded. Allowed once.")
    await place.go_on()
    assert (await place.state(), place.entered("note")) == ("idle", 1)
    assert results_seen(place) == ["done buy milk"]
    assert await place.room.said("answer") == ["noted"]
    assert await place.room.rows(receipts.c.state) == ["committed"]


async def test_card_shows_the_whole_call_and_who_it_is_for(place: ApprovalRoom) -> None:
    await place.ask(call(("note", {"text": "a\u202eb\u200bc"})), say("x"))

    (post,) = place.open_cards()

    assert list(post.buttons) == [ONCE, LASTING, DENY, REASON]
    for piece in ("note", "mutate", f"`{ASKER}`", r"a\u202eb\u200bc"):
        assert piece in post.text
    assert "\u202e" not in post.text


@pytest.mark.parametrize(("label", "words"), [(DENY, ""), (REASON, "not before Monday")])
async def test_no_is_told_to_the_model_with_its_reason(
    place: ApprovalRoom, label: str, words: str
) -> None:
    await place.ask(call(NOTE), say("then not"))

    await place.press(label, words=words)
    await place.go_on()

    assert place.entered("note") == 0
    (text,) = results_seen(place)
    assert text.startswith("Refused (approval.denied): Not run: loop:U9 said no.")
    assert words in text
    assert await place.room.said("answer") == ["then not"]


async def test_allowed_calls_of_a_batch_run_first_and_keep_their_results(
    place: ApprovalRoom,
) -> None:
    await place.ask(call(NOTE, ("look", {"text": "1"}), SEND), say("all done"))
    assert [place.entered(name) for name in ("note", "look", "send")] == [0, 1, 0]

    first, second = place.open_cards()
    await place.press(ONCE, post=first)
    assert not await place.go_on()
    assert place.entered("note") == 0, "the batch goes on when all of it is decided"
    await place.press(DENY, post=second)
    await place.go_on()

    assert [place.entered(name) for name in ("note", "look", "send")] == [1, 1, 0]
    texts = results_seen(place)
    assert texts[:2] == ["done buy milk", "done 1"]
    assert texts[2].startswith("Refused (approval.denied)")


@pytest.mark.parametrize("who", [ASKER, STRANGER, "U1"])
async def test_only_an_approver_decides_and_others_are_told_so_alone(
    place: ApprovalRoom, who: str
) -> None:
    await place.ask(call(NOTE), say("x"))

    accepted = await place.press(ONCE, who=who)

    assert accepted.outcome in {"refused", "ignored"}
    if who != STRANGER:
        assert accepted.answer == sentences.ONLY_APPROVERS
    assert await place.ends() == ["pending"]
    assert not await place.go_on()
    assert place.entered("note") == 0


async def test_approver_who_is_taken_off_the_list_meanwhile_decides_nothing(
    place: ApprovalRoom,
) -> None:

    await place.ask(call(NOTE), say("x"))
    place.room.door.follow(make_ask_settings(approvers=["U1"]))

    assert (await place.press(ONCE)).outcome in {"refused", "ignored"}
    assert await place.ends() == ["pending"]


async def test_two_presses_at_once_decide_once(place: ApprovalRoom) -> None:
    await place.ask(call(NOTE), say("x"))

    answers = await asyncio.gather(place.press(ONCE), place.press(DENY), place.press(ONCE))

    assert sorted(each.outcome for each in answers) == ["decided", "refused", "refused"]
    await place.go_on()
    assert place.entered("note") == (await place.ends() == ["approved"])


async def test_press_after_the_decision_is_told_what_was_decided(place: ApprovalRoom) -> None:
    await place.ask(call(NOTE), say("x"))
    (post,) = place.open_cards()
    await place.press(DENY, post=post)

    late = await place.press(ONCE, post=post)

    assert late.reason == "card.decided"
    assert "Denied." in late.answer
    assert await place.ends() == ["denied"]


async def test_press_of_another_thread_decides_nothing(place: ApprovalRoom) -> None:
    await place.ask(call(NOTE), say("x"))
    (post,) = place.open_cards()
    press = place.room.platform.press(post, ONCE, APPROVER, thread=place_thread(2))

    assert (await place.room.door.accept(press)).reason == "card.unknown"
    assert await place.ends() == ["pending"]


async def test_yes_for_the_session_covers_the_same_tool_until_it_changes(
    place: ApprovalRoom,
) -> None:
    await place.ask(call(NOTE), call(("note", {"text": "2"})), say("both"))
    await place.press(LASTING)
    await place.go_on()
    assert place.entered("note") == 2

    await place.ask(call(("note", {"text": "3"})), say("again"))
    assert (place.entered("note"), await place.state()) == (3, "idle")


async def test_yes_for_the_session_is_for_the_one_who_asked(place: ApprovalRoom) -> None:
    await place.ask(call(NOTE), say("x"))
    await place.press(LASTING)
    await place.go_on()

    await place.ask(call(("note", {"text": "2"})), say("y"), sender="U1")

    assert (await place.state(), place.entered("note")) == ("awaiting_approval", 1)


@pytest.mark.parametrize("tool", ["send", "run"])
async def test_nothing_lasting_is_offered_for_what_reaches_the_world(
    place: ApprovalRoom, tool: str
) -> None:
    await place.ask(call((tool, {"text": "1"})), say("x"))

    assert list(place.open_cards()[0].buttons) == [ONCE, DENY, REASON]


async def test_equal_call_after_a_no_is_refused_without_asking(place: ApprovalRoom) -> None:
    await place.ask(call(NOTE), call(NOTE), say("enough"))
    await place.press(DENY)
    await place.go_on()

    assert await place.state() == "idle"
    assert results_seen(place)[0].startswith("Refused (approval.denied_before)")
    assert await place.ends() == ["denied"]


async def test_more_questions_at_once_than_a_person_reads_are_refused(
    place: ApprovalRoom,
) -> None:
    many = [("note", {"text": str(number)}) for number in range(PENDING_MAX + 2)]

    await place.ask(call(*many), say("x"))

    assert len(place.open_cards()) == PENDING_MAX
    assert await place.ends() == ["pending"] * PENDING_MAX


async def test_questions_of_an_hour_are_limited(place: ApprovalRoom) -> None:
    for number in range(ASKED_MAX_PER_HOUR):
        await place.ask(call(("note", {"text": str(number)})), say("x"))
        await place.press(DENY)
        await place.go_on()

    await place.ask(call(("note", {"text": "one more"})), say("y"))

    assert await place.state() == "idle"
    assert results_seen(place)[0].startswith("Refused (approval.too_many)")


async def test_restart_keeps_the_question_and_the_press_after_it_works(
    place: ApprovalRoom,
) -> None:
    await place.ask(call(NOTE), say("x"))
    place.worker = place.room.worker("two", replies=[say("noted")])

    await place.press(ONCE)
    await place.go_on()

    assert place.entered("note") == 1
    assert await place.room.said("answer") == ["noted"]


async def test_many_pauses_are_no_failed_tries(place: ApprovalRoom) -> None:
    steps = [call(("note", {"text": str(number)})) for number in range(6)]
    await place.ask(*steps, say("six"))

    for _ in range(6):
        await place.press(ONCE)
        await place.go_on()

    assert place.entered("note") == 6
    assert await place.room.said("answer") == ["six"]


async def test_time_that_a_turn_waits_is_not_its_own(place: ApprovalRoom) -> None:
    await place.ask(call(NOTE), say("noted"))
    await place.room.clock.sleep(86_400)

    await place.press(ONCE)
    await place.go_on()

    assert await place.room.said("answer") == ["noted"]
    (spent_us,) = await place.room.rows(turns.c.spent_us)
    assert spent_us < 60_000_000


async def test_unanswered_question_expires_and_is_told_apart_from_a_no(tmp_path: Path) -> None:
    async with open_approval_room(tmp_path, approval_expires_s=600) as place:
        await place.ask(call(NOTE), say("too late"))
        woken: list[str] = []
        expiries = Expiries(
            place.room.store, place.room.clock, woken.append, lambda key: make_binding()
        )
        await expiries.look()
        assert await place.ends() == ["pending"]

        await place.room.clock.sleep(601)
        await expiries.look()
        await place.go_on()

        assert woken == [await place.room.session_id()]
        assert (await place.ends(), await place.card_states()) == (["expired"], ["withdrawn"])
        assert results_seen(place) == [
            "Refused (approval.expired): Not run: nobody answered in time."
        ]
        assert place.open_cards() == []


async def test_stop_withdraws_the_question_and_answers_the_waiting_message(
    place: ApprovalRoom,
) -> None:
    await place.ask(call(NOTE), say("never"))
    session_id = await place.room.session_id()
    await place.room.store.write(
        "stop", lambda tx: tx.execute(update(turns).values(stopped_by="U2")) and None
    )
    (post,) = place.open_cards()

    assert not await place.worker.runner.run_session(session_id)
    await place.deliver()

    assert (await place.state(), await place.ends()) == ("idle", ["withdrawn"])
    assert place.entered("note") == 0
    assert place.open_cards() == []
    late = await place.press(ONCE, post=post) if post.buttons else None
    assert late is None or late.outcome == "refused"
    await place.ask(say("still here"), text="hello?")
    assert (await place.room.said("answer"))[-1] == "still here"


async def test_messages_meanwhile_are_kept_and_the_sender_is_told(place: ApprovalRoom) -> None:
    await place.ask(call(NOTE), say("noted"))

    await place.room.say("and this", sender="U1")
    await place.go_on()

    assert await place.state() == "awaiting_approval"
    assert await place.room.said("held") == [sentences.HELD]
    assert "queued" in await place.room.rows(inbox.c.state)


async def test_changed_request_between_yes_and_dispatch_does_not_run(
    place: ApprovalRoom,
) -> None:
    await place.ask(call(NOTE), say("x"))
    await place.press(ONCE)
    await place.room.store.write(
        "tamper",
        lambda tx: (
            tx.execute(
                update(messages)
                .where(messages.c.role == "assistant")
                .values(body=_replaced(messages.c.body))
            )
            and None
        ),
    )

    await place.go_on()

    assert place.entered("note") == 0
    assert results_seen(place)[0].startswith("Refused (approval.changed)")


def _replaced(column: object) -> object:

    return func.replace(column, "buy milk", "buy silk")


async def test_used_approval_begins_nothing_again(place: ApprovalRoom) -> None:
    await place.ask(call(("peek", {"text": "1"})), say("seen"))
    await place.press(ONCE)
    await place.room.store.write(
        "use", lambda tx: tx.execute(update(approvals).values(used_at_us=1)) and None
    )

    await place.go_on()

    assert place.entered("peek") == 0


async def test_question_that_no_place_can_show_is_refused_at_once(place: ApprovalRoom) -> None:
    place.worker.channel.file_bytes_max = 100
    await place.ask(call(("note", {"text": "x" * 5_000})), say("too long"))
    await place.go_on()

    assert await place.ends() == ["undeliverable"]
    assert results_seen(place)[0].startswith("Refused (approval.undeliverable)")
    assert await place.room.said("answer") == ["too long"]


async def test_long_arguments_go_whole_as_a_file(place: ApprovalRoom) -> None:
    await place.ask(call(("note", {"text": "x" * 5_000 + "; rm -rf /"})), say("x"))

    (files,) = await place.room.rows(outbox.c.files, kind="card")
    assert "arguments.json" in files
    assert len(place.open_cards()) == 1


async def test_two_person_rule_keeps_an_approver_from_their_own_request(tmp_path: Path) -> None:
    async with open_approval_room(tmp_path, approvers=[APPROVER, "U2"], two_person=True) as place:
        await place.ask(call(NOTE), say("x"), sender="U2")

        own = await place.press(ONCE, who="U2")
        other = await place.press(ONCE, who=APPROVER)

        assert (own.outcome, own.answer) == ("refused", sentences.ANOTHER_PERSON)
        assert other.outcome == "decided"


async def test_without_approvers_a_call_that_asks_is_denied_at_once(tmp_path: Path) -> None:
    async with open_approval_room(tmp_path, approvers=[]) as place:
        await place.ask(call(NOTE), say("no"))

        assert (await place.state(), place.entered("note")) == ("idle", 0)
        assert results_seen(place)[0].startswith("Refused (ask.no_approver)")
        assert await place.ends() == []


def make_binding(**more: object) -> Binding:
    """The room's binding, changed so."""
    return make_ask_settings(**more).bindings[0]


def allow_note(place: ApprovalRoom) -> None:
    """The operator moves the tool from `ask` to `tools`."""
    settings = make_ask_settings()
    profile = settings.profiles["spine"].model_copy(update={"tools": ("look", "note"), "ask": ()})
    place.worker.runner._services.follow(
        settings.model_copy(update={"profiles": {"spine": profile}})
    )


@pytest.mark.parametrize(
    "secret", ["ghp_" + "a1" * 12, "Bearer abcdefgh1234567", "xoxb-12345678-x"]
)
async def test_call_whose_arguments_would_be_hidden_is_not_asked_about(
    place: ApprovalRoom, secret: str
) -> None:
    await place.ask(call(("note", {"text": f"echo {secret}"})), say("so be it"))
    await place.go_on()

    assert place.open_cards() == []
    assert place.entered("note") == 0
    (text,) = results_seen(place)
    assert text.startswith("Refused (approval.undeliverable)")
    assert "looks like a secret" in text
    assert await place.ends() == ["undeliverable"]


async def test_long_arguments_with_a_hidden_part_are_not_asked_about(place: ApprovalRoom) -> None:
    await place.ask(call(("note", {"text": f"{LONG} ghp_{'b2' * 12}"})), say("so be it"))
    await place.go_on()

    assert (place.open_cards(), place.entered("note")) == ([], 0)
    assert await place.ends() == ["undeliverable"]


async def test_no_holds_when_the_profile_allows_the_tool_meanwhile(place: ApprovalRoom) -> None:
    await place.ask(call(NOTE), say("then not"))
    await place.press(REASON, words="never")
    allow_note(place)

    await place.go_on()

    assert place.entered("note") == 0
    (text,) = results_seen(place)
    assert text.startswith("Refused (approval.denied): Not run: loop:U9 said no. never")


async def test_yes_is_taken_when_the_profile_allows_the_tool_meanwhile(
    place: ApprovalRoom,
) -> None:
    await place.ask(call(NOTE), say("noted"))
    await place.press(ONCE)
    allow_note(place)

    await place.go_on()

    assert place.entered("note") == 1
    (used_at_us,) = await place.room.rows(approvals.c.used_at_us)
    assert used_at_us > 0


async def test_no_is_told_as_a_no_when_the_call_was_changed_too(place: ApprovalRoom) -> None:
    await place.ask(call(NOTE), say("then not"))
    await place.press(DENY)
    await place.room.store.write(
        "forge", lambda tx: tx.execute(update(approvals).values(action_hash="other")) and None
    )

    await place.go_on()

    assert results_seen(place)[0].startswith("Refused (approval.denied)")


async def test_question_whose_file_is_refused_is_over_and_its_turn_goes_on(
    place: ApprovalRoom,
) -> None:
    place.room.platform.faults = ["", "", "refused"]  # progress, card, file
    await place.ask(call(("note", {"text": LONG})), say("so be it"))
    assert await place.ends() == ["undeliverable"]

    await place.go_on()

    assert (place.open_cards(), place.entered("note")) == ([], 0)
    assert await place.card_states() == ["withdrawn"]
    assert results_seen(place)[0].startswith("Refused (approval.undeliverable)")
    assert await place.room.said("answer") == ["so be it"]


@pytest.mark.parametrize(
    "binding",
    [
        None,
        make_binding(approvers=[]),
        make_binding(approvers=[ASKER], two_person=True),
    ],
    ids=["no binding", "no approvers", "only the asker"],
)
async def test_question_that_nobody_is_left_to_answer_is_over(
    place: ApprovalRoom, binding: Binding | None
) -> None:
    await place.ask(call(NOTE), say("so be it"))
    woken: list[str] = []
    look = Expiries(place.room.store, place.room.clock, woken.append, lambda key: binding).look

    await look()
    await look()

    assert await place.ends() == ["undeliverable"]
    assert woken == [await place.room.session_id()]
    await place.deliver()
    assert place.open_cards() == []


async def test_question_that_somebody_can_answer_waits(place: ApprovalRoom) -> None:
    await place.ask(call(NOTE), say("so be it"))
    woken: list[str] = []

    await Expiries(
        place.room.store, place.room.clock, woken.append, lambda key: make_binding()
    ).look()

    assert (await place.ends(), woken) == (["pending"], [])
