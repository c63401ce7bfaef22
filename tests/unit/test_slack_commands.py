"""Commands on Slack: slash, with a mark, after a mention, by the stop button; and presses."""

import orjson
import pytest

from channels.slack.origin import BotIdentity, Dropped
from channels.slack.parse import parse_payload
from channels.slack.presses import AskWords, write_form
from geode.messages import ButtonPress, ChatCommand, InboundMessage, JsonObject, Thread

BOT = BotIdentity("UBOT", "BBOT", "T1", "geode")


def envelope(event: JsonObject) -> JsonObject:
    return {"type": "event_callback", "team_id": "T1", "event_id": "Ev1", "event": event}


def said(text: str, **fields: object) -> JsonObject:
    event = {"type": "message", "channel": "C1", "channel_type": "channel", "user": "U1"}
    event |= {"text": text, "ts": "1700000100.000200", "thread_ts": "1700000000.000100"}
    return envelope({**event, **fields})  # type: ignore[dict-item]


def command(payload: JsonObject) -> ChatCommand:
    result = parse_payload(payload, BOT)
    assert isinstance(result, ChatCommand), result
    return result


def slash(text: str, channel: str = "C1") -> JsonObject:
    return {
        "command": "/geode",
        "text": text,
        "team_id": "T1",
        "channel_id": channel,
        "user_id": "U1",
        "user_name": "ana",
        "trigger_id": "7.abc",
    }


@pytest.mark.parametrize(
    ("text", "verb", "argument"),
    [
        ("!status", "status", ""),
        ("!Model anthropic/x", "model", "anthropic/x"),
        ("<@UBOT> status", "status", ""),
        ("<@UBOT> !stop", "stop", ""),
        ("<@UBOT|geode>  stop", "stop", ""),
    ],
)
def test_command_in_a_thread_belongs_to_it(text: str, verb: str, argument: str) -> None:
    found = command(said(text))

    assert (found.verb, found.argument) == (verb, argument)
    assert found.thread == Thread("slack", "T1", "C1", "1700000000.000100")
    assert found.message_id == "1700000100.000200"
    assert not found.is_private


@pytest.mark.parametrize(
    "text", ["status", "<@UBOT> stop the server", "!nonsense", "! status", "say !status"]
)
def test_other_words_are_a_message(text: str) -> None:
    assert isinstance(parse_payload(said(text), BOT), InboundMessage)


def test_both_events_of_a_mentioned_command_are_one() -> None:
    plain = said("<@UBOT> !status")
    mention = said("<@UBOT> !status", type="app_mention", channel_type="")

    assert command(plain) == command({**mention, "event_id": "Ev2"})


def test_command_in_a_direct_message_belongs_to_its_one_thread() -> None:
    found = command(said("!new", channel="D1", channel_type="im", thread_ts=""))

    assert found.thread == Thread("slack", "T1", "D1", "")
    assert found.is_direct


def test_edit_into_a_command_is_no_command() -> None:
    changed: JsonObject = {
        "type": "message",
        "subtype": "message_changed",
        "channel": "C1",
        "message": {"user": "U1", "text": "!stop", "ts": "1.000100", "edited": {"ts": "2.0"}},
        "previous_message": {"user": "U1", "text": "!stpo", "ts": "1.000100"},
    }

    found = parse_payload(envelope(changed), BOT)

    assert isinstance(found, InboundMessage)
    assert found.kind == "edit"


def test_slash_command_names_a_channel_and_never_a_thread_sl_01() -> None:
    found = command(slash("status now"))

    assert (found.verb, found.argument) == ("status", "now")
    assert found.thread == Thread("slack", "T1", "C1", "")
    assert found.is_private
    assert (found.sender.id, found.sender.name) == ("U1", "ana")


@pytest.mark.parametrize(
    ("text", "verb"), [("", "help"), ("  ", "help"), ("!Stop", "stop"), ("dance", "dance")]
)
def test_slash_command_always_has_a_verb(text: str, verb: str) -> None:
    assert command(slash(text)).verb == verb


def test_every_slash_command_has_a_dedupe_key_of_its_own() -> None:
    assert command(slash("help")).dedupe_key == "T1/slash/7.abc"
    assert command({**slash("help"), "trigger_id": "8.abc"}).dedupe_key == "T1/slash/8.abc"


