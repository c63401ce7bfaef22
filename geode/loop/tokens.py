"""How many tokens a text will cost, estimated per script from measured tokenizers; pure."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from geode.messages import Image, Message, Text, ToolCall, ToolResult
from geode.steps import BoundToolPlan, SystemPrompt

LETTER, DIGIT, MARK = 0.25, 0.5, 0.45
"""Tokens for one ASCII letter or space, one digit, one other ASCII character."""
MESSAGE_TOKENS = 4
CALL_TOKENS = 12
"""What a provider's own framing of a message and of a call or result costs."""

PICTURE_TOKENS = 1_600
"""Of one picture at most: larger ones are made smaller by the provider."""

_DIGITS = b"0123456789"
_LETTERS = bytes(
    code for code in range(128) if chr(code).isalpha() or chr(code).isspace() or code < 32
)

# First high byte of a UTF-16 unit, and the tokens of one unit up to the next row. Measured with
# three public tokenizers; where they differ the weight lies high, as an overflow costs more.
_SCRIPTS: tuple[tuple[int, float], ...] = (
    (0x00, 0.8),  # accented Latin
    (0x03, 0.85),  # Greek
    (0x04, 0.5),  # Cyrillic
    (0x05, 0.9),  # Armenian, Hebrew
    (0x06, 0.75),  # Arabic
    (0x08, 1.0),  # scripts of India and South-East Asia
    (0x1E, 0.8),  # more Latin and Greek
    (0x20, 1.0),  # typographic marks, joiners, arrows, symbols
    (0x26, 1.6),  # dingbats
    (0x30, 0.9),  # CJK marks, kana
    (0x31, 1.2),  # bopomofo and compatibility signs
    (0x34, 1.15),  # Han
    (0xA0, 1.2),
    (0xAC, 1.05),  # Hangul syllables
    (0xD8, 1.2),  # half of a pair: emoji and rare scripts
    (0xE0, 1.0),
    (0xF9, 1.15),  # Han, compatibility
    (0xFB, 1.0),  # presentation forms, selectors, full width
)
_CLASS_OF_BYTE = bytes(
    max(row for row, (first, _) in enumerate(_SCRIPTS) if first <= byte) for byte in range(256)
)


def estimate_text(text: str) -> int:
    """Tokens of a text, within 0.8 to 1.8 times the real count for text in common scripts."""
    if not text:
        return 0
    plain = text.encode("ascii", "ignore")
    rest = plain.translate(None, _LETTERS)
    marks = len(rest.translate(None, _DIGITS))
    digits = len(rest) - marks
    weight = (len(plain) - len(rest)) * LETTER + digits * DIGIT + marks * MARK
    if len(plain) < len(text):
        weight += _weigh_scripts(text, len(plain))
    return int(weight) + 1


def _weigh_scripts(text: str, plain_count: int) -> float:
    # Counting bytes runs in C: a loop over characters would cost 100 times as much.
    high = text.encode("utf-16-le", "surrogatepass")[1::2].translate(_CLASS_OF_BYTE)
    weight = (high.count(0) - plain_count) * _SCRIPTS[0][1]
    return weight + sum(high.count(row) * _SCRIPTS[row][1] for row in range(1, len(_SCRIPTS)))


def estimate_message(message: Message) -> int:
    """Tokens of one message; reasoning that only its provider can read is estimated by size."""
    tokens = MESSAGE_TOKENS
    text_bytes = 0
    for block in message.blocks:
        match block:
            case Text(text):
                tokens += estimate_text(text)
                text_bytes += len(text)
            case ToolCall():
                written = orjson.dumps(block.arguments).decode() if block.arguments else block.raw
                tokens += CALL_TOKENS + estimate_text(block.name) + estimate_text(written)
                text_bytes += len(written)
            case ToolResult():
                tokens += CALL_TOKENS + estimate_text(block.text)
            case Image():
                tokens += PICTURE_TOKENS
    hidden = len(message.opaque) - 2 * text_bytes - 200
    return tokens + max(0, hidden // 4)


def estimate_messages(messages: Sequence[Message]) -> int:
    """Tokens of several messages."""
    return sum(estimate_message(message) for message in messages)


def estimate_fixed(system: SystemPrompt, plan: BoundToolPlan) -> int:
    """Tokens of what every request of a turn carries: the system prompt and the tools."""
    tokens = estimate_text(system.stable) + estimate_text(system.changing)
    for tool in plan.tools:
        tokens += CALL_TOKENS + estimate_text(tool.name) + estimate_text(tool.description)
        tokens += estimate_text(orjson.dumps(tool.schema).decode())
    return tokens
