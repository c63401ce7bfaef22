"""What somebody answered to `geode setup`, before anything of it is written; pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from geode.settings_secrets import SecretRef


@dataclass(frozen=True, slots=True)
class SecretAnswer:
    """A secret that was named or pasted."""

    ref: SecretRef
    value: str = field(repr=False)
    is_pasted: bool = False
    """It is written into the file that `ref` names."""


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """Which model answers, and with which key."""

    model: str
    provider: str = ""
    """Empty for the rehearsal model."""
    key: SecretAnswer | None = None


@dataclass(frozen=True, slots=True)
class PlaceAnswer:
    """A place to serve, for whom, and by whose authority."""

    channel: str
    where: str
    name: str
    people: tuple[str, ...] | Literal["members"]
    operators: tuple[str, ...]
    respond: str = "mention"


@dataclass(frozen=True, slots=True)
class ChannelAnswer:
    """A channel with its secrets by settings key, and its places."""

    name: str
    secrets: dict[str, SecretAnswer] = field(default_factory=dict[str, SecretAnswer])
    places: tuple[PlaceAnswer, ...] = ()


@dataclass(slots=True)
class Answers:
    """Everything that was answered so far."""

    model: ModelAnswer | None = None
    timezone: str = ""
    channels: list[ChannelAnswer] = field(default_factory=list[ChannelAnswer])

    @property
    def pasted(self) -> dict[Path, str]:
        """What must be written into secret files."""
        found = [secret for channel in self.channels for secret in channel.secrets.values()]
        if self.model and self.model.key:
            found.append(self.model.key)
        return {Path(secret.ref.target): secret.value for secret in found if secret.is_pasted}

    @property
    def variables(self) -> list[str]:
        """The environment variables that the service must be started with."""
        found = [secret.ref for channel in self.channels for secret in channel.secrets.values()]
        if self.model and self.model.key:
            found.append(self.model.key.ref)
        return sorted({ref.target for ref in found if ref.kind == "env"})
