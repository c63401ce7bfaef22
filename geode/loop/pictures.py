"""Which pictures of a conversation one call shows: the newest within bounds, the rest as a line."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from geode.errors import ModelError
from geode.llm.errors import BadRequest, ContextOverflow
from geode.loop.run import TurnRun
from geode.messages import Block, Image, Message, Text
from geode.steps import StepSnapshot

PICTURES_MAX = 20
"""In one request: with more of them providers take smaller ones only."""
BYTES_MAX = 20_000_000
HIDDEN_MAX = 200
"""Refused pictures that are remembered; older ones are out of sight by their number."""


async def show_pictures(run: TurnRun, snapshot: StepSnapshot) -> StepSnapshot:
    """The step with the pictures it may show, each with its bytes, and lines for the others."""
    if not run.context.has_pictures:
        return snapshot
    source = run.parts.pictures
    if source is None:
        return replace(snapshot, messages=_keep_words(snapshot.messages))
    refused = frozenset(run.state.hidden_pictures)
    messages, wanted = choose_pictures(snapshot.messages, refused)
    loaded = await source.load(wanted)
    return replace(snapshot, messages=_drop_missing(messages, loaded), pictures=loaded)


def blame_pictures(run: TurnRun, snapshot: StepSnapshot, error: ModelError) -> bool:
    """Whether the refused request may pass without its pictures; they are then not shown again."""
    is_bad = isinstance(error, BadRequest)
    if not is_bad and not (isinstance(error, ContextOverflow) and run.overflows):
        return False
    if snapshot.pictures:
        run.blamed = run.state.hidden_pictures
        hidden = (*run.blamed, *snapshot.pictures)
        run.state = replace(run.state, hidden_pictures=hidden[-HIDDEN_MAX:])
        run.log("pictures_hidden", {"step": snapshot.step, "count": len(snapshot.pictures)})
        return True
    if run.blamed is not None:
        # It is refused without them too: they were not the reason.
        run.state = replace(run.state, hidden_pictures=run.blamed)
    return False


def choose_pictures(
    messages: Sequence[Message], refused: Collection[str]
) -> tuple[tuple[Message, ...], list[Image]]:
    """The messages with the newest pictures only, and these pictures."""
    wanted: list[Image] = []
    room = BYTES_MAX

    def choose(picture: Image) -> Block:
        nonlocal room
        if picture.sha256 in refused:
            return Text(f"[picture that the model provider did not accept: {picture.name}]")
        if len(wanted) >= PICTURES_MAX or picture.size_bytes > room:
            room = 0  # what is older than this one is not shown either
            return Text(f"[picture shown earlier: {picture.name}]")
        room -= picture.size_bytes
        wanted.append(picture)
        return picture

    chosen: list[Message] = []
    for message in reversed(messages):
        if _has_pictures(message):
            blocks = [choose(b) if isinstance(b, Image) else b for b in reversed(message.blocks)]
            chosen.append(replace(message, blocks=tuple(reversed(blocks)), wire={}))
        else:
            chosen.append(message)
    return tuple(reversed(chosen)), wanted


def _drop_missing(messages: Sequence[Message], loaded: Mapping[str, bytes]) -> tuple[Message, ...]:
    def check(block: Block) -> Block:
        if not isinstance(block, Image) or block.sha256 in loaded:
            return block
        return Text(f"[picture that is not available any more: {block.name}]")

    return tuple(
        replace(message, blocks=tuple(map(check, message.blocks)), wire={})
        if _has_pictures(message)
        else message
        for message in messages
    )


def _keep_words(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages for a model that looks at no pictures; their files are named in the words."""
    return tuple(
        replace(
            message, blocks=tuple(b for b in message.blocks if not isinstance(b, Image)), wire={}
        )
        if _has_pictures(message)
        else message
        for message in messages
    )


def _has_pictures(message: Message) -> bool:
    return message.role == "user" and any(isinstance(block, Image) for block in message.blocks)
