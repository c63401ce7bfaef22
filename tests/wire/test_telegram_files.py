"""Files in and out over the wire: within the sizes, and never with the token in a word of ours."""

from __future__ import annotations

import pytest
from fakes.telegram_world import TelegramWorld, place, telegram_world

from channels.rehearsal.telegram_core import PHOTO
from channels.rehearsal.telegram_state import CLUB, TOPIC_WORK
from geode.errors import (
    ChannelDownError,
    ChannelError,
    FileUnavailableError,
    SendRefusedError,
    SendUnknownError,
)
from geode.messages import FileRef, OutboundFile, Part

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 40
TEN_MB = 10_000_000


def file_part(name: str, media_type: str, caption: str = "") -> Part:
    return Part({}, caption, OutboundFile(name, media_type, 5, "0" * 64))


async def receive(world: TelegramWorld, content: bytes, name: str = "notes.txt") -> FileRef:
    world.telegram.say("read this", chat=0, document=world.telegram.add_file(content, name))
    await world.wait_for(lambda: world.intake.messages)
    (file,) = world.intake.messages[-1].files
    return file


async def test_document_is_fetched_as_it_was_sent() -> None:
    async with telegram_world() as world:
        file = await receive(world, b"\x00\xffbytes" * 1000, "Übersicht für ä.pdf")

        assert file.name == "Übersicht für ä.pdf"
        assert file.size_bytes == 7000
        assert await world.channel.download(file, TEN_MB) == b"\x00\xffbytes" * 1000
        assert world.telegram.counters()["refused"] == {}


async def test_file_above_the_limit_is_refused_before_and_while_it_is_read() -> None:
    async with telegram_world() as world:
        file = await receive(world, b"x" * 5000)

        with pytest.raises(FileUnavailableError, match="larger than"):
            await world.channel.download(file, 4000)
        assert world.telegram.api.calls["file"] == 0


async def test_file_above_20_mb_is_said_to_be_too_large_by_the_public_api() -> None:
    async with telegram_world() as world:
        file = await receive(world, b"x" * (20 * 1024 * 1024 + 1))

        with pytest.raises(FileUnavailableError, match="larger than 20 MB"):
            await world.channel.download(file, 50_000_000)


async def test_file_that_is_gone_is_asked_for_again() -> None:
    async with telegram_world() as world:
        with pytest.raises(FileUnavailableError, match="send it again"):
            await world.channel.download(FileRef("gone", "x"), TEN_MB)
        file = await receive(world, b"text")
        world.telegram.fault("error", method="getFile", error="Bad Request: file path is gone")
        with pytest.raises(FileUnavailableError, match="send it again"):
            await world.channel.download(file, TEN_MB)


@pytest.mark.parametrize("kind", ["server_error", "drop_request"])
@pytest.mark.parametrize("method", ["getFile", "file"])
async def test_outage_while_fetching_is_worth_another_try_and_tells_no_token_ag_07(
    kind: str, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with telegram_world() as world:
        file = await receive(world, b"text")
        world.telegram.fault(kind, method=method)
        with pytest.raises(ChannelDownError) as raised:
            await world.channel.download(file, TEN_MB)

        said = f"{raised.value} {raised.value.__cause__} {raised.value.__context__}"
        assert world.telegram.bot_token not in said
        ours = [r.getMessage() for r in caplog.records if r.name.startswith(("channels", "geode"))]
        assert world.telegram.bot_token not in "\n".join(ours)
        assert await world.channel.download(file, TEN_MB) == b"text"


@pytest.mark.parametrize("path", ["/etc/passwd", "../secret", "a/../../b", "http:\\x", ""])
async def test_path_that_leads_elsewhere_is_not_opened(path: str) -> None:
    async with telegram_world() as world:
        with pytest.raises(FileUnavailableError):
            await world.channel._web._files.fetch(path, TEN_MB)
        assert world.telegram.api.calls["file"] == 0


async def test_document_is_uploaded_with_its_caption_into_its_topic() -> None:
    async with telegram_world() as world:
        part = file_part("report.csv", "text/csv", "**the** report @ana_smith")
        sent = await world.channel.upload(place(), part, b"a;b", "k")

        (post,) = world.telegram.bot_posts()
        assert (str(post.message_id), post.topic) == (sent, TOPIC_WORK)
        assert post.text == "the report @\u2060ana_smith"
        assert post.entities == [{"type": "bold", "offset": 0, "length": 3}]
        document = post.extra["document"]
        assert isinstance(document, dict)
        assert document["file_name"] == "report.csv"
        assert world.telegram.town.files[str(document["file_id"])] == b"a;b"


async def test_picture_is_shown_and_one_that_telegram_cannot_read_goes_as_a_document() -> None:
    async with telegram_world() as world:
        part = file_part("screen.png", "image/png")
        await world.channel.upload(place(), part, PNG, "k")
        await world.channel.upload(place(), part, b"no picture", "k")

        shown, plain = world.telegram.bot_posts()
        assert "photo" in shown.extra
        assert "document" in plain.extra


async def test_caption_that_is_too_long_is_cut() -> None:
    async with telegram_world() as world:
        await world.channel.upload(place(), file_part("a.txt", "text/plain", "é" * 3000), b"a", "k")

        (post,) = world.telegram.bot_posts()
        assert 0 < len(post.text) <= 1024


@pytest.mark.parametrize(
    ("kind", "fields", "error"),
    [
        ("drop_response", {}, SendUnknownError),
        ("error", {"error": "Forbidden: bot was kicked"}, SendRefusedError),
        ("error", {"error": "Request Entity Too Large"}, SendRefusedError),
    ],
)
async def test_upload_ends_like_a_send(
    kind: str, fields: dict[str, str], error: type[ChannelError]
) -> None:
    async with telegram_world() as world:
        world.telegram.fault(kind, method="sendDocument", **fields)
        with pytest.raises(error):
            await world.channel.upload(place(), file_part("a.txt", "text/plain"), b"a", "k")


async def test_album_has_the_files_of_all_its_parts_tg_05() -> None:
    async with telegram_world() as world:
        for caption in ("what is this?", "", ""):
            world.telegram.say(caption, chat=0, photo=PHOTO, media_group_id="g1")
        await world.wait_confirmed()

        (album,) = world.intake.messages
        assert album.text == "what is this?"
        assert [file.media_type for file in album.files] == ["image/jpeg"] * 3


async def test_typing_is_shown_in_the_topic_and_ends_by_itself() -> None:
    async with telegram_world() as world:
        await world.channel.set_status(place(), "reading")
        await world.channel.set_status(place("", CLUB), "reading")
        await world.channel.set_status(place(), "")

        assert [topic for _, topic in world.telegram.town.typing] == [TOPIC_WORK, 0]
        assert world.telegram.counters()["refused"] == {}
