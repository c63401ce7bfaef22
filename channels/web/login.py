"""Who somebody is: the person at this machine, or whoever knows a token; nothing is stored."""

from __future__ import annotations

import hashlib
import hmac
from collections import deque
from collections.abc import Mapping

from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import Response

from channels.web.settings import LOCAL
from geode.messages import Person
from geode.ports import Clock

COOKIE = "geode_signed_in"
SIGNED_IN_S_MAX = 30 * 86_400
FAILURES_MAX = 10
"""Wrong tokens within `FAILURES_S` before nobody can sign in for a while."""
FAILURES_S = 60.0
_SALT = "geode.web.signed-in"


class SignIns:
    """Tokens and the cookies that stand for them; a token that changes ends its cookies."""

    def __init__(
        self, secrets: Mapping[str, str], clock: Clock, *, has_tokens: bool, is_https: bool
    ) -> None:
        self._tokens = _by_person(secrets)
        self._clock = clock
        self._is_https = is_https
        self._failures: deque[float] = deque(maxlen=FAILURES_MAX)
        self.has_tokens = has_tokens

    def find_person(self, request: Request) -> Person | None:
        """Who sends the request; None when they have to sign in first."""
        if not self.has_tokens:
            return Person(LOCAL, LOCAL)
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self.match_token(token.strip())
        return self._read_cookie(request.cookies.get(COOKIE, ""))

    def match_token(self, token: str) -> Person | None:
        """Whose token it is; every token is compared, so that time tells nothing."""
        found = [name for name, known in self._tokens.items() if _is_same(token, known)]
        return Person(found[0], found[0]) if found else None

    def try_token(self, token: str) -> Person | None:
        """The same for somebody who signs in; too many failures end it for a while."""
        if self.is_barred:
            return None
        person = self.match_token(token)
        if person is None:
            self._failures.append(self._clock.monotonic())
        return person

    @property
    def is_barred(self) -> bool:
        """Whether so many wrong tokens came just now that none is looked at."""
        is_full = len(self._failures) == FAILURES_MAX
        return is_full and self._clock.monotonic() - self._failures[0] < FAILURES_S

    def sign_in(self, response: Response, person: Person) -> None:
        """Let the browser remember who signed in."""
        response.set_cookie(
            COOKIE,
            self._serializer(person.id).dumps(person.id),
            max_age=SIGNED_IN_S_MAX,
            httponly=True,
            samesite="strict",
            secure=self._is_https,
        )

    def sign_out(self, response: Response) -> None:
        """Let the browser forget it."""
        response.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=self._is_https)

    def _read_cookie(self, written: str) -> Person | None:
        for name in self._tokens:
            try:
                said = self._serializer(name).loads(written, max_age=SIGNED_IN_S_MAX)
            except BadSignature:
                continue
            if said == name:
                return Person(name, name)
        return None

    def _serializer(self, name: str) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(
            self._tokens[name],
            salt=f"{_SALT}:{name}",
            signer_kwargs={"digest_method": hashlib.sha256},
        )


def _by_person(secrets: Mapping[str, str]) -> dict[str, str]:
    """`token` is the person at this machine, `tokens.ana` is ana."""
    tokens = {
        name.removeprefix("tokens."): value
        for name, value in secrets.items()
        if name.startswith("tokens.")
    }
    if "token" in secrets:
        tokens[LOCAL] = secrets["token"]
    return tokens


def _is_same(token: str, known: str) -> bool:
    return hmac.compare_digest(token.encode(), known.encode())
