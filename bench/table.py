"""The table: each figure of both sides, their ratio, the target, and whether it is met."""

from __future__ import annotations

from collections.abc import Sequence

from bench.cases import Figures
from bench.gate_table import make_gate_rows
from bench.rows import Row, compare
from bench.run import RESUMED, SLOPE, Measured

IDLE_MB_MAX = 25.0
LIVE_KB_MAX = 50.0
LEFT_KB_MAX = 1.0
"""What counts as nothing: resident memory moves by whole pages."""
HELP_RATIO_MAX = 8.0
READY_MS_MAX = 1500.0
REQUEST_BYTES_MAX = 8000
SIZE_MB_MAX = 100.0
SPREAD_MAX = 2.5
HOT_SLOPE_US_MAX = 3.0
"""What counts as flat: a look-up and a copy, a third of what the bare loop pays."""


def make_rows(found: Measured) -> list[Row]:
    """Every figure, in the order of the notes."""
    return [
        *_rows_of_turns(found),
        *_rows_of_crowd(found.geode["crowd"], found.bare["crowd"]),
        *_rows_of_resume(found),
        *_rows_of_writes(found.geode["tools"]),
        *make_gate_rows(found.gate, _bare_call_ms(found)),
        *_rows_of_memory(found),
        *_rows_of_program(found),
    ]


def _rows_of_turns(found: Measured) -> list[Row]:
    turn, bare_turn = found.geode["turns"]["cpu"], found.bare["turns"]["cpu"]
    tools, bare_tools = found.geode["tools"]["cpu"], found.bare["tools"]["cpu"]
    slack = found.slack["cpu"]
    return [
        compare("CPU of a turn without tools", "ms", turn, bare_turn),
        compare("CPU of a turn with 10 tool calls", "ms", tools, bare_tools),
        compare("CPU of one tool call in it", "ms", (tools - turn) / 10, _bare_call_ms(found)),
        Row(
            "CPU of a turn over the Slack wire", f"{slack:.2f} ms", "", f"{slack / bare_turn:.2f}x"
        ),
    ]


def _bare_call_ms(found: Measured) -> float:
    return (found.bare["tools"]["cpu"] - found.bare["turns"]["cpu"]) / 10


def _rows_of_crowd(geode: Figures, bare: Figures) -> list[Row]:
    rate, bare_rate = geode["rate"], bare["rate"]
    spread = geode["p99"] / geode["p50"]
    return [
        Row(
            "50 conversations: durable turns/s",
            f"{rate:.0f} /s",
            f"{bare_rate:.0f} /s",
            f"{rate / bare_rate:.2f}x",
            ">= 1x",
            rate >= bare_rate,
        ),
        compare("50 conversations: CPU per turn", "ms", geode["cpu"], bare["cpu"]),
        Row("50 conversations: p50", f"{geode['p50']:.0f} ms", f"{bare['p50']:.0f} ms"),
        Row(
            "50 conversations: p99",
            f"{geode['p99']:.0f} ms",
            f"{bare['p99']:.0f} ms",
            f"p99/p50 {spread:.2f}",
            f"<= {SPREAD_MAX}",
            spread <= SPREAD_MAX,
        ),
        Row(
            "50 conversations: units per commit",
            f"{geode['units'] / geode['commits']:.1f}",
            ratio=f"{geode['commits']:.0f} commits",
        ),
    ]


def _rows_of_resume(found: Measured) -> list[Row]:
    short, long = found.geode[f"resume:{RESUMED}"], found.geode[f"resume:{SLOPE}"]
    bare_short, bare_long = found.bare[f"resume:{RESUMED}"], found.bare[f"resume:{SLOPE}"]
    more = (SLOPE - RESUMED) / 1e3
    hot = (long["again"] - short["again"]) / more
    return [
        compare(
            f"{RESUMED}-message resume: CPU to first request", "ms", short["cpu"], bare_short["cpu"]
        ),
        compare(
            "resume: slope per stored message",
            "us",
            (long["cpu"] - short["cpu"]) / more,
            (bare_long["cpu"] - bare_short["cpu"]) / more,
        ),
        compare(
            f"the turn after a {RESUMED}-message resume", "ms", short["again"], bare_short["again"]
        ),
        Row(
            "slope per message that was sent before",
            f"{hot:.2f} us",
            f"{(bare_long['again'] - bare_short['again']) / more:.2f} us",
            target="flat",
            is_met=hot <= HOT_SLOPE_US_MAX,
        ),
    ]


