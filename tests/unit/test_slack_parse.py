"""Slack's payloads: what becomes a message, what is dropped, and under which name."""

import pytest

from channels.rehearsal.slack_events import EventWriter
from channels.rehearsal.slack_state import Posted, Workspace
from channels.slack.entities import read_text
from channels.slack.origin import BotIdentity, Dropped
from channels.slack.parse import parse_payload, quote_message
from channels.slack.stamps import order_key, ts_to_us, us_to_ts
from geode.messages import InboundMessage, JsonObject, Thread

BOT = BotIdentity("UBOT", "BBOT", "T1", "geode")


def envelope(event: JsonObject, event_id: str = "Ev1", team: str = "T1") -> JsonObject:
    return {"type": "event_callback", "team_id": team, "event_id": event_id, "event": event}


def message(**fields: object) -> JsonObject:
    event = {"type": "message", "channel": "C1", "channel_type": "channel", "user": "U1"}
    event |= {"text": "hello", "ts": "1700000000.000100"}
    return {**event, **fields}  # type: ignore[dict-item]


def parsed(event: JsonObject, event_id: str = "Ev1") -> InboundMessage:
    result = parse_payload(envelope(event, event_id), BOT)
    assert isinstance(result, InboundMessage), result
    return result


def dropped(event: JsonObject) -> str:
    result = parse_payload(envelope(event), BOT)
    assert isinstance(result, Dropped), result
    return result.reason


def test_reply_keeps_the_threads_own_stamp_as_text_sl_01() -> None:
    reply = message(ts="1700000100.000200", thread_ts="1700000000.000100", text="and now?")

    assert parsed(reply).thread == Thread("slack", "T1", "C1", "1700000000.000100")
    assert parsed(reply).message_id == "1700000100.000200"
    assert parsed(reply).has_earlier


@pytest.mark.parametrize("fields", [{}, {"thread_ts": "1700000000.000100"}], ids=["new", "again"])
def test_root_belongs_to_its_own_thread_sl_01(fields: dict[str, object]) -> None:
    root = parsed(message(**fields))

    assert root.thread.thread == "1700000000.000100"
    assert not root.has_earlier
    assert root.reply_to == ""


def test_mention_and_message_of_one_text_have_one_dedupe_key_sl_02() -> None:
    text = "<@UBOT> how is it going"
    mention = parsed(message(type="app_mention", text=text, channel_type=""), "Ev1")
    plain = parsed(message(text=text), "Ev2")

    assert mention == plain
    assert mention.dedupe_key == "T1/C1/1700000000.000100"
    assert mention.is_addressed
    assert mention.text == "how is it going"


def test_next_message_has_a_dedupe_key_of_its_own_sl_02() -> None:
    assert parsed(message()).dedupe_key != parsed(message(ts="1700000000.010100")).dedupe_key


PREVIEW_OF_OURS: JsonObject = {
    "type": "message",
    "subtype": "message_changed",
    "hidden": True,
    "channel": "D1",
    "channel_type": "im",
    "message": {"user": "UBOT", "bot_id": "B1", "text": "T", "ts": "1.1", "attachments": [{}]},
    "previous_message": {"text": "T", "ts": "1.1"},
}


def test_link_preview_of_our_own_answer_is_dropped_sl_04() -> None:
    assert dropped(PREVIEW_OF_OURS) == "own_message"


def test_link_preview_of_a_persons_message_is_dropped_sl_04() -> None:
    preview = {**PREVIEW_OF_OURS, "message": {"user": "U1", "text": "T", "ts": "1.1"}}

    assert dropped(preview) == "change_without_new_text"


def test_edit_with_new_words_is_an_edit_of_that_message_sl_04() -> None:
    edit: JsonObject = {
        **PREVIEW_OF_OURS,
        "message": {"user": "U1", "text": "new", "ts": "1.1", "edited": {"ts": "2.1"}},
    }

    found = parsed(edit, "Ev9")

    assert (found.kind, found.text, found.message_id) == ("edit", "new", "1.1")
    assert found.dedupe_key == "T1/Ev9"


