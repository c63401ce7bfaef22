"""How the channel stands, as whatever receives updates reports it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

Health: TypeAlias = Literal["up", "down", "degraded", "conflict"]
Report: TypeAlias = Callable[[Health, str], None]
