"""Runs the command as `python -m geode.cli`."""

from __future__ import annotations

from geode.cli.main import main

if __name__ == "__main__":
    main()