def test_edit_to_nothing_never_becomes_an_empty_message_sl_04() -> None:
    edit = {**PREVIEW_OF_OURS, "message": {"user": "U1", "text": "", "ts": "1.1"}}

    assert dropped(edit) == "empty_text"


def test_deletion_names_the_message_and_its_author_sl_04() -> None:
    deletion: JsonObject = {
        "type": "message",
        "subtype": "message_deleted",
        "channel": "C1",
        "channel_type": "channel",
        "ts": "5.0",
        "deleted_ts": "1.000100",
        "previous_message": {"user": "U1", "text": "x", "ts": "1.000100", "thread_ts": "0.100000"},
    }

    found = parsed(deletion)

    assert (found.kind, found.message_id, found.text) == ("delete", "1.000100", "")
    assert found.thread.thread == "0.100000"
    assert dropped({**deletion, "previous_message": {"user": "UBOT", "bot_id": "BBOT"}}) == (
        "own_message"
    )


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (message(bot_id="B9", subtype="bot_message"), "bot_message"),
        (message(bot_id="B9"), "bot_message"),
        (message(user="UBOT"), "own_message"),
        (message(subtype="channel_join"), "subtype.channel_join"),
        (message(subtype="channel_topic"), "subtype.channel_topic"),
        (message(text=""), "empty_text"),
        (message(user=""), "no_author"),
        (message(ts=1.5), "malformed"),
        ({"type": "reaction_added"}, "event.reaction_added"),
        ({}, "event.unknown"),
    ],
)
def test_what_is_no_message_is_dropped_under_a_name(event: JsonObject, reason: str) -> None:
    assert dropped(event) == reason


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ({"command": "/geode", "channel_id": "C1"}, "malformed"),
        ({"type": "block_actions"}, "action.unknown"),
        ({"type": "view_submission"}, "view.unknown"),
        ({"type": "view_closed"}, "payload.view_closed"),
        ({}, "payload.unknown"),
    ],
)
def test_payload_that_is_no_event_is_named(payload: JsonObject, reason: str) -> None:
    assert parse_payload(payload, BOT) == Dropped(reason)


def test_direct_message_is_one_thread_and_always_addressed() -> None:
    direct = parsed(message(channel="D1", channel_type="im"))

    assert direct.thread == Thread("slack", "T1", "D1", "")
    assert direct.is_addressed
    assert direct.is_direct
    assert direct.reply_to == ""


def test_threaded_direct_message_is_answered_where_it_stands() -> None:
    direct = parsed(message(channel="D1", channel_type="im", thread_ts="1600000000.000000"))

    assert direct.thread.thread == ""
    assert direct.reply_to == "1600000000.000000"


def test_team_is_the_envelopes_not_the_authors() -> None:
    shared = message(team="T9FOREIGN", user_team="T9FOREIGN")

    assert parsed(shared).thread.workspace == "T1"


FILE: JsonObject = {
    "id": "F1",
    "name": "plan.pdf",
    "mimetype": "application/pdf",
    "size": 7,
    "url_private": "https://files.slack.com/F1",
    "url_private_download": "https://files.slack.com/F1/download",
}


def test_file_without_words_is_a_message() -> None:
    shared = parsed(message(subtype="file_share", text="", files=[FILE]))

    (file,) = shared.files
    assert shared.text == ""
    assert (file.id, file.name, file.media_type, file.size_bytes) == (
        *("F1", "plan.pdf"),
        *("application/pdf", 7),
    )
    assert file.url == "https://files.slack.com/F1/download"


def test_file_outside_slack_has_no_address_and_a_removed_one_is_none() -> None:
    elsewhere = {**FILE, "is_external": True, "url_private": "https://drive.test/F1"}
    removed = {"id": "F2", "mode": "tombstone"}

    (file,) = parsed(message(files=[elsewhere, removed])).files

    assert file.url == ""


def test_file_of_a_shared_channel_is_known_by_its_id_only() -> None:
    hidden = {"id": "F1", "file_access": "check_file_info"}

    (file,) = parsed(message(text="", files=[hidden])).files

    assert (file.id, file.name, file.url) == ("F1", "F1", "")


