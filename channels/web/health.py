"""What a supervisor and a monitor ask over HTTP: alive, ready, in numbers."""

from __future__ import annotations

import asyncio

from starlette.responses import PlainTextResponse, Response

from channels.web.metrics import CONTENT_TYPE, expose
from channels.web.operator import READ_S_MAX, find_hindrances
from geode.errors import GeodeError
from geode.oversight import OperatorView

UNAVAILABLE = 503
ABSENT = "This page was opened without the service behind it."


async def tell_alive() -> Response:
    """200 while the loop answers; asks nothing else."""
    return PlainTextResponse("ok\n")


async def tell_ready(view: OperatorView | None) -> Response:
    """200, or 503 with one line for each thing that keeps the service from taking messages."""
    hindrances = (ABSENT,) if view is None else await find_hindrances(view)
    if hindrances:
        return PlainTextResponse("\n".join(hindrances) + "\n", UNAVAILABLE)
    return PlainTextResponse("ready\n")


async def tell_metrics(view: OperatorView | None) -> Response:
    """The numbers, for whoever may see them: the caller has decided that."""
    if view is None:
        return PlainTextResponse(f"{ABSENT}\n", UNAVAILABLE)
    try:
        async with asyncio.timeout(READ_S_MAX):
            measurements = await view.measure()
    except TimeoutError:
        return PlainTextResponse("The service did not answer in time.\n", UNAVAILABLE)
    except GeodeError as error:
        return PlainTextResponse(f"{error}\n", UNAVAILABLE)
    return Response(expose(measurements), media_type=CONTENT_TYPE)
