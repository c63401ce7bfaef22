"""Every channel: a message for another place stands there once, signed, pinging nobody."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.contract_cases import on
from fakes.contract_daemon import serving
from fakes.contract_platform import ContractPlatform
from fakes.contract_telegram import TelegramPlatform
from fakes.scripted_model import call, say

from geode.messages import Place
from geode.session.outlet import read_place
from geode.store.tables import outbox, receipts, sessions

pytestmark = pytest.mark.timeout(60)


def destination(platform: ContractPlatform) -> str:
    """The place beside the one in which people talk, as an operator writes it."""
    binding = platform.bindings[1]
    return f"{binding['channel']}:{binding['where']}"


def grant(to: str) -> dict[str, object]:
    """A profile that may send there."""
    return {"tools": ["send_message"], "send_to": [to]}


@on("top")
async def test_a_message_for_a_listed_place_stands_there_once(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    to = destination(platform)
    send = call(("send_message", {"to": to, "text": "Lunch is **here** @everyone"}))
    replies = [send, send, say("I told them.")]
    there = Place(read_place(to))
    async with serving(platform, tmp_path, replies, profile=grant(to)) as serves:
        place, _ = await serves.begin("tell the others")
        await serves.wait_for(lambda: "I told them." in platform.shown(place))
        await serves.wait_column(sessions.c.state, "idle", "idle")
        await serves.wait_for(lambda: len(platform.shown(there)) == 1)

        (told,) = platform.shown(there)
        assert "Sent by Geode at the request of" in told
        assert "Lunch is" in told
        assert "Lunch" not in " ".join(platform.shown(place))
        assert await serves.column(receipts.c.state) == ["committed"]
        assert (await serves.column(outbox.c.kind)).count("sent") == 1
        results = serves.model.steps[-1].messages[-1].results
        assert results[0].text == f"Stored for {to}; it is delivered by itself, once. " + (
            "Do not send it again."
        )


@on("top")
async def test_a_message_whose_answer_is_lost_stands_there_once(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    if isinstance(platform, TelegramPlatform):
        return  # nobody can look there; its own test says what becomes of such a send
    to = destination(platform)
    replies = [call(("send_message", {"to": to, "text": "only once"})), say("done")]
    there = Place(read_place(to))
    async with serving(platform, tmp_path, replies, profile=grant(to)) as serves:
        platform.hold_sends("only once", 0.0)
        place, _ = await serves.begin("tell the others")
        await serves.wait_for(lambda: "done" in platform.shown(place))
        await serves.wait_for(lambda: platform.shown(there))

        assert len(platform.shown(there)) == 1
