"""What a stand-in in another process is asked is held against the schemas too."""

from __future__ import annotations

import os
from pathlib import Path

import aiohttp
import pytest
from fakes.schema_check import Listener

from channels.rehearsal.observers import REQUESTS_FILE
from channels.rehearsal.remote import spawn_stand_in


@pytest.mark.foreign_requests
async def test_wrong_request_to_a_stand_in_of_another_process_is_found() -> None:
    process, facts = await spawn_stand_in("telegram")
    address = f"{facts['api_url']}/bot{facts['bot_token']}/shout"
    async with aiohttp.ClientSession() as session, session.post(address) as response:
        assert response.status == 404
    assert process.stdin is not None
    process.stdin.close()
    assert await process.wait() == 0

    (violation,) = Listener(Path(os.environ[REQUESTS_FILE])).violations()
    assert "no such method: shout" in violation
