"""Every channel: whatever document a model writes, the platform's server takes every part of it."""

from __future__ import annotations

import asyncio
import unicodedata
from pathlib import Path
from tempfile import TemporaryDirectory

from fakes.contract_cases import PLATFORMS, on
from fakes.contract_desk import open_desk
from fakes.markdown_maker import ASTRAL, DOCUMENTS
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from geode.store.outbox import NewOutbox

SOCKETS = (Phase.explicit, Phase.generate)
"""Nothing is made smaller over a socket: that would take minutes."""

FENCED = "intro of twenty char\n```py\n" + ("x" * 25 + "\n") * 300 + "```\nDone."
"""DC-01: every part but the last is full of code."""
MIXED = "\n\n".join(["!" * 4_096, "a" * 4_095 + "😀", "😀" * 2_045 + " " + "😀" * 500, ASTRAL])
"""TG-02: what grows when it is escaped, and what no code point limit counts rightly."""


def letters(text: str) -> str:
    """Letters, digits and emoji, in order: what no platform may lose."""
    kinds = ("L", "N", "So")
    return "".join(c for c in text if unicodedata.category(c).startswith(kinds))


async def deliver(platform_name: str, documents: list[str]) -> tuple[list[str], str]:
    """The end of each row, and everything that stands in the thread."""
    with TemporaryDirectory() as folder:
        async with (
            PLATFORMS[platform_name]() as platform,
            open_desk(Path(folder), platform) as desk,
        ):
            place = await desk.begin()
            for number, document in enumerate(documents):
                row = NewOutbox("notice", f"row {number}", document, place.reply_to)
                await desk.queue(place, row)
            ends = await desk.wait_settled(60)
            return ends, "".join(platform.shown(place))


@on()
@settings(max_examples=2, deadline=None, phases=SOCKETS, suppress_health_check=list(HealthCheck))
@example(documents=[FENCED, MIXED])
@given(documents=st.lists(DOCUMENTS, min_size=3, max_size=3))
def test_server_takes_every_part_of_any_document(platform_name: str, documents: list[str]) -> None:
    ends, shown = asyncio.run(deliver(platform_name, documents))

    assert ends == ["sent"] * len(documents)
    if documents == [FENCED, MIXED]:
        assert letters(shown).replace("py", "") == letters(FENCED + MIXED).replace("py", "")
