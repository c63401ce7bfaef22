"""The toy channel of the docs as its author would publish it: a distribution on the path."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from fakes.contract_toy import TOY_FILE
from fakes.contract_toy_server import TOKEN

NAME = "geode_toy-1.0.dist-info"
ENTRY_POINTS = """\
[geode.channels]
toy = toy_channel:ToyChannel

[geode.channel_settings]
toy = toy_channel:ToySettings
"""
CONFIG = """
[channels.toy]
url = "{url}"
token = "env:TOY_TOKEN"

[[bindings]]
channel = "toy"
where = "town/lobby"
people = ["ana"]
operators = ["ana"]
"""


def install(folder: Path) -> Path:
    """Put the example where an installer would: its module, and what it says of itself."""
    about = folder / NAME
    about.mkdir(parents=True)
    shutil.copy(TOY_FILE, folder / TOY_FILE.name)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: geode-toy\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


def toy_environ(home: Path, site: Path) -> dict[str, str]:
    """The environment of a daemon with that package."""
    known = os.environ.get("PYTHONPATH", "")
    return {
        "GEODE_HOME": str(home),
        "HOME": str(home),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(site), known))),
        "TOY_TOKEN": TOKEN,
    }


def write_config(home: Path, url: str) -> Path:
    """A configuration with the toy alone, in the state folder; returns its path."""
    home.mkdir()
    path = home / "geode.toml"
    path.write_text(CONFIG.format(url=url))
    return path
