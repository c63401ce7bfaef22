"""`python -m bench`: measure both sides in one run and print the table; nothing passes or fails."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from bench.program import describe_machine
from bench.run import QUICK, Effort, Run
from bench.table import make_rows, render_table


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="few repeats: shows that all rows work"
    )
    parser.add_argument(
        "--folder", type=Path, help="where databases are put; default: a temporary folder"
    )
    arguments = parser.parse_args()
    effort = QUICK if arguments.quick else Effort()
    with tempfile.TemporaryDirectory(prefix="geode-bench-", dir=arguments.folder) as folder:
        found = asyncio.run(Run(Path(folder), effort, _tell).measure())
    print(render_table(make_rows(found)))
    print(
        f"\n{describe_machine()}; one fsync takes {found.fsync_ms:.2f} ms here; "
        f"measured in {found.took_s:.0f} s. CPU is that of the whole process, medians of one run; "
        "the model answers at once."
    )


def _tell(what: str) -> None:
    print(f"measuring: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
