"""Forks processes of the `geode` command from one that has already imported all of it.

Run as a program of its own by `fakes.forked`, with a socket on which requests come. It has neither
a thread nor a loop, so a fork is cheap and clean. A child differs from a started command only in
what it need not import again: arguments, environment, folder, streams and terminal are its own.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import sys
import termios
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = Path(sys.executable).with_name("geode")
LEFT_OUT = ("__main__", "geode.store.migrations", "channels.rehearsal")
BESIDE = ("alembic.command", "sqlalchemy.dialects.sqlite.aiosqlite", "uvicorn")
"""What is imported late and would be imported by every child."""
REQUEST_BYTES_MAX = 200_000


@dataclass(frozen=True)
class Request:
    """What a command is started with."""

    module: str
    """Run as a program instead of the command."""
    arguments: list[str]
    environ: dict[str, str]
    folder: str
    is_terminal: bool
    streams: tuple[int, int, int]
    told: int
    """Where its process id is written, then how it ended."""


def import_everything() -> None:
    """Every module of the program and of its channels."""
    for package in ("geode", "channels"):
        folder = importlib.import_module(package).__path__
        for found in pkgutil.walk_packages(folder, f"{package}."):
            if not any(part in found.name for part in LEFT_OUT):
                importlib.import_module(found.name)
    for name in BESIDE:
        importlib.import_module(name)


def serve(requests: socket.socket) -> None:
    """Fork for every request and tell how each child ended, until nobody asks any more."""
    running: dict[int, tuple[int, int]] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(requests, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is requests:
                    request = read_request(requests)
                    if request is None:
                        return
                    pid = fork(request)
                    ended = os.pidfd_open(pid)
                    running[ended] = (pid, request.told)
                    selector.register(ended, selectors.EVENT_READ)
                else:
                    selector.unregister(key.fd)
                    tell_end(*running.pop(key.fd))
                    os.close(key.fd)


def read_request(requests: socket.socket) -> Request | None:
    """The next request with its streams; None at the end."""
    message, descriptors, _, _ = socket.recv_fds(requests, REQUEST_BYTES_MAX, 4)
    if not message:
        return None
    stdin, stdout, stderr, told = descriptors
    return Request(**json.loads(message), streams=(stdin, stdout, stderr), told=told)


def tell_end(pid: int, told: int) -> None:
    """Say how a child ended, to whoever still listens."""
    _, status = os.waitpid(pid, 0)
    try:
        os.write(told, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    except BrokenPipeError:
        pass
    finally:
        os.close(told)


def fork(request: Request) -> int:
    """Begin a child; its id is told, and its streams are closed here."""
    pid = os.fork()
    if pid == 0:
        run_child(request)
    os.write(request.told, f"{pid}\n".encode())
    for descriptor in request.streams:
        os.close(descriptor)
    return pid


def run_child(request: Request) -> None:
    """Be the command; never returns."""
    code = 1
    try:
        become(request)
        code = run_program(request.module)
    except BaseException as error:  # noqa: BLE001 - what the interpreter does at its own end
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        leave(code)


def become(request: Request) -> None:
    """Take on the streams, the folder, the environment and the arguments."""
    for number, descriptor in enumerate(request.streams):
        os.dup2(descriptor, number)
    os.closerange(3, 4_096)
    if request.is_terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(request.environ)
    time.tzset()
    os.chdir(request.folder)
    sys.argv[:] = [str(COMMAND), *request.arguments]
    is_unbuffered = bool(request.environ.get("PYTHONUNBUFFERED"))
    texts: Any = {"encoding": "utf-8", "closefd": False}
    sys.stdin = open(0, **texts)  # noqa: SIM115 - a descriptor, for the process's life
    sys.stdout = open(1, "w", buffering=1 if os.isatty(1) or is_unbuffered else -1, **texts)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", **texts)  # noqa: SIM115
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr


def run_program(module: str) -> int:
    """The console script's one line, or a module; its exit code."""
    main: Any = importlib.import_module("geode.cli.main").main
    try:
        ended: object = run_module(module) if module else main()
    except SystemExit as error:
        ended = error.code
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
        raise
    if ended is None or isinstance(ended, int):
        return ended or 0
    sys.stderr.write(f"{ended}\n")
    return 1


def run_module(name: str) -> None:
    """What `python -m` does with the paths of the environment."""
    sys.path[:0] = os.environ["PYTHONPATH"].split(os.pathsep)
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def leave(code: int) -> None:
    """End as the interpreter does: threads, exit functions, streams."""
    try:
        threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = code or 120
    finally:
        os._exit(code)


if __name__ == "__main__":
    sys.path[0] = str(COMMAND.parent)  # the fakes beside this file are no part of the command
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        import_everything()
        gc.collect()
        gc.freeze()
        serve(asked)
