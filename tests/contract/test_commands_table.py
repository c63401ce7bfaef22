"""Every command, on every platform, by every kind of person, in every state of a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes.contract_cases import on
from fakes.contract_desk import Desk, open_desk
from fakes.contract_platform import ContractPlatform, Who
from sqlalchemy import delete, update

from geode.messages import COMMANDS, ChatCommand, Place, SessionState
from geode.session.claims import ClaimTerms, claim_session
from geode.session.requests import compose_request
from geode.store import sessions as session_rows
from geode.store.tables import inbox, outbox, sessions, threads

NO_CONVERSATION = "no conversation"
STATES = (NO_CONVERSATION, *(state.value for state in SessionState))
PEOPLE: tuple[Who, ...] = ("ana", "ben", "stranger")
OPERATORS_ONLY = {"model", "review", "effects", "computer", "compact", "forget"}
"""Ana operates the place, Ben is one of its people."""
LAST_STOP = (*(verb for verb in COMMANDS if verb != "stop"), "stop")


def expect(verb: str, who: Who, state: str) -> str:
    """What the design says becomes of a command."""
    if who == "stranger":
        return "nothing"
    is_operators = verb in OPERATORS_ONLY or (
        verb == "stop" and state == SessionState.AWAITING_REVIEW
    )
    return "refused" if is_operators and who != "ana" else "answered"


async def enter(desk: Desk, place: Place, state: str) -> None:
    """Put the conversation of the place into a state, as a worker of another process would."""
    terms = ClaimTerms("other", desk.clock.now_us(), 10**9, "scripted/model", compose_request)

    def unit(tx: Any) -> None:
        session_id = session_rows.find_session(tx, place.thread)
        assert session_id is not None
        if state == NO_CONVERSATION:
            for table in (inbox, threads):
                tx.execute(delete(table).where(table.c.session_id == session_id))
            return
        assert claim_session(tx, session_id, terms) is not None
        if state != SessionState.RUNNING:
            values: dict[str, Any] = {"state": state, "lease_until_us": 0, "lease_owner": ""}
            if state == SessionState.IDLE:
                values["turn_id"] = ""
            tx.execute(update(sessions).where(sessions.c.id == session_id).values(**values))

    await desk.store.write("enter", unit)


@pytest.mark.timeout(90)
@pytest.mark.parametrize("state", STATES)
@on("commands")
async def test_command_comes_to_what_the_design_says(
    platform: ContractPlatform, tmp_path: Path, state: str
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin("hello")
        stored = await desk.stored()
        await enter(desk, place, state)
        wrong: list[str] = []
        for who in PEOPLE:
            for verb in LAST_STOP:
                found = await _give(desk, platform, place, verb, who)
                wanted = expect(verb, who, state)
                if found != wanted:
                    wrong.append(f"{verb} by {who}: {found}, not {wanted}")

        assert wrong == []
        assert await desk.stored() == ([] if state == NO_CONVERSATION else stored)
        # The claim queued its progress message; beside it nothing but answers goes out.
        assert set(await desk.column(outbox.c.kind)) <= {"command", "progress"}


async def _give(desk: Desk, platform: ContractPlatform, place: Place, verb: str, who: Who) -> str:
    """Give the command in the platform's own form; a stranger's is followed by one of Ana's."""
    before = len(desk.door.outcomes)
    await platform.command(place, verb, "", who)
    if who == "stranger":
        await platform.command(place, "help", "", "ana")

    def last() -> tuple[str, str] | None:
        for event, accepted in zip(
            desk.door.heard[before:], desk.door.outcomes[before:], strict=True
        ):
            if isinstance(event, ChatCommand) and accepted.outcome in ("answered", "refused"):
                return event.verb, accepted.outcome
        return None

    await desk.wait_for(last)
    found = last()
    assert found is not None
    if who == "stranger":
        return "nothing" if found == ("help", "answered") else f"{found}"
    assert found[0] == verb
    return found[1]
