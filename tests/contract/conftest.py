"""The platform under test: a strict local server that lives for one test."""

from collections.abc import AsyncIterator

import pytest
from fakes.contract_cases import PLATFORMS
from fakes.contract_platform import ContractPlatform


@pytest.fixture
async def platform(platform_name: str) -> AsyncIterator[ContractPlatform]:
    """The server of the parametrised platform."""
    async with PLATFORMS[platform_name]() as started:
        yield started
