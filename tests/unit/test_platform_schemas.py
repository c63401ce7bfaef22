"""Every request of the suite is held against its platform's schema, and the check can fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from fakes.schema_check import Listener, check_of, judge

from channels.rehearsal.observers import Heard, observed_by, read_from, tell, write_to

BLOCK = {"type": "section", "text": {"type": "mrkdwn", "text": "hi", "verbatim": True}}
POST = {"channel": "C1", "text": "hi", "blocks": [BLOCK]}
SAY = {"content": "hi", "nonce": "1", "enforce_nonce": True, "allowed_mentions": {"parse": []}}
ROOM = "/channels/910000000000000021"
SEND = {"chat_id": "-100", "text": "hi", "entities": '[{"type":"bold","offset":0,"length":2}]'}

RIGHT: dict[str, tuple[str, str, Any]] = {
    "slack post": ("slack", "chat.postMessage", POST),
    "slack form": ("slack", "reactions.add", {"channel": "C1", "timestamp": "1", "name": "eyes"}),
    "discord post": ("discord", f"POST {ROOM}/messages", SAY),
    "discord mark": ("discord", f"PUT {ROOM}/messages/1/reactions/x/@me", None),
    "telegram post": ("telegram", "sendMessage", SEND),
}
WRONG: dict[str, tuple[str, str, Any, str]] = {
    "slack method": ("slack", "chat.shout", {}, "no such method"),
    "slack argument": ("slack", "chat.postMessage", POST | {"loud": True}, "argument loud"),
    "slack argument left out": ("slack", "chat.update", {"channel": "C1"}, "argument ts"),
    "slack block": ("slack", "chat.postMessage", POST | {"blocks": [{"type": "x"}]}, "block 'x'"),
    "slack field": (
        "slack",
        "chat.postMessage",
        POST | {"blocks": [BLOCK | {"loud": True}]},
        "loud",
    ),
    "slack form": ("slack", "views.open", {"trigger_id": "1", "view": {"type": "modal"}}, "blocks"),
    "discord address": ("discord", "POST /shouts", {}, "no such operation"),
    "discord field": ("discord", f"POST {ROOM}/messages", SAY | {"loud": True}, "loud"),
    "discord kind": ("discord", f"POST {ROOM}/messages", SAY | {"content": 1}, "content"),
    "discord length": ("discord", f"POST {ROOM}/messages", SAY | {"nonce": "n" * 26}, "nonce"),
    "discord body": ("discord", f"POST {ROOM}/typing", {"loud": True}, "a body"),
    "telegram method": ("telegram", "shout", {}, "no such method"),
    "telegram argument": ("telegram", "sendMessage", SEND | {"loud": "true"}, "loud"),
    "telegram argument left out": ("telegram", "sendMessage", {"chat_id": "1"}, "text"),
    "telegram nested": ("telegram", "sendMessage", SEND | {"entities": '[{"type":"b"}]'}, "offset"),
    "telegram kind": ("telegram", "setMessageReaction", {"chat_id": "1", "message_id": "x"}, "'x'"),
}


@pytest.mark.parametrize(("platform", "address", "body"), RIGHT.values(), ids=RIGHT)
def test_right_request_passes(platform: str, address: str, body: Any) -> None:
    assert check_of(platform)(Heard(platform, address, body)) == []


@pytest.mark.parametrize(("platform", "address", "body", "reason"), WRONG.values(), ids=WRONG)
def test_wrong_request_is_refused_with_its_reason(
    platform: str, address: str, body: Any, reason: str
) -> None:
    said = judge(orjson.dumps(Heard(platform, address, body)))

    assert said
    assert reason in said[0]
    assert address in said[0]


def test_unknown_query_field_is_refused() -> None:
    heard = Heard("discord", f"GET {ROOM}/messages", None, {"limit": "1", "loudness": "2"})

    assert check_of("discord")(heard) == ["unknown query field loudness"]


@pytest.mark.foreign_requests
def test_request_of_another_process_is_judged_too(tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    wrong = Heard("telegram", "shout", {})
    with observed_by(write_to(file)):
        tell(wrong)

    assert read_from(file) == [wrong]
    assert len(Listener(file).violations()) == 1


@pytest.mark.foreign_requests
def test_observer_hears_nothing_after_its_block(tmp_path: Path) -> None:
    listener = Listener(tmp_path / "none")
    with observed_by(listener.hear):
        pass
    tell(Heard("telegram", "getMe", {}))

    assert listener.heard == []
