"""An answer that would flood its thread is a file, and its beginning stands in the thread."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.loopback import LoopbackChannel
from fakes.scripted_model import say
from fakes.spine_room import open_room
from hypothesis import given
from hypothesis import strategies as st

from geode.messages import OutboundBody, SessionId
from geode.reply.long_answers import BEGIN_CHARS_MAX, PARTS_SHOWN_MAX, TOLD, shorten_answer
from geode.session.outgoing import Outgoing
from geode.session.shelf import Shelf
from geode.store.blobs import Blobs
from geode.store.file_json import files_from_json
from geode.store.tables import outbox
from geode.tools.workspace import Workspaces

PARAGRAPH = "The heron stands in the reeds. " * 12
LINES = st.lists(
    st.one_of(st.sampled_from(["```", "```py", "~~~~", "", "text"]), st.text(max_size=80)),
    max_size=200,
)


@given(LINES)
def test_beginning_is_short_and_leaves_no_code_open(lines: list[str]) -> None:
    text = "\n".join(lines)

    begin = shorten_answer(text)

    assert len(begin) <= BEGIN_CHARS_MAX + len(TOLD) + 100
    assert begin.endswith("`answer.md`.")


def test_beginning_ends_with_a_paragraph_and_closes_its_fence() -> None:
    text = f"{PARAGRAPH}\n\n```py\n" + "line of code\n" * 1_000 + "```\n"

    begin, _, told = shorten_answer(text).rpartition("\n\n")

    assert begin.endswith("\n```")
    assert begin.count("```") == 2
    assert told.startswith("This is the beginning")


@pytest.mark.parametrize("paragraphs", [2, 400])
async def test_answer_of_many_messages_goes_as_a_file_with_its_beginning(
    tmp_path: Path, paragraphs: int
) -> None:
    text = "\n---\n".join(f"{n}. {PARAGRAPH}" for n in range(paragraphs))
    async with open_room(tmp_path) as room:
        await room.say("tell me everything")
        session_id = await room.session_id()
        channel = LoopbackChannel(room.platform)
        is_flood = len(channel.plan(OutboundBody(text))) > PARTS_SHOWN_MAX
        await room.worker(replies=[say(text)]).runner.run_session(session_id)
        (row,) = await room.rows(outbox.c.body, outbox.c.files, kind="answer")
        body, files = row

        if not is_flood:
            assert (body, files) == (text, "")
            return
        (file,) = files_from_json(files)
        assert body.startswith("0. The heron")
        assert "attached as `answer.md`" in body
        kept = room.folder / "outgoing" / file.sha256
        assert kept.read_text() == text
        assert file.name == "answer.md"


def test_beginning_ends_with_a_whole_character() -> None:
    family = "👩‍👩‍👧‍👦"

    begin, _, _ = shorten_answer("x" + family * 1_000).rpartition("\n\n")

    assert begin == "x" + family * (len(begin) // len(family))


async def test_file_of_a_long_answer_is_the_source_without_secrets(tmp_path: Path) -> None:
    text = "\n---\n".join(f"{n}. {PARAGRAPH} xoxb-own-secret" for n in range(400))
    async with open_room(tmp_path) as room:
        shelf = Shelf(Workspaces(tmp_path / "files"), tmp_path, Blobs(tmp_path / "outgoing"))
        outgoing = Outgoing(shelf, lambda said: said.replace("xoxb-own-secret", "[redacted]"))

        _, (file,) = await outgoing.attach(SessionId("s1"), text, LoopbackChannel(room.platform))

        kept = (tmp_path / "outgoing" / file.sha256).read_text()
        assert kept == text.replace("xoxb-own-secret", "[redacted]")
