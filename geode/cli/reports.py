"""Each verb's answer as text for an operator; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from geode.cli.tables import render_pairs, render_table, show_text, show_time
from geode.reply.spending import describe_cost, describe_spent
from geode.store.spent import Spent

Answer = Mapping[str, Any]


def report_status(answer: Answer) -> str:
    """The state first, then every number the daemon tells, then what is degraded."""
    pairs: list[tuple[str, object]] = []
    for name, value in answer.items():
        if name in {"state", "channels", "degraded"}:
            continue
        is_spent = name == "spent_today"
        told = describe_spent(Spent.from_json(value)) if is_spent else _show_counts(value)
        pairs.append((name.replace("_", " "), told))
    for name, channel in answer.get("channels", {}).items():
        reason = f": {channel['reason']}" if channel.get("reason") else ""
        pairs.append((f"channel {name}", f"{channel['state']}{reason}"))
    lines = [f"geode is {show_text(answer['state'])}", render_pairs(pairs)]
    lines += [f"degraded: {show_text(sentence, 400)}" for sentence in answer.get("degraded", ())]
    return "\n".join(line for line in lines if line)


def report_sessions(answer: Answer) -> str:
    """One line a session."""
    rows = answer["sessions"]
    if not rows:
        return "No session yet."
    headings = ("ID", "STATE", "TURNS", "QUEUED", "ACTIVE (UTC)", "TOKENS", "COST", "THREAD")
    return render_table(
        headings,
        [
            (
                row["id"],
                row["state"],
                row["turns_begun"],
                row["queued"],
                show_time(row["active_at_us"]),
                f"{spent.tokens:,}",
                describe_cost(spent.cost_micro_usd, spent.unpriced),
                row["thread"] or _name_parent(row),
            )
            for row in rows
            for spent in (Spent.from_json(row["spent"]),)
        ],
    )


def report_session(answer: Answer) -> str:
    """The session, its turns, what waits, and its timeline."""
    head = render_pairs(
        [
            ("session", answer["id"]),
            ("state", answer["state"]),
            ("thread", answer["thread"] or _name_parent(answer)),
            ("binding", answer["binding"]),
            ("mode", answer["mode"]),
            ("created", show_time(answer["created_at_us"])),
            ("active", show_time(answer["active_at_us"])),
            ("used", describe_spent(Spent.from_json(answer["spent"]))),
        ]
    )
    parts = [head, _report_turns(answer["turns"])]
    if answer["queued"]:
        waiting = ", ".join(f"{row['message']} ({row['sender']})" for row in answer["queued"])
        parts.append(f"waiting for the next turn: {show_text(waiting, 400)}")
    if answer["outbox"]:
        parts.append(_report_replies(answer["outbox"]))
    parts.append(_report_timeline(answer["timeline"]))
    return "\n\n".join(parts)


def _name_parent(row: Answer) -> str:
    return f"child of {row['parent']}" if row.get("parent") else "-"


def report_effects(answer: Answer) -> str:
    """Receipts, open ones first, then the replies that are still on their way."""
    parts: list[str] = []
    if answer["effects"]:
        parts.append(_report_receipts(answer["effects"]))
    if answer["replies"]:
        parts.append(_report_replies(answer["replies"]))
    uncertain = [row for row in answer["effects"] if row["state"] == "uncertain"]
    if uncertain:
        parts.append("\n".join(_show_whole(row) for row in uncertain))
        parts.append("Settle what is uncertain: geode effects settle ID happened|did-not")
    return "\n\n".join(parts) or "No effects yet, and no reply on its way."


def report_settled(answer: Answer) -> str:
    """What was recorded."""
    word = "it happened" if answer["outcome"] == "happened" else "it did not happen"
    return f"{answer['id']} ({show_text(answer['tool'])}) is settled: {word}."


def _show_counts(value: object) -> object:
    if isinstance(value, Mapping):
        counts = [f"{count} {name}" for name, count in cast("Answer", value).items()]
        return ", ".join(counts) or "none"
    return value


def _report_turns(rows: Sequence[Answer]) -> str:
    if not rows:
        return "No turn yet."
    headings = (
        "TURN",
        "STATE",
        "REASON",
        "CHECK",
        "STEPS",
        "TRIES",
        "SECONDS",
        "TOKENS",
        "COST",
        "REPAIRS",
        "CHECKS",
        "STARTED (UTC)",
        "ID",
    )
    return render_table(
        headings,
        [
            (
                row["number"],
                row["state"],
                row["reason"] or "-",
                row["verification"] or "-",
                row["steps"],
                row["attempts"],
                f"{row['spent_us'] / 1_000_000:.1f}",
                *_show_used(row),
                show_time(row["started_at_us"]),
                row["id"],
            )
            for row in rows
        ],
    )


def _show_used(row: Answer) -> tuple[str, str, str, str]:
    """Tokens and cost of the answer itself, then its repairs and its checks, each apart."""
    read = row["input_tokens"] - row["repair_input_tokens"]
    written = row["output_tokens"] - row["repair_output_tokens"]
    own = row["cost_micro_usd"] - row["repair_cost_micro_usd"]
    repair = describe_cost(row["repair_cost_micro_usd"], row["unpriced"])
    check = describe_cost(row["judge_cost_micro_usd"], row["judge_unpriced"])
    return (
        f"{read + written:,}",
        describe_cost(own, row["unpriced"]),
        f"{row['repairs']}: {repair}" if row["repairs"] else "-",
        f"{row['judge_calls']}: {check}" if row["judge_calls"] else "-",
    )


def _report_timeline(rows: Sequence[Answer]) -> str:
    if not rows:
        return "The timeline is empty."
    headings = ("SEQ", "AT (UTC)", "KIND", "WHAT")
    return render_table(
        headings,
        [
            (row["seq"], show_time(row["at_us"]), row["kind"], _show_body(row["body"]))
            for row in rows
        ],
    )


def _show_body(body: object) -> str:
    if not isinstance(body, Mapping):
        return str(body)
    return ", ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in cast("Answer", body).items()
    )


def _report_receipts(rows: Sequence[Answer]) -> str:
    headings = ("EFFECT", "STATE", "TOOL", "PREPARED (UTC)", "SESSION", "WHAT")
    return render_table(
        headings,
        [
            (
                row["id"],
                _show_state(row),
                row["tool"],
                show_time(row["prepared_at_us"]),
                row["session"],
                row["error"] or row["arguments"],
            )
            for row in rows
        ],
    )


def _show_whole(row: Answer) -> str:
    """An effect with everything a person needs to judge whether it happened."""
    arguments = str(row["arguments"])
    # Escaping makes it longer, and nothing of it may be cut.
    shown = show_text(arguments, 10 * len(arguments))
    return f"{row['id']}  {show_text(row['tool'])} {shown}"


def _show_state(row: Answer) -> str:
    if row["state"] != "reconciled":
        return str(row["state"])
    return f"{row['result']} (by {row['settled_by']})"


def _report_replies(rows: Sequence[Answer]) -> str:
    headings = ("REPLY", "STATE", "KIND", "TRIES", "QUEUED (UTC)", "SESSION", "WHY")
    return render_table(
        headings,
        [
            (
                row["id"],
                "uncertain" if row["is_unsure"] else row["state"],
                row["kind"],
                row["attempts"],
                show_time(row["created_at_us"]),
                row["session"],
                row["reason"] or "-",
            )
            for row in rows
        ],
    )
