"""What a form may hold, and what becomes of one that holds more: a sentence, and nothing kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from fakes.contract_desk import Desk, open_desk
from fakes.contract_web import ROOM, SIDE, TOKENS, WebPlatform, form_of, path_of

from channels.web.forms import FILE_BYTES_MAX, WORDS_BYTES_MAX
from geode.messages import ChatCommand, InboundMessage
from geode.reply.redaction import Redactor

BOUNDARY = "b0undary"


@pytest.fixture
async def platform() -> AsyncIterator[WebPlatform]:
    async with WebPlatform() as opened:
        yield opened


@pytest.fixture
async def desk(platform: WebPlatform, tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path, platform) as opened:
        yield opened


async def post(
    platform: WebPlatform, path: str, form: Any, **headers: str
) -> tuple[int, dict[str, Any]]:
    """Send it as Ana; the status and what was said."""
    ana = await platform.browser("ana")
    async with ana.post(path, data=form, headers=headers) as answer:
        return answer.status, await answer.json()


def files_of(*contents: bytes, **fields: str) -> aiohttp.FormData:
    """A form with files of these contents."""
    form = form_of(None, **fields)
    for number, content in enumerate(contents):
        form.add_field("files", BytesIO(content), filename=f"f{number}.txt")
    return form


async def test_ten_files_go_and_an_eleventh_is_refused(platform: WebPlatform, desk: Desk) -> None:
    ten, eleven = [b"x"] * 10, [b"x"] * 11

    status, _ = await post(platform, f"/rooms/{ROOM}", files_of(*ten, text="", key="k1"))
    refused, said = await post(platform, f"/rooms/{ROOM}", files_of(*eleven, text="", key="k2"))

    assert (status, refused) == (201, 413)
    assert "10 files" in said["error"]
    assert [len(message.files) for message in desk.messages()] == [10]


async def test_file_that_is_too_large_is_refused_by_its_name(
    platform: WebPlatform, desk: Desk
) -> None:
    form = files_of(b"small", bytes(FILE_BYTES_MAX + 1), text="hi", key="k")

    status, said = await post(platform, f"/rooms/{ROOM}", form)

    assert status == 413
    assert said["error"] == "f1.txt is larger than 20 MB; leave it out."
    assert await desk.stored() == []


async def test_whoever_is_not_signed_in_can_send_no_file_and_no_megabytes(
    platform: WebPlatform, desk: Desk
) -> None:
    async with aiohttp.ClientSession(
        platform.origin, headers={"Origin": platform.origin}
    ) as nobody:
        async with nobody.post("/login", data=files_of(b"x", token=TOKENS["ana"])) as answer:
            assert answer.status == 413
        many = {f"field{number}": "x" * (WORDS_BYTES_MAX // 8) for number in range(12)}
        async with nobody.post("/login", data=form_of(None, **many)) as answer:
            assert answer.status == 413


async def test_same_form_with_other_words_is_told_and_not_dropped_in_silence(
    platform: WebPlatform, desk: Desk
) -> None:
    room = f"/rooms/{ROOM}"
    first, _ = await post(platform, room, form_of(text="one", key="k"))
    again, told = await post(platform, room, form_of(text="one", key="k"))
    other, said = await post(platform, room, form_of(text="two", key="k"))
    elsewhere, _ = await post(platform, f"/rooms/{SIDE}", form_of(text="one", key="k"))

    assert (first, again, other, elsewhere) == (201, 201, 409, 409)
    assert told["url"].startswith(room)
    assert "load the page again" in said["error"]
    assert await desk.stored() == ["one"]


async def test_keys_of_two_people_never_meet(platform: WebPlatform, desk: Desk) -> None:
    ben = await platform.browser("ben")
    await post(platform, f"/rooms/{ROOM}", form_of(text="of ana", key="k"))

    async with ben.post(f"/rooms/{ROOM}", data=form_of(text="of ben", key="k")) as answer:
        assert answer.status == 201
    assert sorted(await desk.stored()) == ["of ana", "of ben"]
    assert (await post(platform, f"/rooms/{ROOM}", form_of(text="x", key="ben:k")))[0] == 400


async def test_half_a_character_and_the_character_zero_are_mended(
    platform: WebPlatform, desk: Desk
) -> None:
    fields = {"text": b"a \\ud800 b \\x00 c", "key": b"k"}
    parts = [
        b'--%s\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
        % (BOUNDARY.encode(), name.encode(), value)
        for name, value in fields.items()
    ]
    body = b"".join(parts) + b"--%s--\r\n" % BOUNDARY.encode()
    kind = f"multipart/form-data; boundary={BOUNDARY}; charset=unicode_escape"

    status, _ = await post(platform, f"/rooms/{ROOM}", body, **{"Content-Type": kind})

    assert status == 201
    assert await desk.stored() == ["a \N{REPLACEMENT CHARACTER} b  c"]


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data", "application/json", ""])
async def test_body_that_is_no_form_is_refused_with_a_sentence(
    platform: WebPlatform, desk: Desk, kind: str
) -> None:
    status, said = await post(platform, f"/rooms/{ROOM}", b"text=hi", **{"Content-Type": kind})

    assert status in (400, 413)
    assert said["error"].endswith(".")
    assert await desk.stored() == []


async def test_secret_of_the_service_is_kept_nowhere(tmp_path: Path) -> None:
    platform = WebPlatform()
    platform.redactor = Redactor(["canary-4711-secret"])
    async with platform, open_desk(tmp_path, platform) as desk:
        await post(platform, f"/rooms/{ROOM}", form_of(text="is canary-4711-secret ok?", key="k"))

        (message,) = desk.messages()
        (kept,) = await platform.transcript.read_thread(message.thread)
        assert "canary" not in message.text
        assert kept.payload == {"text": message.text}


async def test_command_that_nobody_knows_is_told_so_and_a_path_is_a_message(
    platform: WebPlatform, desk: Desk
) -> None:
    place = await desk.begin("hello")

    await platform.follow(place, "/etc/passwd what is it?")
    await platform.command(place, "frobnicate", "now")

    await desk.wait_for(lambda: platform.whispers("ana"))
    assert [command.verb for command in desk.door.of(ChatCommand)] == ["frobnicate"]
    assert "help" in platform.whispers("ana")[0]
    assert [message.text for message in desk.door.of(InboundMessage)] == [
        "hello",
        "/etc/passwd what is it?",
    ]


async def test_conversation_that_a_command_began_goes_on(platform: WebPlatform, desk: Desk) -> None:
    _, said = await post(platform, f"/rooms/{ROOM}", form_of(text="/help", key="k1"))

    status, _ = await post(platform, said["url"], form_of(text="and now to work", key="k2"))

    assert status == 201
    assert await desk.stored() == ["and now to work"]
    assert path_of(desk.messages()[0].thread) == said["url"]
