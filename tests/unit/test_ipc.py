"""The control socket answers its owner in sentences and bounds everything it takes."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from geode.errors import ControlError, DaemonAbsentError, StateLockedError, StoreError
from geode.messages import JsonObject, JsonValue
from geode.reply.redaction import Redactor
from geode.serve.client import ask_daemon
from geode.serve.endpoint import LINE_BYTES_MAX, SOCKET_NAME
from geode.serve.ipc import CLIPoller, IpcLimits, Verb

SECRET = "canary-4711-secret"


async def _echo(arguments: JsonObject) -> JsonValue:
    return {"heard": arguments}


async def _refuse(arguments: JsonObject) -> JsonValue:
    raise ControlError("Not today.")


async def _break(arguments: JsonObject) -> JsonValue:
    raise RuntimeError("a bug")


async def _hang(arguments: JsonObject) -> JsonValue:
    await asyncio.Event().wait()
    return None


async def _leak(arguments: JsonObject) -> JsonValue:
    return {"rows": [f"token={SECRET}"]}


VERBS: Mapping[str, Verb] = {
    "echo": _echo,
    "refuse": _refuse,
    "break": _break,
    "hang": _hang,
    "leak": _leak,
}


@asynccontextmanager
async def _serving(folder: Path, **options: Any) -> AsyncGenerator[CLIPoller]:
    ready = asyncio.Event()
    poller = CLIPoller(folder, VERBS, redactor=Redactor([SECRET]), **options)
    task = asyncio.create_task(poller.run(ready.set))
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    try:
        if task.done():
            await task
        yield poller
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _ask(folder: Path, verb: str, arguments: dict[str, Any] | None = None) -> Any:
    return await asyncio.to_thread(ask_daemon, folder, verb, arguments, timeout_s=5.0)


async def _exchange(path: Path, *lines: bytes) -> list[dict[str, Any]]:
    """Send raw lines on one connection and read what comes back until as many or the end."""
    reader, writer = await asyncio.open_unix_connection(path, limit=1 << 22)
    try:
        answers: list[dict[str, Any]] = []
        for line in lines:
            writer.write(line + b"\n")
            answer = await asyncio.wait_for(reader.readline(), 5)
            if not answer:
                break
            answers.append(json.loads(answer))
        return answers
    finally:
        writer.close()


def _request(**fields: Any) -> bytes:
    return json.dumps({"v": 1, "id": 7, "verb": "echo", "args": {}} | fields).encode()


async def test_verb_is_answered_with_the_requests_id(tmp_path: Path) -> None:
    async with _serving(tmp_path) as poller:
        answers = await _exchange(
            poller.path, _request(id="a", args={"x": [1]}), _request(id=2, args={})
        )

    assert answers == [
        {"v": 1, "id": "a", "ok": {"heard": {"x": [1]}}},
        {"v": 1, "id": 2, "ok": {"heard": {}}},
    ]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        pytest.param(_request(v=2), "speaks protocol 1, the request says 2", id="newer"),
        pytest.param(_request(v="1"), "the request says '1'", id="version as text"),
        pytest.param(_request(v=True), "the request says True", id="version as truth"),
        pytest.param(b'{"id":7,"verb":"echo"}', "the request says None", id="no version"),
        pytest.param(_request(verb="nope"), "There is no verb 'nope'", id="unknown verb"),
        pytest.param(_request(verb=["echo"]), "There is no verb ['echo']", id="verb a list"),
        pytest.param(_request(args=[1]), "args are a JSON object", id="args a list"),
        pytest.param(_request(id=None), "names its id", id="no id"),
        pytest.param(_request(id=1.5), "names its id", id="id a fraction"),
        pytest.param(b"[1]", "is a JSON object", id="not an object"),
        pytest.param(b"status", "one line of JSON", id="not JSON"),
        pytest.param(b"", "one line of JSON", id="empty line"),
        pytest.param(b"\xff\xfe{}", "one line of JSON", id="not UTF-8"),
        pytest.param(b"[" * 5000, "one line of JSON", id="too deep"),
    ],
)
async def test_bad_request_is_refused_with_a_sentence_and_the_connection_lives(
    tmp_path: Path, line: bytes, sentence: str
) -> None:
    async with _serving(tmp_path) as poller:
        refused, answered = await _exchange(poller.path, line, _request())

    assert sentence in refused["error"]
    assert "ok" not in refused
    assert answered["ok"] == {"heard": {}}


async def test_overlong_line_is_refused_with_a_sentence(tmp_path: Path) -> None:
    async with _serving(tmp_path) as poller:
        long = _request(args={"text": "x" * LINE_BYTES_MAX})
        refused = await _exchange(poller.path, long)
        answered = await _exchange(poller.path, _request(args={"text": "x" * 1_000_000}))

    assert str(LINE_BYTES_MAX) in refused[0]["error"]
    assert len(answered[0]["ok"]["heard"]["text"]) == 1_000_000


async def test_verbs_own_refusal_reaches_the_caller(tmp_path: Path) -> None:
    async with _serving(tmp_path):
        with pytest.raises(ControlError, match=r"^Not today\.$"):
            await _ask(tmp_path, "refuse")


async def test_verb_that_breaks_takes_nothing_else_along(tmp_path: Path) -> None:
    async with _serving(tmp_path):
        with pytest.raises(ControlError, match="failed inside the daemon"):
            await _ask(tmp_path, "break")

        assert await _ask(tmp_path, "echo") == {"heard": {}}


async def test_verb_that_hangs_ends_in_a_sentence(tmp_path: Path) -> None:
    async with _serving(tmp_path, limits=IpcLimits(request_s=0.05)):
        with pytest.raises(ControlError, match=r"hang did not answer within 0\.05 s"):
            await _ask(tmp_path, "hang")


async def test_silent_connection_is_closed(tmp_path: Path) -> None:
    async with _serving(tmp_path, limits=IpcLimits(idle_s=0.05)) as poller:
        reader, writer = await asyncio.open_unix_connection(poller.path)

        assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()


async def test_secrets_do_not_leave_through_the_socket(tmp_path: Path) -> None:
    async with _serving(tmp_path):
        assert await _ask(tmp_path, "leak") == {"rows": ["token=[redacted]"]}


async def test_connections_are_bounded(tmp_path: Path) -> None:
    async with _serving(tmp_path, limits=IpcLimits(connections_max=1)) as poller:
        _, kept = await asyncio.open_unix_connection(poller.path)
        with pytest.raises(ControlError, match="Too many connections"):
            await _ask(tmp_path, "echo")
        kept.close()

        async with asyncio.timeout(5):
            while await _is_turned_away(tmp_path):  # noqa: ASYNC110 - the daemon's state, not ours
                await asyncio.sleep(0.01)


async def _is_turned_away(folder: Path) -> bool:
    try:
        await _ask(folder, "echo")
    except ControlError:
        return True
    return False


async def test_other_users_are_turned_away(tmp_path: Path) -> None:
    async with _serving(tmp_path, users=frozenset({os.geteuid() + 1})):
        with pytest.raises(ControlError, match="serves its owner only"):
            await _ask(tmp_path, "echo")


async def test_socket_is_for_its_owner_alone_and_gone_afterwards(tmp_path: Path) -> None:
    async with _serving(tmp_path) as poller:
        mode = poller.path.stat().st_mode

    assert mode & 0o777 == 0o600
    assert not poller.path.exists()


async def test_socket_of_a_dead_daemon_is_replaced(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(tmp_path / SOCKET_NAME))

    async with _serving(tmp_path):
        assert await _ask(tmp_path, "echo") == {"heard": {}}


async def test_socket_that_answers_is_not_taken_away(tmp_path: Path) -> None:
    async with _serving(tmp_path):
        with pytest.raises(StateLockedError, match="a daemon that answers"):
            async with _serving(tmp_path):
                pass

        assert await _ask(tmp_path, "echo") == {"heard": {}}


async def test_file_in_the_sockets_place_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / SOCKET_NAME).write_text("notes")

    with pytest.raises(StoreError, match="not a socket; move it away"):
        async with _serving(tmp_path):
            pass

    assert (tmp_path / SOCKET_NAME).read_text() == "notes"


async def test_state_folder_may_have_a_path_longer_than_a_socket_address(tmp_path: Path) -> None:
    folder = tmp_path / ("long-" * 30)
    folder.mkdir()

    async with _serving(folder):
        assert await _ask(folder, "echo") == {"heard": {}}


async def test_absent_daemon_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DaemonAbsentError, match="No daemon is running"):
        await _ask(tmp_path, "echo")
    with pytest.raises(DaemonAbsentError):
        await _ask(tmp_path / "nowhere", "echo")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(tmp_path / SOCKET_NAME))
    with pytest.raises(DaemonAbsentError):
        await _ask(tmp_path, "echo")


async def _serve_bytes(folder: Path, answer: bytes | None) -> asyncio.AbstractServer:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        if answer is None:
            await reader.read()
        else:
            writer.write(answer)
        writer.close()

    return await asyncio.start_unix_server(serve, folder / SOCKET_NAME)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        pytest.param(b'{"v":2,"id":1,"ok":{}}\n', "speaks protocol 2", id="newer daemon"),
        pytest.param(b"hello\n", "not one this command understands", id="not JSON"),
        pytest.param(b"[]\n", "not one this command understands", id="not an object"),
        pytest.param(b'{"v":1,"id":1}\n', "not one this command understands", id="no answer"),
        pytest.param(b'{"v":1,"id":1,"ok":', "went away before it answered", id="cut"),
        pytest.param(b"", "went away before it answered", id="nothing"),
    ],
)
async def test_client_turns_any_answer_into_a_sentence(
    tmp_path: Path, answer: bytes, sentence: str
) -> None:
    async with await _serve_bytes(tmp_path, answer):
        with pytest.raises(ControlError, match=sentence):
            await _ask(tmp_path, "echo")


async def test_client_gives_up_on_a_daemon_that_says_nothing(tmp_path: Path) -> None:
    async with await _serve_bytes(tmp_path, None):
        with pytest.raises(ControlError, match=r"did not answer within 0\.05 s"):
            await asyncio.to_thread(ask_daemon, tmp_path, "echo", timeout_s=0.05)
