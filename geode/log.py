"""What the service tells its operator: one redacted line per event on stderr; never raises."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Literal, Protocol, TextIO, cast

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

_NOISY = (
    "httpx",
    "httpx2",
    "httpcore",
    "httpcore2",
    "slack_sdk",
    "slack_bolt",
    "aiohttp",
    "anthropic",
    "alembic",
    "discord",
    "telegram",
)
"""Their INFO and DEBUG lines hold whole URLs and bodies; never below WARNING."""
_DEPTH_MAX = 8


class TextRedactor(Protocol):
    """Takes secrets out of text."""

    def redact(self, text: str) -> str:
        """The text with every known secret replaced."""
        ...


class LogHandler(logging.StreamHandler[TextIO]):
    """Writes redacted lines; a line that cannot be written is counted and given up."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.lines_dropped = 0

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 the library's name
        """Count a line lost to a full disk or a closed stream; logging never stops the service."""
        self.lines_dropped += 1


class RedactingFormatter(structlog.stdlib.ProcessorFormatter):
    """Renders one record of ours or of a library, then redacts the finished line once more."""

    def __init__(self, redactor: TextRedactor, *, is_json: bool, is_coloured: bool) -> None:
        shared = _shared_processors()
        super().__init__(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                RedactValues(redactor),
                _renderer(is_json=is_json, is_coloured=is_coloured),
            ],
            logger=None,
        )
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        """The finished line: a secret that rendering put together is taken out here."""
        return self._redactor.redact(super().format(record))


class RedactValues:
    """A processor that redacts every string of an event, keys and nested values included."""

    def __init__(self, redactor: TextRedactor) -> None:
        self._redactor = redactor

    def __call__(self, logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
        return {key: self._clean(value, 0) for key, value in event.items()}

    def _clean(self, value: object, depth: int) -> object:
        whole = value
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, str):
            return self._redactor.redact(value)
        if depth < _DEPTH_MAX and isinstance(value, Mapping):
            items = cast("Mapping[object, object]", value).items()
            return {self._clean(str(k), depth): self._clean(v, depth + 1) for k, v in items}
        if depth < _DEPTH_MAX and isinstance(value, list | tuple | set | frozenset):
            return [self._clean(item, depth + 1) for item in cast("list[object]", value)]
        return self._redactor.redact(repr(whole))


def configure_logging(
    redactor: TextRedactor,
    *,
    style: Literal["json", "console"] = "json",
    level: str = "INFO",
    stream: TextIO | None = None,
) -> LogHandler:
    """Send every log line of the process, libraries included, redacted to one stream (stderr).

    Replaces the handlers that were there. Uncaught exceptions are redacted too.
    """
    target = sys.stderr if stream is None else stream
    handler = LogHandler(target)
    is_coloured = style == "console" and target.isatty()
    handler.setFormatter(
        RedactingFormatter(redactor, is_json=style == "json", is_coloured=is_coloured)
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in _NOISY:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    # Its warnings of a rate limit hold the address, and so the token of an interaction.
    logging.getLogger("discord.http").setLevel(max(logging.ERROR, root.level))
    # Its errors repeat what other servers sent.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_shared_processors(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    _redact_crashes(redactor, target)
    return handler


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """The logger of one module; event names are short, facts are keyword arguments."""
    return structlog.stdlib.get_logger(name)


def _shared_processors() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _renderer(*, is_json: bool, is_coloured: bool) -> Processor:
    if is_json:
        return structlog.processors.JSONRenderer(ensure_ascii=False)
    return structlog.dev.ConsoleRenderer(
        colors=is_coloured, exception_formatter=structlog.dev.plain_traceback
    )


def _redact_crashes(redactor: TextRedactor, stream: TextIO) -> None:
    def write(
        kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
    ) -> None:
        text = "".join(traceback.format_exception(kind, error, trace))
        try:
            stream.write(redactor.redact(text))
            stream.flush()
        except (OSError, ValueError):
            return  # nowhere left to say it

    def write_thread(crash: threading.ExceptHookArgs) -> None:
        if not issubclass(crash.exc_type, SystemExit):
            write(crash.exc_type, crash.exc_value, crash.exc_traceback)

    sys.excepthook = write
    threading.excepthook = cast("Any", write_thread)
