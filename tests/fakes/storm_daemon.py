"""A real daemon on three platforms as a process of its own, with a model that echoes marks.

Run as `python storm_daemon.py HOME`: it reads HOME/geode.toml, says `open`, then `up` once every
channel is connected, and serves until it is killed or told to end.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from fakes.scripted_model import PASS

from geode.app import Daemon, Seams
from geode.llm.routes import ModelRoute
from geode.log import configure_logging
from geode.loop.quoting import is_note
from geode.messages import Message, Text
from geode.settings_load import InstalledChannelModels, load_settings
from geode.steps import ModelReply, StepSnapshot, StopCause, Usage

TOKEN = re.compile(r"tok\d{5}")
THINKING_S_MAX = 0.08
LOOK_S = 0.02


class EchoModel:
    """Answers with the marks of its request, in their order, after a random moment."""

    provider = "echo"

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)  # noqa: S311 - a storm, not a secret

    async def warm_up(self) -> None:
        """Nothing is to be loaded."""

    async def aclose(self) -> None:
        """Nothing is open."""

    async def acomplete(
        self, step: StepSnapshot, on_delta: Callable[[str], None] | None = None
    ) -> ModelReply:
        """The marks of the last request."""
        if step.answer_schema is not None:
            return PASS
        asked = [m for m in step.messages if m.role == "user" and not is_note(m)]
        await asyncio.sleep(self._random.uniform(0, THINKING_S_MAX))
        words = " ".join(TOKEN.findall(asked[-1].text))
        reply = Message("assistant", (Text(f"Heard {words}."),))
        return ModelReply(reply, StopCause.END, Usage(10, 10), "echo", 0)


async def serve(home: Path) -> None:
    """Serve until SIGTERM."""
    loaded = load_settings(
        home / "geode.toml", channel_models=InstalledChannelModels(), environ=os.environ
    )
    route = ModelRoute(EchoModel(os.environ["STORM_SEED"]), "echo/one", "echo", 100_000, 4_096)
    daemon = await Daemon.open(loaded, seams=Seams(route=route, second_look_s=0.1))
    configure_logging(daemon.redactor, style="json")
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    running = asyncio.create_task(daemon.run())
    _say("open")
    while any(state.state != "up" for state in daemon.channel_states().values()):  # noqa: ASYNC110
        await asyncio.sleep(LOOK_S)
    _say("up")
    waiting = asyncio.create_task(stopping.wait())
    await asyncio.wait((running, waiting), return_when=asyncio.FIRST_COMPLETED)
    await daemon.drain(5.0)
    await running
    await daemon.close()


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
