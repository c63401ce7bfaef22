"""Every channel: a file comes in and goes out byte for byte, or its reader is told why not."""

import hashlib
from pathlib import Path

import pytest
from fakes.contract_cases import on
from fakes.contract_desk import Desk, open_desk
from fakes.contract_platform import ContractPlatform

from geode.errors import FileUnavailableError, SendRefusedError
from geode.messages import FileRef, InboundMessage, OutboundFile, Part, Place, Thread

CONTENT = bytes(range(256)) * 4
LARGE = CONTENT * 2_048
NAME = "report.bin"


def file_part(content: bytes, caption: str = "the report", name: str = NAME) -> Part:
    """A part that is a file."""
    digest = hashlib.sha256(content).hexdigest()
    file = OutboundFile(name, "application/octet-stream", len(content), digest)
    return Part({}, caption, file)


async def receive(desk: Desk, place: Place) -> FileRef:
    """A person sends the file; what the channel says of it."""
    message_id = await desk.platform.share(place, NAME, CONTENT)
    await desk.place_of(message_id)
    message = next(m for m in desk.door.of(InboundMessage) if m.message_id == message_id)
    (file,) = message.files
    return file


@on("files")
async def test_file_that_a_person_sends_can_be_had_byte_for_byte(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()

        file = await receive(desk, place)

        assert (file.name, file.size_bytes) == (NAME, len(CONTENT))
        assert await desk.channel.download(file, len(CONTENT)) == CONTENT


@on("files")
async def test_file_one_byte_over_what_is_read_is_refused_with_a_way_out(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        file = await receive(desk, await desk.begin())

        with pytest.raises(FileUnavailableError, match=r"\w+ \w+.*\."):
            await desk.channel.download(file, len(CONTENT) - 1)


@on("files")
async def test_file_that_is_gone_is_unavailable_and_no_outage(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        file = await receive(desk, await desk.begin())
        platform.lose_files()

        with pytest.raises(FileUnavailableError, match=r"\w+ \w+.*\."):
            await desk.channel.download(file, len(CONTENT))
        assert desk.channel.status().state == "up"


@on("files")
async def test_file_of_ours_stands_in_the_thread_byte_for_byte(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()

        sent = await desk.channel.upload(place, file_part(CONTENT), CONTENT, "file:0")

        assert sent
        assert platform.files(place) == [(NAME, CONTENT)]
        assert any("the report" in text for text in platform.shown(place))


@on("large_files")
async def test_file_of_megabytes_is_sent_without_a_pause_of_the_loop(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()

        await desk.channel.upload(place, file_part(LARGE), LARGE, "file:0")

        assert platform.files(place) == [(NAME, LARGE)]


@on("files")
async def test_file_for_a_place_that_is_gone_is_refused_with_a_reason(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin(where="side")
        platform.remove_side()

        with pytest.raises(SendRefusedError, match=r"\w+ \w+.*\."):
            await desk.channel.upload(place, file_part(CONTENT), CONTENT, "file:0")


@on("file_limit")
async def test_file_over_the_limit_of_the_platform_is_refused_with_a_reason(
    platform: ContractPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform) as desk:
        place = await desk.begin()
        content = bytes(desk.channel.limits.file_bytes_max + 1)

        with pytest.raises(SendRefusedError, match=r"\w+ \w+.*\."):
            await desk.channel.upload(place, file_part(content), content, "file:0")
        assert platform.files(place) == []


@on("no_files")
async def test_channel_without_files_says_so(platform: ContractPlatform) -> None:
    channel = platform.make_channel()
    place = Place(Thread(platform.name, "town", "lobby", "1"))

    with pytest.raises(SendRefusedError, match="takes no files"):
        await channel.upload(place, file_part(CONTENT), CONTENT, "file:0")
    with pytest.raises(FileUnavailableError, match="takes no files"):
        await channel.download(FileRef("F1", NAME), len(CONTENT))
