"""Receipts against the world: what was done has one, and what has one was done."""

from __future__ import annotations

from fakes.hostile_town import HostileTown

PLANTED = frozenset({"own.txt", "link", "folder-link", "hard", "pipe", "notes.txt"})
WRITERS = ("write_file", "edit_file")


async def find_unrecorded(town: HostileTown) -> list[str]:
    """Files and notes that no receipt tells of, and receipts that stand open or tell of nothing."""
    rows = await town.town.rows("receipts", "id", "session_id", "tool", "state")
    keys = await town.town.rows("receipt_keys", "receipt_id", "key")
    odd = [f"{tool} is {state}" for _, _, tool, state in rows if state in ("prepared", "uncertain")]
    done = {row[0]: row for row in rows if row[3] == "committed"}
    told: set[str] = set()
    for receipt_id, key in keys:
        if receipt_id in done and done[receipt_id][2] in WRITERS:
            told.add(f"{done[receipt_id][1]}/{key.split(':', 2)[-1]}")
    files = town.world.home / "files"
    there = {
        str(path.relative_to(files))
        for path in files.rglob("*")
        if path.is_file() and not path.is_symlink() and path.name not in PLANTED
    }
    notes = await town.town.count("memories")
    saved = sum(row[2] == "memory_save" for row in done.values())
    odd += [f"without a receipt: {name}" for name in sorted(there - told)]
    odd += [f"without a file: {name}" for name in sorted(told) if not (files / name).is_file()]
    return odd if notes == saved else [*odd, f"{notes} notes, {saved} receipts"]
