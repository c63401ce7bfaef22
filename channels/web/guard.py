"""Which requests the page answers at all, and with which headers: against pages of other sites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

STATIC_PATH = "/static/"
OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Asked by supervisors under any name; they tell nothing of what is said here."""
SAFE_METHODS = frozenset({"GET", "HEAD"})
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
FORBIDDEN = 403
WRONG_HOST = "This address is not the one under which the page is served; open {origin}."
WRONG_ORIGIN = "The request came from another site, so nothing was done; use the page itself."
NOT_IN_URL = "A token in an address ends up in logs, so it is refused; sign in on the page."


@dataclass(frozen=True, slots=True)
class Doors:
    """Under which addresses the page is reached."""

    origins: tuple[str, ...]
    """As browsers write them, the one to tell people first."""

    @property
    def hosts(self) -> frozenset[str]:
        """What the Host header may say."""
        return frozenset(urlsplit(origin).netloc.lower() for origin in self.origins)


def list_doors(host: str, port: int, *, is_local: bool, origin: str) -> Doors:
    """The addresses that a listening place and a configured origin come to."""
    written = [_without_default(origin.rstrip("/").lower())] if origin else []
    if not is_local:
        return Doors(tuple(written))
    # All of these are this machine, and no other site can be one of them.
    names = dict.fromkeys((f"[{host}]" if ":" in host else host, "localhost", "127.0.0.1", "[::1]"))
    local = [_without_default(f"http://{name}:{port}") for name in names]
    return Doors(tuple(dict.fromkeys([*written, *local])))


def find_fault(doors: Doors, method: str, path: str, query: str, headers: Headers) -> str:
    """Why a request is not answered, in one sentence; empty: it is. Pure."""
    if path not in OPEN_PATHS and headers.get("host", "").lower() not in doors.hosts:
        return WRONG_HOST.format(origin=doors.origins[0])
    if any(name.lower() == "token" for name, _ in parse_qsl(query, keep_blank_values=True)):
        return NOT_IN_URL
    if headers.get("sec-fetch-site") == "cross-site" and not _is_navigation(method, headers):
        return WRONG_ORIGIN
    if method in SAFE_METHODS:
        return ""
    return "" if headers.get("origin", "").lower() in doors.origins else WRONG_ORIGIN


def _is_navigation(method: str, headers: Headers) -> bool:
    """A link on another site was followed: a page is shown, and nothing of it is told to them."""
    return method in SAFE_METHODS and headers.get("sec-fetch-mode") == "navigate"


def _without_default(origin: str) -> str:
    """As browsers write it: they leave a scheme's own port out."""
    return origin.removesuffix(":443" if origin.startswith("https:") else ":80")


class Guard:
    """ASGI around the page: refuses what `find_fault` names, and gives every answer its headers."""

    def __init__(self, app: ASGIApp, doors: Doors) -> None:
        self._app = app
        self._doors = doors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                found = MutableHeaders(scope=message)
                if str(scope["path"]).startswith(STATIC_PATH):
                    found.setdefault("Cache-Control", "no-cache")  # asked again, not sent again
                for name, value in HEADERS.items():
                    found.setdefault(name, value)
            await send(message)

        fault = find_fault(
            self._doors,
            str(scope["method"]),
            str(scope["path"]),
            bytes(scope["query_string"]).decode("latin-1"),
            Headers(scope=scope),
        )
        app: ASGIApp = PlainTextResponse(f"{fault}\n", FORBIDDEN) if fault else self._app
        await app(scope, receive, send_guarded)
