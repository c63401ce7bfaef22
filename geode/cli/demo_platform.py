"""A local chat platform as the demo sees it: another process, driven over HTTP."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import aiohttp
import orjson

from geode.errors import ControlError
from geode.messages import JsonObject

CALL_S = 10.0
TOOLS = ["list_files", "read_file", "grep_files", "memory_search", "memory_save", "write_file"]

CONFIGURATION = """\
# Written by `geode demo`: everything a real geode.toml needs, aimed at local platforms.
{sections}
[profiles.demo]
tools = {tools}
"""
BINDING = """
[[bindings]]
channel = "{channel}"
where = "{where}"
people = [{people}]
operators = [{operator}]
profile = "demo"
"""


@dataclass(frozen=True, slots=True)
class Line:
    """One message of a transcript as it reads now."""

    id: str
    name: str
    text: str
    is_ours: bool
    wordings: tuple[str, ...]
    """Every wording it had, the present one last."""


class LocalPlatform(ABC):
    """A running stand-in, as its first line described it, and the one place of it the demo uses."""

    name: ClassVar[str]
    command: ClassVar[str]
    """How a person asks for the state there."""

    def __init__(self, facts: dict[str, Any], http: aiohttp.ClientSession) -> None:
        self.facts = facts
        self.control_url = str(facts["control_url"])
        self.people: dict[str, str] = {k: str(v) for k, v in facts["people"].items()}
        """Ids by name."""
        self._http = http

    async def call(self, verb: str, **fields: Any) -> JsonObject:
        """One verb of the stand-in's control interface."""
        try:
            async with (
                asyncio.timeout(CALL_S),
                self._http.post(f"{self.control_url}/{verb}", json=fields) as response,
            ):
                answer = cast("JsonObject", orjson.loads(await response.read()))
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            title = self.name.title()
            raise ControlError(f"The local {title} does not answer ({error}).") from error
        if response.status != 200:
            refused = f"The local {self.name.title()} refused {verb}: {answer.get('error')}."
            raise ControlError(refused)
        return answer

    async def count_refusals(self) -> int:
        """Calls the strict stand-in did not accept."""
        refused = cast("dict[str, int]", (await self.call("counters"))["refused"])
        return sum(refused.values())

    @abstractmethod
    def configure(self) -> str:
        """The sections of a configuration that serves this place."""

    @abstractmethod
    def environ(self) -> Mapping[str, str]:
        """What the daemon's environment must hold for it."""

    @abstractmethod
    async def post(self, person: str, text: str) -> str:
        """A person writes in the demo's thread, which the first message opens; its id."""

    @abstractmethod
    async def read(self) -> Sequence[Line]:
        """What stands in the demo's thread, oldest first."""

    @abstractmethod
    def mention(self) -> str:
        """How a person writes the bot's name."""

    def address(self, text: str) -> str:
        """A text that begins with `@`, with the platform's own mention in its place."""
        return text.replace("@", self.mention(), 1) if text.startswith("@") else text

    def bind(self, where: str, *, is_numeric: bool = False) -> str:
        """The binding of the demo's place to its two people."""
        people = [self.people["ana"], self.people["ben"]]
        spelled = people if is_numeric else [f'"{person}"' for person in people]
        return BINDING.format(
            channel=self.name, where=where, people=", ".join(spelled), operator=spelled[0]
        )


def write_configuration(platforms: Sequence[LocalPlatform]) -> str:
    """One geode.toml for all of them."""
    sections = "\n".join(platform.configure() for platform in platforms)
    return CONFIGURATION.format(sections=sections, tools=orjson.dumps(TOOLS).decode())
