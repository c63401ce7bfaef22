"""Loads a session's pictures for its model calls, off the loop and once per turn."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from functools import partial

from geode.messages import Image
from geode.session.downloads import PICTURE_BYTES_MAX
from geode.store.blobs import Blobs
from geode.tools.blocking import run_to_end


class SessionPictures:
    """One turn's pictures, as their private copies still hold them."""

    def __init__(self, kept: Blobs) -> None:
        self._kept = kept
        self._loaded: dict[str, bytes] = {}

    async def load(self, wanted: Sequence[Image]) -> Mapping[str, bytes]:
        """The base64 of each picture by its SHA-256; one that is gone or changed is left out."""
        names = {picture.sha256 for picture in wanted}
        self._loaded = {name: raw for name, raw in self._loaded.items() if name in names}
        missing = names - self._loaded.keys()
        if missing:
            self._loaded |= await run_to_end(partial(self._read, missing))
        return dict(self._loaded)

    def _read(self, names: set[str]) -> dict[str, bytes]:
        found = {name: self._kept.get(name, PICTURE_BYTES_MAX) for name in names}
        return {name: base64.b64encode(raw) for name, raw in found.items() if raw is not None}
