"""Files in and out through the real SDK: whose address is trusted, what a sign-in page means."""

import hashlib

import pytest
from aiohttp import web
from fakes.slack_world import SlackWorld, place, slack_world

from channels.slack.stamps import ts_to_us
from channels.slack.web import SlackWeb
from geode.errors import (
    ChannelDownError,
    FileUnavailableError,
    SendRateLimitedError,
    SendRefusedError,
    SendUnknownError,
)
from geode.messages import FileRef, OutboundFile, Part

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 100
BYTES_MAX = 1_000_000


async def shared(world: SlackWorld, content: bytes = PNG, **more: str) -> FileRef:
    await world.slack.share("F1.png", content, media_type="image/png", **more)
    await world.wait_for(lambda: world.intake.stored)
    (file,) = world.intake.stored[-1].files
    return file


def report(content: bytes = b"a,b\n1,2\n", caption: str = "The <report> & more") -> Part:
    digest = hashlib.sha256(content).hexdigest()
    return Part({}, caption, OutboundFile("report.csv", "text/csv", len(content), digest))


async def test_file_without_words_is_a_message_and_its_bytes_are_read_sl_06() -> None:
    async with slack_world() as world:
        file = await shared(world)

        assert world.intake.stored[0].text == ""
        assert (file.name, file.media_type, file.size_bytes) == ("F1.png", "image/png", len(PNG))
        assert await world.channel.download(file, BYTES_MAX) == PNG
        assert world.slack.files.downloads == [{"file": file.id, "is_known": True}]


@pytest.mark.parametrize("page_type", ["text/html; charset=utf-8", "application/octet-stream"])
async def test_sign_in_page_is_never_the_file_sl_06(page_type: str) -> None:
    async with slack_world() as world:
        file = await shared(world)
        world.slack.files.lacks_scope = True
        world.slack.files.page_type = page_type

        with pytest.raises(FileUnavailableError, match="files:read"):
            await world.channel.download(file, BYTES_MAX)


async def test_page_that_is_the_file_is_read_and_another_page_is_not() -> None:
    async with slack_world() as world:
        page = b"<!DOCTYPE html><p>mine</p>"
        await world.slack.share("mine.html", page, media_type="text/html")
        await world.wait_for(lambda: world.intake.stored)
        (file,) = world.intake.stored[0].files

        assert await world.channel.download(file, BYTES_MAX) == page
        world.slack.files.lacks_scope = True
        with pytest.raises(FileUnavailableError, match="files:read"):
            await world.channel.download(file, BYTES_MAX)


@pytest.mark.parametrize("said_bytes", [0, 50, 2_000])
async def test_file_beyond_the_limit_is_not_read_whatever_slack_says(said_bytes: int) -> None:
    async with slack_world() as world:
        file = await shared(world, b"x" * 2_000)
        told = FileRef(file.id, file.name, file.media_type, said_bytes, file.url)

        with pytest.raises(FileUnavailableError, match="larger"):
            await world.channel.download(told, 1_000)


@pytest.mark.parametrize(
    "url",
    [
        "http://files.slack.com/F1",
        "https://files.slack.com.evil.test/F1",
        "https://evil.test/files.slack.com",
        "https://files.slack.com:8443/F1",
        "https://user@evil.test/",
        "file:///etc/passwd",
        "https://files.slack.com:99999/F1",
        "https://[files.slack.com/F1",
        "https://files.slack.com@evil.test/F1",
    ],
)
async def test_address_that_is_not_slacks_is_never_asked(url: str) -> None:
    async with slack_world() as world:
        with pytest.raises(FileUnavailableError, match="outside Slack"):
            await world.channel.download(FileRef("F1", "a.png", url=url), BYTES_MAX)

        assert world.slack.files.downloads == []


async def test_slacks_own_hosts_and_the_configured_one_may_see_the_token() -> None:
    web_api = SlackWeb("http://127.0.0.1:8080/api/", "xoxb-1", timeout_s=1.0)

    assert web_api.may_carry_token("https://files.slack.com/files-pri/T1-F1/a.png")
    assert web_api.may_carry_token("https://hooks.slack.com/actions/T1/1/x")
    assert web_api.may_carry_token("http://127.0.0.1:8080/files-pri/F1/a.png")
    assert not web_api.may_carry_token("http://127.0.0.1:8081/files-pri/F1/a.png")
    assert not web_api.may_carry_token("https://notslack.com/a.png")


async def test_redirect_to_another_host_never_carries_the_token() -> None:
    asked: list[str] = []

    async def note(request: web.Request) -> web.Response:
        asked.append(request.headers.get("Authorization", "none"))
        return web.Response(body=PNG)

    app = web.Application()
    app.router.add_get("/{any:.*}", note)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        async with slack_world() as world:
            file = await shared(world)
            world.slack.files.redirect = f"http://127.0.0.1:{runner.addresses[0][1]}/F1"

            with pytest.raises(FileUnavailableError, match="outside Slack"):
                await world.channel.download(file, BYTES_MAX)
    finally:
        await runner.cleanup()

    assert asked == []