def _rows_of_writes(tools: Figures) -> list[Row]:
    batches = tools["unit:batch"]
    own = {label: tools.get(f"unit:{label}", 0.0) for label in ("claim", "batch", "turn.end")}
    turn = sum(own.values())
    others: dict[str, float] = {}
    for key, number in tools.items():
        label = key.removeprefix("unit:")
        if label != key and label not in own and number:
            kind = label.partition(".")[0]
            others[kind] = others.get(kind, 0.0) + number
    kinds = ("intake", "receipt", "delivery", "lease")
    told = {kind: others.pop(kind, 0.0) for kind in kinds} | others
    return [
        Row(
            "commits of a read-only turn, 10 batches",
            f"{turn:.0f}",
            target=f"{batches:.0f} + 2",
            is_met=turn <= batches + 2,
        ),
        Row(
            "commits beside it",
            ", ".join(f"{kind} {number:.0f}" for kind, number in told.items()),
        ),
    ]


def _rows_of_memory(found: Measured) -> list[Row]:
    geode, bare = found.geode, found.bare
    idle, bare_idle = geode["idle_memory"]["kb"] / 1024, bare["idle_memory"]["kb"] / 1024
    live, bare_live = geode["live_memory"]["kb"], bare["live_memory"]["kb"]
    left, bare_left = geode["left_memory"]["kb"], bare["left_memory"]["kb"]
    return [
        Row(
            "idle resident memory",
            f"{idle:.0f} MB",
            f"{bare_idle:.0f} MB",
            f"+{idle - bare_idle:.0f} MB",
            f"<= +{IDLE_MB_MAX:.0f} MB",
            idle - bare_idle <= IDLE_MB_MAX,
        ),
        Row(
            "memory per live session",
            f"{live:.0f} kB",
            f"{bare_live:.0f} kB",
            target=f"<= {LIVE_KB_MAX:.0f} kB",
            is_met=live <= LIVE_KB_MAX,
        ),
        Row(
            "memory per idle session",
            f"{left:.1f} kB",
            f"{bare_left:.1f} kB",
            target="0 kB",
            is_met=left <= LEFT_KB_MAX,
        ),
    ]


def _rows_of_program(found: Measured) -> list[Row]:
    rows = [_row_of_help(found.help_ms)]
    ready = found.ready_ms
    rows.append(
        Row(
            "geode serve: CPU to ready",
            "not yet" if ready is None else f"{ready:.0f} ms",
            target=f"<= {READY_MS_MAX:.0f} ms",
            is_met=ready is not None and ready <= READY_MS_MAX,
        )
    )
    size, bare_size = found.geode["request_bytes"]["bytes"], found.bare["request_bytes"]["bytes"]
    rows.append(
        Row(
            'request for "hi", default profile',
            f"{size:.0f} B",
            f"{bare_size:.0f} B",
            target=f"<= {REQUEST_BYTES_MAX} B",
            is_met=size <= REQUEST_BYTES_MAX,
        )
    )
    rows.append(
        Row(
            "installed size without bytecode",
            f"{found.size_mb:.0f} MB",
            target=f"<= {SIZE_MB_MAX:.0f} MB",
            is_met=found.size_mb <= SIZE_MB_MAX,
        )
    )
    return rows


def _row_of_help(measured: tuple[float, float] | None) -> Row:
    target = f"<= {HELP_RATIO_MAX:g}x"
    if measured is None:
        return Row("geode --help against python -c pass", "not yet", target=target, is_met=False)
    helped, passed = measured
    return compare("geode --help against python -c pass", "ms", helped, passed, HELP_RATIO_MAX)


def render_table(rows: Sequence[Row]) -> str:
    """The rows in columns."""
    words = {None: "", True: "yes", False: "NO"}
    cells = [("figure", "GEODE", "bare SDK loop", "ratio", "target", "met")]
    cells += [(r.figure, r.geode, r.bare, r.ratio, r.target, words[r.is_met]) for r in rows]
    widths = [max(len(row[column]) for row in cells[: len(cells)]) for column in range(6)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)
