"""Turn rows: begun once, resumed a counted number of times, ended with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import Connection, bindparam, func, insert, select, update

from geode.messages import Mode, SessionId, TerminationReason, TurnId
from geode.steps import Spend, Usage
from geode.store.statements import Statement
from geode.store.tables import checkpoints, sessions, turns

_BEGIN = Statement(
    insert(turns),
    (
        "id",
        "session_id",
        "number",
        "chapter",
        "mode",
        "requesters",
        "reply_to",
        "model",
        "started_at_us",
        "skips_verification",
    ),
)
_READ = Statement(select(turns).where(turns.c.id == bindparam("turn")))
_STOPPED_BY = Statement(select(turns.c.stopped_by).where(turns.c.id == bindparam("turn")))
_TOTALS = ("reason", "verification", "steps", "spent_us", "ended_at_us")
_SUMS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cost_micro_usd",
    "unpriced",
)
_SPENDS = (
    "judge_calls",
    "judge_input_tokens",
    "judge_output_tokens",
    "judge_cost_micro_usd",
    "repairs",
    "repair_input_tokens",
    "repair_output_tokens",
    "repair_cost_micro_usd",
    "judge_unpriced",
)
_END = Statement(
    update(turns)
    .where(turns.c.id == bindparam("turn"))
    .values(
        state="done",
        **{name: bindparam(f"new_{name}") for name in (*_TOTALS, *_SPENDS)},
        # What children used stands there already.
        **{name: turns.c[name] + bindparam(f"new_{name}") for name in _SUMS},
    )
)


@dataclass(frozen=True, slots=True)
class NewTurn:
    """What a turn row is made with."""

    id: TurnId
    session_id: SessionId
    number: int
    chapter: int
    mode: Mode
    requesters: tuple[str, ...]
    reply_to: str
    model: str
    skips_verification: bool = False


@dataclass(frozen=True, slots=True)
class TurnTotals:
    """What a turn came to."""

    reason: TerminationReason
    verification: str
    steps: int
    spent_us: int
    usage: Usage
    cost_micro_usd: int | None
    """None: a call had no known price."""
    judging: Spend = field(default_factory=Spend)
    """On top of `usage` and `cost_micro_usd`."""
    repairing: Spend = field(default_factory=Spend)
    """A part of them."""
    repairs: int = 0


def begin_turn(tx: Connection, new: NewTurn, now_us: int) -> None:
    """Insert the turn; the claim that begins it counts the session's number on."""
    row = {
        "id": new.id,
        "session_id": new.session_id,
        "number": new.number,
        "chapter": new.chapter,
        "mode": new.mode.value,
        "requesters": orjson.dumps(new.requesters).decode(),
        "reply_to": new.reply_to,
        "model": new.model,
        "started_at_us": now_us,
        "skips_verification": int(new.skips_verification),
    }
    _BEGIN.run(tx, row)


def read_turn(tx: Connection, turn_id: str) -> Any:
    """The turn's row."""
    return _READ.first(tx, {"turn": turn_id})


def count_attempt(tx: Connection, turn_id: str, change: int) -> int:
    """Add one for a claim, take one back for an orderly drain; the new count is returned."""
    return tx.execute(
        update(turns)
        .where(turns.c.id == turn_id)
        .values(attempts=turns.c.attempts + change)
        .returning(turns.c.attempts)
    ).scalar_one()


def forgive_attempts(tx: Connection, turn_id: str) -> None:
    """The turn came to a pause: the tries that brought it there failed at nothing."""
    tx.execute(update(turns).where(turns.c.id == turn_id).values(attempts=0))


def end_turn(tx: Connection, turn_id: TurnId, totals: TurnTotals, now_us: int) -> None:
    """Close the turn with what it came to, on top of what its children used."""
    values = {
        "turn": turn_id,
        "new_reason": totals.reason.value,
        "new_verification": totals.verification,
        "new_steps": totals.steps,
        "new_spent_us": totals.spent_us,
        "new_input_tokens": totals.usage.input_tokens,
        "new_output_tokens": totals.usage.output_tokens,
        "new_cache_read_tokens": totals.usage.cache_read_tokens,
        "new_cache_write_tokens": totals.usage.cache_write_tokens,
        "new_cost_micro_usd": totals.cost_micro_usd or 0,
        "new_unpriced": int(totals.cost_micro_usd is None),
        "new_ended_at_us": now_us,
        "new_repairs": totals.repairs,
        "new_judge_calls": totals.judging.calls,
        "new_judge_unpriced": int(totals.judging.cost_micro_usd is None),
        **_name_spend("new_judge", totals.judging),
        **_name_spend("new_repair", totals.repairing),
    }
    _END.run(tx, values)


def _name_spend(prefix: str, spend: Spend) -> dict[str, int]:
    usage = spend.usage
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    return {
        f"{prefix}_input_tokens": usage.input_tokens + cached,
        f"{prefix}_output_tokens": usage.output_tokens,
        f"{prefix}_cost_micro_usd": spend.cost_micro_usd or 0,
    }


def ask_stop(tx: Connection, turn_id: str, who: str) -> bool:
    """Note that a person wants the turn to end without an answer; False when one did before."""
    noted = tx.execute(
        update(turns)
        .where(turns.c.id == turn_id, turns.c.state == "running", turns.c.stopped_by == "")
        .values(stopped_by=who)
        .returning(turns.c.id)
    )
    return bool(noted.all())


def is_stopped(tx: Connection, turn_id: str) -> bool:
    """Whether a person wants the turn to end without an answer."""
    return bool(_STOPPED_BY.scalar(tx, {"turn": turn_id}))


def find_stopped(tx: Connection, session_ids: Sequence[SessionId]) -> dict[SessionId, TurnId]:
    """The present turns of these sessions that are to be stopped."""
    rows = tx.execute(
        select(sessions.c.id, turns.c.id.label("turn"))
        .join(turns, turns.c.id == sessions.c.turn_id)
        .where(sessions.c.id.in_(session_ids), turns.c.stopped_by != "")
    )
    return {SessionId(row.id): TurnId(row.turn) for row in rows}


def sum_cost_since(tx: Connection, bindings: Sequence[str], since_us: int) -> int:
    """What turns of these bindings that began since then cost, in micro-USD, judges included.

    Children count to parents; a turn that runs or waits for people counts as far as it is saved.
    """
    ended = tx.execute(
        select(func.sum(turns.c.cost_micro_usd + turns.c.judge_cost_micro_usd))
        .join(sessions, sessions.c.id == turns.c.session_id)
        .where(
            sessions.c.binding.in_(bindings),
            sessions.c.parent == "",
            turns.c.started_at_us >= since_us,
        )
    ).scalar_one_or_none()
    rows = tx.execute(
        select(checkpoints.c.state)
        .join(turns, turns.c.id == checkpoints.c.turn_id)
        .join(sessions, sessions.c.turn_id == turns.c.id)
        .where(
            sessions.c.binding.in_(bindings),
            sessions.c.parent == "",
            turns.c.started_at_us >= since_us,
        )
    )
    return int(ended or 0) + sum(_read_cost(row.state) for row in rows)


def _read_cost(state: str) -> int:
    """What an unfinished turn cost by the loop's own state; its row is written at its end."""
    body = orjson.loads(state)
    judging = Spend.from_json(body.get("judging", {}))
    return int(body.get("cost_micro_usd") or 0) + (judging.cost_micro_usd or 0)


def requesters_of(row: Any) -> tuple[str, ...]:
    """The senders whose messages began the turn."""
    return tuple(orjson.loads(row.requesters))
