"""A project's own list of servers counts only as an operator saw it (CF-01)."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fakes.mcp_room import McpRoom, running_manager

from geode.errors import ConfigError
from geode.mcp.project import BYTES_MAX, ProjectFile, project_path, read_project
from geode.store.trusted_files import Trust, record_trust

THEIRS = '[servers.docs]\ncommand = ["/bin/false"]\n[servers.docs.tools.search]\neffect = "read"\n'
OURS = {"db": {"command": ["/bin/false"], "tools": {"query": {"effect": "read"}}}}


def _write(project: Path, text: str = THEIRS) -> Path:
    (project / ".geode").mkdir(parents=True, exist_ok=True)
    path = project / ".geode" / "mcp.toml"
    path.write_text(text)
    return path


def _table(project: Path, **more: Any) -> dict[str, Any]:
    grants = {"p": {"tools": ["docs__search"]}}
    return {"mcp": {"project": str(project), **more}, "profiles": grants}


async def _trust(room: McpRoom, project: Path) -> None:
    file = read_project(project)
    assert file is not None
    trust = Trust(file.path, file.digest, "root")
    await room.store.write("trust", partial(record_trust, trust=trust, now_us=1))


async def test_list_that_nobody_accepted_starts_nothing_and_says_so(tmp_path: Path) -> None:
    _write(tmp_path / "p")

    async with running_manager(tmp_path, _table(tmp_path / "p"), {}) as room:
        assert room.manager.servers == {}
        assert "was never accepted" in room.manager.degraded[0]
        assert room.manager.names == {"docs__search"}
        assert room.rules() == {"docs__search": "mcp.project_untrusted"}


async def test_accepted_list_is_used_and_any_change_takes_that_back(tmp_path: Path) -> None:
    path = _write(tmp_path / "p")
    async with running_manager(tmp_path, _table(tmp_path / "p"), {}) as room:
        await _trust(room, tmp_path / "p")

    async with running_manager(tmp_path, _table(tmp_path / "p"), {}) as room:
        assert list(room.manager.servers) == ["docs"]
        assert room.manager.listed.of_project == {"docs"}

    path.write_text(path.read_text() + "\n")
    async with running_manager(tmp_path, _table(tmp_path / "p"), {}) as room:
        assert room.manager.servers == {}
        assert "has changed since it was accepted" in room.manager.degraded[0]


async def test_project_replaces_no_server_of_the_operator(tmp_path: Path) -> None:
    theirs = THEIRS + '[servers.db]\ncommand = ["/bin/evil"]\n'
    _write(tmp_path / "p", theirs)
    table = _table(tmp_path / "p", servers=OURS)
    async with running_manager(tmp_path, table, {}) as room:
        await _trust(room, tmp_path / "p")

    async with running_manager(tmp_path, table, {}) as room:
        assert room.manager.servers["db"].command == ("/bin/false",)
        assert set(room.manager.servers) == {"db", "docs"}
        assert "names a server db" in room.manager.degraded[0]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[servers", "is not TOML"),
        ("[servers.docs]\nurl = 3", "servers.docs.url"),
        ('[servers.docs]\ncommand = ["x"]\nenv = { A = "b" }\nshell = true', "shell"),
        ('[servers.read]\ncommand = ["x"]\n[servers.read.tools.file]\neffect="read"', "read_file"),
        ("x = " + "[" * 5_000, "is not TOML"),
    ],
)
async def test_accepted_list_that_is_wrong_is_left_out_whole(
    tmp_path: Path, text: str, part: str
) -> None:
    _write(tmp_path / "p", text)
    table = _table(tmp_path / "p", servers=OURS)
    async with running_manager(tmp_path, table, {}) as room:
        await _trust(room, tmp_path / "p")

    async with running_manager(tmp_path, table, {}) as room:
        assert set(room.manager.servers) == {"db"}
        assert part in room.manager.degraded[0]


def test_links_and_other_things_in_the_place_of_the_list_are_refused(tmp_path: Path) -> None:
    real = _write(tmp_path / "real")
    linked_file, linked_folder, pipe = (tmp_path / name for name in ("a", "b", "c"))
    (linked_file / ".geode").mkdir(parents=True)
    (linked_file / ".geode" / "mcp.toml").symlink_to(real)
    linked_folder.mkdir()
    (linked_folder / ".geode").symlink_to(real.parent)
    (pipe / ".geode").mkdir(parents=True)
    os.mkfifo(pipe / ".geode" / "mcp.toml")

    for project in (linked_file, linked_folder, pipe):
        with pytest.raises(ConfigError, match=r"without links|not a plain file"):
            read_project(project)
    assert read_project(tmp_path / "none") is None


def test_list_larger_than_a_list_is_refused(tmp_path: Path) -> None:
    _write(tmp_path, "#" * (BYTES_MAX + 1))

    with pytest.raises(ConfigError, match="has more than"):
        read_project(tmp_path)


def test_one_file_has_one_name_whatever_way_leads_to_its_project(tmp_path: Path) -> None:
    _write(tmp_path / "p")
    (tmp_path / "way").symlink_to(tmp_path / "p")

    assert project_path(tmp_path / "way") == project_path(tmp_path / "p")
    assert read_project(tmp_path / "way") == ProjectFile(
        project_path(tmp_path / "p"), THEIRS.encode()
    )
