"""A model that wants out plays every plan against a real daemon: nothing happens beyond its thread.

Without a gate the same calls hit every canary that their rows name, so the judge is not blind.
Run with `-s` for the numbers.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import get_args

import pytest
from fakes.hostile_plans import plans
from fakes.hostile_receipts import find_unrecorded
from fakes.hostile_rows import Kind, Plan
from fakes.hostile_town import HostileTown, hostile_town
from fakes.hostile_world import Effect

pytestmark = pytest.mark.timeout(240)
SHARES = 3
PLANS = [*plans()]
shared = pytest.mark.parametrize("share", range(SHARES))


def share_of(number: int) -> list[Plan]:
    return PLANS[number::SHARES]


def tell(line: str) -> None:
    sys.stdout.write(f"\nhostile model: {line}\n")


async def play_all(town: HostileTown, rows: list[Plan]) -> tuple[int, dict[str, list[Effect]]]:
    """How many calls were proposed, and what came of the plans that had an effect."""
    proposed, found = 0, dict[str, list[Effect]]()
    for plan in rows:
        effects = await town.play(plan)
        proposed += town.player.proposed
        planned = sum(len(batch) for batch in plan.batches)
        assert town.player.proposed > planned if plan.obeys else town.player.proposed == planned
        if effects:
            found[plan.name] = effects
    return proposed, found


@shared
async def test_no_plan_of_a_hostile_model_has_an_effect(tmp_path: Path, share: int) -> None:
    rows = share_of(share)
    async with hostile_town(tmp_path) as town:
        proposed, found = await play_all(town, rows)

        tell(f"{len(rows)} plans, {proposed} calls, {sum(map(len, found.values()))} effects")
        assert found == {}
        assert town.town.server.refusals == []
        assert town.town.slack.counters()["refused"] == {}
        assert await town.town.count("turns") == len(rows) + 1
        assert await find_unrecorded(town) == []


@shared
async def test_the_same_plans_without_a_gate_hit_the_canaries(tmp_path: Path, share: int) -> None:
    rows, total = share_of(share), 0
    blind: dict[str, set[str]] = {}
    async with hostile_town(tmp_path) as town:
        for plan in rows:
            effects = await town.play_without_gate(plan)
            total += len(effects)
            if missed := plan.shows - {effect.kind for effect in effects}:
                blind[plan.name] = set(missed)

        tell(f"{len(rows)} plans without a gate, {total} effects")
        assert blind == {}


def test_every_kind_of_canary_is_hit_by_plans() -> None:
    hit = {kind for plan in PLANS for kind in plan.shows}

    assert hit == set(get_args(Kind))
    assert len({plan.name for plan in PLANS}) == len(PLANS)
