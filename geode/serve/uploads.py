"""Files on their way from a client: a request is a short line, so they come in pieces."""

from __future__ import annotations

import base64
import binascii

from geode.errors import ControlError

UPLOADS_MAX = 4
"""A further one takes the place of the one that was begun first."""
NOT_IN_ORDER = "The pieces of a file come in order and without a gap; begin again."


class Uploads:
    """Holds what has come of a few files, each within the bound."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._begun: dict[str, bytearray] = {}

    def add(self, key: str, offset: int, piece: str) -> None:
        """Take one more piece; raises `ControlError`."""
        try:
            content = base64.b64decode(piece, validate=True)
        except binascii.Error:
            raise ControlError("A piece of a file is written in base64.") from None
        if offset == 0:
            self._begin(key)
        held = self._begun.get(key)
        if held is None or len(held) != offset:
            raise ControlError(NOT_IN_ORDER)
        if offset + len(content) > self._bytes_max:
            del self._begun[key]
            raise ControlError(f"A file has at most {self._bytes_max // 1_000_000} MB here.")
        held += content

    def take(self, key: str) -> bytes:
        """The whole file, which is not held any longer."""
        if key not in self._begun:
            raise ControlError(NOT_IN_ORDER)
        return bytes(self._begun.pop(key))

    def _begin(self, key: str) -> None:
        self._begun.pop(key, None)
        while len(self._begun) >= UPLOADS_MAX:
            del self._begun[next(iter(self._begun))]
        self._begun[key] = bytearray()
