"""Where a session's files lie: its workspace, and copies that none of its tools can change."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from geode.messages import SessionId
from geode.store.blobs import Blobs
from geode.tools.workspace import Workspaces


@dataclass(frozen=True, slots=True)
class Shelf:
    """The folders of files; what it gives blocks, so use it in a thread."""

    workspaces: Workspaces
    kept_folder: Path
    outgoing: Blobs
    """Copies of files that answers carry, until they are sent."""

    def kept(self, session: SessionId) -> Blobs:
        """The private copies of one session's pictures."""
        return Blobs(self.kept_folder / session)
