"""Buttons, forms and commands through the real Bolt client and SDK, up to what a person sees."""

import asyncio

import pytest
from fakes.slack_world import SlackWorld, place, slack_world

from channels.rehearsal.slack_state import Room
from geode.messages import Button, ButtonPress, Card, JsonObject, OutboundBody, Place
from geode.ports import Accepted

NONCE = "abcdefghijklmnopqrstuv"
CARD = Card(
    "Run it?",
    "Deletes **two** files.",
    (("Tool", "edit_file"),),
    (Button("Approve", NONCE, "primary"), Button("Say why", NONCE + "2", asks="Why not?")),
)


async def post_card(world: SlackWorld, where: Place) -> str:
    (part,) = world.channel.plan(OutboundBody("", "card", CARD))
    return await world.channel.send(where, part, "card:0")


def heard(world: SlackWorld) -> list[JsonObject]:
    return world.slack.workspace.ephemerals


async def open_form(world: SlackWorld, ts: str) -> str:
    await world.slack.press("C0GENERAL", ts, "Say why")
    await world.wait_for(lambda: world.slack.interactions.views)
    (view_id,) = world.slack.interactions.views
    return view_id


async def test_press_reaches_the_intake_and_its_answer_the_presser_alone() -> None:
    async with slack_world() as world:
        where = await world.ask()
        ts = await post_card(world, where)

        envelope = await world.slack.press("C0GENERAL", ts, "Approve")
        await world.wait_for(lambda: heard(world))

        (press,) = world.intake.presses
        assert (press.thread, press.message_id, press.nonce) == (where.thread, ts, NONCE)
        assert (press.presser.id, press.presser.name, press.text) == ("U0ANA", "ana", "")
        (answer,) = heard(world)
        assert (answer["user"], answer["text"]) == ("U0ANA", "That is decided.")
        assert answer["thread_ts"] == where.thread.thread
        assert envelope.is_acked
        assert len(world.slack.bot_posts()) == 1


async def test_press_is_not_acknowledged_before_it_is_stored() -> None:
    async with slack_world(ack_deadline_s=5) as world:
        ts = await post_card(world, await world.ask())
        world.intake.open.clear()

        envelope = await world.slack.press("C0GENERAL", ts, "Approve")
        await world.wait_for(lambda: isinstance(world.intake.asked[-1], ButtonPress))
        assert not envelope.is_acked

        world.intake.open.set()
        await world.wait_for(lambda: envelope.is_acked)


async def test_press_that_could_not_be_stored_is_shown_as_failed_and_pressed_again() -> None:
    async with slack_world(ack_deadline_s=0.2) as world:
        ts = await post_card(world, await world.ask())
        world.intake.refusals = 1

        failed = await world.slack.press("C0GENERAL", ts, "Approve")
        await world.wait_for(lambda: world.socket("unanswered") == 1)
        again = await world.slack.press("C0GENERAL", ts, "Approve")
        await world.wait_for(lambda: again.is_acked)

        assert not failed.is_acked
        assert len(world.intake.presses) == 1


async def test_two_presses_of_one_button_are_two_events() -> None:
    async with slack_world() as world:
        ts = await post_card(world, await world.ask())

        await world.slack.press("C0GENERAL", ts, "Approve", "U0ANA")
        await world.slack.press("C0GENERAL", ts, "Approve", "U0ANA")
        await world.wait_for(lambda: len(world.intake.presses) == 2)

        first, second = world.intake.presses
        assert first.dedupe_key != second.dedupe_key


async def test_answer_that_slack_does_not_take_goes_through_the_response_address() -> None:
    async with slack_world() as world:
        ts = await post_card(world, await world.ask())
        world.slack.fault("error", method="chat.postEphemeral", error="user_not_in_channel")

        await world.slack.press("C0GENERAL", ts, "Approve")
        await world.wait_for(lambda: heard(world))

        (answer,) = heard(world)
        assert (answer["by"], answer["text"]) == ("response_url", "That is decided.")
        assert answer["replace_original"] is False


async def test_stranger_who_presses_hears_a_refusal() -> None:
    async with slack_world() as world:
        ts = await post_card(world, await world.ask())
        world.intake.verdict = Accepted("ignored", "access.stranger")

        await world.slack.press("C0GENERAL", ts, "Approve", "U0STRANGER")
        await world.wait_for(lambda: heard(world))

        assert "not for you" in str(heard(world)[0]["text"])
        assert heard(world)[0]["user"] == "U0STRANGER"


