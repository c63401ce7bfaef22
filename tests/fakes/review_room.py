"""A spine room whose judge says what a test tells it, and whose operator reviews."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fakes.approval_room import ApprovalRoom, make_ask_settings, make_tools
from fakes.loopback import Posted
from fakes.scripted_judge import ScriptedJudge, Verdict
from fakes.scripted_model import Scripted
from fakes.spine_room import open_room

from geode.hooks.registry import HookRegistry
from geode.ports import Accepted
from geode.store.review_tables import reviews

OPERATOR = "U9"
RELEASE, REVISE, REJECT, AGAIN = "Release", "Ask for a revision", "Reject", "Judge again"
SHOW = "Show"


@dataclass
class ReviewRoom(ApprovalRoom):
    """The approval room with a judge."""

    judge: ScriptedJudge

    async def judge_answers(self, verdicts: Sequence[Verdict], *replies: Scripted) -> bool:
        """A person asks; the model answers so, and the judge finds so."""
        self.judge.add(verdicts)
        return await self.ask(*replies)

    async def decide(
        self, label: str, *, who: str = OPERATOR, words: str = "", post: Posted | None = None
    ) -> Accepted:
        """Somebody presses a button of the review's card."""
        return await self.press(label, who=who, post=post, words=words)

    async def review_states(self) -> list[str]:
        """What became of the reviews, in the order of the candidates."""
        return await self.room.rows(reviews.c.state, order=reviews.c.number)


@asynccontextmanager
async def open_review_room(
    folder: Path,
    *,
    judge: ScriptedJudge | None = None,
    hooks: HookRegistry | None = None,
    **more: object,
) -> AsyncIterator[ReviewRoom]:
    """A room of its own; `hooks` are asked about answers."""
    tools = make_tools()
    registered = tuple(each.tool for each in tools.values())
    judge = judge or ScriptedJudge()
    settings = make_ask_settings(operators=[OPERATOR], **more)
    async with open_room(folder, tools=registered, settings=settings) as room:
        room.judge = judge
        room.hooks = hooks or room.hooks
        yield ReviewRoom(room, tools, room.worker(), judge)
