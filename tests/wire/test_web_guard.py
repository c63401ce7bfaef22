"""The page answers its own forms only: no other site, no other name, no token in an address."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import aiohttp
import pytest
from fakes.contract_desk import Desk, open_desk
from fakes.contract_web import ROOM, TOKENS, WebPlatform, form_of

from channels.web.guard import list_doors
from channels.web.login import COOKIE, FAILURES_MAX
from channels.web.settings import WebSettings
from geode.errors import ConfigError
from geode.settings_load import load_settings


@pytest.fixture
async def platform() -> AsyncIterator[WebPlatform]:
    async with WebPlatform() as opened:
        yield opened


@pytest.fixture
async def desk(platform: WebPlatform, tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path, platform) as opened:
        yield opened


def port_of(platform: WebPlatform) -> str:
    return platform.origin.rpartition(":")[2]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.test"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": "evil.test"},
        {"Host": "127.0.0.1.evil.test"},
        {"Host": "127.0.0.1"},
    ],
)
async def test_form_of_another_site_does_nothing(
    platform: WebPlatform, desk: Desk, headers: Mapping[str, str]
) -> None:
    ana = await platform.browser("ana")

    async with ana.post(
        f"/rooms/{ROOM}", data=form_of(text="hello", key="k"), headers=headers
    ) as answer:
        said = await answer.text()

    assert answer.status == 403
    assert said.strip().endswith(".")
    assert await desk.stored() == []
    assert await platform.transcript.find("web", "ana:k") is None


async def test_form_without_an_origin_does_nothing(platform: WebPlatform, desk: Desk) -> None:
    login = {"Authorization": f"Bearer {TOKENS['ana']}"}
    async with (
        aiohttp.ClientSession(platform.origin, headers=login) as program,
        program.post(f"/rooms/{ROOM}", data=form_of(text="hello", key="k")) as answer,
    ):
        assert answer.status == 403


async def test_link_on_another_site_opens_the_page_and_a_script_of_it_reads_nothing(
    platform: WebPlatform, desk: Desk
) -> None:
    ana = await platform.browser("ana")
    crossing = {"Sec-Fetch-Site": "cross-site"}

    async with ana.get("/rooms/room", headers=crossing | {"Sec-Fetch-Mode": "navigate"}) as page:
        assert page.status == 200
    async with ana.get("/rooms/room", headers=crossing | {"Sec-Fetch-Mode": "no-cors"}) as script:
        assert script.status == 403


@pytest.mark.parametrize("path", ["/", "/rooms/room", "/static/page.css", "/login", "/healthz"])
async def test_token_in_an_address_is_refused(platform: WebPlatform, desk: Desk, path: str) -> None:
    async with (
        aiohttp.ClientSession(platform.origin) as program,
        program.get(path, params={"token": TOKENS["ana"]}) as answer,
    ):
        assert answer.status == 403


async def test_every_answer_carries_the_headers_that_keep_other_pages_out(
    platform: WebPlatform, desk: Desk
) -> None:
    ana = await platform.browser("ana")
    for path in ("/rooms/room", "/nowhere", "/static/page.css", "/healthz"):
        async with ana.get(path) as answer:
            headers = answer.headers
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"


async def test_nobody_who_is_not_signed_in_sees_or_does_anything(
    platform: WebPlatform, desk: Desk
) -> None:
    origin = {"Origin": platform.origin}
    async with aiohttp.ClientSession(platform.origin, headers=origin) as nobody:
        for path in ("/rooms/room", "/operator", "/metrics", "/files/0000000000000001/0/x"):
            async with nobody.get(path) as answer:
                assert answer.status == 401
        async with nobody.get(
            "/rooms/room", headers={"Accept": "text/html"}, allow_redirects=False
        ) as page:
            assert (page.status, page.headers["Location"]) == (303, "/login")
        async with nobody.post("/rooms/room", data=form_of(text="hi", key="k")) as answer:
            assert answer.status == 401
    assert await desk.stored() == []


@pytest.mark.parametrize("forged", ["", "ana", "ImFuYSI.aS1xYQ.AAAA", "x" * 5_000])
async def test_forged_cookie_signs_nobody_in(
    platform: WebPlatform, desk: Desk, forged: str
) -> None:
    jar = {"Cookie": f"{COOKIE}={forged}"}
    async with (
        aiohttp.ClientSession(platform.origin, headers=jar) as nobody,
        nobody.get("/rooms/room") as answer,
    ):
        assert answer.status == 401


async def test_cookie_is_for_this_browser_alone_and_ends_with_its_token(
    platform: WebPlatform, tmp_path: Path
) -> None:
    async with open_desk(tmp_path, platform):
        async with (
            aiohttp.ClientSession(platform.origin, headers={"Origin": platform.origin}) as browser,
            browser.post(
                "/login", data=form_of(token=TOKENS["ana"]), allow_redirects=False
            ) as answer,
        ):
            written = answer.headers["Set-Cookie"]
        assert all(word in written for word in ("HttpOnly", "SameSite=strict", "Path=/"))
        assert TOKENS["ana"] not in written
        cookie = written.partition(";")[0]

    before, TOKENS["ana"] = TOKENS["ana"], "another token of ana, after a change"
    try:
        async with (
            open_desk(tmp_path, platform),
            aiohttp.ClientSession(platform.origin, headers={"Cookie": cookie}) as browser,
            browser.get("/rooms/room") as answer,
        ):
            assert answer.status == 401
    finally:
        TOKENS["ana"] = before


async def test_guessing_tokens_is_barred_for_a_while_also_for_the_right_one(
    platform: WebPlatform, desk: Desk
) -> None:
    async with aiohttp.ClientSession(
        platform.origin, headers={"Origin": platform.origin}
    ) as guesser:
        for number in range(FAILURES_MAX):
            async with guesser.post("/login", data=form_of(token=f"guess {number}")) as answer:
                assert answer.status in (403, 429)
        async with guesser.post("/login", data=form_of(token=TOKENS["ana"])) as answer:
            said = await answer.text()

    assert answer.status == 429
    assert "wait a minute" in said


async def test_program_that_guesses_tokens_is_barred_and_people_still_sign_in(
    platform: WebPlatform, desk: Desk
) -> None:
    async def ask(token: str) -> int:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            aiohttp.ClientSession(platform.origin, headers=headers) as program,
            program.get("/operator") as answer,
        ):
            return answer.status

    assert await ask(TOKENS["ana"]) == 200
    for number in range(FAILURES_MAX):
        assert await ask(f"guess {number}") == 401

    assert await ask(TOKENS["ana"]) == 401
    ben = await platform.browser("ben")
    async with ben.get("/rooms/room") as answer:
        assert answer.status == 200


def test_page_on_loopback_is_reached_by_its_own_names_only() -> None:
    doors = list_doors("127.0.0.1", 8484, is_local=True, origin="")

    assert doors.origins[0] == "http://127.0.0.1:8484"
    assert doors.hosts == {"127.0.0.1:8484", "localhost:8484", "[::1]:8484"}


@pytest.mark.parametrize("origin", ["https://chat.example.org/", "https://Chat.Example.org:443"])
def test_page_on_the_network_is_reached_by_its_configured_name_only(origin: str) -> None:
    doors = list_doors("0.0.0.0", 8484, is_local=False, origin=origin)

    assert doors.origins == ("https://chat.example.org",)
    assert doors.hosts == {"chat.example.org"}


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ('listen = "0.0.0.0:8484"', 'token = "env:NAME"'),
        ('listen = "[::]:8484"\ntoken = "env:T"', "origin"),
        ('listen = "8484"', "127.0.0.1:8484"),
        ('listen = "127.0.0.1:99999"', "127.0.0.1:8484"),
        ('token = "secret"', "token"),
    ],
)
def test_place_that_others_could_reach_needs_a_token_and_a_name(
    tmp_path: Path, lines: str, wanted: str
) -> None:
    (tmp_path / "geode.toml").write_text(f"[channels.web]\n{lines}\n")

    with pytest.raises(ConfigError) as refused:
        load_settings(tmp_path / "geode.toml", environ={"HOME": str(tmp_path)})

    assert wanted in str(refused.value)


def test_listen_tells_loopback_from_the_network() -> None:
    places = ("127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1")

    assert all(WebSettings(listen=place).is_local for place in places)
