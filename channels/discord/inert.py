"""Text in which Discord finds nothing that we did not mean: no mention, no hidden link; pure.

`allowed_mentions` is what keeps a mention from notifying; here it is kept from looking like one.
"""

from __future__ import annotations

import re

_CODE = re.compile(r"(?<!`)(`+)(?!`)[^\n]+?(?<!`)\1(?!`)")
_LIVE = re.compile(r"(?P<slashes>\\*)(?P<sign><(?=@|#|/|:|a:|t:|id:)|@(?=everyone|here)|\|\|)")
_LINK = re.compile(
    r"!?\[(?P<label>[^\[\]]*)\]\(<?(?P<url>(?:https?://|mailto:)[^\s()<>]*"
    r"(?:\([^\s()<>]*\)[^\s()<>]*)*)>?(?: +\"[^\"]*\")?\)"
)
_URL = re.compile(r"(?:https?://|mailto:)[^\s<>]+")
_ESCAPED = re.compile(r"\\(?=[<@|])")


def make_inert(prose: str) -> str:
    """Markdown outside code blocks, with mentions, spoilers and labelled links made plain."""
    made: list[str] = []
    at = 0
    for code in _CODE.finditer(prose):
        made += [_plain_prose(prose[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*made, _plain_prose(prose[at:])])


def read_back(text: str) -> str:
    """A text of ours without the backslashes that made it inert."""
    return _ESCAPED.sub("", text)


def _plain_prose(prose: str) -> str:
    shown = _LINK.sub(_show_target, prose)
    made: list[str] = []
    at = 0
    for url in _URL.finditer(shown):
        made += [_escape(shown[at : url.start()]), url[0]]
        at = url.end()
    return "".join([*made, _escape(shown[at:])])


def _show_target(found: re.Match[str]) -> str:
    """A label followed by its address, so that no label hides where it leads."""
    label, url = found["label"].strip(), found["url"]
    return url if label in ("", url, url.removeprefix("mailto:")) else f"{label} (<{url}>)"


def _escape(text: str) -> str:
    return _LIVE.sub(_escape_sign, text)


def _escape_sign(found: re.Match[str]) -> str:
    """The sign behind an odd number of backslashes: an even one would leave it alive."""
    slashes = found["slashes"] + "\\" * (len(found["slashes"]) % 2 == 0)
    sign = found["sign"]
    return slashes + (sign if sign != "||" else r"|\|")
