"""One side in a process of its own: one JSON line in names a case, one JSON line out answers it."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from bench.cases import Cases


def open_side(name: str, url: str, folder: Path) -> Any:
    """The side of that name; nothing of the other ones is imported."""
    if name == "bare":
        from bench.bare import BareLoop

        return BareLoop(url, folder)
    _log_as_a_daemon()
    if name == "slack":
        from bench.wire import TOLD, SlackLoop

        return SlackLoop(url, folder, json.loads(os.environ[TOLD]))
    from bench.daemon import GeodeLoop

    return GeodeLoop(url, folder)


def _log_as_a_daemon() -> None:
    """Log lines go to stderr, and none of debugging: standard output carries the figures."""
    from geode.log import configure_logging
    from geode.reply.redaction import Redactor

    configure_logging(Redactor(), level="WARNING")


async def run(arguments: argparse.Namespace) -> None:
    """Answer cases until standard input closes."""
    side = open_side(arguments.side, arguments.url, arguments.folder)
    await side.open()
    cases = Cases(side, arguments.watch)
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        case, fields = json.loads(line)
        figures = await getattr(cases, case)(**fields)
        sys.stdout.write(json.dumps(figures) + "\n")
        sys.stdout.flush()
    await side.close()


def parse_arguments() -> argparse.Namespace:
    """What the parent says when it starts the process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", choices=("geode", "bare", "slack"))
    parser.add_argument("--url", required=True)
    parser.add_argument("--watch", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(run(parse_arguments()))
