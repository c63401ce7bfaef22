"""What turns used, in words: the answers' own, their repairs and their checks apart; pure."""

from __future__ import annotations

from geode.store.spent import Part, Spent

UNKNOWN = "price unknown"
MORE_UNKNOWN = "and calls of unknown price"


def describe_spent(spent: Spent) -> str:
    """One line; what was used for repairs and checks is named when there were any."""
    counted = "1 turn" if spent.turns == 1 else f"{spent.turns:,} turns"
    own, repairs, checks = spent.own, spent.repairs, spent.checks
    parts = [
        f"{counted}, {own.input_tokens:,} tokens read, {own.output_tokens:,} written, "
        f"{describe_cost(own.cost_micro_usd, own.unpriced)}"
    ]
    if repairs.count:
        parts.append(_describe_part("repair", repairs))
    if checks.count:
        parts.append(_describe_part("check", checks))
    if len(parts) > 1:
        parts.append(f"{describe_cost(spent.cost_micro_usd, spent.unpriced)} in all")
    return "; ".join(parts)


def describe_cost(micro_usd: int, unpriced: int = 0) -> str:
    """Dollars; a price that nobody knows is not zero."""
    if not unpriced:
        return show_usd(micro_usd)
    return f"{show_usd(micro_usd)} {MORE_UNKNOWN}" if micro_usd else UNKNOWN


def show_usd(micro_usd: int) -> str:
    """Dollars and cents; less than a cent keeps the digits that it has."""
    if 0 < micro_usd < 10_000:
        return f"${micro_usd / 1_000_000:.6f}".rstrip("0")
    return f"${micro_usd / 1_000_000:.2f}"


def _describe_part(name: str, part: Part) -> str:
    counted = f"1 {name}" if part.count == 1 else f"{part.count:,} {name}s"
    tokens = part.input_tokens + part.output_tokens
    return f"{counted}: {tokens:,} tokens, {describe_cost(part.cost_micro_usd, part.unpriced)}"
