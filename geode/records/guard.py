"""The boundary around tool code: whatever it raises becomes a value that the gate can judge."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import structlog

from geode.errors import StaleEpochError, ToolError

T = TypeVar("T")
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Raised:
    """Tool code ended with an error instead of an answer."""

    error: Exception

    @property
    def sentence(self) -> str:
        """The error as the model may read it."""
        text = str(self.error).encode("utf-8", "replace").decode()[:800]
        if isinstance(self.error, ToolError):
            return text
        return f"{type(self.error).__name__}: {text}" if text else type(self.error).__name__


async def run_guarded(tool_name: str, code: Callable[[], Awaitable[T]]) -> T | Raised:
    """Run a tool's own code; cancellation and a lost lease pass through."""
    try:
        return await code()
    except StaleEpochError:
        raise
    except ToolError as error:
        return Raised(error)
    # boundary: tool run
    except Exception as error:  # noqa: BLE001
        _log.warning("tool_raised", tool=tool_name, error=type(error).__name__, exc_info=True)
        return Raised(error)
