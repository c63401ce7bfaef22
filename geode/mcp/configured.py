"""Which servers there are: those of the configuration, and those of a project that is trusted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from geode.errors import ConfigError
from geode.mcp.project import ProjectFile, project_path, read_project
from geode.settings import Settings
from geode.settings_mcp import McpServerSettings, check_servers
from geode.settings_mcp_names import JOINT
from geode.steps import Absence
from geode.store.trusted_files import Trust


@dataclass(frozen=True, slots=True)
class ServerList:
    """The servers to be used, and what is said about those that are not."""

    servers: Mapping[str, McpServerSettings]
    of_project: frozenset[str] = frozenset()
    notices: tuple[str, ...] = ()
    """What of the project's list is not used, one sentence each."""
    missing: Mapping[str, Absence] = field(default_factory=dict[str, Absence])
    """Granted names that may belong to servers of a list that is not read, by their whole names."""


def look_for_project(settings: Settings) -> ProjectFile | str | None:
    """The project's file as it is now, or why it cannot be read; None without one."""
    folder = settings.mcp.project
    if not folder:
        return None
    if not Path(folder).is_dir():
        return f"The project folder {folder} is not there."
    try:
        return read_project(folder) or f"{project_path(folder)} is not there."
    except ConfigError as error:
        return str(error)


def list_servers(
    settings: Settings, found: ProjectFile | str | None, trust: Trust | None
) -> ServerList:
    """Join both lists; pure. The configuration's servers stand whatever the project says."""
    written = settings.mcp.servers
    if found is None:
        return ServerList(written)
    if isinstance(found, str):
        return _without(settings, found)
    if trust is None or trust.digest != found.digest:
        state = "was never accepted" if trust is None else "has changed since it was accepted"
        return _without(
            settings, f"{found.path} {state}, so it is not used; look at it with: geode trust"
        )
    try:
        theirs = found.parse()
        twice = sorted(theirs.keys() & written.keys())
        new = {name: each for name, each in theirs.items() if name not in written}
        check_servers({**written, **new})
    except (ConfigError, ValueError) as error:
        return _without(settings, f"{found.path} is not used: {error}")
    notices = tuple(
        f"{found.path} names a server {name}, which the configuration has already; "
        f"the project's one is not used."
        for name in twice
    )
    return ServerList({**written, **new}, frozenset(new), notices)


def _without(settings: Settings, notice: str) -> ServerList:
    """Profiles may name tools of the list that is not read: they are absent, not unknown."""
    why = Absence("mcp.project_untrusted", notice.rstrip(".") + ".")
    missing = {
        name: why
        for name in _granted(settings)
        if JOINT in name and name.partition(JOINT)[0] not in settings.mcp.servers
    }
    return ServerList(settings.mcp.servers, notices=(why.sentence,), missing=missing)


def _granted(settings: Settings) -> Collection[str]:
    profiles = settings.profiles.values()
    return set(chain.from_iterable((*each.tools, *each.ask) for each in profiles))
