"""What the operator's page says, read from the running service; one part's failure is its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from channels.web.articles import describe_moment, thread_url
from channels.web.views import Line, Report, Section
from geode.errors import GeodeError
from geode.messages import JsonObject, JsonValue, Thread
from geode.oversight import OperatorView

READ_S_MAX = 5.0
ROWS_MAX = 50
LEVELS = {"up": "good", "starting": "fair", "degraded": "fair"}
SCALARS = (str, int, float, bool)
EFFECT = "effect"
"""The kind of card that the command line can settle as well."""
UNSHOWN = ("channels", "degraded")
MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400

Read = Callable[[], Awaitable[Sequence[Section]]]


async def read_report(view: OperatorView | None, channel_name: str = "web") -> Report:
    """Ask for everything side by side; what does not answer in time says so in its place."""
    if view is None:
        return Report(("This page was opened without the service behind it.",))
    reader = _Reader(view, channel_name)
    reads: dict[str, Read] = {
        "Open cards": reader.read_cards,
        "Channels": reader.read_status,
        "Sessions": reader.read_sessions,
        "Numbers": reader.read_numbers,
    }
    hindrances, parts = await asyncio.gather(
        find_hindrances(view),
        asyncio.gather(*(_bounded(title, read) for title, read in reads.items())),
    )
    return Report(hindrances, tuple(section for part in parts for section in part))


async def find_hindrances(view: OperatorView) -> tuple[str, ...]:
    """What keeps the service from taking messages; that nothing can be asked is such a thing."""
    try:
        async with asyncio.timeout(READ_S_MAX):
            return tuple(await view.find_hindrances())
    except TimeoutError:
        return (f"The service did not answer within {READ_S_MAX:g} seconds.",)
    except GeodeError as error:
        return (str(error),)


async def _bounded(title: str, read: Read) -> Sequence[Section]:
    try:
        async with asyncio.timeout(READ_S_MAX):
            return await read()
    except TimeoutError:
        sentence = f"No answer within {READ_S_MAX:g} seconds. Refresh to try again."
    except GeodeError as error:
        sentence = f"This could not be read: {error}"
    return (Section(_id_of(title), title, sentence=sentence, is_fault=True),)


class _Reader:
    def __init__(self, view: OperatorView, channel_name: str) -> None:
        self._view = view
        self._channel_name = channel_name

    async def read_cards(self) -> Sequence[Section]:
        rows = await self._view.list_open_cards(ROWS_MAX)
        lines = [
            Line(
                (
                    _word(row, "title") or _word(row, "kind"),
                    _describe_place(row.get("thread")),
                    _describe_age(row.get("age_s")),
                    self._how_to_decide(row),
                ),
                url=self._url_of(row.get("thread")),
            )
            for row in rows
        ]
        heads = ("Card", "Place", "Waits for", "Decide")
        return (_section("Open cards", heads, lines, "Nothing waits for a decision."),)

    async def read_status(self) -> Sequence[Section]:
        status = await self._view.status()
        found, degraded = status.get("channels"), status.get("degraded")
        rows: dict[str, JsonObject] = found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType]
        lines = [
            Line(
                (name, _word(row, "state"), _word(row, "reason") or "nothing to do"),
                level=LEVELS.get(_word(row, "state"), "bad"),
            )
            for name, row in rows.items()
        ]
        channels = _section("Channels", ("Channel", "State", "What to do"), lines, "None is open.")
        said = [str(s) for s in degraded] if isinstance(degraded, (list, tuple)) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        advice = [Line((sentence,), level="fair") for sentence in said]
        wanted = (_section("Wants attention", ("What",), advice, ""),) if advice else ()
        known = [
            Line((name.replace("_", " "), str(value)))
            for name, value in status.items()
            if name not in UNSHOWN and isinstance(value, SCALARS)
        ]
        service = _section("Service", ("What", "Now"), known, "Nothing is known.")
        return (channels, *wanted, service)

    async def read_sessions(self) -> Sequence[Section]:
        lines = [
            Line(
                (
                    _describe_place(row.get("thread")),
                    _word(row, "state").replace("_", " "),
                    _word(row, "binding"),
                    _describe_time(row.get("active_at_us")),
                    _word(row, "id"),
                ),
                url=self._url_of(row.get("thread")),
            )
            for row in await self._view.list_sessions(ROWS_MAX)
        ]
        heads = ("Thread", "State", "Binding", "Last active", "Session")
        return (_section("Sessions", heads, lines, "There is none yet."),)

    async def read_numbers(self) -> Sequence[Section]:
        lines = [
            Line((m.description, ", ".join(value for _, value in m.labels), f"{m.value:g}"))
            for m in await self._view.measure()
        ]
        return (_section("Numbers", ("What", "Of", "Value"), lines, "Nothing is counted."),)

    def _url_of(self, place: JsonValue) -> str:
        thread = _read_thread(place)
        return thread_url(thread) if thread and thread.platform == self._channel_name else ""

    def _how_to_decide(self, row: JsonObject) -> str:
        if self._url_of(row.get("thread")):
            return "Open the conversation."
        subject = _word(row, "subject")
        settle = f", or: geode effects settle {subject} happened (or did-not)" if subject else ""
        return f"In its thread{settle if _word(row, 'kind') == EFFECT else ''}."


def _section(title: str, heads: tuple[str, ...], lines: list[Line], without: str) -> Section:
    sentence = "" if lines else without
    return Section(_id_of(title), title, heads if lines else (), tuple(lines), sentence)


def _id_of(title: str) -> str:
    return title.lower().replace(" ", "-")


def _word(row: JsonObject, key: str) -> str:
    value = row.get(key)
    return str(value) if isinstance(value, SCALARS) else ""


def _read_thread(place: JsonValue) -> Thread | None:
    """A thread as the daemon tells it: its four parts by name, or in one text with slashes."""
    if isinstance(place, dict):
        parts = [place.get(key) for key in ("platform", "workspace", "channel", "thread")]
        words = [part for part in parts if isinstance(part, str)]
    elif isinstance(place, str):
        words = place.split("/")
    else:
        return None
    words += [""] * (4 - len(words))
    return Thread(*words) if len(words) == 4 and all(words[:3]) else None


def _describe_place(place: JsonValue) -> str:
    thread = _read_thread(place)
    if thread is None:
        return str(place) if isinstance(place, str) else "–"
    where = "/".join(p for p in (thread.workspace, thread.channel, thread.thread) if p)
    return f"{thread.platform}: {where}"


def _describe_time(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    return describe_moment(int(value)).words if isinstance(value, (int, float)) else "–"


def _describe_age(value: JsonValue) -> str:
    if not isinstance(value, (int, float)):
        return str(value) if isinstance(value, str) else "–"
    if value < MINUTE_S:
        return f"{value:.0f} s"
    if value < HOUR_S:
        return f"{value / MINUTE_S:.0f} min"
    return f"{value / HOUR_S:.0f} h" if value < 2 * DAY_S else f"{value / DAY_S:.0f} days"
