"""A daemon that closes lets go of everything, whatever its channels do."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.loopback import LoopbackChannel, LoopbackPlatform

from geode.app import Daemon
from geode.errors import ChannelDownError, StoreError
from geode.settings_load import load_settings


class Stubborn(LoopbackChannel):
    """A channel that does not stop cleanly."""

    def __init__(self, error: Exception) -> None:
        super().__init__(LoopbackPlatform(), "stubborn")
        self._error = error

    async def stop(self) -> None:
        raise self._error


class Noted(LoopbackChannel):
    """A channel that notes that it was stopped."""

    is_stopped = False

    async def stop(self) -> None:
        self.is_stopped = True


@pytest.mark.parametrize(
    "error", [TimeoutError(), ChannelDownError("no route"), RuntimeError("Session is closed")]
)
async def test_channel_that_fails_to_stop_keeps_nothing_else_open(
    tmp_path: Path, error: Exception
) -> None:
    environ = {"GEODE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    daemon = await Daemon.open(load_settings(None, environ=environ), environ=environ)
    behind = Noted(LoopbackPlatform(), "behind")
    daemon.add_channel(Stubborn(error))
    daemon.add_channel(behind)

    await daemon.close()

    assert behind.is_stopped
    with pytest.raises(StoreError):
        await daemon.store.write("late", lambda tx: None)


class Patient(LoopbackChannel):
    """A channel that stops only while another one stops too."""

    def __init__(self, name: str, barrier: asyncio.Barrier) -> None:
        super().__init__(LoopbackPlatform(), name)
        self._barrier = barrier

    async def stop(self) -> None:
        await self._barrier.wait()


async def test_channels_are_stopped_side_by_side(tmp_path: Path) -> None:
    environ = {"GEODE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    daemon = await Daemon.open(load_settings(None, environ=environ), environ=environ)
    barrier = asyncio.Barrier(2)
    for name in ("one", "two"):
        daemon.add_channel(Patient(name, barrier))

    async with asyncio.timeout(8):
        await daemon.close()
