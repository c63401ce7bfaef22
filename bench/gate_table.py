"""The rows of the gate: what a call costs in it, beside a whole tool call of the bare loop."""

from __future__ import annotations

from collections.abc import Mapping

from bench.cases import Figures
from bench.rows import Row


def make_gate_rows(gate: Mapping[str, Figures], bare_call_ms: float) -> list[Row]:
    """CPU per call of the thread that the gate runs on; what the store's threads do stands apart.

    The direct call that stands for no gate at all is taken off.
    """
    direct = gate["direct"]["own"]
    rows = [
        _beside_bare(f"gate: CPU of {name}, storage apart", gate[key]["own"] - direct, bare_call_ms)
        for key, name in (
            ("read", "a read call"),
            ("hook", "a read call with a Python hook"),
            ("mutate", "a mutate call"),
        )
    ]
    mutate = gate["mutate"]
    server, own_server = gate["mcp"]["own"], gate["bare_mcp"]["own"]
    return [
        *rows,
        Row(
            "gate: storage of a mutate call",
            f"{mutate['else']:.2f} ms",
            ratio=f"{mutate['commits']:.0f} commits, an fsync each",
        ),
        Row(
            "gate: CPU of a call to an MCP server",
            f"{server:.2f} ms",
            f"{own_server:.2f} ms",
            f"{server / own_server:.2f}x",
        ),
    ]


def _beside_bare(figure: str, own_ms: float, bare_ms: float) -> Row:
    return Row(figure, f"{own_ms:.3f} ms", f"{bare_ms:.2f} ms", f"{own_ms / bare_ms:.2f}x")
