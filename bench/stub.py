"""A stub model server: answers at once from bytes made once, in a process of its own.

A second port lets a measurement hold back the answers and be told of each request as it arrives.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Iterator

import orjson

MARK = b"[tools="
"""A request whose newest text holds `[tools=N]` is answered with N tool calls before the text."""
FOLDERS = 10
"""Tool calls name the folders d0, d1, … in turn, so that no two calls of a turn are equal."""
ANSWER = ("The short answer", " is yes: it is there,", " and nothing else was asked.")
SCHEMA = b'"output_config":'
"""A request with it comes from the judge."""
VERDICT = '{"rubric_misses":[],"passed":true,"reflection":"","retry_worthwhile":false}'
USAGE = {"input_tokens": 900, "output_tokens": 20}


def make_event(kind: str, **fields: object) -> bytes:
    """One server-sent event."""
    data = orjson.dumps({"type": kind, **fields}).decode()
    return f"event: {kind}\ndata: {data}\n\n".encode()


def make_stream(block: dict[str, object], deltas: list[dict[str, object]], stop: str) -> bytes:
    """A whole streamed answer with one content block."""
    message: dict[str, object] = {
        "id": "msg_bench",
        "type": "message",
        "role": "assistant",
        "model": "stub",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": USAGE | {"output_tokens": 1},
    }
    events = [
        make_event("message_start", message=message),
        make_event("content_block_start", index=0, content_block=block),
        *(make_event("content_block_delta", index=0, delta=delta) for delta in deltas),
        make_event("content_block_stop", index=0),
        make_event(
            "message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=USAGE
        ),
        make_event("message_stop"),
    ]
    return make_response(b"".join(events))


def make_response(body: bytes) -> bytes:
    """An HTTP answer of one chunk, as a streaming API sends it."""
    head = (
        "HTTP/1.1 200 OK\r\n"
        "content-type: text/event-stream; charset=utf-8\r\n"
        "request-id: req_bench\r\n"
        "transfer-encoding: chunked\r\n\r\n"
    )
    return head.encode() + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


def make_text(parts: tuple[str, ...]) -> bytes:
    """The answer without a tool call."""
    deltas: list[dict[str, object]] = [{"type": "text_delta", "text": part} for part in parts]
    return make_stream({"type": "text", "text": ""}, deltas, "end_turn")


def make_call(number: int) -> bytes:
    """The answer that proposes the tool call of this number."""
    path = orjson.dumps({"path": f"d{number % FOLDERS}"}).decode()
    block: dict[str, object] = {
        "type": "tool_use",
        "id": f"toolu_bench_{number}",
        "name": "list_files",
        "input": {},
    }
    deltas: list[dict[str, object]] = [
        {"type": "input_json_delta", "partial_json": piece} for piece in (path[:5], path[5:])
    ]
    return make_stream(block, deltas, "tool_use")


class Desk:
    """Chooses answers, holds them back when asked to, and tells of each request."""

    def __init__(self) -> None:
        self._text = make_text(ANSWER)
        self._verdict = make_text((VERDICT,))
        self._calls = [make_call(number) for number in range(FOLDERS * 2)]
        self._held: list[tuple[asyncio.Transport, bytes]] = []
        self._is_holding = False
        self.watchers: set[asyncio.Transport] = set()

    def take(self, transport: asyncio.Transport, body: bytes) -> None:
        """Answer one request, now or when the hold ends."""
        if SCHEMA in body:
            transport.write(self._verdict)
            return
        for watcher in self.watchers:
            watcher.write(b"%d\n" % len(body))
        answer = self._choose(body)
        if self._is_holding:
            self._held.append((transport, answer))
        else:
            transport.write(answer)

    def obey(self, word: bytes) -> None:
        """Follow one word of a watcher: `hold` or `release`."""
        self._is_holding = word == b"hold"
        if not self._is_holding:
            for transport, answer in self._held:
                transport.write(answer)
            self._held.clear()

    def _choose(self, body: bytes) -> bytes:
        at = body.rfind(MARK)
        if at < 0:
            return self._text
        wanted = int(body[at + len(MARK) : body.index(b"]", at)])
        done = body.count(b'"tool_result"', at)
        return self._calls[done] if done < wanted else self._text


class Requests(asyncio.Protocol):
    """Reads HTTP requests with a body, one after the other, on one connection."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._pending = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._pending += data
        for body in self._take_bodies():
            self._desk.take(self._transport, body)

    def _take_bodies(self) -> Iterator[bytes]:
        while True:
            end = self._pending.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self._pending[:end].lower()
            at = head.find(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            whole = end + 4 + length
            if len(self._pending) < whole:
                return
            body, self._pending = self._pending[end + 4 : whole], self._pending[whole:]
            yield body


class Watching(asyncio.Protocol):
    """One measurement that listens and holds."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._desk.watchers.add(transport)
        transport.write(b"0\n")

    def data_received(self, data: bytes) -> None:
        for word in data.split():
            self._desk.obey(word)

    def connection_lost(self, exc: Exception | None) -> None:
        self._desk.watchers.discard(self._transport)
        self._desk.obey(b"release")


class EndOfInput(asyncio.Protocol):
    """Sets an event when whoever started this process is gone."""

    def __init__(self, ended: asyncio.Event) -> None:
        self._ended = ended

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended.set()


async def serve() -> None:
    """Print both ports and answer until standard input closes."""
    desk, loop, ended = Desk(), asyncio.get_running_loop(), asyncio.Event()
    api = await loop.create_server(lambda: Requests(desk), "127.0.0.1", 0, backlog=1024)
    watch = await loop.create_server(lambda: Watching(desk), "127.0.0.1", 0)
    ports = [server.sockets[0].getsockname()[1] for server in (api, watch)]
    sys.stdout.write(f"{ports[0]} {ports[1]}\n")
    sys.stdout.flush()
    await loop.connect_read_pipe(lambda: EndOfInput(ended), sys.stdin)
    await ended.wait()


class Watch:
    """The other end of the second port."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int) -> Watch:
        """Connect; from now on every request is told."""
        watch = cls(*await asyncio.open_connection("127.0.0.1", port))
        await watch.next_size()
        return watch

    async def next_size(self) -> int:
        """The size of the next request's body, as soon as it has arrived."""
        async with asyncio.timeout(30):
            return int(await self._reader.readline())

    def hold(self) -> None:
        """Hold back answers from now on."""
        self._writer.write(b"hold\n")

    def release(self) -> None:
        """Send what was held back."""
        self._writer.write(b"release\n")

    async def close(self) -> None:
        """Stop listening; what is held back is sent."""
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


if __name__ == "__main__":
    asyncio.run(serve())
