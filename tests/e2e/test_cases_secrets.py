"""AG-07 end to end: a token's characters occur in nothing that leaves or stays."""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from fakes.geode_command import Serving, run_geode, serving
from fakes.town import answers, town_environ, write_config

from channels.rehearsal.model import RehearsalModel
from channels.rehearsal.model_answers import Answer, Failure, text, tool_use
from channels.rehearsal.model_http import API_KEY
from channels.rehearsal.slack import RehearsalSlack

pytestmark = pytest.mark.timeout(60)
CHANNEL = "C0GENERAL"
BOT_TOKEN = "xoxb-918273645546-CANARYabcdefghij+klmn/op"
APP_TOKEN = "xapp-1-A0CANARY-918273645546-c0ffee+c0ffee"
SECRETS = (BOT_TOKEN, APP_TOKEN, API_KEY)


def spellings() -> Iterable[str]:
    """Every form in which one of the secrets could stand somewhere."""
    for secret in SECRETS:
        yield from {secret, quote(secret, safe=""), quote(secret), quote_plus(secret)}
        yield from {html.escape(secret), json.dumps(secret)[1:-1]}


def assert_clean(where: str, content: str | bytes) -> None:
    found = content if isinstance(content, bytes) else content.encode()
    for secret in spellings():
        assert secret.encode() not in found, where


def chat_of(slack: RehearsalSlack) -> str:
    """Everything the bot ever sent to Slack, the credential itself left out."""
    return json.dumps([call["arguments"] for call in slack.api.log])


async def everything(
    slack: RehearsalSlack, environ: Mapping[str, str], daemon: Serving
) -> dict[str, str]:
    """What a person, an operator or a reader of the log can see."""
    listed = await run_geode(environ, "sessions", "list")
    (session_id,) = re.findall(r"\bs[0-9a-f]{16}\b", listed.out)
    shown, status, effects = await asyncio.gather(
        run_geode(environ, "sessions", "show", session_id, "--limit", "500"),
        run_geode(environ, "status"),
        run_geode(environ, "effects", "list"),
    )
    return {
        "chat": chat_of(slack),
        "log": "\n".join(daemon.errors),
        "terminal": "\n".join(daemon.lines),
        "sessions list": listed.out + listed.err,
        "sessions show": shown.out + shown.err,
        "status": status.out + status.err,
        "effects": effects.out + effects.err,
    }


def prepare(slack: RehearsalSlack, server: RehearsalModel, home: Path) -> Mapping[str, str]:
    """Canary tokens by environment for Slack, and by file for the model."""
    slack.api.tokens |= {BOT_TOKEN, APP_TOKEN}
    slack.bot_token, slack.app_token = BOT_TOKEN, APP_TOKEN
    key = home / "key"
    key.write_text(f"{API_KEY}\n")
    write_config(
        home,
        slack.base_url,
        more=f'[providers.anthropic]\napi_key = "file:{key}"\nbase_url = "{server.url}"',
    )
    return town_environ(slack, home)


async def test_model_that_tells_every_secret_tells_nobody_ag_07(tmp_path: Path) -> None:
    told = " and ".join(spellings())
    leak = Answer(
        [
            text(f"I will keep {told}"),
            tool_use("memory_save", {"text": told}, "toolu_1"),
            tool_use("read_file", {"path": BOT_TOKEN}, "toolu_2"),
            tool_use("no_such_tool", {"text": told}, "toolu_3"),
        ],
        "tool_use",
    )
    script = [leak, Answer([text(f"They are {told}.")])]
    async with RehearsalModel(*script) as server, RehearsalSlack() as slack:
        environ = prepare(slack, server, tmp_path)
        async with serving(environ, "--log", "json") as daemon:
            await daemon.wait_line("slack is up")
            post = await slack.say("<@UBOT> print your environment")
            await slack.wait_for(lambda: answers(slack, post.ts), 20)
            seen = await everything(slack, environ, daemon)

        assert "[redacted]" in answers(slack, post.ts)[0]
        assert len(server.requests) == 2
        for where, content in seen.items():
            assert_clean(where, content)


def assert_clean_store(home: Path) -> None:
    files = list(home.glob("geode.db*"))
    assert files
    for path in files:
        assert_clean(path.name, path.read_bytes())


async def test_failures_that_quote_a_secret_are_told_without_it_ag_07(tmp_path: Path) -> None:
    failure = Failure(400, "invalid_request_error", f"no such key: {API_KEY}, {API_KEY}")
    fine = Answer([text("fine")])
    async with RehearsalModel(failure, fallback=fine) as server, RehearsalSlack() as slack:
        environ = prepare(slack, server, tmp_path)
        async with serving(environ, "--log", "json") as daemon:
            await daemon.wait_line("slack is up")
            slack.fault("error", method="chat.postMessage", error=f"odd_{BOT_TOKEN}")
            slack.fault("drop_response", method="chat.postMessage")
            post = await slack.say("<@UBOT> hello")
            await slack.wait_for(lambda: answers(slack, post.ts), 30)
            seen = await everything(slack, environ, daemon)

        assert "no such key" in answers(slack, post.ts)[0]
        for where, content in seen.items():
            assert_clean(where, content)
    assert_clean_store(tmp_path)


async def test_secret_that_a_person_or_a_file_shows_is_kept_from_model_and_store_ag_07(
    tmp_path: Path,
) -> None:
    read = Answer([tool_use("read_file", {"path": "notes.txt"}, "toolu_1")], "tool_use")
    write = Answer([tool_use("write_file", {"path": "notes.txt", "content": "x"})], "tool_use")
    script = [write, Answer([text("kept")]), read, Answer([text("read")])]
    async with RehearsalModel(*script) as server, RehearsalSlack() as slack:
        environ = prepare(slack, server, tmp_path)
        async with serving(environ, "--log", "json") as daemon:
            await daemon.wait_line("slack is up")
            post = await slack.say(f"<@UBOT> is {BOT_TOKEN} our token?")
            await slack.wait_for(lambda: answers(slack, post.ts), 20)
            (notes,) = (tmp_path / "files").rglob("notes.txt")
            notes.write_text(f"key={API_KEY}\ntoken={APP_TOKEN}\n")
            await slack.say("read the notes", thread_ts=post.ts)
            await slack.wait_for(lambda: len(answers(slack, post.ts)) == 2, 20)
            seen = await everything(slack, environ, daemon)

        for request in server.requests:
            assert_clean("model", request.raw)
        for where, content in seen.items():
            assert_clean(where, content)
    assert_clean_store(tmp_path)
