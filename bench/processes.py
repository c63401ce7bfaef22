"""The processes of a run: the stub model and each side apart, so that none pays for another."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.cases import Figures

ROOT = Path(__file__).resolve().parents[1]
ANSWER_S_MAX = 120.0
END_S_MAX = 15.0


@dataclass(frozen=True, slots=True)
class Stub:
    """A running stub model."""

    url: str
    watch_port: int


class Child:
    """One side that answers cases."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def ask(self, case: str, **fields: int) -> Figures:
        """The figures of one case; raises `RuntimeError` when the child died of it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([case, fields]).encode() + b"\n")
        async with asyncio.timeout(ANSWER_S_MAX):
            line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the measured process died in {case}")
        return json.loads(line)


@asynccontextmanager
async def running_process(
    *command: str, environ: Mapping[str, str] | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A Python process of this benchmark; it ends with its standard input."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "NO_PROXY": "127.0.0.1", **(environ or {})},
    )
    assert process.stdin is not None
    try:
        yield process
    finally:
        process.stdin.close()
        try:
            async with asyncio.timeout(END_S_MAX):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


@asynccontextmanager
async def running_stub() -> AsyncIterator[Stub]:
    """The stub model, listening."""
    async with running_process("-m", "bench.stub") as process:
        assert process.stdout is not None
        async with asyncio.timeout(END_S_MAX):
            api, watch = (await process.stdout.readline()).split()
        yield Stub(f"http://127.0.0.1:{int(api)}", int(watch))


@asynccontextmanager
async def running_child(
    side: str, stub: Stub, folder: Path, environ: Mapping[str, str] | None = None
) -> AsyncIterator[Child]:
    """One side, started fresh in a folder of its own."""
    command = ("-m", "bench.child", side, "--url", stub.url, "--watch", str(stub.watch_port))
    folder.parent.mkdir(parents=True, exist_ok=True)
    async with running_process(*command, "--folder", str(folder), environ=environ) as process:
        yield Child(process)
