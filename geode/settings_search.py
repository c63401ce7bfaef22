"""`[web] search`: which search service web_search asks; what only one of them has is checked."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from pydantic import model_validator

from geode.settings_secrets import SecretRef
from geode.settings_section import HttpUrl, Section

BRAVE_URL = "https://api.search.brave.com"
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class SearchSettings(Section):
    """`{ engine = "searxng", url = … }` or `{ engine = "brave", api_key = … }`."""

    engine: Literal["searxng", "brave"]
    url: HttpUrl = ""
    """Of SearXNG required; of Brave the address of its API when it is not the public one."""
    api_key: SecretRef | None = None

    @property
    def address(self) -> str:
        """Where the service is asked, without a slash at the end."""
        return (self.url or BRAVE_URL).rstrip("/")

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> SearchSettings:
        if self.engine == "searxng":
            if not self.url:
                raise ValueError('searxng needs its address; write url = "http://127.0.0.1:8888"')
            if self.api_key is not None:
                raise ValueError("searxng has no key; remove api_key")
            return self
        if self.api_key is None:
            raise ValueError('brave needs a key; write api_key = "env:BRAVE_API_KEY"')
        where = urlsplit(self.address)
        if where.scheme != "https" and where.hostname not in _LOOPBACK:
            raise ValueError("a key is sent only over https; write url with https://")
        return self
