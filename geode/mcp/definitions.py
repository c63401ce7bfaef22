"""A tool's definition as another server gives it, and its digest; pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from geode.messages import JsonObject

DEFINITION_BYTES_MAX = 131_072
PINNED = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
"""What the digest covers: all that may reach a model or a person."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One tool as it was listed: the text that is pinned, and the parts that are used."""

    tool: str
    """The server's own name, exactly."""
    text: str
    """Canonical JSON of what the digest covers."""

    @property
    def digest(self) -> str:
        """SHA-256 over the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def is_too_large(self) -> bool:
        """Whether it is larger than anything that is kept."""
        return len(self.text) > DEFINITION_BYTES_MAX

    @property
    def parts(self) -> JsonObject:
        """The definition itself."""
        return cast("JsonObject", json.loads(self.text))

    @property
    def description(self) -> str:
        """What the server says about it, its title before it."""
        parts = self.parts
        words = [parts.get("title"), parts.get("description")]
        return ". ".join(word.strip() for word in words if isinstance(word, str) and word.strip())

    @property
    def schema(self) -> JsonObject:
        """Its arguments."""
        schema = self.parts.get("inputSchema")
        return schema if isinstance(schema, dict) else {}


def read_definition(listed: JsonObject, take_out: Callable[[str], str]) -> Definition:
    """The definition in a listing's row, without registered secrets, in its one canonical form."""
    kept = {key: listed[key] for key in PINNED if listed.get(key) is not None}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return Definition(str(listed.get("name", "")), take_out(text))
