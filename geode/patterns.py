"""Patterns whose search takes time in proportion to the text, whoever wrote the text or them."""

from __future__ import annotations

from typing import Any, cast

PATTERN_CHARS_MAX = 500
SEARCHED_CHARS_MAX = 100_000
_MEMORY_BYTES_MAX = 1 << 20


def check_pattern(text: str) -> str:
    """The pattern itself; raises `ValueError` with a sentence when it cannot be used."""
    if len(text) > PATTERN_CHARS_MAX:
        raise ValueError(f"is a pattern of more than {PATTERN_CHARS_MAX} characters; shorten it")
    _compile(text)
    return text


def finds(pattern: str, text: str) -> bool:
    """Whether a checked pattern is found in the beginning of the text."""
    return _compile(pattern).search(text[:SEARCHED_CHARS_MAX]) is not None


def _compile(text: str) -> Any:
    # Only a configuration with patterns pays for the library.
    import re2  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

    library = cast("Any", re2)
    options = library.Options()
    options.max_mem = _MEMORY_BYTES_MAX
    options.log_errors = False
    try:
        return library.compile(text, options)
    except library.error as error:
        raw = error.args[0] if error.args else b""
        reason = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
        raise ValueError(
            f"{text[:80]!r} is not a pattern that can be searched safely ({reason}); "
            f"write it in RE2's syntax, without look-arounds and back-references"
        ) from None
