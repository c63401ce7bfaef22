"""What built-in tools need from outside the store: hidden secrets, a search service, delivery."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from geode.errors import ConfigError
from geode.hooks.build import Hooks
from geode.messages import SessionId
from geode.session.secrecy import TakeOut
from geode.settings_search import SearchSettings
from geode.settings_secrets import Secret, resolve_secret
from geode.steps import Absence
from geode.tools import web_search
from geode.tools.fetch.client import fetch
from geode.tools.search.brave import BraveSite
from geode.tools.search.searxng import SearxngSite
from geode.tools.web_fetch import Fetch
from geode.tools.web_search import SearchSite


def _wake_nobody(session_id: SessionId) -> None:
    del session_id


@dataclass(frozen=True, slots=True)
class Search:
    """The configured search service, or why there is none."""

    site: SearchSite | None = None
    absence: Absence = web_search.ABSENCE
    key: Secret | None = None
    """To be redacted everywhere."""
    fault: str = ""
    """What the operator must mend."""


@dataclass(frozen=True, slots=True)
class Supplies:
    """What the composer hands to the built-in tools and to the gate."""

    take_out: TakeOut = str
    """Keeps registered secrets out of what the model is given."""
    search: Search = Search()
    hooks: Hooks | None = None
    """None: there are none."""
    fetch_page: Fetch = fetch
    wake_delivery: Callable[[SessionId], None] = _wake_nobody
    """A message for another place was queued in that session; may be lost without harm."""


NO_SUPPLIES = Supplies()


def open_search(settings: SearchSettings | None, environ: Mapping[str, str]) -> Search:
    """The search service with its key; a missing key degrades web_search alone."""
    if settings is None:
        return Search()
    if settings.api_key is None:
        return Search(SearxngSite(settings.address))
    try:
        key = resolve_secret(settings.api_key, environ)
    except ConfigError as error:
        return Search(absence=web_search.KEY_MISSING, fault=f"web_search: {error}")
    return Search(BraveSite(settings.address, key), key=key)