async def test_redirect_without_end_is_given_up() -> None:
    async with slack_world() as world:
        file = await shared(world)
        world.slack.files.redirect = file.url

        with pytest.raises(FileUnavailableError, match="circles"):
            await world.channel.download(file, BYTES_MAX)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("server_error", ChannelDownError),
        ("drop_request", ChannelDownError),
        ("rate_limited", SendRateLimitedError),
    ],
)
async def test_trouble_on_the_way_is_told_apart_from_a_file_that_is_not_there(
    kind: str, error: type[Exception]
) -> None:
    async with slack_world() as world:
        file = await shared(world)
        world.slack.fault(kind, method="download", times=0)

        with pytest.raises(error):
            await world.channel.download(file, BYTES_MAX)

        world.slack.faults.clear()
        assert await world.channel.download(file, BYTES_MAX) == PNG


async def test_file_of_a_shared_channel_is_asked_for_by_its_id() -> None:
    async with slack_world() as world:
        file = await shared(world)

        assert await world.channel.download(FileRef(file.id, file.id), BYTES_MAX) == PNG
        with pytest.raises(FileUnavailableError, match="file_not_found"):
            await world.channel.download(FileRef("F9", "F9"), BYTES_MAX)
        world.slack.files.kept[file.id].is_external = True
        with pytest.raises(FileUnavailableError, match="outside Slack"):
            await world.channel.download(FileRef(file.id, file.id), BYTES_MAX)


async def test_upload_stands_in_its_thread_under_its_caption() -> None:
    async with slack_world() as world:
        where = await world.ask()
        content = b"a,b\n1,2\n"

        ts = await world.channel.upload(where, report(content), content, "row1:0")

        (post,) = world.slack.bot_posts(thread_ts=where.thread.thread)
        assert post.ts == ts
        assert post.text == "The &lt;report&gt; &amp; more"
        (file,) = post.files
        assert (file["name"], file["size"]) == ("report.csv", len(content))
        assert world.slack.files.kept[str(file["id"])].content == content
        assert world.slack.counters()["refused"] == {}


async def test_upload_that_slack_shows_later_is_waited_for() -> None:
    async with slack_world() as world:
        where = await world.ask()
        world.slack.files.hides_shares = 2

        ts = await world.channel.upload(where, report(), b"a,b\n1,2\n", "row1:0")

        assert [post.ts for post in world.slack.bot_posts()] == [ts]


async def test_lost_answer_of_an_upload_is_unknown_and_found_by_name_and_size() -> None:
    async with slack_world() as world:
        where = await world.ask()
        since_us = ts_to_us(where.thread.thread)
        part = report()
        world.slack.fault("drop_response", method="files.completeUploadExternal")

        with pytest.raises(SendUnknownError):
            await world.channel.upload(where, part, b"a,b\n1,2\n", "row1:0")

        (post,) = world.slack.bot_posts()
        assert await world.channel.find_sent(where, "row1:0", since_us, part) == post.ts
        other = report(b"longer than the other")
        assert await world.channel.find_sent(where, "row2:0", since_us, other) is None
        later_us = ts_to_us(post.ts) + 6_000_000
        assert await world.channel.find_sent(where, "row3:0", later_us, part) is None


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("drop_response", "files.getUploadURLExternal"),
        ("server_error", "files.getUploadURLExternal"),
        ("drop_request", "upload"),
        ("server_error", "upload"),
        ("drop_response", "upload"),
    ],
)
async def test_upload_that_fails_before_its_end_certainly_showed_nothing(
    kind: str, method: str
) -> None:
    async with slack_world() as world:
        where = await world.ask()
        world.slack.fault(kind, method=method)

        with pytest.raises(ChannelDownError):
            await world.channel.upload(where, report(), b"a,b\n1,2\n", "row1:0")

        assert world.slack.bot_posts() == []


async def test_refusals_of_an_upload_are_told_apart() -> None:
    async with slack_world() as world:
        where = await world.ask()
        content = b"a,b\n1,2\n"
        with pytest.raises(SendRefusedError):
            await world.channel.upload(
                place("1.000100", channel="C0OTHER"), report(), content, "row1:0"
            )
        world.slack.fault("rate_limited", method="files.completeUploadExternal")
        with pytest.raises(SendRateLimitedError):
            await world.channel.upload(where, report(), content, "row1:0")

        assert world.slack.bot_posts() == []


async def test_upload_in_a_direct_message_stands_below_what_it_answers() -> None:
    async with slack_world() as world:
        first = await world.slack.say("hi", channel="")
        await world.wait_for(lambda: world.intake.stored)
        content = b"a,b\n1,2\n"

        top = await world.channel.upload(
            place("", channel="D0ANA"), report(content, ""), content, "row1:0"
        )
        below = await world.channel.upload(
            place("", channel="D0ANA", reply_to=first.ts), report(content), content, "row2:0"
        )

        posts = {post.ts: post for post in world.slack.bot_posts("D0ANA")}
        assert (posts[top].thread_ts, posts[top].text) == ("", "")
        assert posts[below].thread_ts == first.ts
