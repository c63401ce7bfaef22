"""Nothing outside a session's folder is read or changed, whatever lies there (IN-02)."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from geode.errors import FileRefusedError, PathRefusedError, ToolError
from geode.messages import SessionId
from geode.tools.paths import parse_path
from geode.tools.workspace import WorkspaceLimits, Workspaces

S1 = SessionId("s1")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace root with one session's folder, beside a secret."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("the secret")
    (tmp_path / "spaces" / "s1").mkdir(parents=True)
    return tmp_path / "spaces"


@pytest.fixture
def spaces(root: Path) -> Workspaces:
    """Workspaces over the root."""
    return Workspaces(root)


def read(spaces: Workspaces, path: str) -> bytes:
    return spaces.read_whole(S1, parse_path(path))


def write(spaces: Workspaces, path: str, content: bytes = b"x", operation: str = "r1") -> None:
    spaces.write_file(S1, parse_path(path), content, operation)


def count_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_written_file_is_read_back_and_private(spaces: Workspaces, root: Path):
    write(spaces, "a/b/c.txt", b"content")

    assert read(spaces, "a/b/c.txt") == b"content"
    assert stat.S_IMODE((root / "s1/a/b/c.txt").stat().st_mode) == 0o600
    assert stat.S_IMODE((root / "s1/a").stat().st_mode) == 0o700


def test_a_replaced_file_keeps_its_mode(spaces: Workspaces, root: Path):
    (root / "s1/run.sh").write_text("old")
    (root / "s1/run.sh").chmod(0o755)

    write(spaces, "run.sh", b"new")

    assert stat.S_IMODE((root / "s1/run.sh").stat().st_mode) == 0o755


LINKS = {
    "to a file outside": ("link", "../../outside/secret", "link"),
    "to a folder outside": ("link", "../../outside", "link/secret"),
    "absolute": ("link", "/etc", "link/passwd"),
    "to the root": ("link", "/", "link/etc/passwd"),
    "to proc": ("link", "/proc/self/root", "link/etc/passwd"),
    "to another process": ("link", "/proc/1/environ", "link"),
    "to a descriptor": ("link", "/dev/fd/0", "link"),
    "to a sibling inside": ("link", "inside.txt", "link"),
    "dangling": ("link", "nowhere", "link"),
}


@pytest.mark.parametrize(("name", "target", "path"), LINKS.values(), ids=LINKS.keys())
def test_a_link_is_neither_read_nor_written_through(
    spaces: Workspaces, root: Path, name: str, target: str, path: str
):
    (root / "s1/inside.txt").write_text("inside")
    (root / "s1" / name).symlink_to(target)

    with pytest.raises(ToolError):
        read(spaces, path)
    with pytest.raises(ToolError):
        write(spaces, path, b"overwritten")

    assert (root / "s1" / name).is_symlink()
    assert (root.parent / "outside/secret").read_text() == "the secret"
    assert not (root / "s1/nowhere").exists()


def test_the_same_link_reaches_the_secret_without_the_workspace(root: Path):
    """The control: an open by name follows the link that the test above refuses."""
    (root / "s1/link").symlink_to("../../outside")

    assert (root / "s1/link/secret").read_text() == "the secret"


def test_a_session_folder_that_is_a_link_is_refused(spaces: Workspaces, root: Path):
    (root / "s2").symlink_to(root.parent / "outside")

    with pytest.raises(PathRefusedError):
        spaces.read_whole(SessionId("s2"), parse_path("secret"))
    with pytest.raises(PathRefusedError):
        spaces.write_file(SessionId("s2"), parse_path("secret"), b"x", "r1")


@pytest.mark.parametrize(
    "session", ["", ".", "..", "../outside", "a/b", "a\0", ".hidden", "x" * 200]
)
def test_a_session_id_that_is_not_a_plain_name_opens_nothing(spaces: Workspaces, session: str):
    with pytest.raises(PathRefusedError):
        spaces.read_whole(SessionId(session), parse_path("secret"))


def test_a_hard_link_is_neither_read_nor_replaced(spaces: Workspaces, root: Path):
    os.link(root.parent / "outside/secret", root / "s1/hard")

    with pytest.raises(PathRefusedError, match="hard link"):
        read(spaces, "hard")
    with pytest.raises(PathRefusedError, match="hard link"):
        write(spaces, "hard")
    assert (root / "s1/hard").read_text() == "the secret"


def test_a_pipe_does_not_hang_and_is_refused(spaces: Workspaces, root: Path):
    os.mkfifo(root / "s1/pipe")

    with pytest.raises(PathRefusedError, match="pipe"):
        read(spaces, "pipe")
    with pytest.raises(PathRefusedError, match="pipe"):
        write(spaces, "pipe")


def test_a_socket_is_refused(spaces: Workspaces, root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(root / "s1")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("sock")

        with pytest.raises(PathRefusedError, match="socket"):
            read(spaces, "sock")


def test_a_folder_is_not_a_file(spaces: Workspaces, root: Path):
    (root / "s1/folder").mkdir()

    with pytest.raises(PathRefusedError, match="folder"):
        read(spaces, "folder")
    with pytest.raises(PathRefusedError, match="folder"):
        write(spaces, "folder")


def test_a_file_is_not_a_folder(spaces: Workspaces):
    write(spaces, "file")

    with pytest.raises(PathRefusedError):
        write(spaces, "file/below")


def test_a_percent_name_is_a_literal_name(spaces: Workspaces, root: Path):
    write(spaces, "%2e%2e/x")

    assert (root / "s1/%2e%2e/x").exists()
    assert not (root / "x").exists()


def test_sessions_do_not_see_each_other(spaces: Workspaces):
    write(spaces, "mine.txt", b"canary")

    with pytest.raises(FileRefusedError):
        spaces.read_whole(SessionId("s2"), parse_path("mine.txt"))


def test_a_folder_swapped_for_a_link_never_leads_outside(spaces: Workspaces, root: Path):
    """A race between check and open, in both directions, for reads and writes."""
    place = root / "s1/d"
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            with suppress(OSError):
                place.mkdir()
                (place / "secret").write_text("harmless")
            shutil.rmtree(place, ignore_errors=True)
            with suppress(OSError):
                place.symlink_to("../../outside")
            with suppress(OSError):
                place.unlink()

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen: set[bytes] = set()
    refused = 0
    try:
        for turn in range(2_000):
            try:
                seen.add(read(spaces, "d/secret"))
                if turn % 20 == 0:
                    write(spaces, "d/secret", b"harmless")
            except ToolError:
                refused += 1
    finally:
        stop.set()
        swapper.join()

    assert seen <= {b"harmless", b""}
    assert refused > 0
    assert (root.parent / "outside/secret").read_text() == "the secret"
    assert sorted(p.name for p in (root.parent / "outside").iterdir()) == ["secret"]


def test_a_name_is_found_in_either_spelling(spaces: Workspaces, root: Path):
    composed, decomposed = "\u00dcbersicht.pdf", "U\u0308bersicht.pdf"
    (root / "s1" / decomposed).write_bytes(b"uploaded")

    assert read(spaces, composed) == b"uploaded"
    assert read(spaces, decomposed) == b"uploaded"


def test_a_write_by_the_other_spelling_replaces_the_same_file(spaces: Workspaces, root: Path):
    composed, decomposed = "\ud559\uc810.txt", "\u1112\u1161\u11a8\u110c\u1165\u11b7.txt"
    (root / "s1" / decomposed).write_bytes(b"old")

    write(spaces, composed, b"new")

    assert [p.name for p in (root / "s1").iterdir()] == [decomposed]
    assert read(spaces, decomposed) == b"new"


def test_a_new_name_is_stored_composed(spaces: Workspaces, root: Path):
    write(spaces, "a\u0308.txt")

    assert [p.name for p in (root / "s1").iterdir()] == ["\u00e4.txt"]


def test_two_files_that_differ_in_form_only_stay_two(spaces: Workspaces, root: Path):
    (root / "s1/\u00e4").write_bytes(b"composed")
    (root / "s1/a\u0308").write_bytes(b"decomposed")

    assert read(spaces, "\u00e4") == b"composed"
    assert read(spaces, "a\u0308") == b"decomposed"


def test_a_file_over_the_limit_is_not_written(root: Path):
    spaces = Workspaces(root, limits=WorkspaceLimits(file_bytes_max=10))
    write(spaces, "a", b"0123456789")

    with pytest.raises(FileRefusedError, match="11 bytes"):
        write(spaces, "a", b"0123456789X")

    assert read(spaces, "a") == b"0123456789"


def test_a_workspace_over_its_total_takes_nothing_more(root: Path):
    spaces = Workspaces(root, limits=WorkspaceLimits(total_bytes_max=10))
    write(spaces, "a", b"01234567")

    with pytest.raises(FileRefusedError, match="10 bytes"):
        write(spaces, "new/b", b"012")

    assert [p.name for p in (root / "s1").iterdir()] == ["a"]


def test_a_workspace_at_its_count_takes_no_new_file_but_replaces_old_ones(root: Path):
    spaces = Workspaces(root, limits=WorkspaceLimits(entries_max=2))
    write(spaces, "a")
    write(spaces, "b")

    with pytest.raises(FileRefusedError, match="2 files"):
        write(spaces, "c")
    write(spaces, "b", b"replaced")

    assert read(spaces, "b") == b"replaced"


def test_a_write_takes_away_what_a_kill_left_half_written(spaces: Workspaces, root: Path):
    (root / "s1/.geode-r9.tmp").write_text("half")

    write(spaces, "a")

    assert [p.name for p in (root / "s1").iterdir()] == ["a"]


def test_no_descriptor_stays_open(spaces: Workspaces, root: Path):
    (root / "s1/link").symlink_to("/etc")
    before = count_descriptors()

    for _ in range(20):
        write(spaces, "a/b/c")
        read(spaces, "a/b/c")
        with pytest.raises(ToolError):
            read(spaces, "link/passwd")
        with pytest.raises(ToolError):
            read(spaces, "a/b/missing")

    assert count_descriptors() == before
