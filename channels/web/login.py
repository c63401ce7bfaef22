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


class _Failures:
    """Wrong tokens of the last minute; a program with a stale one keeps nobody from signing in."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at: deque[float] = deque(maxlen=FAILURES_MAX)

    def add(self) -> None:
        self._at.append(self._clock.monotonic())

    @property
    def is_full(self) -> bool:
        is_many = len(self._at) == FAILURES_MAX
        return is_many and self._clock.monotonic() - self._at[0] < FAILURES_S


class SignIns:
    """Tokens and the cookies that stand for them; a token that changes ends its cookies."""

    def __init__(
        self, secrets: Mapping[str, str], clock: Clock, *, has_tokens: bool, is_https: bool
    ) -> None:
        self._tokens = _by_person(secrets)
        self._clock = clock
        self._is_https = is_https
        self._forms = _Failures(clock)
        self._bearers = _Failures(clock)
        self.has_tokens = has_tokens

    def find_person(self, request: Request) -> Person | None:
        """Who sends the request; None when they have to sign in first."""
        if not self.has_tokens:
            return Person(LOCAL, LOCAL)
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self._try(token.strip(), self._bearers)
        return self._read_cookie(request.cookies.get(COOKIE, ""))

    def try_token(self, token: str) -> Person | None:
        """Whose token was sent to sign in; too many wrong ones end it for a while."""
        return self._try(token, self._forms)

    @property
    def is_barred(self) -> bool:
        """Whether so many wrong tokens came just now that none is looked at."""
        return self._forms.is_full

    def _try(self, token: str, failures: _Failures) -> Person | None:
        """Every token is compared, so that time tells nothing."""
        if failures.is_full:
            return None
        found = [name for name, known in self._tokens.items() if _is_same(token, known)]
        if not found:
            failures.add()
            return None
        return Person(found[0], found[0])

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
