"""A newcomer's first minute: one command, no file, no account, and a page that answers."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import aiohttp
import pytest
from fakes.contract_web import form_of
from fakes.geode_command import Serving, run_geode, serving

WAIT_S = 20.0
pytestmark = pytest.mark.timeout(120)


def environ_of(folder: Path) -> dict[str, str]:
    return {
        "GEODE_HOME": str(folder),
        "HOME": str(folder),
        "GEODE_CHANNELS__WEB__LISTEN": "127.0.0.1:0",
    }


async def open_page(daemon: Serving) -> aiohttp.ClientSession:
    line = await daemon.wait_line("web is up: open ")
    origin = line.rpartition(" ")[2]
    return aiohttp.ClientSession(origin, headers={"Origin": origin, "Accept": "application/json"})


async def wait_words(browser: aiohttp.ClientSession, url: str, word: str) -> str:
    async with asyncio.timeout(WAIT_S):
        while True:
            async with browser.get(url) as answer:
                page = await answer.text()
            if word in page:
                return page
            await asyncio.sleep(0.05)


async def test_page_answers_without_a_word_of_configuration(tmp_path: Path) -> None:
    started = serving(environ_of(tmp_path), is_started=True)
    async with started as daemon, await open_page(daemon) as browser:
        form = form_of(text="what is 6 * 7?", key="k1")
        async with browser.post("/rooms/room", data=form) as answer:
            url = (await answer.json())["url"]
        page = await wait_words(browser, url, "6 * 7 = 42")
        async with browser.get("/readyz") as ready, browser.get("/metrics") as metrics:
            assert (ready.status, await ready.text()) == (200, "ready\n")
            assert 'geode_channel_up{channel="web"} 1.0' in await metrics.text()
        async with browser.get("/operator") as operator:
            assert "web:local/room" in await operator.text()
        daemon.send(signal.SIGTERM)
        assert await daemon.wait_end() == 0

    assert page.count("6 * 7 = 42") == 1
    assert "rehearsal" in page
    assert not (tmp_path / "geode.toml").exists()


async def test_message_is_answered_once_when_the_daemon_is_killed_behind_its_acknowledgement(
    tmp_path: Path,
) -> None:
    async with serving(environ_of(tmp_path)) as daemon, await open_page(daemon) as browser:
        form = form_of(text="slow 2, then what is 6 * 9?", key="k1")
        async with browser.post("/rooms/room", data=form) as answer:
            assert answer.status == 201
            url = (await answer.json())["url"]
        daemon.send(signal.SIGKILL)
        await daemon.wait_end()

    async with serving(environ_of(tmp_path)) as daemon, await open_page(daemon) as browser:
        await wait_words(browser, url, "6 * 9 = 54")
        form = form_of(text="and what is 2 + 2?", key="k2")
        async with browser.post(url, data=form) as answer:
            assert answer.status == 201
        page = await wait_words(browser, url, "2 + 2 = 4")

    assert page.count("6 * 9 = 54") == 1


async def test_taken_port_is_one_sentence_that_names_the_setting(tmp_path: Path) -> None:
    async with serving(environ_of(tmp_path)) as daemon, await open_page(daemon) as browser:
        port = str(browser._base_url).rstrip("/").rpartition(":")[2]
        other = tmp_path / "other"
        other.mkdir()
        environ = environ_of(other) | {"GEODE_CHANNELS__WEB__LISTEN": f"127.0.0.1:{port}"}

        ended = await run_geode(environ, "serve")

    assert ended.code == 1
    (sentence,) = ended.sentences
    assert f"Nothing can listen on 127.0.0.1:{port}" in sentence
    assert "listen" in sentence
