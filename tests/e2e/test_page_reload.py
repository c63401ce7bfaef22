"""A room that is written while the page is open: one signal, and it is there."""

from __future__ import annotations

import signal
from pathlib import Path

import aiohttp
import pytest
from fakes.contract_web import form_of
from fakes.geode_command import serving

pytestmark = pytest.mark.timeout(120)

CHANNEL = '[channels.web]\nlisten = "127.0.0.1:0"\n'
BINDING = '[[bindings]]\nchannel = "web"\nwhere = "local/{room}"\noperators = ["local"]\n'


async def test_reload_brings_a_room_and_takes_one_and_the_page_keeps_its_address(
    tmp_path: Path,
) -> None:
    config = tmp_path / "geode.toml"
    config.write_text(CHANNEL + BINDING.format(room="first"))
    environ = {"GEODE_HOME": str(tmp_path), "HOME": str(tmp_path), "GEODE_CONFIG": str(config)}
    async with serving(environ) as daemon:
        line = await daemon.wait_line("web is up: open ")
        origin = line.rpartition(" ")[2]
        headers = {"Origin": origin, "Accept": "application/json"}
        async with aiohttp.ClientSession(origin, headers=headers) as browser:
            async with browser.post("/rooms/second", data=form_of(text="hi", key="k")) as early:
                assert early.status == 404

            config.write_text(CHANNEL + BINDING.format(room="second"))
            daemon.send(signal.SIGHUP)
            await daemon.wait_line("reloaded")

            async with browser.post("/rooms/second", data=form_of(text="hi", key="k")) as answer:
                assert answer.status == 201
            async with browser.get("/rooms/first") as gone:
                assert gone.status == 404
        daemon.send(signal.SIGTERM)
        assert await daemon.wait_end() == 0
