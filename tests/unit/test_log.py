"""A log line never holds a secret and never stops the service (AG-07, ST-04)."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from geode.log import configure_logging, get_logger
from geode.reply.redaction import Redactor

CANARY = 'c4n"ary-töken'


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    """Leave the process's logging as it was."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level, sys.excepthook)
    yield
    root.handlers[:], sys.excepthook = before[0], before[2]
    root.setLevel(before[1])
    structlog.reset_defaults()


def _lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_event_is_one_json_line_with_its_facts() -> None:
    stream = io.StringIO()
    configure_logging(Redactor(), stream=stream)

    get_logger("geode.x").info("turn_ended", steps=3, note="é\n")

    (line,) = _lines(stream)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "turn_ended",
        "level": "info",
        "logger": "geode.x",
        "steps": 3,
        "note": "é\n",
    }


@pytest.mark.parametrize("style", ["json", "console"])
def test_secret_is_in_no_line_whatever_carried_it(style: Any) -> None:
    stream = io.StringIO()
    configure_logging(Redactor([CANARY]), style=style, level="DEBUG", stream=stream)
    log = get_logger("geode.x")

    event = f"event {CANARY}"
    log.info(event, plain=CANARY, nested={"k": [CANARY, {CANARY: (CANARY,)}]})
    log.info("shown", thing=RuntimeError(CANARY), count=1, none=None)
    logging.getLogger("library").warning("said %s", CANARY)
    try:
        raise ValueError(CANARY)
    except ValueError:
        log.exception("failed")
        logging.getLogger("library").exception("failed too")

    text = stream.getvalue()
    assert text.count("[redacted]") >= 8
    assert text.count("Traceback") == 2
    assert "ary-t" not in text


def test_library_url_lines_stay_out_at_debug() -> None:
    stream = io.StringIO()
    configure_logging(Redactor(), level="DEBUG", stream=stream)

    logging.getLogger("httpx").info("HTTP Request: GET https://x/?token=1")
    logging.getLogger("slack_sdk.web").debug("Sending a request")
    logging.getLogger("discord.gateway").debug("WebSocket Event: token")
    logging.getLogger("discord.http").warning("POST https://x/token/callback responded with 429")
    logging.getLogger("telegram.Bot").debug("Calling sendMessage with words")
    logging.getLogger("slack_bolt.app").warning("kept")

    assert [line["event"] for line in _lines(stream)] == ["kept"]


def test_level_is_obeyed() -> None:
    stream = io.StringIO()
    configure_logging(Redactor(), level="warning", stream=stream)

    get_logger("geode.x").info("quiet")
    get_logger("geode.x").warning("loud")

    assert [line["event"] for line in _lines(stream)] == ["loud"]


class FullDisk(io.StringIO):
    """A stream whose disk is full until there is space again."""

    is_full = True

    def write(self, text: str) -> int:
        if self.is_full:
            raise OSError(28, "No space left on device")
        return super().write(text)


def test_full_disk_loses_the_line_and_nothing_else() -> None:
    stream = FullDisk()
    handler = configure_logging(Redactor(), stream=stream)
    log = get_logger("geode.x")

    log.info("lost")
    stream.is_full = False
    log.info("kept")

    assert handler.lines_dropped == 1
    assert [line["event"] for line in _lines(stream)] == ["kept"]


def test_closed_stream_never_raises() -> None:
    stream = io.StringIO()
    handler = configure_logging(Redactor(), stream=stream)
    stream.close()

    get_logger("geode.x").error("nowhere to go")

    assert handler.lines_dropped == 1


def test_value_that_cannot_be_shown_loses_the_line_only() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError("no repr")

    stream = io.StringIO()
    handler = configure_logging(Redactor(), stream=stream)

    get_logger("geode.x").info("odd", thing=Broken())

    assert handler.lines_dropped == 1


CRASH = """
import threading
from geode.log import configure_logging
from geode.reply.redaction import Redactor
configure_logging(Redactor(["canary-0123"]))
def fail():
    raise ValueError("bad canary-0123")
thread = threading.Thread(target=fail)
thread.start()
thread.join()
fail()
"""


def test_crash_report_of_the_process_is_redacted() -> None:
    run = subprocess.run(
        [sys.executable, "-c", CRASH], capture_output=True, text=True, check=False, timeout=15
    )

    assert run.returncode == 1
    assert run.stderr.count("ValueError: bad [redacted]") == 2
    assert "canary-0123" not in run.stderr + run.stdout
