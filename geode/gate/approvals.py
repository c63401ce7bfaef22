"""What people have already said about a call, and the question when they said nothing yet."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import orjson

from geode.errors import StoreError
from geode.gate.admit import Admitted, Refusal, write_canonical
from geode.ports import Clock
from geode.steps import Effect, Tool
from geode.store import approvals as rows
from geode.store.approvals import Approval, NewApproval
from geode.store.database import Store, Tx

PENDING_MAX = 3
"""Questions of one batch; a person who is asked more at once reads none."""
HOUR_US = 3_600_000_000
ASKED_MAX_PER_HOUR = 20
LASTING = frozenset({Effect.READ, Effect.MUTATE})
"""Effects that may be granted for a session."""


@dataclass(frozen=True, slots=True)
class Granted:
    """Somebody said yes: to this call, or to the tool for the session."""

    by: str
    approval: str = ""
    """The approval to be taken; empty when the session has the grant."""


class Approvals:
    """Reads people's words, and takes an approval when its call begins."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def find(self, new: NewApproval) -> Granted | Refusal | None:
        """What was said about exactly this call; None: nothing yet, and a person may be asked."""
        since_us = self._clock.now_us() - HOUR_US
        return await self._store.read(lambda tx: _judge(tx, new, since_us))

    async def recall(self, operation_id: str) -> Refusal | bool:
        """Whether people were asked about the call; a refusal when that ended without a yes.

        What the policy says by now changes nothing of it: a no stays a no.
        """
        known = await self._store.read(lambda tx: rows.find_approval(tx, operation_id))
        if known is None:
            return False
        return _read_refusal(known) or True

    async def list_unused(self, turn_id: str) -> frozenset[str]:
        """The turn's calls that people were asked about and that have not begun."""
        found = await self._store.read(lambda tx: rows.list_of_turn(tx, turn_id))
        return frozenset(each.id for each in found if not each.is_used)

    async def take(self, admitted: Admitted) -> Refusal | None:
        """Take the approval of a call that leaves no receipt; a refusal when it has none left."""
        now_us = self._clock.now_us()
        try:
            taken = await self._store.write(
                "approval.use",
                lambda tx: rows.use_approval(tx, admitted.approval, admitted.action_hash, now_us),
            )
        except StoreError as error:
            return Refusal("approval.not_taken", f"Not run, it could not be recorded: {error}")
        return None if taken else USED


USED = Refusal("approval.used", "Not run: the approval was for one call, and that has begun.")
TOO_MANY_AT_ONCE = Refusal(
    "approval.too_many_at_once",
    f"Not run: more than {PENDING_MAX} calls at once asked for approval; ask for fewer, or later.",
)
_TOO_MANY = Refusal(
    "approval.too_many",
    f"Not run: this conversation asked for {ASKED_MAX_PER_HOUR} approvals within an hour; "
    "go on without, or tell the person what is missing.",
)
_ENDS = {
    rows.EXPIRED: ("approval.expired", "Not run: nobody answered in time."),
    rows.UNDELIVERABLE: (
        "approval.undeliverable",
        "Not run: the question about its arguments could not be shown to anybody.",
    ),
    rows.WITHDRAWN: ("approval.withdrawn", "Not run: the question was withdrawn."),
}


def describe_request(admitted: Admitted, why: str) -> NewApproval | None:
    """The question about a call, bound to all that is approved; None: it cannot be written down."""
    context, tool = admitted.context, admitted.tool
    text = write_canonical(admitted.arguments)
    if text is None:
        return None
    request = _hash(tool.name, tool.digest, text)
    action = _hash(
        request,
        context.session_id,
        context.turn_id,
        context.step,
        context.position,
        context.binding,
        context.mode,
        sorted(context.requesters),
    )
    return NewApproval(
        id=context.operation_id,
        session_id=context.session_id,
        turn_id=context.turn_id,
        chapter=context.chapter,
        step=context.step,
        position=context.position,
        tool=tool.name,
        tool_digest=tool.digest,
        effect=tool.policy.effect,
        arguments=text,
        requesters=context.requesters,
        request_hash=request,
        action_hash=action,
        why=why,
        may_last=may_last(tool),
    )


def may_last(tool: Tool) -> bool:
    """Whether an approval may outlive one call: never to execute, communicate or open addresses."""
    return tool.policy.effect in LASTING and not tool.reaches_out


def with_approval(admitted: Admitted, new: NewApproval, granted: Granted) -> Admitted:
    """The call as it was approved; it takes the approval when it begins."""
    if not granted.approval:
        return admitted.pass_step("approval", "approval.session", note=granted.by)
    passed = admitted.pass_step("approval", "approval.once", note=granted.by)
    return replace(passed, approval=granted.approval, action_hash=new.action_hash)


def _judge(tx: Tx, new: NewApproval, since_us: int) -> Granted | Refusal | None:
    known = rows.find_approval(tx, new.id)
    if known is not None:
        return _read_answer(known, new)
    if new.may_last and (by := rows.find_grantor(tx, new)):
        return Granted(by)
    denied = rows.find_denied(tx, new.session_id, new.chapter, new.request_hash)
    if denied is not None:
        return Refusal(
            "approval.denied_before",
            f"Not run: {denied.decided_by} denied the same call in this conversation already.",
        )
    if rows.count_asked(tx, new.session_id, since_us) >= ASKED_MAX_PER_HOUR:
        return _TOO_MANY
    return None


def _read_answer(known: Approval, new: NewApproval) -> Granted | Refusal | None:
    refusal = _read_refusal(known)
    if refusal is not None:
        return refusal
    if known.action_hash != new.action_hash:
        return Refusal(
            "approval.changed",
            f"Not run: this is not what people were asked about: the call, {new.tool} or those "
            "it is made for have changed since.",
        )
    if known.is_pending:
        return None
    return USED if known.is_used else Granted(known.decided_by, known.id)


def _read_refusal(known: Approval) -> Refusal | None:
    """Why a question that ended without a yes forbids its call; None: it has not."""
    if known.state in (rows.PENDING, rows.APPROVED):
        return None
    why = f" {known.reason}" if known.reason else ""
    if known.state == rows.DENIED:
        return Refusal("approval.denied", f"Not run: {known.decided_by} said no.{why}")
    rule, sentence = _ENDS[known.state]
    return Refusal(rule, sentence + why)


def _hash(*parts: object) -> str:
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()