async def test_button_that_asks_opens_no_form_for_somebody_who_may_not_decide_here() -> None:
    async with slack_world() as world:
        ts = await post_card(world, await world.ask())
        world.intake.strangers.add("U0STRANGER")

        await world.slack.press("C0GENERAL", ts, "Say why", "U0STRANGER")
        await world.wait_for(lambda: heard(world))

        assert "not for you" in str(heard(world)[0]["text"])
        assert world.slack.interactions.views == {}


async def test_edit_of_a_decided_card_takes_its_buttons_away() -> None:
    async with slack_world() as world:
        where = await world.ask()
        ts = await post_card(world, where)
        (decided,) = world.channel.plan(OutboundBody("", "card", Card("Approved", "by ana")))

        await world.channel.edit(where, ts, decided)

        with pytest.raises(KeyError):
            await world.slack.press("C0GENERAL", ts, "Approve")
        assert "Approved" in str(world.slack.bot_posts()[0].blocks)


async def test_words_come_through_a_form_and_are_the_press() -> None:
    async with slack_world() as world:
        where = await world.ask()
        ts = await post_card(world, where)

        view_id = await open_form(world, ts)
        shown = world.slack.interactions.views[view_id]
        assert "Why not?" in str(shown.view)
        assert world.intake.presses == []
        await world.slack.interactions.submit(view_id, "too risky")
        await world.wait_for(lambda: heard(world))

        (press,) = world.intake.presses
        assert (press.thread, press.message_id) == (where.thread, ts)
        assert (press.nonce, press.text) == (NONCE + "2", "too risky")
        assert not shown.is_open
        assert heard(world)[0]["thread_ts"] == where.thread.thread


@pytest.mark.parametrize("words", ["", "  \n "])
async def test_empty_words_are_refused_inside_the_form(words: str) -> None:
    async with slack_world() as world:
        view_id = await open_form(world, await post_card(world, await world.ask()))
        shown = world.slack.interactions.views[view_id]

        await world.slack.interactions.submit(view_id, words)
        await world.wait_for(lambda: shown.errors)
        assert shown.is_open
        assert world.intake.presses == []
        await world.slack.interactions.submit(view_id, "now with words")

        await world.wait_for(lambda: not shown.is_open)
        assert [press.text for press in world.intake.presses] == ["now with words"]


async def test_form_that_could_not_be_stored_stays_open_with_a_reason() -> None:
    async with slack_world() as world:
        view_id = await open_form(world, await post_card(world, await world.ask()))
        shown = world.slack.interactions.views[view_id]
        world.intake.refusals = 1

        await world.slack.interactions.submit(view_id, "words")
        await world.wait_for(lambda: shown.errors)
        assert "stored" in str(shown.errors)
        await world.slack.interactions.submit(view_id, "words")

        await world.wait_for(lambda: not shown.is_open)


async def test_form_opens_before_the_intake_has_anything_to_say() -> None:
    async with slack_world() as world:
        ts = await post_card(world, await world.ask())
        world.intake.open.clear()

        await open_form(world, ts)

        assert not any(isinstance(event, ButtonPress) for event in world.intake.asked)
        world.intake.open.set()


async def test_form_that_opens_too_late_is_explained_to_the_presser() -> None:
    async with slack_world() as world:
        where = await world.ask()
        ts = await post_card(world, where)
        world.slack.interactions.trigger_s = 0.0

        envelope = await world.slack.press("C0GENERAL", ts, "Say why")
        await world.wait_for(lambda: heard(world))

        assert envelope.is_acked
        assert world.slack.counters()["refused"] == {"expired_trigger_id": 1}
        assert "Press the button again" in str(heard(world)[0]["text"])
        assert heard(world)[0]["thread_ts"] == where.thread.thread


