"""What people do in a crash run, on any platform, and the transcript that is left of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress

from fakes.crash_towns import CrashTown, Shown
from fakes.story import ANSWER_ONE, ANSWER_TWO

CARD_OPEN, CARD_OVER = "Did send_parcel happen?", "Settled: send_parcel"
STATUS = "pending reviews: 0"
HAPPENED = "It happened"
WORKING = "Working on it"
POLL_S = 0.01
ANSWER_S, PRESS_S, REST_S = 60.0, 2.5, 8.0
PRESSES_MAX = 12
QUIET_S = 0.4


async def tell_story(town: CrashTown) -> int:
    """Two requests, a decision and a command; how often the button was pressed."""
    await _wait_until(town.is_attended, ANSWER_S)
    await town.begin("story one")
    await _wait_until(lambda: _says(town, ANSWER_ONE), ANSWER_S)
    presses = await _settle_card(town)
    await town.give_command("status")
    await _wait_until(lambda: _says(town, STATUS), ANSWER_S)
    await town.go_on("story two")
    await _wait_until(lambda: _says(town, ANSWER_TWO), ANSWER_S)
    return presses


async def _settle_card(town: CrashTown) -> int:
    """Press until the card says that it is over, as a person does whom nobody answers.

    The card stands above the answer or nowhere: a turn that died may not have begun the effect.
    """
    for presses in range(PRESSES_MAX):
        cards = [shown for shown in town.shown() if _is_open_card(shown)]
        if not cards or _says(town, CARD_OVER):
            return presses
        await town.press(cards[-1], HAPPENED)
        with suppress(TimeoutError):
            await _wait_until(lambda: _says(town, CARD_OVER), PRESS_S)
    return PRESSES_MAX


def _is_open_card(shown: Shown) -> bool:
    return CARD_OPEN in shown.text and HAPPENED in shown.buttons


def _says(town: CrashTown, text: str) -> bool:
    return any(text in shown.text for shown in town.shown())


async def _wait_until(is_so: Callable[[], bool], timeout_s: float) -> None:
    async with asyncio.timeout(timeout_s):
        while not is_so():  # noqa: ASYNC110 - any observable state, not one event
            await asyncio.sleep(POLL_S)


async def tell_town(town: CrashTown, presses: int) -> bytes:
    """The transcript, once the bot has cleaned up behind its answers or clearly will not."""
    with suppress(TimeoutError):
        await _wait_until(lambda: not town.marks(), REST_S)
    await asyncio.sleep(QUIET_S)
    shown = town.shown()
    told = {
        "texts": [one.text for one in shown if not one.text.startswith(WORKING)],
        "progress": [one.text for one in shown if one.text.startswith(WORKING)],
        "marked": sum(_is_marked(town, one) for one in shown),
        "marks": town.marks(),
        "presses": presses,
    }
    return (json.dumps(told) + "\n").encode()


def _is_marked(town: CrashTown, shown: Shown) -> bool:
    """Whether the message says, or said before it was edited, that it may be a second one."""
    mark = town.doubled_mark
    return bool(mark) and any(text.endswith(mark) for text in (shown.text, *shown.earlier))
