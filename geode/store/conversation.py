"""Conversation rows and the checkpoint: immutable messages, one mutable state row per session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import orjson
from sqlalchemy import Connection, bindparam, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from geode.messages import (
    Block,
    Image,
    JsonObject,
    Message,
    SessionId,
    Text,
    ToolCall,
    ToolResult,
    TurnId,
)
from geode.store.statements import Statement
from geode.store.tables import checkpoints, messages, sessions

_MOVE_HEAD = Statement(
    update(sessions)
    .where(sessions.c.id == bindparam("session"))
    .values(next_position=sessions.c.next_position + bindparam("added"))
    .returning(sessions.c.next_position, sessions.c.chapter)
)
_APPEND = Statement(
    insert(messages),
    ("session_id", "position", "turn_id", "chapter", "role", "body", "provider", "opaque"),
)
_LOAD = Statement(
    select(messages.c.role, messages.c.body, messages.c.provider, messages.c.opaque)
    .where(messages.c.session_id == bindparam("session"), messages.c.chapter == bindparam("part"))
    .order_by(messages.c.position)
)
_CHECKPOINT_COLUMNS = ("session_id", "turn_id", "state", "batch", "epoch", "updated_at_us")
_MADE = upsert(checkpoints)
_SAVE = Statement(
    _MADE.on_conflict_do_update(
        index_elements=["session_id"],
        set_={name: _MADE.excluded[name] for name in _CHECKPOINT_COLUMNS[1:]},
    ),
    _CHECKPOINT_COLUMNS,
)
_CHECKPOINT = Statement(
    select(checkpoints.c.turn_id, checkpoints.c.state, checkpoints.c.batch).where(
        checkpoints.c.session_id == bindparam("session")
    )
)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a session resumes from; `batch` names the calls that have no stored results yet."""

    turn_id: str
    state: JsonObject
    batch: JsonObject | None


def message_to_body(message: Message) -> str:
    """The neutral JSON of a message, without the provider's own bytes."""
    return orjson.dumps({"blocks": [_block_to_json(block) for block in message.blocks]}).decode()


def body_to_message(role: str, body: str, provider: str, opaque: bytes | None) -> Message:
    """The message a row holds."""
    blocks = tuple([_json_to_block(row) for row in orjson.loads(body)["blocks"]])
    known = cast("Literal['user', 'assistant', 'tool']", role)
    return Message(known, blocks, provider, opaque or b"")


def _block_to_json(block: Block) -> dict[str, Any]:
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case ToolCall():
            return {
                "type": "tool_call",
                "call_id": block.call_id,
                "name": block.name,
                "arguments": block.arguments,
                "raw": block.raw,
                "fault": block.fault,
            }
        case ToolResult():
            return {
                "type": "tool_result",
                "call_id": block.call_id,
                "text": block.text,
                "is_error": block.is_error,
                "names_urls": block.names_urls,
            }
        case Image():
            return {
                "type": "image",
                "media_type": block.media_type,
                "sha256": block.sha256,
                "name": block.name,
                "size_bytes": block.size_bytes,
            }


def _json_to_block(row: dict[str, Any]) -> Block:
    match row["type"]:
        case "text":
            return Text(row["text"])
        case "tool_call":
            return ToolCall(row["call_id"], row["name"], row["arguments"], row["raw"], row["fault"])
        case "image":
            return Image(row["media_type"], row["sha256"], row["name"], row["size_bytes"])
        case _:
            return ToolResult(row["call_id"], row["text"], row["is_error"], row["names_urls"])


def append_messages(
    tx: Connection, session_id: SessionId, turn_id: TurnId, added: Sequence[Message]
) -> None:
    """Append messages behind the session's last one, in the caller's transaction."""
    if not added:
        return
    head = _MOVE_HEAD.first(tx, {"session": session_id, "added": len(added)})
    first = head.next_position - len(added)
    _APPEND.run_many(
        tx,
        [
            {
                "session_id": session_id,
                "position": first + offset,
                "turn_id": turn_id,
                "chapter": head.chapter,
                "role": message.role,
                "body": message_to_body(message),
                "provider": message.provider,
                "opaque": message.opaque or None,
            }
            for offset, message in enumerate(added)
        ],
    )


def load_messages(tx: Connection, session_id: SessionId, chapter: int) -> tuple[Message, ...]:
    """The chapter's messages in order."""
    rows = _LOAD.tuples(tx, {"session": session_id, "part": chapter})
    return tuple([body_to_message(*row) for row in rows])


def measure_tail(tx: Connection, session_id: SessionId, chapter: int, start: int) -> int:
    """Characters of the chapter's stored messages from the one of that number on."""
    tail = (
        select(messages.c.body)
        .where(messages.c.session_id == session_id, messages.c.chapter == chapter)
        .order_by(messages.c.position)
        .offset(start)
        .subquery()
    )
    return int(tx.execute(select(func.sum(func.length(tail.c.body)))).scalar_one() or 0)


def save_checkpoint(
    tx: Connection, session_id: SessionId, checkpoint: Checkpoint, *, epoch: int, now_us: int
) -> None:
    """Replace the session's checkpoint row."""
    values = {
        "session_id": session_id,
        "turn_id": checkpoint.turn_id,
        "state": orjson.dumps(checkpoint.state).decode(),
        "batch": orjson.dumps(checkpoint.batch).decode() if checkpoint.batch else "",
        "epoch": epoch,
        "updated_at_us": now_us,
    }
    _SAVE.run(tx, values)


def drop_checkpoint(tx: Connection, session_id: SessionId) -> None:
    """Forget the state of a chapter that has ended; the next turn starts from none."""
    tx.execute(checkpoints.delete().where(checkpoints.c.session_id == session_id))


def load_checkpoint(tx: Connection, session_id: SessionId) -> Checkpoint | None:
    """The session's checkpoint; None before its first turn."""
    row = _CHECKPOINT.first(tx, {"session": session_id})
    if row is None:
        return None
    batch = orjson.loads(row.batch) if row.batch else None
    return Checkpoint(row.turn_id, orjson.loads(row.state), batch)
