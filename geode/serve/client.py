"""The thin side of the control socket: one question, one answer, without an event loop."""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from geode.errors import ControlError, DaemonAbsentError
from geode.serve.endpoint import ANSWER_BYTES_MAX, LINE_BYTES_MAX, PROTOCOL, reach_socket

CONNECT_S = 5.0
ANSWER_S = 35.0
"""A little more than the daemon gives itself."""


def ask_daemon(
    folder: Path, verb: str, arguments: dict[str, Any] | None = None, *, timeout_s: float = ANSWER_S
) -> Any:
    """What the daemon of this state folder answers.

    Raises `DaemonAbsentError` when none is running and `ControlError` with the daemon's own
    sentence, or when it does not answer.
    """
    line = json.dumps({"v": PROTOCOL, "id": 1, "verb": verb, "args": arguments or {}}).encode()
    if len(line) >= LINE_BYTES_MAX:
        raise ControlError("The request is too long for the daemon.")
    with _connect(folder) as connection:
        connection.settimeout(timeout_s)
        try:
            with suppress(BrokenPipeError):  # turned away: the reason is there to be read
                connection.sendall(line + b"\n")
            with connection.makefile("rb") as stream:
                answer = stream.readline(ANSWER_BYTES_MAX + 1024)
        except TimeoutError:
            raise ControlError(
                f"The daemon did not answer within {timeout_s:g} s; look at its log."
            ) from None
        except OSError as error:
            raise ControlError(f"The daemon went away before it answered ({error}).") from error
    return read_answer(answer)


def _connect(folder: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(CONNECT_S)
    try:
        with reach_socket(folder) as path:
            connection.connect(path)
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        connection.close()
        raise DaemonAbsentError(str(folder)) from None
    except OSError as error:
        connection.close()
        raise ControlError(f"The daemon's socket cannot be used ({error}).") from error
    return connection


def read_answer(line: bytes) -> Any:
    """What an answer says; raises `ControlError` with the daemon's sentence."""
    if not line.endswith(b"\n"):
        raise ControlError("The daemon went away before it answered.")
    try:
        answer = cast("dict[str, Any]", json.loads(line))
        if answer["v"] != PROTOCOL:
            raise ControlError(
                f"The daemon speaks protocol {answer['v']!r}, this command speaks {PROTOCOL}; "
                f"use the geode command of the daemon's version."
            )
        if "error" in answer:
            raise ControlError(str(answer["error"]))
        return answer["ok"]
    except (ValueError, KeyError, TypeError):
        raise ControlError("The daemon's answer is not one this command understands.") from None
