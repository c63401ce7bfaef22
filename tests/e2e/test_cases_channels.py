"""CF-02: a channel with a bad token is degraded by name and takes nobody else along."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.loopback import LoopbackChannel, LoopbackPlatform
from fakes.model_town import Brake
from fakes.scripted_model import ScriptedModel, say
from fakes.town import answers, load_town, town_environ

from channels.rehearsal.slack import RehearsalSlack
from channels.slack.socket import SocketTimes
from geode.app import Daemon, Seams
from geode.llm.routes import ModelRoute
from geode.messages import Thread
from geode.ports import Clock, SystemClock
from geode.settings import Binding

THREAD = Thread("loop", "T1", "C1", "0000000001")
GOOD: Mapping[str, object] = {
    "channel": "loop",
    "where": "T1/C1",
    "people": ["U1"],
    "operators": ["U1"],
}


class PatientClock(SystemClock):
    """Waits of minutes last until the test ends them."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.over = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        if 60 <= seconds < 600:
            self.waits.append(seconds)
            await self.over.wait()
            self.over.clear()
        else:
            await super().sleep(seconds)


class TwoChannels:
    """A daemon between a Slack in trouble and a platform that is well."""

    def __init__(self, daemon: Daemon, model: ScriptedModel, platform: LoopbackPlatform) -> None:
        self.daemon, self.model, self.platform = daemon, model, platform

    async def ask_good(self, text: str = "hi") -> None:
        """A person of the good platform asks, and has the answer within five seconds."""
        self.model.add(say(f"answer to {text}"))
        before = len(self.platform.texts(THREAD))
        await self.daemon.intake.accept(self.platform.message(THREAD, text))
        async with asyncio.timeout(5):
            while len(self.platform.texts(THREAD)) == before or self._is_working():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert self.platform.texts(THREAD)[-1] == f"answer to {text}"

    def _is_working(self) -> bool:
        return self.platform.texts(THREAD)[-1].startswith("Working")


@asynccontextmanager
async def two_channels(
    slack: RehearsalSlack, home: Path, environ: Mapping[str, str], clock: Clock | None = None
) -> AsyncGenerator[TwoChannels]:
    loaded = load_town(slack, home)
    bindings = (*loaded.settings.bindings, Binding.model_validate(GOOD))
    settings = loaded.settings.model_copy(update={"bindings": bindings})
    model, platform = ScriptedModel(), LoopbackPlatform()
    route = ModelRoute(model, "scripted/model", "model", 150_000, 8_000)
    seams = Seams(clock=clock or SystemClock(), route=route, second_look_s=0.2)
    daemon = await Daemon.open(replace(loaded, settings=settings), environ=environ, seams=seams)
    daemon.add_channel(LoopbackChannel(platform))
    running = asyncio.create_task(daemon.run())
    try:
        yield TwoChannels(daemon, model, platform)
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        await daemon.close()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param(None, "is not set", id="missing"),
        pytest.param("", "is empty", id="empty"),
        pytest.param("changeme", "placeholder", id="changeme"),
        pytest.param("${MISSING}", "unexpanded", id="unexpanded"),
    ],
)
async def test_channel_without_its_token_is_degraded_by_name_and_the_other_answers_cf_02(
    tmp_path: Path, value: str | None, reason: str
) -> None:
    async with RehearsalSlack() as slack:
        environ = dict(town_environ(slack, tmp_path))
        del environ["SLACK_APP_TOKEN"]
        if value is not None:
            environ["SLACK_APP_TOKEN"] = value
        async with two_channels(slack, tmp_path, environ) as town:
            await town.ask_good()

            status = await town.daemon.status()
            (sentence,) = town.daemon.degraded
            assert status["degraded"] == [sentence]
            assert "SLACK_APP_TOKEN" in sentence
            assert reason in sentence
            assert slack.bot_token not in str(status)
            assert list(town.daemon.channel_states()) == ["loop"]
            assert slack.counters()["calls"] == {}


async def test_revoked_token_is_tried_again_slowly_and_works_once_it_is_mended_cf_02(
    tmp_path: Path,
) -> None:
    async with RehearsalSlack() as slack:
        slack.api.revoked = "token_revoked"
        clock = PatientClock()
        environ = town_environ(slack, tmp_path)
        async with two_channels(slack, tmp_path, environ, clock) as town:
            channel = town.daemon.channels["slack"]
            await slack.wait_for(lambda: channel.status().state == "degraded")
            await town.ask_good("one")

            reason = channel.status().reason
            assert "token_revoked" in reason
            assert "channels.slack.bot_token (env:SLACK_BOT_TOKEN)" in reason
            assert slack.bot_token not in str(await town.daemon.status())
            assert clock.waits == [SocketTimes().token_retry_s]
            assert SocketTimes().token_retry_s > 60
            assert slack.api.calls["auth.test"] == 1

            slack.api.revoked = ""
            clock.over.set()
            await slack.wait_for(lambda: channel.status().state == "up")
            town.model.add(say("slack is back"))
            post = await slack.say("<@UBOT> hello")
            await slack.wait_for(lambda: answers(slack, post.ts) == ["slack is back"])
            await town.ask_good("two")
            assert len(town.platform.texts(THREAD)) == 2


async def test_token_revoked_during_a_turn_keeps_the_answer_until_it_is_mended_cf_02(
    tmp_path: Path,
) -> None:
    async with (
        RehearsalSlack() as slack,
        two_channels(slack, tmp_path, town_environ(slack, tmp_path)) as town,
    ):
        channel, brake = town.daemon.channels["slack"], Brake("kept for you")
        await slack.wait_for(lambda: channel.status().state == "up")
        town.model.add(brake)
        post = await slack.say("<@UBOT> hello")
        await brake.begun.wait()
        slack.api.revoked = "token_revoked"
        brake.go.set()
        await slack.wait_for(lambda: slack.api.refused["token_revoked"] >= 1)
        await town.ask_good()

        slack.api.revoked = ""
        await slack.wait_for(lambda: answers(slack, post.ts) == ["kept for you"], 15)
        assert len(slack.bot_posts("C0GENERAL", post.ts)) == 1