async def test_slash_command_is_answered_to_its_caller_alone_sl_01() -> None:
    async with slack_world() as world:
        await world.slack.slash("status")
        await world.wait_for(lambda: heard(world))

        (command,) = world.intake.commands
        assert (command.verb, command.thread) == ("status", place("").thread)
        (answer,) = heard(world)
        assert (answer["by"], answer["user"]) == ("ack", "U0ANA")
        assert (answer["response_type"], answer["text"]) == ("ephemeral", "You said status.")
        assert world.slack.bot_posts() == []


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Accepted("ignored", "access.stranger"), "not for you"),
        (Accepted("answered"), "/geode help"),
        (Accepted("answered", answer="There is no such command."), "no such command"),
    ],
)
async def test_slash_command_always_gets_words(verdict: Accepted, words: str) -> None:
    async with slack_world() as world:
        world.intake.verdict = verdict

        await world.slack.slash("dance", user="U0STRANGER")
        await world.wait_for(lambda: heard(world))

        assert words in str(heard(world)[0]["text"])


async def test_slash_command_that_could_not_be_stored_says_so() -> None:
    async with slack_world() as world:
        world.intake.refusals = 1

        await world.slack.slash("new")
        await world.wait_for(lambda: heard(world))

        assert "try again" in str(heard(world)[0]["text"])
        assert world.intake.commands == []


async def test_command_in_a_thread_is_answered_there_to_its_caller_alone() -> None:
    async with slack_world() as world:
        where = await world.ask()

        await world.slack.say("!status", thread_ts=where.thread.thread)
        await world.wait_for(lambda: heard(world))

        (command,) = world.intake.commands
        assert command.thread == where.thread
        (answer,) = heard(world)
        assert (answer["user"], answer["text"]) == ("U0ANA", "You said status.")
        assert answer["thread_ts"] == where.thread.thread


@pytest.mark.parametrize("order", ["AB", "BA", "A", "B"])
async def test_mentioned_command_is_one_command_in_every_order(order: str) -> None:
    async with slack_world() as world:
        await world.slack.say("<@UBOT> !status", order=order)  # type: ignore[arg-type]
        await world.wait_for(lambda: world.socket("acks") == len(order))
        await world.wait_for(lambda: heard(world))

        assert [command.verb for command in world.intake.commands] == ["status"]
        # A thread that nobody answered in shows no ephemeral message: it stands in the channel.
        assert [answer.get("thread_ts") for answer in heard(world)] == [None]


async def test_command_in_a_direct_message_is_answered_there() -> None:
    async with slack_world() as world:
        await world.slack.say("!help", channel="")
        await world.wait_for(lambda: heard(world))

        assert heard(world)[0]["channel"] == "D0ANA"
        assert world.intake.commands[0].is_direct


async def test_group_direct_message_is_served_like_a_channel() -> None:
    async with slack_world() as world:
        members = set(world.slack.workspace.people)
        world.slack.workspace.add_room(Room("G0GROUP", "mpdm", members, is_mpim=True))

        await world.slack.say("just talking", channel="G0GROUP")
        await world.slack.say("<@UBOT> hi", channel="G0GROUP")
        await world.wait_for(lambda: len(world.intake.stored) == 2)

        by_text = {message.text: message for message in world.intake.stored}
        assert [m.is_direct for m in world.intake.stored] == [False, False]
        assert by_text["hi"].is_addressed
        assert not by_text["just talking"].is_addressed
        assert by_text["hi"].thread.thread == by_text["hi"].message_id


async def test_stop_button_is_the_command_stop_and_the_thread_rests() -> None:
    async with slack_world() as world:
        where = await world.ask()
        await world.channel.set_status(where, "reading")

        await world.slack.stop_session("C0GENERAL", where.thread.thread)
        await world.wait_for(lambda: len(world.slack.writes.statuses) == 2)

        (command,) = world.intake.commands
        assert (command.verb, command.thread) == ("stop", where.thread)
        assert [s["status"] for s in world.slack.writes.statuses] == ["processing", "active"]


async def test_answers_that_cannot_be_shown_end_with_the_channel() -> None:
    async with slack_world() as world:
        ts = await post_card(world, await world.ask())
        world.slack.fault("slow_response", method="chat.postEphemeral", delay_s=2.0, times=0)
        envelope = await world.slack.press("C0GENERAL", ts, "Approve")
        await world.wait_for(lambda: envelope.is_acked)
        await world.wait_for(lambda: world.slack.api.calls["chat.postEphemeral"] == 1)

        async with asyncio.timeout(1.5):
            await world.channel.stop()

        assert world.channel.status().state == "stopped"
