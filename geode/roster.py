"""The configured channels: opened, served, and replaced one by one while the daemon runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points

from geode.intake.catchup import CatchUp
from geode.log import get_logger
from geode.messages import Thread
from geode.ports import Channel, ChannelContext, Intake
from geode.reply.redaction import Redactor
from geode.settings import Binding, Section, Settings
from geode.settings_keys import resolve_section
from geode.settings_secrets import SecretMissingError

log = get_logger(__name__)

CHANNEL_GROUP = "geode.channels"
CHANNEL_RETRY_S = 90.0
STOP_S_MAX = 15.0
"""A channel that does not stop by then is left behind."""
ILL = ("degraded", "stopped")


@dataclass(frozen=True, slots=True)
class Opening:
    """What a channel is opened with; the same again needs no new connection."""

    section: Section
    secrets: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The channels that a configuration asks for, and why some of them cannot be had."""

    openings: Mapping[str, Opening]
    missing: Mapping[str, str]


def resolve_channels(settings: Settings, environ: Mapping[str, str]) -> Wanted:
    """Read every secret that the channels refer to; one without its secrets is missing."""
    openings: dict[str, Opening] = {}
    missing: dict[str, str] = {}
    for name, section in settings.channels.items():
        try:
            found = resolve_section(section, environ)
        except SecretMissingError as error:
            missing[name] = f"channels.{name}: {error}"
        else:
            values = {key: secret.reveal() for key, secret in found.items()}
            openings[name] = Opening(section, values)
    return Wanted(openings, missing)


def open_channel(
    name: str, opening: Opening, context: ChannelContext, bindings: Sequence[Binding]
) -> Channel:
    """Build one installed channel, not connected, for the places that its bindings name."""
    (entry,) = entry_points(group=CHANNEL_GROUP, name=name)
    places = _list_places(name, bindings)
    whole = replace(context, secrets=dict(opening.secrets), places=places)
    return entry.load()(opening.section, whole)


def _list_places(name: str, bindings: Sequence[Binding]) -> tuple[Thread, ...]:
    return tuple(
        Thread(name, place.workspace, place.channel, place.thread)
        for binding in bindings
        if binding.channel == name and (place := binding.place)
    )


def _begin_later(channel: Channel) -> None:
    """What `run` begins is not begun before."""


class Roster:
    """Keeps each channel apart from the others: what befalls one is told and leaves them alone."""

    def __init__(
        self,
        channels: dict[str, Channel],
        catch_up: CatchUp,
        *,
        redactor: Redactor,
        context: ChannelContext,
    ) -> None:
        self.degraded: dict[str, str] = {}
        """Why a configured channel could not be opened as it is written, by its name."""
        self._channels = channels
        self._catch_up = catch_up
        self._clock = context.clock
        self._redactor = redactor
        self._context = context
        self._openings: dict[str, Opening] = {}
        self._serving: dict[str, asyncio.Task[None]] = {}
        self._begin: Callable[[Channel], None] = _begin_later

    def open_all(self, wanted: Wanted, bindings: Sequence[Binding]) -> None:
        """Build every channel that can be had; the others are degraded, not fatal."""
        self.degraded.update(wanted.missing)
        for name, opening in wanted.openings.items():
            if channel := self._open(name, opening, bindings):
                self.add(channel)

    def add(self, channel: Channel) -> None:
        """Serve one more channel; only before `run`."""
        self._channels[channel.name] = channel
        self._catch_up.watch(channel.name)

    def _open(self, name: str, opening: Opening, bindings: Sequence[Binding]) -> Channel | None:
        self._redactor.register(*opening.secrets.values())
        try:
            channel = open_channel(name, opening, self._context, bindings)
        except Exception as error:  # boundary: channel event
            log.exception("channel_not_opened", channel=name)
            kind = type(error).__name__
            self.degraded[name] = f"channels.{name}: It could not be opened ({kind})."
            return None
        self._openings[name] = opening
        self.degraded.pop(name, None)
        return channel

    async def run(self, intake: Intake) -> None:
        """Serve every channel until cancelled."""
        async with asyncio.TaskGroup() as tasks:

            def begin(channel: Channel) -> None:
                receiving = self._receive(channel, intake)
                task = tasks.create_task(receiving, name=f"channel {channel.name}")
                self._serving[channel.name] = task

            self._begin = begin
            for channel in self._channels.values():
                begin(channel)
            await asyncio.Event().wait()

    async def _receive(self, channel: Channel, intake: Intake) -> None:
        await self._catch_up.wait_begun()
        while True:
            try:
                await channel.start(intake)
            except Exception:  # boundary: channel event
                log.exception("channel_failed", channel=channel.name)
            await self._clock.sleep(CHANNEL_RETRY_S)

    async def follow(self, wanted: Wanted, bindings: Sequence[Binding]) -> list[str]:
        """Open, replace and end channels until they are those wanted; one sentence for each change.

        A channel that is well and unchanged is left alone. One whose secret is gone goes on with
        what it has.
        """
        said: list[str] = []
        for name in sorted(self._openings.keys() - wanted.openings.keys() - wanted.missing.keys()):
            await self._end(name)
            del self._channels[name], self._openings[name]
            said.append(f"{name} is removed: it is no longer configured")
        for name in [name for name in self.degraded if name not in wanted.missing]:
            del self.degraded[name]
        for name, reason in wanted.missing.items():
            self.degraded[name] = reason
            kept = "goes on as it was" if name in self._channels else "is degraded"
            said.append(f"{name} {kept}: {reason}")
        for name, opening in wanted.openings.items():
            said += await self._renew(name, opening, bindings)
        return said

    async def _renew(self, name: str, opening: Opening, bindings: Sequence[Binding]) -> list[str]:
        before = self._channels.get(name)
        is_changed = self._openings.get(name) != opening
        if before is not None and not is_changed and before.status().state not in ILL:
            before.follow(_list_places(name, bindings))
            return []
        channel = self._open(name, opening, bindings)
        if channel is None:
            return [f"{name} is degraded: {self.degraded[name]}"]
        if before is not None:
            await self._end(name)
        self.add(channel)
        self._begin(channel)
        if before is None:
            return [f"{name} is opened"]
        cause = "its settings changed" if is_changed else "it was degraded"
        return [f"{name} is opened anew: {cause}"]

    async def _end(self, name: str) -> None:
        self._catch_up.forget(name)
        await self._stop(self._channels[name])
        task = self._serving.pop(name)
        task.cancel()
        await asyncio.wait({task}, timeout=STOP_S_MAX)

    async def close(self) -> None:
        """Close every channel, side by side."""
        async with asyncio.TaskGroup() as stops:
            for channel in self._channels.values():
                stops.create_task(self._stop(channel), name=f"stop {channel.name}")

    async def _stop(self, channel: Channel) -> None:
        try:
            async with asyncio.timeout(STOP_S_MAX):
                await channel.stop()
        except TimeoutError:
            log.warning("channel_not_stopped", channel=channel.name)
        except Exception:  # boundary: channel event
            log.exception("channel_not_stopped", channel=channel.name)
