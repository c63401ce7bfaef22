"""Every command, on every platform, by every kind of person, in every state of a session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fakes.asked import put_reviews
from fakes.command_table import (
    CHANGES_COURSE,
    NO_CONVERSATION,
    PEOPLE,
    STATES,
    Cell,
    Expected,
    Form,
    expect,
    list_cells,
)
from fakes.contract_cases import on
from fakes.contract_desk import Desk, open_desk
from fakes.contract_platform import ContractPlatform, Who
from fakes.contract_slack import SlackPlatform
from fakes.contract_telegram import TelegramPlatform
from sqlalchemy import delete, func, select, update

from channels.fields import text_of
from channels.slack.whispers import NOT_YOURS
from geode.messages import COMMANDS, ChatCommand, Place, SessionState
from geode.ports import Accepted
from geode.reply import command_sentences as said
from geode.session.claims import Claim, ClaimTerms, claim_session
from geode.session.requests import compose_request
from geode.store import sessions as session_rows
from geode.store.review_tables import reviews
from geode.store.schema import metadata
from geode.store.tables import inbox, outbox, outbox_parts, sessions, threads, turns

FORMS: dict[str, tuple[Form, ...]] = {
    **dict.fromkeys(("discord", "telegram"), ("own", "written")),
    **dict.fromkeys(("slack", "toy", "web"), ("own",)),  # theirs is a message like any other
}
SHUT_OUT = {"web"}
"""There a stranger's request gets no further than the page's own door."""
ANSWERED_IN_PLACE: set[tuple[str, Form]] = {
    *(("telegram", "own"), ("telegram", "written")),
    ("discord", "written"),
}
"""There nobody can be answered alone, so what is for one person stands below the command."""


NEVER_ALONE = {"telegram"}
"""What its people "were told" is what stands in the chat."""


class Table:
    """One platform, one desk and one place, in which every cell is tried and none is an end."""

    def __init__(self, desk: Desk, platform: ContractPlatform, place: Place) -> None:
        self.desk, self.platform, self.place = desk, platform, place
        self.forms = FORMS[platform.name]
        self.wrong: list[str] = []
        self.turn_id = ""
        self.public: list[tuple[Cell, str, str]] = []
        """Cells whose answer goes to the thread: their key, and how it begins."""

    async def claim(self) -> None:
        """The conversation has a turn, held by a worker of another process."""
        terms = ClaimTerms("other", self.desk.clock.now_us(), 10**9, "a/model", compose_request)

        def unit(tx: Any) -> Claim:
            session_id = session_rows.find_session(tx, self.place.thread)
            assert session_id is not None
            session_rows.set_earlier_read(tx, session_id)
            claim = claim_session(tx, session_id, terms)
            assert isinstance(claim, Claim)
            return claim

        claim = await self.desk.store.write("claim", unit)
        self.turn_id = str(claim.turn_id)
        self.desk.delivery.wake(claim.session_id)
        await self.desk.wait_settled()

    async def enter(self, state: str) -> None:
        """The conversation is in that state, and nobody has asked for anything."""

        def unit(tx: Any) -> None:
            if state == NO_CONVERSATION:
                for table in (inbox, threads):
                    tx.execute(delete(table))
                return
            known = "" if state == SessionState.IDLE else self.turn_id
            values = {"state": state, "turn_id": known, "chapter_due": 0, "compact_due": 0}
            tx.execute(update(sessions).values(**values))
            tx.execute(update(turns).values(stopped_by=""))
            tx.execute(delete(reviews))
            if state == SessionState.AWAITING_REVIEW:
                put_reviews(tx)

        await self.desk.store.write("enter", unit)

    async def try_state(self, state: str, who: Who) -> None:
        """Every command of that person in that state, and what there is to see of it."""
        shown = len(self.platform.shown(self.place))
        heard = len(self.platform.whispers(who))
        counted: Counter[str] = Counter()
        await self.enter(state)
        stored = await self.count_rows()
        for cell in list_cells(state, who, self.forms):
            counted.update(await self.try_cell(cell))
            if cell.verb in CHANGES_COURSE:
                await self.enter(state)
        await self.desk.wait_settled()
        if who == "stranger" and await self.count_rows() != stored:
            self.wrong.append(f"{state}, {who}: left rows behind")
        if self.platform.name not in NEVER_ALONE:
            here = f"{state}, {who}: told alone"
            await self._see(here, counted["heard"], lambda: self.platform.whispers(who)[heard:])
        here = f"{state}, {who}: shown"
        await self._see(here, counted["shown"], lambda: self.platform.shown(self.place)[shown:])

    async def count_rows(self) -> dict[str, int]:
        """The rows of every table; reading back, which has its own pace, moves cursors."""
        tables = [table for table in metadata.sorted_tables if table.name != "cursors"]

        def count(tx: Any) -> dict[str, int]:
            return {
                table.name: tx.execute(select(func.count()).select_from(table)).scalar_one()
                for table in tables
            }

        return await self.desk.store.read(count)

    async def _see(self, what: str, wanted: int, look: Callable[[], list[str]]) -> None:
        def seen() -> int:
            return len(look())

        with suppress(TimeoutError):
            await self.desk.wait_for(lambda: seen() >= wanted, timeout_s=5.0)
        if seen() != wanted:
            self.wrong.append(f"{what}: {seen()} messages, not {wanted}")

    async def try_cell(self, cell: Cell) -> Counter[str]:
        """Give one command; how many messages people are to see because of it."""
        done = await self.give(cell)
        if done is None:
            return Counter()
        command, accepted = done
        wanted = expect(cell, is_private=command.is_private)
        found = Expected(
            accepted.outcome,  # pyright: ignore[reportArgumentType]
            accepted.reason,
            accepted.answer[: len(wanted.private)] if wanted.private else accepted.answer,
            wanted.public,
        )
        if found != wanted:
            self.wrong.append(f"{cell}: {found}, not {wanted}")
        if wanted.public:
            self.public.append((cell, command.dedupe_key, wanted.public))
        is_refused_to_strangers = cell.who == "stranger" and command.is_private
        told = int(bool(wanted.private) or is_refused_to_strangers)
        public = int(bool(wanted.public))
        if (self.platform.name, cell.form) in ANSWERED_IN_PLACE:
            return Counter(shown=public + told)
        return Counter(shown=public, heard=told)

    async def give(self, cell: Cell) -> tuple[ChatCommand, Accepted] | None:
        """Have the command given; what came in and became of it, None when nothing came in."""
        door, before = self.desk.door, len(self.desk.door.outcomes)
        if cell.form == "own":
            await self.platform.command(self.place, cell.verb, "", cell.who)
        else:
            await self.platform.follow(self.place, f"!{cell.verb}", cell.who)
        if cell.who == "stranger" and self.platform.name in SHUT_OUT:
            return None
        await self.desk.wait_for(lambda: len(door.outcomes) > before)
        ((event, accepted),) = zip(door.heard[before:], door.outcomes[before:], strict=True)
        assert isinstance(event, ChatCommand), f"{cell} came in as {event}"
        assert event.verb == cell.verb
        return event, accepted

    async def check_thread(self) -> None:
        """Each answer that belongs in the thread is one delivered row that says the right thing."""
        query = select(outbox.c.episode, outbox.c.body, outbox.c.state).where(
            outbox.c.kind == "command"
        )
        rows = await self.desk.store.read(lambda tx: tx.execute(query).all())
        found = {row.episode: row for row in rows}
        for cell, key, beginning in self.public:
            row = found.pop(key, None)
            if row is None or row.state != "sent" or not row.body.startswith(beginning):
                self.wrong.append(f"{cell}: {row}, not {beginning!r}")
        self.wrong += [f"nobody was to be told: {row}" for row in found.values()]


@pytest.mark.timeout(120)
@on("commands")
async def test_every_command_comes_to_what_the_design_says(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        table = Table(desk, platform, await desk.begin("hello"))
        await table.claim()
        stored = await desk.stored()
        for state in STATES:
            for who in PEOPLE:
                await table.try_state(state, who)
            assert await desk.stored() == ([] if state == NO_CONVERSATION else stored)
        await table.check_thread()

        assert table.wrong == []
        assert len(await desk.column(turns.c.id)) == 1
        assert len(await desk.column(sessions.c.id)) == 1
        assert await desk.column(threads.c.session_id) == []
        assert set(await desk.column(outbox.c.kind)) == {"command", "progress"}
        assert set(await desk.column(outbox_parts.c.state)) == {"committed"}


@pytest.mark.parametrize("platform_name", ["telegram"])
async def test_telegram_commands_of_another_bot_are_nothing(
    platform: TelegramPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin("hello")
        spoken = ("/stop@other_bot", "/stop", "/new@geode_bot", "/dance", "/reset@geode_bot")
        for words in spoken:
            await platform.follow(place, words)
        await desk.place_of(await platform.follow(place, "that is all"))

        assert [command.verb for command in desk.door.of(ChatCommand)] == ["stop", "new", "reset"]
        assert await desk.stored() == ["hello", "that is all"]
        _, new, again = await _said(desk)
        assert new == again == said.NEW_CHAPTER


async def _said(desk: Desk) -> Sequence[str]:
    return await desk.column(outbox.c.body)


@pytest.mark.parametrize("platform_name", ["slack"])
async def test_slash_commands_of_slack_name_no_thread_and_are_answered_alone(
    platform: SlackPlatform, tmp_path: Path
) -> None:
    needs_thread = {"new", "stop", "status", "usage", "why", "review", "effects", "compact"}
    operators = {"model", "review", "effects", "computer", "compact", "forget"}
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin("hello")
        found: dict[tuple[str, str], str] = {}
        for user in ("U0ANA", "U0BEN", "U0STRANGER"):
            for verb in COMMANDS:
                given = await platform.slack.slash(verb, user=user)
                await desk.wait_for(lambda given=given: given.is_acked)
                found[verb, user] = text_of(given.answer, "text")

        assert {found[verb, "U0STRANGER"] for verb in COMMANDS} == {NOT_YOURS}
        for (verb, user), answer in found.items():
            if user == "U0BEN" and verb in operators:
                assert answer.startswith("Only an operator of this place")
            elif user != "U0STRANGER" and verb in needs_thread:
                assert answer.startswith("A slash command does not tell me which thread"), verb
            elif user != "U0STRANGER":
                assert answer, verb
        assert platform.shown(place) == []
        assert await _said(desk) == []
        assert said.NO_JOBS in found.values()