def test_stop_button_of_a_thread_is_the_command_stop() -> None:
    stopped: JsonObject = {
        "type": "agent_session_stopped",
        "user": "U1",
        "channel": "C1",
        "thread_ts": "1700000000.000100",
        "streaming_message_ts": [],
    }

    found = command(envelope(stopped))

    assert (found.verb, found.sender.id, found.dedupe_key) == ("stop", "U1", "T1/Ev1")
    assert found.thread == Thread("slack", "T1", "C1", "1700000000.000100")
    assert parse_payload(envelope({**stopped, "thread_ts": ""}), BOT) == Dropped("malformed")
    assert not found.sender.is_external
    assert command(envelope({**stopped, "user_team": "T9"})).sender.is_external


def actions(action: JsonObject, **fields: object) -> JsonObject:
    payload = {
        "type": "block_actions",
        "user": {"id": "U1", "name": "ana", "team_id": "T1"},
        "container": {"channel_id": "C1", "message_ts": "1.000200", "thread_ts": "1.000100"},
        "channel": {"id": "C1"},
        "message": {"bot_id": "BBOT", "ts": "1.000200", "thread_ts": "1.000100"},
        "trigger_id": "9.abc",
        "response_url": "https://hooks.slack.com/actions/x",
        "actions": [action],
    }
    return {**payload, **fields}  # type: ignore[dict-item]


PRESS: JsonObject = {"action_id": "press:nonce-1", "action_ts": "3.5"}


def test_press_names_card_thread_and_person() -> None:
    press = parse_payload(actions(PRESS), BOT)

    assert isinstance(press, ButtonPress)
    assert press.thread == Thread("slack", "T1", "C1", "1.000100")
    assert (press.message_id, press.nonce, press.presser.id) == ("1.000200", "nonce-1", "U1")
    assert press.dedupe_key.startswith("T1/3.5/U1/")
    assert "nonce-1" not in repr(press)


def test_press_in_a_direct_message_belongs_to_its_one_thread() -> None:
    container = {"channel_id": "D1", "message_ts": "1.000200", "thread_ts": "1.000100"}
    press = parse_payload(actions(PRESS, container=container), BOT)

    assert isinstance(press, ButtonPress)
    assert press.thread == Thread("slack", "T1", "D1", "")
    assert press.is_direct


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (actions({"action_id": "feedback", "action_ts": "1.0"}), "action.unknown"),
        (actions({"action_id": "press:", "action_ts": "1.0"}), "action.unknown"),
        (actions(PRESS, actions=[]), "action.unknown"),
        (actions(PRESS, message={"bot_id": "B0OTHER"}), "action.foreign"),
        (actions(PRESS, user={}), "malformed"),
        (actions({"action_id": "press:n"}), "malformed"),
        ({"type": "view_submission", "view": {"callback_id": "other"}}, "view.unknown"),
        (
            {"type": "view_submission", "view": {"callback_id": "geode_words", "id": "V1"}},
            "malformed",
        ),
    ],
)
def test_interaction_that_is_no_press_is_named(payload: JsonObject, reason: str) -> None:
    assert parse_payload(payload, BOT) == Dropped(reason)


def test_form_carries_the_press_there_and_back() -> None:
    ask = parse_payload(
        actions({"action_id": "ask:nonce-2", "action_ts": "3.5", "value": "Why not?"}), BOT
    )
    assert isinstance(ask, AskWords)
    form = write_form(ask)
    state = {"values": {"answer": {"words": {"value": "  because  "}}}}
    submission: JsonObject = {
        "type": "view_submission",
        "user": {"id": "U1", "name": "ana", "team_id": "T1"},
        "view": {**form, "id": "V1", "state": state},
    }

    press = parse_payload(submission, BOT)

    assert isinstance(press, ButtonPress)
    assert (press.thread, press.message_id) == (ask.press.thread, ask.press.message_id)
    assert (press.nonce, press.text) == ("nonce-2", "because")
    assert len(orjson.dumps(form["private_metadata"])) < 3_000
    assert "Why not?" in str(form["blocks"])