def test_words_of_a_command_beside_a_file_are_a_message() -> None:
    assert parsed(message(text="!new", files=[FILE])).text == "!new"


def test_group_direct_message_is_a_shared_place() -> None:
    group = parsed(message(channel="G0GROUP", channel_type="mpim"))

    assert group.thread == Thread("slack", "T1", "G0GROUP", "1700000000.000100")
    assert not group.is_direct
    assert not group.is_addressed


def test_broadcast_reply_is_a_message_of_its_thread() -> None:
    reply = message(subtype="thread_broadcast", thread_ts="1600000000.000000")

    assert parsed(reply).thread.thread == "1600000000.000000"


@pytest.mark.parametrize(
    ("wire", "text"),
    [
        ("<@UBOT> status", "status"),
        ("hey <@UBOT|geode> what   now", "hey what   now"),
        ("<@UBOT>", "@geode"),
        ("a &lt; b &amp;&amp; c &gt; d &amp;lt;", "a < b && c > d &lt;"),
        ("<@U2> in <#C2|random> <!here> <!subteam^S1|@team>", "@U2 in #random @here @team"),
        ("<https://x.test/?a=1&amp;b=2>", "https://x.test/?a=1&b=2"),
        ("<https://x.test/|the site>", "the site (https://x.test/)"),
        ("<http://x.test|x.test>", "http://x.test"),
        ("<mailto:a@x.test|a@x.test>", "a@x.test"),
        ("<!date^1700000000^{date}|today>", "today"),
        ("```\n  x\n    y\n```", "```\n  x\n    y\n```"),
    ],
)
def test_markup_is_read_as_a_person_sees_it(wire: str, text: str) -> None:
    assert read_text(wire, "UBOT", "geode") == text


def test_order_key_sorts_time_stamps_as_text() -> None:
    stamps = ["999999999.000100", "1700000000.000100", "1700000000.000200", "1700000000.010000"]

    assert sorted(stamps, key=order_key) == stamps


def test_time_stamp_converts_without_losing_a_digit() -> None:
    assert ts_to_us("1700000000.000100") == 1_700_000_000_000_100
    assert us_to_ts(1_700_000_000_000_100) == "1700000000.000100"
    assert us_to_ts(-5) == "0.000000"


def test_every_event_of_the_stand_in_is_read_or_named() -> None:
    workspace = Workspace()
    writer = EventWriter(workspace)
    post = workspace.add_post(Posted("C0GENERAL", workspace.next_ts(), "U0ANA", "hi <@UBOT>"))
    at = workspace.next_ts()
    events = [
        writer.posted(post),
        writer.mentioned(post),
        writer.changed(post, "old", at),
        writer.unfurled(post, at),
        writer.deleted(post, at),
        writer.reacted(post, "U0ANA", "eyes", is_added=True),
    ]

    kinds = [parse_payload(writer.callback(event), BOT) for event in events]

    assert [k.kind if isinstance(k, InboundMessage) else k.reason for k in kinds] == [
        "message",
        "message",
        "edit",
        "change_without_new_text",
        "delete",
        "event.reaction_added",
    ]


def test_quote_names_files_and_keeps_the_words_of_commands() -> None:
    file = quote_message({"user": "U1", "text": "", "ts": "1.100000", "files": [FILE]}, BOT)
    command = quote_message({"user": "U1", "text": "!stop", "ts": "1.200000"}, BOT)

    assert file is not None
    assert file.text == "[attached file: plan.pdf]"
    assert command is not None
    assert command.text == "!stop"


def test_quote_keeps_people_and_leaves_bots_out() -> None:
    person = quote_message({"user": "U1", "text": "hi <@U2>", "ts": "1.100000"}, BOT)
    robot = quote_message({"user": "U9", "bot_id": "B9", "text": "beep", "ts": "1.200000"}, BOT)

    assert person is not None
    assert (person.sender.id, person.text) == ("U1", "hi @U2")
    assert robot is None
