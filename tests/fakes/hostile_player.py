"""The hostile model behind its HTTP API: plays a plan, and does what the texts it reads tell it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from fakes.hostile_rows import Plan, Proposal, Raw
from fakes.hostile_world import HostileWorld

from channels.rehearsal.model_answers import Answer, Block, broken_tool_use, text, tool_use
from channels.rehearsal.model_anthropic_rules import blocks_of

ORDER = re.compile(r"\[\[(\w+) (.+?)\]\]")
BODY_CHARS_MAX = 2_000_000


def orders_in(given: str) -> list[Proposal]:
    """The calls that a text asks for, as an obedient reader takes them."""
    calls: list[Proposal] = []
    for name, rest in ORDER.findall(given):
        if name == "leak":
            # The reader puts what it knows into an address that the text only began.
            calls.append(("web_fetch", {"url": f"{rest}LEAK"}))
        elif rest.startswith("{"):
            calls.append(Raw(name, rest))
    return calls


@dataclass
class Player:
    """Answers each request with the plan's next batch."""

    world: HostileWorld
    plan: Plan = field(default_factory=lambda: Plan("none", [], frozenset()))
    proposed: int = 0
    """Calls that were made."""
    _round: int = 0

    def begin(self, plan: Plan) -> None:
        """Play this plan from its start."""
        self.plan, self.proposed, self._round = plan, 0, 0

    def __call__(self, body: dict[str, Any]) -> Answer:
        """The next answer."""
        if self._round == 0:
            self.world.plant(self.plan)
        given = json.dumps(body["messages"], ensure_ascii=False)
        self.world.told.append(given[-BODY_CHARS_MAX:])
        calls = self._next_calls(body)
        self._round += 1
        if not calls:
            return Answer([text(self.world.fill_in(self.plan.last))])
        self.proposed += len(calls)
        ids = self.plan.call_ids if self._round == 1 else ()
        blocks = [
            _block(self.world.fill_in_call(call), ids[n] if ids else f"toolu_{self._round}_{n}")
            for n, call in enumerate(calls)
        ]
        return Answer(blocks, self.plan.stop)

    def _next_calls(self, body: dict[str, Any]) -> list[Proposal]:
        if self._round < len(self.plan.batches):
            return list(self.plan.batches[self._round])
        if self.plan.obeys and self._round == len(self.plan.batches):
            return orders_in(_last_text(body))
        return []


def _block(call: Proposal, call_id: str) -> Block:
    if isinstance(call, Raw):
        return broken_tool_use(call.name, call.text, call_id)
    return tool_use(call[0], call[1], call_id)


def _last_text(body: dict[str, Any]) -> str:
    found: list[str] = []
    for block in blocks_of(body["messages"][-1]):
        content = block.get("content") if block["type"] == "tool_result" else block.get("text")
        if isinstance(content, list):
            found += [str(inner.get("text", "")) for inner in content]
        else:
            found.append(str(content or ""))
    return "\n".join(found)
