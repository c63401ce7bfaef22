"""Every request that a stand-in heard during a test, and what its platform's schema says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import orjson

from channels.rehearsal.observers import Heard, read_from

CHECKS = ("slack", "discord", "telegram")
_judged: dict[bytes, tuple[str, ...]] = {}
"""The verdicts so far: most requests of a suite are alike."""
JUDGED_MAX = 20_000


@dataclass
class Listener:
    """Keeps what was heard as bytes, since a stand-in may go on to change what it was given."""

    file: Path
    heard: list[bytes] = field(default_factory=list[bytes])

    def hear(self, heard: Heard) -> None:
        """Keep one request; the judgement waits until the test is over."""
        self.heard.append(orjson.dumps(heard))

    def violations(self) -> list[str]:
        """What the schemas have against everything heard here and in other processes."""
        elsewhere = [orjson.dumps(heard) for heard in read_from(self.file)]
        return [fault for one in dict.fromkeys(self.heard + elsewhere) for fault in judge(one)]


def judge(request: bytes) -> tuple[str, ...]:
    """The violations of one request, each with the request."""
    if (known := _judged.get(request)) is not None:
        return known
    heard = Heard(**orjson.loads(request))
    faults = check_of(heard.platform)(heard)
    shown = request.decode()[:2_000]
    said = tuple(f"{heard.platform} {heard.address}: {fault}\n  {shown}" for fault in faults)
    if len(_judged) < JUDGED_MAX:
        _judged[request] = said
    return said


def check_of(platform: str) -> Callable[[Heard], list[str]]:
    """The check of a platform; imported when its first request is judged, since it is heavy."""
    assert platform in CHECKS
    check: Callable[[Heard], list[str]] = getattr(
        import_module(f"fakes.schema_{platform}"), f"check_{platform}"
    )
    return check
