"""Files that an accepted answer links go with it, each once, and nothing else of the machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from fakes.loopback import LoopbackChannel
from fakes.pictures import make_png
from fakes.scripted_model import call, say
from fakes.spine_room import SpineRoom, Worker, open_room

from geode.errors import SendRefusedError
from geode.llm.errors import BadRequest
from geode.messages import OutboundFile, Part, Place, SessionId
from geode.reply.sentences import COPY_LOST
from geode.session.outgoing import Outgoing
from geode.session.shelf import Shelf
from geode.store.blobs import Blobs
from geode.store.file_json import files_from_json, list_open_hashes
from geode.store.tables import outbox, outbox_parts
from geode.tools.workspace import Workspaces

LEASE_OVER_S = 91.0


@pytest.fixture
async def room(tmp_path: Path):
    async with open_room(tmp_path) as opened:
        yield opened


async def open_files(room: SpineRoom, **files: bytes) -> SessionId:
    """A session whose workspace holds these files, `_` in a name standing for a dot."""
    await room.say("send it")
    session_id = await room.session_id()
    folder = room.folder / "files" / session_id
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_bytes(content)
    return session_id


async def answer(room: SpineRoom, session_id: SessionId, text: str, **more: object) -> Worker:
    worker = room.worker(replies=[say(text)], **more)  # type: ignore[arg-type]
    await worker.runner.run_session(session_id)
    return worker


def sent(room: SpineRoom) -> list[tuple[str, bytes]]:
    return [(post.text, post.content) for post in room.platform.posted]


def spooled(room: SpineRoom) -> list[str]:
    folder = room.folder / "outgoing"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


async def test_linked_file_follows_the_answer(room: SpineRoom) -> None:
    session_id = await open_files(room, report_pdf=b"%PDF-1.7 x", chart_png=make_png())

    worker = await answer(room, session_id, "Here: [the report](report.pdf) ![c](chart.png)")
    await worker.deliver(session_id)

    expected = [
        ("Here: the report c", b""),
        ("report.pdf", b"%PDF-1.7 x"),
        ("chart.png", make_png()),
    ]
    assert sent(room) == expected
    assert await room.rows(outbox_parts.c.state, order=outbox_parts.c.number) == ["committed"] * 4


async def test_model_is_told_how_to_send_a_file(room: SpineRoom) -> None:
    session_id = await open_files(room)

    worker = await answer(room, session_id, "ok")

    assert "[Report](report.pdf)" in worker.model.steps[0].system.stable


async def test_file_that_the_turn_itself_wrote_is_sent(room: SpineRoom) -> None:
    await room.say("write it")
    session_id = await room.session_id()
    written = call(("write_file", {"path": "out/a b.txt", "content": "words"}))
    worker = room.worker(replies=[written, say("[a b](out/a%20b.txt)")])

    await worker.runner.run_session(session_id)
    await worker.deliver(session_id)

    assert sent(room) == [("a b", b""), ("a b.txt", b"words")]


@pytest.mark.parametrize(
    ("link", "told"),
    [
        ("missing.txt", "There is no file missing.txt"),
        ("../../geode.db", "may not contain '..'"),
        ("link.txt", "is a link"),
        ("folder/secret.txt", "is not a folder, or it is a link"),
        ("hard.txt", "more than one name"),
        ("empty.txt", "It is empty"),
        ("big.bin", "larger than 20 MB"),
        ("pipe", "is a pipe"),
    ],
)
async def test_what_is_no_plain_file_of_the_workspace_is_told_and_not_sent(
    room: SpineRoom, link: str, told: str
) -> None:
    session_id = await open_files(room, empty_txt=b"")
    outside = room.folder / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_bytes(b"secret")
    folder = room.folder / "files" / session_id
    (folder / "link.txt").symlink_to(outside / "secret.txt")
    (folder / "folder").symlink_to(outside)
    (folder / "hard.txt").hardlink_to(outside / "secret.txt")
    os.mkfifo(folder / "pipe")
    with (folder / "big.bin").open("wb") as file:
        file.truncate(20_000_001)

    worker = await answer(room, session_id, f"Here is [it]({link}).")
    await worker.deliver(session_id)

    ((text, content),) = sent(room)
    assert text.startswith(f"Here is it.\n\nI could not attach `{link}` (")
    assert told in text
    assert content == b""
    assert spooled(room) == []


async def test_answer_that_is_no_candidate_sends_nothing(room: SpineRoom) -> None:
    session_id = await open_files(room, a_txt=b"x")
    worker = room.worker(replies=[BadRequest(detail="look at [a](a.txt)")])

    await worker.runner.run_session(session_id)

    assert "[a](a.txt)" in (await room.said("answer"))[0]
    assert await room.rows(outbox.c.files, kind="answer") == [""]
    assert spooled(room) == []


async def test_file_with_a_secret_of_the_service_is_not_sent(room: SpineRoom) -> None:
    session_id = await open_files(room, env_txt=b"TOKEN=xoxb-own-secret")
    shelf = Shelf(Workspaces(room.folder / "files"), room.folder, Blobs(room.folder / "outgoing"))
    outgoing = Outgoing(shelf, lambda text: text.replace("xoxb-own-secret", "[redacted]"))

    text, files = await outgoing.attach(session_id, "[env](env.txt)")

    assert "holds a secret" in text
    assert files == ()
    assert spooled(room) == []


async def test_ten_files_go_with_one_answer_and_one_file_goes_once(room: SpineRoom) -> None:
    session_id = await open_files(room, **{f"f{n}_txt": b"%d" % n for n in range(11)})
    links = " ".join(f"[f{n}](f{n}.txt) [again](./f{n}.txt)" for n in range(11))

    worker = await answer(room, session_id, links)
    await worker.deliver(session_id)

    assert len([content for _, content in sent(room) if content]) == 10
    assert "At most 10 files" in sent(room)[0][0]


async def test_words_that_name_a_site_are_left_alone(room: SpineRoom) -> None:
    session_id = await open_files(room)

    await answer(room, session_id, "See [docs](example.com/docs).")

    assert await room.said("answer") == ["See [docs](example.com/docs)."]


async def test_file_too_large_for_its_platform_is_told_instead(room: SpineRoom) -> None:
    session_id = await open_files(room, big_bin=bytes(1_000_001), a_txt=b"x")

    worker = await answer(room, session_id, "[big](big.bin) [a](a.txt)")
    await worker.deliver(session_id)

    told = "`big.bin` could not be attached: files may have 1,000,000 bytes here."
    assert sent(room) == [("big a", b""), (told, b""), ("a.txt", b"x")]


class Refusing(LoopbackChannel):
    async def upload(self, place: Place, part: Part, content: bytes, key: str) -> str:
        raise SendRefusedError("missing_scope: files:write")


async def test_refused_file_is_told_once_below_the_answer(room: SpineRoom) -> None:
    session_id = await open_files(room, a_txt=b"x")
    channel = Refusing(room.platform)

    worker = await answer(room, session_id, "[a](a.txt)", channel=channel)
    await worker.deliver(session_id)
    await worker.deliver(session_id)

    told = "`a.txt` could not be attached: missing_scope: files:write."
    assert sent(room) == [("a", b""), (told, b"")]


@pytest.mark.parametrize("harm", ["gone", "changed"])
async def test_copy_that_is_not_as_it_was_is_told_and_not_sent(room: SpineRoom, harm: str) -> None:
    session_id = await open_files(room, a_txt=b"x")
    worker = await answer(room, session_id, "[a](a.txt)")
    (copy,) = (room.folder / "outgoing").iterdir()
    copy.unlink() if harm == "gone" else copy.write_bytes(b"y")

    await worker.deliver(session_id)

    assert sent(room) == [("a", b""), (f"`a.txt` could not be attached: {COPY_LOST}.", b"")]


async def test_later_change_of_the_file_changes_nothing(room: SpineRoom) -> None:
    session_id = await open_files(room, a_txt=b"as it was")
    worker = await answer(room, session_id, "[a](a.txt)")
    (room.folder / "files" / session_id / "a.txt").write_bytes(b"later")

    await worker.deliver(session_id)

    assert sent(room)[1] == ("a.txt", b"as it was")


class DeadError(BaseException):
    """The process is gone."""


class DiesAt:
    """Ends what is under way at the nth pass of a named point, once."""

    def __init__(self, name: str, nth: int = 1) -> None:
        self._name, self._left = name, nth

    def hit(self, name: str) -> None:
        self._left -= name == self._name
        if name == self._name and self._left == 0:
            raise DeadError


@pytest.mark.parametrize("point", ["send.before:answer", "send.window:answer", "send.after:answer"])
@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_death_around_a_send_sends_each_file_once(
    room: SpineRoom, point: str, nth: int
) -> None:
    session_id = await open_files(room, a_txt=b"a", b_txt=b"b")
    await answer(room, session_id, "[a](a.txt) [b](b.txt)")
    dead = room.worker("dead", failpoints=DiesAt(point, nth))
    await room.clock.sleep(LEASE_OVER_S)
    with pytest.raises(DeadError):
        await dead.deliver(session_id)
    await room.clock.sleep(LEASE_OVER_S)

    await room.worker("alive").deliver(session_id)

    answers = [each for each in sent(room) if not each[0].startswith("Working")]
    assert [each for each in answers if each[1]] == [("a.txt", b"a"), ("b.txt", b"b")]
    assert [text for text, content in answers if not content].count("a b") == 1


@pytest.mark.parametrize("fault", ["dropped", "unsent"])
async def test_upload_of_unknown_outcome_is_looked_up(room: SpineRoom, fault: str) -> None:
    session_id = await open_files(room, a_txt=b"a")
    worker = await answer(room, session_id, "[a](a.txt)")
    room.platform.faults = ["", "", fault]

    await worker.deliver(session_id)

    assert [each for each in sent(room) if each[1]] == [("a.txt", b"a")]


async def put_named(room: SpineRoom, contents: Sequence[bytes]) -> list[str]:
    spool = Blobs(room.folder / "outgoing")
    return [spool.put(content) for content in contents]


async def test_copies_are_pruned_once_no_open_row_names_them(room: SpineRoom) -> None:
    session_id = await open_files(room, a_txt=b"a")
    worker = await answer(room, session_id, "[a](a.txt)")
    spool = Blobs(room.folder / "outgoing")
    later = (room.folder / "outgoing").stat().st_mtime + 10

    assert spool.prune(await room.store.read(list_open_hashes), later) == 0
    await worker.deliver(session_id)

    assert spool.prune(await room.store.read(list_open_hashes), later) == 1
    assert spooled(room) == []


async def test_copy_that_was_just_put_again_survives_a_prune(room: SpineRoom) -> None:
    """Its row may not be committed yet."""
    (name,) = await put_named(room, [b"a"])
    path = room.folder / "outgoing" / name
    os.utime(path, (1, 1))
    spool = Blobs(room.folder / "outgoing")
    before_s = path.parent.stat().st_mtime - 10

    assert spool.put(b"a") == name
    assert spool.prune(set(), before_s) == 0
    os.utime(path, (1, 1))
    assert spool.prune(set(), before_s) == 1


async def test_outbox_keeps_what_a_file_is(room: SpineRoom) -> None:
    session_id = await open_files(room, a_txt=b"a")

    await answer(room, session_id, "[a](a.txt)")

    (stored,) = await room.rows(outbox.c.files, kind="answer")
    (name,) = spooled(room)
    assert files_from_json(stored) == (OutboundFile("a.txt", "text/plain", 1, name),)
