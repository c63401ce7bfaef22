"""Every channel: a call that asks shows its card, waits through a restart, and runs at one yes."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.approval_room import DENY, ONCE, REASON
from fakes.contract_cases import on
from fakes.contract_daemon import Serving, serving
from fakes.contract_platform import ContractPlatform
from fakes.gate_room import Counted, make_tool
from fakes.scripted_model import call, say
from sqlalchemy import select

from geode.messages import Place
from geode.reply import sentences
from geode.steps import Effect
from geode.store.gate_tables import approvals
from geode.store.tables import outbox, outbox_parts, sessions

SEND = ("send", {"text": "to Ada\u202e"})
ASKS = {"tools": ["look"], "ask": ["send"]}


def make_tools() -> tuple[Counted, Counted]:
    return make_tool("look"), make_tool("send", Effect.COMMUNICATE)


async def find_card(serves: Serving) -> str:
    """The id of the message that shows the newest card, once it is delivered."""
    query = (
        select(outbox_parts.c.message_id)
        .join(outbox, outbox.c.id == outbox_parts.c.outbox_id)
        .where(outbox.c.kind == "card", outbox_parts.c.state == "committed")
        .order_by(outbox.c.id.desc())
        .limit(1)
    )
    found = ""
    while not found:
        await serves.wait_column(sessions.c.state, "awaiting_approval")
        found = await serves.daemon.store.read(lambda tx: tx.execute(query).scalar()) or ""
    return found


def stands(serves: Serving, place: Place, words: str) -> bool:
    return any(words in text for text in serves.platform.shown(place))


@on("buttons")
async def test_call_waits_for_an_approver_and_runs_once_after_a_restart(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    look, send = make_tools()
    tools = (look.tool, send.tool)
    replies = [call(SEND, ("look", {"text": "1"}))]
    async with serving(platform, tmp_path, replies, tools, ASKS, approve=True) as serves:
        place, _ = await serves.begin("send it", "ben")
        message_id = await find_card(serves)
        await serves.wait_for(lambda: stands(serves, place, "Allow send?"))
        assert platform.labels(place, message_id) == [ONCE, DENY, REASON]
        assert stands(serves, place, r"u202e")
        assert (len(look.entered), len(send.entered)) == (1, 0)

    async with serving(
        platform, tmp_path, [say("It is sent.")], tools, ASKS, approve=True
    ) as serves:
        await platform.press(place, message_id, ONCE, "ben")
        await serves.wait_for(lambda: _was_told(platform, place, sentences.ONLY_APPROVERS))
        assert await serves.column(approvals.c.state) == ["pending"]

        await platform.press(place, message_id, ONCE, "ana")

        await serves.wait_for(lambda: stands(serves, place, "It is sent."))
        await serves.wait_for(lambda: stands(serves, place, "Allowed once"))
        await serves.wait_for(lambda: not platform.labels(place, message_id))
        assert (len(look.entered), len(send.entered)) == (1, 1)


@pytest.mark.parametrize("label", [DENY, REASON])
@on("buttons")
async def test_no_is_shown_and_told_to_the_agent(
    platform: ContractPlatform, tmp_path: Path, label: str
) -> None:
    _, send = make_tools()
    replies = [call(SEND), say("Then I leave it.")]
    asks = {"ask": ["send"], "tools": []}
    async with serving(platform, tmp_path, replies, (send.tool,), asks, approve=True) as serves:
        place, _ = await serves.begin("send it", "ben")
        message_id = await find_card(serves)

        words = "too late today" if label == REASON else ""
        await platform.press(place, message_id, label, "ana", words)

        await serves.wait_for(lambda: stands(serves, place, "Then I leave it."))
        (result,) = serves.model.steps[-1].messages[-1].results
        assert result.text.startswith("Refused (approval.denied)")
        assert words in result.text
        assert len(send.entered) == 0
        await serves.wait_for(lambda: stands(serves, place, "Denied"))


def _was_told(platform: ContractPlatform, place: Place, words: str) -> bool:
    return any(words in text for text in (*platform.whispers("ben"), *platform.shown(place)))
