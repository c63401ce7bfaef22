"""SL-01 to SL-04 and SL-08 told end to end: a real daemon, a strict Slack, a counted model."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.model_town import Brake, Town, scripted_town
from fakes.scripted_model import say
from fakes.town import answers

from channels.rehearsal.slack_state import Posted
from geode.messages import JsonObject

CHANNEL = "C0GENERAL"


def sessions_of(rows: list[str]) -> int:
    return len(set(rows))


async def calm(town: Town) -> None:
    """Everything sent before has been dealt with: a later message went all the way."""
    town.model.add(say("calm"))
    await town.ask("<@UBOT> are you calm?")
    await town.wait_idle()


# SL-01


async def test_reply_in_a_thread_is_answered_under_the_root_in_one_session_sl_01(
    tmp_path: Path,
) -> None:
    async with scripted_town(tmp_path, [say("first"), say("second")]) as town:
        root = await town.ask("<@UBOT> hello")
        reply = await town.ask("and now?", root.ts)
        await town.wait_idle()

        posts = [post for post in town.slack.workspace.posts[CHANNEL] if post.bot_id]
        assert [post.arguments["thread_ts"] for post in posts] == [root.ts, root.ts]
        assert reply.ts not in [post.thread_ts for post in posts]
        assert await town.count("sessions") == 1
        assert await town.rows("threads", "thread") == [root.ts]
        assert town.slack.counters()["refused"] == {}


async def test_stamps_stay_text_with_their_trailing_zeros_sl_01(tmp_path: Path) -> None:
    async with scripted_town(tmp_path, [say("first"), say("second")]) as town:
        seconds = town.slack.workspace.next_ts().partition(".")[0]
        root_ts, reply_ts = f"{seconds}.000100", f"{seconds}.000200"
        root = Posted(CHANNEL, root_ts, "U0ANA", "<@UBOT> hello")
        reply = Posted(CHANNEL, reply_ts, "U0ANA", "and now?", thread_ts=root_ts)
        for number, post in enumerate((root, reply), start=1):
            town.slack.workspace.add_post(post)
            await town.slack.announcer.posted(post)
            await town.wait_answers(root_ts, number)

        assert await town.rows("inbox", "message_id") == [root_ts, reply_ts]
        assert answers(town.slack, root_ts) == ["first", "second"]
        assert all(post.thread_ts == root_ts for post in town.slack.bot_posts(CHANNEL))


async def test_root_seen_again_after_its_first_reply_is_the_same_message_sl_01(
    tmp_path: Path,
) -> None:
    async with scripted_town(tmp_path, [say("first")]) as town:
        root = await town.ask("<@UBOT> hello")
        again = town.slack.announcer.writer.posted(root)
        assert again["thread_ts"] == root.ts
        await town.slack.send_event(again)
        await calm(town)

        assert await town.count("turns") == 2
        assert answers(town.slack, root.ts) == ["first"]


async def test_bare_message_of_nobody_concerned_starts_nothing_sl_01(tmp_path: Path) -> None:
    async with scripted_town(tmp_path) as town:
        await town.slack.say("lunch?")
        await calm(town)

        assert await town.count("sessions") == 1
        assert len(town.slack.bot_posts()) == 1


# SL-02


@pytest.mark.parametrize("order", ["AB", "BA", "A", "B"])
async def test_mention_is_one_turn_in_every_order_of_its_events_sl_02(
    tmp_path: Path, order: str
) -> None:
    async with scripted_town(tmp_path, [say("all well")]) as town:
        post = await town.slack.say("<@UBOT> status", order=order, gap_s=0.25)
        await calm(town)

        assert answers(town.slack, post.ts) == ["all well"]
        assert len(town.slack.bot_posts(CHANNEL, post.ts)) == 1
        assert await town.rows("outbox", "kind", kind="held") == []
        assert await town.count("turns") == 2
        assert town.slack.counters()["unacked"] == 0


async def test_next_message_ten_milliseconds_later_is_a_turn_of_its_own_sl_02(
    tmp_path: Path,
) -> None:
    async with scripted_town(tmp_path, [say("one"), say("two")]) as town:
        first = await town.slack.say("<@UBOT> status", gap_s=0.01)
        second = await town.slack.say("<@UBOT> status")
        await town.wait_answers(first.ts, 1)
        await town.wait_answers(second.ts, 1)
        await town.wait_idle()

        assert await town.count("turns") == 2
        assert sorted(answers(town.slack, first.ts) + answers(town.slack, second.ts)) == [
            "one",
            "two",
        ]


# SL-03; times do not matter to the dedupe key, so the retries follow each other at once


async def test_retries_during_a_slow_answer_are_acknowledged_and_dropped_sl_03(
    tmp_path: Path,
) -> None:
    brake = Brake("the slow answer")
    async with scripted_town(tmp_path, [brake]) as town:
        post = await town.slack.say("<@UBOT> think hard", order="B")
        await brake.begun.wait()
        envelope = town.slack.hub.envelopes[0]
        await town.wait_for(lambda: envelope.is_acked)
        for retry in (1, 2, 3):
            envelope.retries, envelope.is_acked = retry, False
            await town.slack.hub._send(envelope)
            await town.wait_for(lambda: envelope.is_acked)
        assert len(envelope.ids) == 4
        assert len(town.model.steps) == 1

        brake.go.set()
        await town.wait_answers(post.ts, 1)
        await calm(town)

        assert len(town.model.steps) == 2
        assert answers(town.slack, post.ts) == ["the slow answer"]
        assert await town.rows("outbox", "kind", kind="held") == []


async def test_lost_acknowledgements_lead_to_retries_and_one_answer_sl_03(tmp_path: Path) -> None:
    async with scripted_town(tmp_path) as town:
        brake = Brake("once")
        town.model.replies = [brake]
        town.slack.fault("ignore_ack", times=2)
        post = await town.slack.say("<@UBOT> hello", order="A")
        envelope = town.slack.hub.envelopes[0]
        await town.wait_for(lambda: envelope.is_acked)
        brake.go.set()
        await calm(town)

        assert town.slack.hub.counters["acks_ignored"] == 2
        assert len(envelope.ids) >= 2
        assert answers(town.slack, post.ts) == ["once"]
        assert len(town.model.steps) == 2


# SL-04


async def test_previews_and_changes_of_our_own_answer_reach_nobody_sl_04(tmp_path: Path) -> None:
    async with scripted_town(tmp_path, [say("see https://x.test/a")]) as town:
        post = await town.ask("<@UBOT> where?")
        (own,) = town.slack.bot_posts(CHANNEL, post.ts)
        await town.slack.unfurl(CHANNEL, own.ts)
        await town.slack.announcer.deleted(own)
        await town.slack.unfurl(CHANNEL, post.ts)
        await calm(town)

        assert await town.count("turns") == 2
        assert answers(town.slack, post.ts) == ["see <https://x.test/a>"]
        assert await town.rows("inbox", "kind", kind="edit") == []


def hidden_change(user: str, text: str, old: str) -> JsonObject:
    message: JsonObject = {"user": user, "text": text, "ts": "1.1", "attachments": [{}]}
    if user == "UBOT":
        message["bot_id"] = "BBOT"
    return {
        "type": "message",
        "subtype": "message_changed",
        "hidden": True,
        "channel": "D0ANA",
        "channel_type": "im",
        "ts": "1.2",
        "event_ts": "1.2",
        "message": message,
        "previous_message": {"text": old, "ts": "1.1", "user": user},
    }


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(hidden_change("UBOT", "T", "T"), id="own"),
        pytest.param(hidden_change("U0ANA", "T", "T"), id="person"),
        pytest.param(hidden_change("U0ANA", "T2", "T"), id="edit-of-the-unknown"),
        pytest.param(hidden_change("U0ANA", "", "T"), id="edit-to-nothing"),
        pytest.param(
            hidden_change("U0ANA", "T", "T")
            | {"subtype": "message_deleted", "deleted_ts": "1.1", "message": {}},
            id="deletion",
        ),
    ],
)
async def test_hidden_change_starts_no_turn_and_posts_nothing_sl_04(
    tmp_path: Path, event: JsonObject
) -> None:
    async with scripted_town(tmp_path) as town:
        envelope = await town.slack.send_event(event)
        await town.wait_for(lambda: envelope.is_acked)
        await calm(town)

        assert await town.count("turns") == 1
        assert town.slack.bot_posts("D0ANA") == []
        assert [row for row in await town.rows("inbox", "text") if not row] == []


async def test_edit_to_nothing_of_a_queued_message_never_makes_an_empty_turn_sl_04(
    tmp_path: Path,
) -> None:
    brake = Brake("first answer")
    async with scripted_town(tmp_path, [brake, say("second answer")]) as town:
        root = await town.slack.say("<@UBOT> first")
        await brake.begun.wait()
        second = await town.slack.say("second", thread_ts=root.ts)
        await town.slack.edit(CHANNEL, second.ts, "")
        envelope = town.slack.hub.envelopes[-1]
        await town.wait_for(lambda: envelope.is_acked)

        brake.go.set()
        await town.wait_idle()
        await calm(town)

        asked = [step.messages[-1].text for step in town.model.steps]
        assert all("(no text)" not in text for text in asked)


# SL-08; what the socket does is told in the wire tests, here what becomes of the messages


async def test_event_unacknowledged_at_a_refresh_is_one_turn_sl_08_b(tmp_path: Path) -> None:
    async with scripted_town(tmp_path, [say("once")]) as town:
        town.slack.fault("ignore_ack")
        post = await town.slack.say("<@UBOT> hello", order="A")
        envelope = town.slack.hub.envelopes[0]
        await town.slack.hub.disconnect_all("refresh_requested")
        await town.wait_for(lambda: town.slack.hub.counters["connections"] == 2)
        await town.wait_for(lambda: envelope.is_acked)
        await calm(town)

        assert answers(town.slack, post.ts) == ["once"]
        assert await town.count("turns") == 2
        counters = town.slack.hub.counters
        assert counters["opens"] == town.slack.api.calls["apps.connections.open"]
        assert (counters["opens"], counters["used_ticket"]) == (counters["connections"], 0)


async def test_what_was_said_while_the_socket_was_dead_is_read_back_and_answered_once_sl_08_a(
    tmp_path: Path,
) -> None:
    async with scripted_town(tmp_path, [say("hello"), say("root"), say("reply")]) as town:
        known = await town.ask("<@UBOT> hello")
        await town.wait_idle()
        stamp = town.slack.workspace.next_ts
        missed_root = Posted(CHANNEL, stamp(), "U0BEN", "<@UBOT> were you away?")
        missed_reply = Posted(CHANNEL, stamp(), "U0BEN", "and here?", thread_ts=known.ts)
        for post in (missed_root, missed_reply):  # Slack never tells anyone of these
            town.slack.workspace.add_post(post)
        town.model.replies.sort(key=lambda reply: reply.message.text)

        town.slack.hub.kill_all()
        await town.wait_answers(missed_root.ts, 1, 20)
        await town.wait_answers(known.ts, 2, 20)
        await town.wait_idle()

        assert len(answers(town.slack, missed_root.ts)) == 1
        assert len(answers(town.slack, known.ts)) == 2
        assert await town.count("turns") == 3
        assert await town.rows("inbox", "state") == ["done"] * 3
