"""One line of the table, and how two figures become one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    figure: str
    geode: str
    bare: str = ""
    ratio: str = ""
    target: str = ""
    is_met: bool | None = None
    """None: nothing is asked of it."""


def compare(figure: str, unit: str, geode: float, bare: float, target: float = 1.0) -> Row:
    """A row whose target is a multiple of the bare loop's figure."""
    ratio = geode / bare if bare else float("inf")
    return Row(
        figure,
        f"{geode:.2f} {unit}",
        f"{bare:.2f} {unit}",
        f"{ratio:.2f}x",
        f"<= {target:g}x",
        ratio <= target,
    )
