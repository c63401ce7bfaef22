"""What turns used, as figures that go over the socket too; pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from geode.messages import JsonObject


@dataclass(frozen=True, slots=True)
class Part:
    """What calls of one purpose used."""

    count: int = 0
    """Repairs, or checks by a judge; of the answers' own: 0."""
    input_tokens: int = 0
    """Cached ones included."""
    output_tokens: int = 0
    cost_micro_usd: int = 0
    """Of the calls whose price is known."""
    unpriced: int = 0
    """Turns in which the price of such a call is not known."""

    def to_json(self) -> JsonObject:
        """The figures as JSON."""
        return {
            "count": self.count,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_micro_usd": self.cost_micro_usd,
            "unpriced": self.unpriced,
        }


@dataclass(frozen=True, slots=True)
class Spent:
    """What ended turns used, apart by what for."""

    turns: int = 0
    own: Part = field(default_factory=Part)
    """The answers' own, children included."""
    repairs: Part = field(default_factory=Part)
    checks: Part = field(default_factory=Part)

    @property
    def total(self) -> Part:
        """Everything together."""
        parts = (self.own, self.repairs, self.checks)
        return Part(
            input_tokens=sum(each.input_tokens for each in parts),
            output_tokens=sum(each.output_tokens for each in parts),
            cost_micro_usd=sum(each.cost_micro_usd for each in parts),
            # A repair is priced as its answer is.
            unpriced=self.own.unpriced + self.checks.unpriced,
        )

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.total.input_tokens + self.total.output_tokens

    @property
    def cost_micro_usd(self) -> int:
        """Of everything whose price is known."""
        return self.total.cost_micro_usd

    @property
    def unpriced(self) -> int:
        """How often there was more, of which nobody knows the price."""
        return self.total.unpriced

    def to_json(self) -> JsonObject:
        """The figures as JSON."""
        return {
            "turns": self.turns,
            "own": self.own.to_json(),
            "repairs": self.repairs.to_json(),
            "checks": self.checks.to_json(),
        }

    @staticmethod
    def from_json(body: JsonObject) -> Spent:
        """What `to_json` wrote."""
        parts = {
            name: Part(**cast("dict[str, int]", body[name]))
            for name in ("own", "repairs", "checks")
        }
        return Spent(cast("int", body["turns"]), **parts)
