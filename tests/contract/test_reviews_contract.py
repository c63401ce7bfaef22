"""Every channel: an answer that fails its check waits for an operator, and nobody else reads it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.contract_cases import on
from fakes.contract_daemon import Serving, serving
from fakes.contract_platform import ContractPlatform
from fakes.gate_room import make_tool
from fakes.review_room import AGAIN, REJECT, RELEASE, REVISE, SHOW
from fakes.scripted_judge import BROKEN, FAILED, PASSED, PERSONAL, ScriptedJudge
from fakes.scripted_model import call, say
from sqlalchemy import select

from geode.messages import Place
from geode.reply import sentences
from geode.store.database import Tx
from geode.store.review_tables import reviews
from geode.store.sessions import find_thread
from geode.store.tables import cards, outbox, outbox_parts, turns

DRAFT, BETTER = "the quiet draft", "the better answer"


async def find_card(serves: Serving, count: int = 1) -> str:
    """The id of the message that shows the newest of so many cards, once it is delivered."""
    query = (
        select(outbox_parts.c.message_id)
        .join(outbox, outbox.c.id == outbox_parts.c.outbox_id)
        .where(outbox.c.kind == "card", outbox_parts.c.state.in_(("committed", "reconciled")))
        .order_by(outbox.c.id.desc())
    )
    found: list[str] = []

    async def look() -> list[str]:
        return await serves.daemon.store.read(lambda tx: list(tx.execute(query).scalars()))

    while len(found) < count:
        found = await look()
        await asyncio.sleep(0.01)
    return found[0]


async def find_desk(serves: Serving) -> Place:
    """Where the one card stands."""

    def look(tx: Tx) -> Place:
        session_id = tx.execute(select(cards.c.session_id)).scalar_one()
        return Place(find_thread(tx, session_id))

    return await serves.daemon.store.read(look)


def stands(serves: Serving, place: Place, words: str) -> bool:
    return any(words in text for text in serves.platform.shown(place))


def was_told(platform: ContractPlatform, place: Place, who: str, words: str) -> bool:
    return any(words in text for text in (*platform.whispers(who), *platform.shown(place)))


@on("buttons")
async def test_answer_waits_through_a_restart_and_is_released_by_an_operator_once(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    judge = ScriptedJudge([FAILED])
    async with serving(platform, tmp_path, [say(DRAFT)], judge=judge) as serves:
        place, _ = await serves.begin("write it", "ben")
        message_id = await find_card(serves)
        await serves.wait_for(lambda: stands(serves, place, "waits for an operator"))
        assert platform.labels(place, message_id) == [RELEASE, REVISE, REJECT, SHOW]
        assert not stands(serves, place, DRAFT)

    async with serving(platform, tmp_path, [], judge=ScriptedJudge()) as serves:
        await platform.press(place, message_id, RELEASE, "ben")
        await serves.wait_for(lambda: was_told(platform, place, "ben", sentences.ONLY_OPERATORS))
        assert await serves.column(reviews.c.state) == ["open"]
        assert not stands(serves, place, DRAFT)

        if platform.name == "telegram":
            # A bot may not begin a chat: this operator has written to it before.
            await platform.begin("hello", "direct", "ana")
            await serves.wait_for(lambda: serves.model.steps)
        await platform.press(place, message_id, SHOW, "ana")
        await serves.wait_for(lambda: any(DRAFT in text for text in platform.whispers("ana")))
        assert not stands(serves, place, DRAFT)
        assert await serves.column(reviews.c.state) == ["open"]

        await platform.press(place, message_id, RELEASE, "ana")
        await serves.wait_for(lambda: stands(serves, place, DRAFT))
        await serves.wait_for(lambda: not platform.labels(place, message_id))
        assert await serves.column(reviews.c.state) == ["released"]
        assert "released" in await serves.column(turns.c.verification)
        assert len(serves.model.steps) == (platform.name == "telegram")


@on("buttons")
async def test_words_of_the_operator_become_the_next_attempt(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    judge = ScriptedJudge([FAILED, PASSED])
    async with serving(platform, tmp_path, [say(DRAFT), say(BETTER)], judge=judge) as serves:
        place, _ = await serves.begin("write it", "ben")
        message_id = await find_card(serves)

        await platform.press(place, message_id, REVISE, "ana", "name the source")

        await serves.wait_for(lambda: stands(serves, place, BETTER))
        assert "name the source" in serves.model.steps[-1].messages[-1].text
        await serves.wait_for(lambda: stands(serves, place, "Another version was asked for"))
        assert not stands(serves, place, DRAFT)


@on("buttons")
async def test_card_of_an_earlier_candidate_decides_nothing_of_the_next(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    judge = ScriptedJudge([FAILED, BROKEN, PASSED])
    async with serving(platform, tmp_path, [say(DRAFT), say(BETTER)], judge=judge) as serves:
        place, _ = await serves.begin("write it", "ben")
        first = await find_card(serves)
        await platform.press(place, first, REVISE, "ana", "name the source")
        second = await find_card(serves, 2)
        assert second != first
        await serves.wait_for(lambda: not platform.labels(place, first))
        assert platform.labels(place, second) == [RELEASE, REVISE, REJECT, AGAIN, SHOW]

        await platform.press(place, second, AGAIN, "ana")

        await serves.wait_for(lambda: stands(serves, place, BETTER))
        assert sorted(await serves.column(reviews.c.state)) == ["rejudging", "revising"]


@pytest.mark.parametrize("words", ["it is too vague"])
@on("buttons")
async def test_rejection_is_told_to_the_asker_with_its_reason(
    platform: ContractPlatform, tmp_path: Path, words: str
) -> None:
    judge = ScriptedJudge([FAILED])
    async with serving(platform, tmp_path, [say(DRAFT)], judge=judge) as serves:
        place, _ = await serves.begin("write it", "ben")
        message_id = await find_card(serves)

        await platform.press(place, message_id, REJECT, "ana", words)

        await serves.wait_for(lambda: stands(serves, place, "did not release it"))
        assert stands(serves, place, words)
        assert not stands(serves, place, DRAFT)


@on("top")
async def test_answer_is_shown_and_decided_where_reviewers_read(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    judge = ScriptedJudge([FAILED])
    async with serving(platform, tmp_path, [say(DRAFT)], judge=judge, review_aside=True) as serves:
        place, _ = await serves.begin("write it", "ben")
        message_id = await find_card(serves)
        desk = await find_desk(serves)
        assert platform.labels(desk, message_id) == [RELEASE, REVISE, REJECT]
        assert stands(serves, desk, DRAFT)
        await serves.wait_for(lambda: stands(serves, place, "waits for an operator"))
        assert not stands(serves, place, DRAFT)

        await platform.press(desk, message_id, RELEASE, "ben")
        await platform.press(desk, message_id, RELEASE, "ana")

        await serves.wait_for(lambda: stands(serves, place, DRAFT))
        await serves.wait_for(lambda: stands(serves, place, "The answer was released"))
        await serves.wait_for(lambda: not platform.labels(desk, message_id))
        (by,) = await serves.column(reviews.c.decided_by)
        assert by == f"{platform.name}:{platform.bindings[0]['operators'][0]}"


@on("buttons")
async def test_answer_with_personal_data_is_shown_to_no_reviewer(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    tool = make_tool("nothing_known")
    replies = [call(("nothing_known", {})), say(DRAFT)]
    judge = ScriptedJudge([PERSONAL])
    async with serving(platform, tmp_path, replies, (tool.tool,), judge=judge) as serves:
        place, _ = await serves.begin("write it", "ben")
        message_id = await find_card(serves)
        if platform.name == "telegram":
            serves.model.replies.append(say("hello"))
            await platform.begin("hello", "direct", "ana")
            await serves.wait_for(lambda: len(serves.model.steps) == 3)

        await platform.press(place, message_id, SHOW, "ana")

        await serves.wait_for(lambda: any("own data" in t for t in platform.whispers("ana")))
        assert not any(DRAFT in text for text in platform.whispers("ana"))
        assert not stands(serves, place, DRAFT)
