"""Secrets by reference only: the settings name where a secret lies, never what it is."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from geode.errors import ConfigError

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNEXPANDED = re.compile(r"\$\{[^}]*\}|\$[A-Za-z_][A-Za-z0-9_]*")
_PLACEHOLDERS = frozenset({"changeme", "change-me", "change_me"})
_FILE_BYTES_MAX = 65_536


class SecretMissingError(ConfigError):
    """A referenced secret is not there; only what needs it is degraded."""

    def __init__(self, ref: SecretRef, reason: str) -> None:
        super().__init__(f"{ref.place} {reason}.")
        self.ref = ref


class Secret:
    """A secret's value; it shows itself only to `reveal()`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself, for the one call that needs it."""
        return self._value

    def __repr__(self) -> str:
        return "Secret([redacted])"

    def __str__(self) -> str:
        return "[redacted]"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not serialised")


@dataclass(frozen=True, slots=True)
class SecretRef:
    """Where a secret lies: `env:NAME` or `file:/path`; safe to print."""

    kind: Literal["env", "file"]
    target: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.target}"

    @property
    def place(self) -> str:
        """The reference as a sentence begins with it."""
        if self.kind == "env":
            return f"The environment variable {self.target}"
        return f"The secret file {self.target}"

    @classmethod
    def parse(cls, value: object) -> SecretRef:
        """Read a reference; a written-out secret is refused without being repeated."""
        if isinstance(value, SecretRef):
            return value
        kind, _, target = value.partition(":") if isinstance(value, str) else ("", "", "")
        if kind == "env" and _ENV_NAME.fullmatch(target):
            return cls("env", target)
        if kind == "file" and target.startswith(("/", "~/")):
            return cls("file", target)
        raise ValueError(
            'a secret is never written here; write where it lies: "env:NAME" or "file:/path"'
        )

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls.parse, serialization=core_schema.to_string_ser_schema()
        )


def resolve_secret(ref: SecretRef, environ: Mapping[str, str]) -> Secret:
    """The secret behind a reference, without surrounding white space.

    Raises `SecretMissingError`, which names the variable or file and never the value; an empty
    value, `changeme` and an unexpanded `${NAME}` count as missing.
    """
    value = _read_env(ref, environ) if ref.kind == "env" else _read_file(ref, environ)
    if not value:
        raise SecretMissingError(ref, "is empty; put the secret there")
    if value.lower() in _PLACEHOLDERS:
        raise SecretMissingError(ref, "still holds a placeholder; put the real secret there")
    if _UNEXPANDED.fullmatch(value):
        raise SecretMissingError(ref, "holds an unexpanded placeholder; put the real secret there")
    return Secret(value)


def _read_env(ref: SecretRef, environ: Mapping[str, str]) -> str:
    value = environ.get(ref.target)
    if value is None:
        raise SecretMissingError(ref, "is not set; set it to the secret")
    return value.strip()


def _read_file(ref: SecretRef, environ: Mapping[str, str]) -> str:
    path = Path(ref.target)
    if ref.target.startswith("~/"):
        path = Path(environ.get("HOME") or Path.home(), ref.target[2:])
    try:
        if not path.is_file():
            raise SecretMissingError(ref, "is not a file; create it with the secret inside")
        with path.open("rb") as stream:
            return stream.read(_FILE_BYTES_MAX).decode("utf-8").strip()
    except OSError as exc:
        reason = f"cannot be read ({exc.strerror}); make it readable for this user"
        raise SecretMissingError(ref, reason) from exc
    except UnicodeDecodeError:
        raise SecretMissingError(ref, "is not text; put only the secret there") from None
