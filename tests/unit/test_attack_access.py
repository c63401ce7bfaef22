"""Whatever an event claims beside its author, only the author counts, and a stranger is nobody."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.slack.origin import BotIdentity, Dropped
from channels.slack.parse import SLACKBOT, parse_payload
from geode.intake.access import MOST_PERMISSIVE, Admitted, Ignored, admit
from geode.messages import ButtonPress, ChatCommand, Inbound, JsonObject, Person, Thread
from geode.settings import Binding

BOT = BotIdentity("UBOT", "BBOT", "T1", "geode")
ANA, STRANGER = "U0ANA", "U0STRANGER"
TS, ROOT = "1700000000.000200", "1700000000.000100"


def bind(where: str, **more: object) -> Binding:
    fields = {"channel": "slack", "where": where, "people": (ANA,), "operators": (ANA,)} | more
    return Binding.model_validate(fields)


BINDINGS = [bind("T1/C1", respond="always"), bind("T1/dm")]
CLAIMS: dict[str, JsonObject] = {
    "name": {"username": ANA, "user_name": ANA, "display_name": ANA},
    "profile": {"user_profile": {"id": ANA, "name": ANA}},
    "editor": {"edited": {"user": ANA, "ts": TS}},
    "parent": {"parent_user_id": ANA, "thread_ts": ROOT},
    "author": {"author": ANA, "sender": ANA, "user_id": ANA, "from": {"id": ANA}},
    "team": {"team": "T1", "user_team": "T1", "source_team": "T1"},
    "inviter": {"inviter": ANA, "subtype": "file_share"},
    "action": {"subtype": "me_message", "reply_users": [ANA]},
    "broadcast": {"subtype": "thread_broadcast", "root": {"user": ANA}, "thread_ts": ROOT},
    "previous": {"previous_message": {"user": ANA, "text": "x"}, "message": {"user": ANA}},
    "words": {"text": f"<@UBOT> I am <@{ANA}>, id={ANA}"},
    "shape": {"users": [ANA], "blocks": [{"user": ANA}], "attachments": [{"author_id": ANA}]},
}
USERS: tuple[object, ...] = (
    *(STRANGER, "", None, 7, [ANA], {"id": ANA}, ANA.lower(), f"{ANA} ", f"{ANA}\0"),
    *(f"{ANA}\u200b", "\uff35\uff10\uff21\uff2e\uff21", "U0AN\u0410", "*", "members", SLACKBOT),
)


def envelope(event: JsonObject, **more: object) -> JsonObject:
    whole: dict[str, object] = {"type": "event_callback", "team_id": "T1", "event_id": "Ev1"}
    return whole | {"event": event} | more  # type: ignore[return-value]


def said(user: object, **more: object) -> JsonObject:
    event: dict[str, object] = {"type": "message", "channel": "C1", "channel_type": "channel"}
    return event | {"user": user, "text": "<@UBOT> go", "ts": TS} | more  # type: ignore[return-value]


def outcome(
    payload: JsonObject, bindings: list[Binding] = BINDINGS
) -> Admitted | Ignored | Dropped:
    parsed = parse_payload(payload, BOT)
    return parsed if isinstance(parsed, Dropped) else admit(parsed, bindings, MOST_PERMISSIVE)


def shapes(event: JsonObject) -> list[JsonObject]:
    """One message as every event that may carry it."""
    place: JsonObject = {"type": "message", "channel": "C1", "channel_type": "channel", "user": ANA}
    before: JsonObject = {"user": ANA, "text": "before", "ts": TS}
    changed: JsonObject = {**place, "subtype": "message_changed", "message": event}
    changed |= {"ts": TS, "previous_message": before}
    gone: JsonObject = {
        **place,
        "subtype": "message_deleted",
        "previous_message": event,
        "deleted_ts": TS,
    }
    direct: JsonObject = {**event, "channel": "D1", "channel_type": "im"}
    mention: JsonObject = {**event, "type": "app_mention"}
    return [event, mention, changed, gone, direct]


@pytest.mark.parametrize("user", USERS, ids=repr)
@pytest.mark.parametrize("claim", CLAIMS)
def test_stranger_stays_one_whatever_the_event_claims(claim: str, user: object) -> None:
    for event in shapes({**said(user), **CLAIMS[claim]}):
        assert not isinstance(outcome(envelope(event, user_id=ANA, authed_users=[ANA])), Admitted)


@pytest.mark.parametrize("claim", [name for name in CLAIMS if name != "previous"])
def test_same_event_of_a_listed_person_is_admitted(claim: str) -> None:
    """The positive control."""
    admitted = [outcome(envelope(event)) for event in shapes({**said(ANA), **CLAIMS[claim]})]

    assert all(isinstance(each, Admitted) for each in admitted), admitted


@pytest.mark.parametrize(
    ("where", "fields"),
    [
        pytest.param("T1/C1", {"channel": "C2"}, id="other channel"),
        pytest.param("T1/C1", {"channel": "C1/x"}, id="channel like a path"),
        pytest.param("T2/C1", {}, id="other workspace"),
        pytest.param("T1/C1/1.1", {"thread_ts": ROOT}, id="other thread"),
        pytest.param("T1/dm", {}, id="channel is no direct message"),
        pytest.param("T1/C1", {"channel": "D1", "channel_type": "im"}, id="direct message"),
        pytest.param("T1/dm", {"channel": "G1", "channel_type": "mpim"}, id="group message"),
        pytest.param("T1/C1", {"bot_id": "B1"}, id="a bot as a person"),
        pytest.param("T1/C1", {"user": "UBOT"}, id="we ourselves"),
    ],
)
def test_listed_person_elsewhere_is_not_admitted(where: str, fields: JsonObject) -> None:
    event = {**said(ANA), **fields}
    binding = bind(where) if where.endswith("dm") else bind(where, people="members")

    assert not isinstance(outcome(envelope(event), [binding]), Admitted)


def test_slacks_own_bot_is_no_member() -> None:
    open_room = [bind("T1/C1", people="members")]

    assert outcome(envelope(said(SLACKBOT)), open_room) == Dropped("bot_message")
    assert isinstance(outcome(envelope(said(STRANGER)), open_room), Admitted)


@pytest.mark.parametrize(
    "event",
    [
        ButtonPress(Thread("slack", "T1", "C1", TS), TS, Person(STRANGER), "n", "k"),
        ChatCommand(Thread("slack", "T1", "C1", TS), Person(STRANGER), "status", "", "k"),
    ],
    ids=["button", "command"],
)
def test_other_doors_ask_the_same_question(event: Inbound) -> None:
    assert admit(event, BINDINGS, MOST_PERMISSIVE) == Ignored("access.stranger")
    if isinstance(event, ButtonPress):
        known: Inbound = replace(event, presser=Person(ANA))
    else:
        known = replace(event, sender=Person(ANA))  # type: ignore[call-arg]
    assert isinstance(admit(known, BINDINGS, MOST_PERMISSIVE), Admitted)


def test_admission_cannot_be_made_or_changed_outside() -> None:
    admitted = outcome(envelope(said(ANA)))
    assert isinstance(admitted, Admitted)

    with pytest.raises(AssertionError):
        Admitted(admitted.event, admitted.binding, object())
    with pytest.raises(FrozenInstanceError):
        admitted.event = admitted.event  # type: ignore[misc]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.sampled_from([ANA, TS]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["user", "text", "ts", "message", "type", "x"]), inner)
    ),
    max_leaves=8,
)
KEYS = (
    *("type", "subtype", "channel", "channel_type", "text", "ts", "message", "previous_message"),
    *("thread_ts", "bot_id", "edited", "files", "deleted_ts", "hidden", "root", "app_id"),
)


@given(st.dictionaries(st.sampled_from(KEYS), JSON), st.sampled_from(USERS))
def test_no_event_of_a_stranger_is_admitted(fields: JsonObject, user: object) -> None:
    for event in ({**said(user), **fields}, {**said(user), "text": "x", **fields}):
        found = outcome(envelope(event))
        if isinstance(found, Admitted):
            # An edit or deletion belongs to the author of the message inside.
            inner = event.get("message") or event.get("previous_message")
            assert isinstance(inner, dict)
            assert ANA in repr(inner)
