"""Files through the real client: what people attach, what we post, and what is refused."""

from dataclasses import replace
from hashlib import sha256

import pytest
from fakes.discord_world import DiscordWorld, discord_world

from channels.rehearsal.discord_state import BOT, GENERAL
from geode.errors import (
    ChannelDownError,
    FileUnavailableError,
    SendRateLimitedError,
    SendRefusedError,
    SendUnknownError,
)
from geode.messages import FileRef, OutboundFile, Part

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40
PLAN = ("plan two.png", "image/png", PNG)


async def attach(world: DiscordWorld, text: str = f"<@{BOT}> look") -> FileRef:
    await world.discord.attach(text, PLAN)
    await world.wait_for(lambda: world.intake.stored)
    (file,) = world.intake.stored[-1].files
    return file


def part_of(content: bytes, caption: str = "Here it is.", name: str = "my report.txt") -> Part:
    file = OutboundFile(name, "text/plain", len(content), sha256(content).hexdigest())
    return Part({}, caption, file)


async def test_attachment_is_named_and_fetched_through_the_proxy_without_the_token() -> None:
    async with discord_world() as world:
        file = await attach(world)

        assert (file.name, file.media_type, file.size_bytes) == (
            "plan_two.png",
            "image/png",
            len(PNG),
        )
        assert world.intake.texts == ["look"]
        assert await world.channel.download(file, 1_000_000) == PNG
        assert world.discord.proxy.counters["cdn.discordapp.com"] == 1


async def test_message_of_a_file_alone_is_a_message_dc_02() -> None:
    async with discord_world() as world:
        await attach(world, "")

        assert world.intake.texts == [""]


async def test_files_of_a_forwarded_message_are_files_of_this_one() -> None:
    async with discord_world() as world:
        shown = world.discord.world.attach(GENERAL, *PLAN)
        snapshots = [{"message": {"content": "old", "attachments": [shown]}}]
        await world.discord.say(f"<@{BOT}> see", message_snapshots=snapshots)
        await world.wait_for(lambda: world.intake.stored)

        (file,) = world.intake.stored[0].files
        assert await world.channel.download(file, 1_000_000) == PNG


async def test_expired_address_is_asked_for_once_more() -> None:
    async with discord_world() as world:
        file = await attach(world)
        (post,) = world.discord.world.posts[GENERAL]
        world.discord.world.expired.add(file.url.partition("discordapp.com")[2])
        (shown,) = post.extra["attachments"]
        shown["url"] = f"{file.url}0"

        assert await world.channel.download(file, 1_000_000) == PNG
        assert world.discord.api.calls["cdn"] == 2


async def test_file_of_a_deleted_message_says_what_to_do() -> None:
    async with discord_world() as world:
        file = await attach(world)
        (post,) = world.discord.world.posts[GENERAL]
        world.discord.world.expired.add(file.url.partition("discordapp.com")[2])
        await world.discord.delete(post)

        with pytest.raises(FileUnavailableError, match="send the file again"):
            await world.channel.download(file, 1_000_000)


@pytest.mark.parametrize("told", [True, False])
async def test_file_above_the_limit_is_not_read_to_its_end(told: bool) -> None:
    async with discord_world() as world:
        file = await attach(world)

        with pytest.raises(FileUnavailableError, match="larger than the 1,000 bytes"):
            await world.channel.download(file if told else replace(file, size_bytes=0), 1_000)

        assert world.discord.api.calls["cdn"] == (0 if told else 1)


@pytest.mark.parametrize(
    "url",
    [
        "http://cdn.discordapp.com/attachments/1/2/a",
        "https://example.org/attachments/1/2/a",
        "https://cdn.discordapp.com.example.org/a",
        "https://cdn.discordapp.com@example.org/a",
        "https://cdn.discordapp.com:8443/a",
        "https://[cdn.discordapp.com/a",
        "",
    ],
)
async def test_address_outside_the_file_hosts_is_never_asked(url: str) -> None:
    async with discord_world() as world:
        asked = dict(world.discord.proxy.counters)

        with pytest.raises(FileUnavailableError, match="outside Discord"):
            await world.channel.download(FileRef("1/2/3", "a", url=url), 1_000)

        assert world.discord.proxy.counters == asked


async def test_fault_of_the_file_host_may_be_tried_later() -> None:
    async with discord_world() as world:
        file = await attach(world)
        world.discord.fault("server_error", method="cdn", status=502)
        world.discord.fault("rate_limited", method="cdn", retry_after_s=7)

        with pytest.raises(ChannelDownError):
            await world.channel.download(file, 1_000_000)
        with pytest.raises(SendRateLimitedError) as raised:
            await world.channel.download(file, 1_000_000)

        assert raised.value.retry_after_s == 7


async def test_report_is_posted_with_its_caption_and_pings_nobody_dc_04() -> None:
    async with discord_world() as world:
        where = await world.ask()
        part = part_of(b"twelve bytes", "For @everyone: <@&1>")

        sent = await world.channel.upload(where, part, b"twelve bytes", "row1:0")

        (post,) = world.discord.bot_posts(where.thread.thread)
        (shown,) = post.shown["attachments"]
        assert post.id == sent
        assert world.discord.world.blobs[shown["id"]] == b"twelve bytes"
        assert post.text == "For \\@everyone: \\<@&1>"
        assert post.arguments["allowed_mentions"]["parse"] == []


async def test_file_without_a_caption_is_posted_without_words() -> None:
    async with discord_world() as world:
        where = await world.ask()

        await world.channel.upload(where, part_of(b"x", ""), b"x", "row1:0")

        assert [post.text for post in world.discord.bot_posts(where.thread.thread)] == [""]


async def test_upload_whose_answer_is_lost_stays_one_copy() -> None:
    async with discord_world() as world:
        where, part = await world.ask(), part_of(b"once")
        world.discord.fault("drop_response", method="message.create")

        with pytest.raises(SendUnknownError):
            await world.channel.upload(where, part, b"once", "row1:0")
        await world.channel.upload(where, part, b"once", "row1:0")

        assert len(world.discord.bot_posts(where.thread.thread)) == 1


async def test_old_upload_is_found_by_its_name_and_size_beside_its_words() -> None:
    async with discord_world(nonce_s=0) as world:
        where, part = await world.ask(), part_of(b"once")
        since_us = world.channel._context.clock.now_us()
        sent = await world.channel.upload(where, part, b"once", "row1:0")

        find = world.channel.find_sent
        assert await find(where, "row1:0", since_us, part) == sent
        assert await find(where, "row1:0", since_us, part_of(b"other size")) is None
        assert await find(where, "row1:0", since_us, part_of(b"once", name="b.txt")) is None


async def test_file_that_discord_finds_too_large_is_refused_in_words() -> None:
    async with discord_world() as world:
        where = await world.ask()
        world.discord.world.file_bytes_max = 1_000
        await world.channel.upload(where, part_of(b"x" * 1_000), b"x" * 1_000, "row1:0")

        with pytest.raises(SendRefusedError, match="larger than Discord takes"):
            await world.channel.upload(where, part_of(b"x" * 1_001), b"x" * 1_001, "row2:0")


async def test_missing_permission_to_attach_is_named() -> None:
    async with discord_world() as world:
        where = await world.ask()
        await world.channel.send(where, world.part("hi"), "row1:0")
        world.discord.world.rooms[where.thread.thread].denied.add("message.create")

        with pytest.raises(SendRefusedError, match="Attach Files"):
            await world.channel.upload(where, part_of(b"x"), b"x", "row2:0")
