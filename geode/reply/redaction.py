"""The last look at every byte on its way out: known secrets and what looks like one are replaced.

Both kinds are found by one compiled alternation. Almost all text holds neither, and a few substring
searches can tell, at a fraction of the alternation's cost.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

REDACTED = "[redacted]"
SECRET_CHARS_MIN = 4
"""A shorter registered value is left alone: replacing it would garble ordinary text."""

ENCODED_BYTES_MIN = 12
"""The encoded form of a shorter value could be ordinary text."""

_URL_SAFE = str.maketrans("+/", "-_")
_TOKEN = r"[A-Za-z0-9_-]"  # noqa: S105 a character class, not a token
_BEARER = r"[A-Za-z0-9._~+/=-]"

_MARKERS = (
    *("xox", "xapp-", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "AKIA", "ASIA"),
    *("-----BEGIN ", "earer", "aws_secret_access_key"),
)
"""Every match of a pattern below but the bot token's holds one of these."""
_BOT_TOKEN = re.compile(rf":(?<=[0-9]:){_TOKEN}{{30}}|%3[Aa](?<=[0-9]%3[Aa]){_TOKEN}{{30}}")

# A look-behind stands after the branch's first literal and repeats it: a branch that began with the
# look-behind would have no first character to scan for.
_PATTERNS = (
    r"xox[a-z](?<![A-Za-z0-9]xox[a-z])(?:\.xox[a-z])?-[A-Za-z0-9-]{8,}",
    r"xapp-(?<![A-Za-z0-9]xapp-)[A-Za-z0-9-]{8,}",
    rf"sk-(?<![A-Za-z0-9]sk-)(?:ant-{_TOKEN}{{6,}}|(?=[A-Za-z_-]*[0-9]){_TOKEN}{{16,}})",
    r"gh[pousr]_(?<![A-Za-z0-9]gh[pousr]_)[A-Za-z0-9]{16,}",
    r"github_pat_[A-Za-z0-9_]{16,}",
    r"(?:AKIA|ASIA)(?<![A-Za-z0-9]AKIA)(?<![A-Za-z0-9]ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)",
    # The part before the colon is the bot's public id and stays.
    rf":(?<=[0-9]:){_TOKEN}{{30,}}",
    rf"%3[Aa](?<=[0-9]%3[Aa]){_TOKEN}{{30,}}",
)
_KEYED_PATTERNS = (
    rf"([Bb]earer(?:\s+|%20|\+))(?:(?=[A-Za-z._~+/=-]*[0-9]){_BEARER}{{8,}}|{_BEARER}{{24,}})",
    rf"(aws_secret_access_key[\"']?\s*[:=]\s*[\"']?){_BEARER}{{16,}}",
)
"""The first group of each is kept: it says what was taken out."""


class Redactor:
    """Replaces secrets in text; registering is rare, redacting happens on every path out."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._spellings: set[str] = set()
        self._known: re.Pattern[str] | None = None
        self._pattern = _compile([])
        self.register(*secrets)

    def register(self, *secrets: str) -> None:
        """Take these values out from now on, in every spelling they may leave in."""
        for secret in secrets:
            if len(secret) >= SECRET_CHARS_MIN:
                self._spellings |= _spell(secret)
        literals = _escape_longest_first(self._spellings)
        self._known = re.compile("|".join(literals)) if literals else None
        self._pattern = _compile(literals)

    def redact(self, text: str) -> str:
        """The text with every secret replaced; idempotent."""
        if not self._may_hold_secret(text):
            return text
        return self._pattern.sub(_replace, text)

    def _may_hold_secret(self, text: str) -> bool:
        if any(marker in text for marker in _MARKERS):
            return True
        if any(spelling in text for spelling in self._spellings):
            return True
        return _BOT_TOKEN.search(text) is not None

    def take_out(self, text: str) -> str:
        """The text without the registered secrets; what only looks like a secret stays.

        For what comes in: a person's example of a key is theirs, our own keys are nobody's.
        """
        if self._known is None or not any(spelling in text for spelling in self._spellings):
            return text
        return self._known.sub(REDACTED, text)

    def redact_bytes(self, content: bytes) -> bytes:
        """The same on bytes; what is not UTF-8 passes unchanged around the secrets."""
        text = content.decode("utf-8", "surrogateescape")
        return self.redact(text).encode("utf-8", "surrogateescape")


def _replace(match: re.Match[str]) -> str:
    kept = match[match.lastindex] if match.lastindex else ""
    found = match[0]
    if not kept and found.startswith((":", "%3")):
        kept = ":" if found[0] == ":" else found[:3]
    return kept + REDACTED


def _spell(secret: str) -> set[str]:
    """The secret as it may stand in text, URLs, JSON, HTML and string representations."""
    quoted = {quote(secret, safe=""), quote(secret), quote_plus(secret)}
    return {
        secret,
        *quoted,
        *(re.sub(r"%[0-9A-F]{2}", lambda m: m[0].lower(), text) for text in quoted),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        html.escape(secret),
        html.escape(secret, quote=False),
        repr(secret)[1:-1],
        secret.encode("unicode_escape").decode("ascii"),
        *_spell_bytes(secret.encode("utf-8", "surrogatepass")),
    }


def _spell_bytes(secret: bytes) -> set[str]:
    """The secret in hex and in Base64, also in the middle of something encoded as a whole."""
    if len(secret) < ENCODED_BYTES_MIN:
        return set()
    found = {secret.hex(), secret.hex().upper()}
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + secret).decode()
        # The characters at both ends depend on what stands around the secret.
        own = encoded[(before * 8 + 5) // 6 : (before + len(secret)) * 8 // 6]
        found |= {own, own.translate(_URL_SAFE)}
    return found


def _escape_longest_first(spellings: set[str]) -> list[str]:
    # Otherwise the rest of a longer spelling would be left standing.
    return [re.escape(text) for text in sorted(spellings, key=lambda text: (-len(text), text))]


def _compile(literals: list[str]) -> re.Pattern[str]:
    # Our own mark comes first, so that a second pass finds nothing in it.
    return re.compile("|".join((re.escape(REDACTED), *literals, *_PATTERNS, *_KEYED_PATTERNS)))
