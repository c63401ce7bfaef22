"""What a service without a gate does with the same calls: it guesses what is meant, and does it.

The positive control of the canaries. Nothing here is code of the product: names are matched by
likeness, broken arguments are repaired, paths are joined, addresses are opened as they are.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
import unicodedata
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import aiohttp
from fakes.hostile_player import orders_in
from fakes.hostile_rows import Plan, Proposal, Raw
from fakes.hostile_world import SECOND, HostileWorld

from channels.rehearsal.slack_state import BOT_TOKEN
from geode.messages import JsonObject

READ_CHARS_MAX = 200_000
FILES_MAX = 400
CONFUSABLE = str.maketrans({"\u0456": "i", "\u0435": "e", "\u0461": "w", "\u0430": "a"})
LINK = re.compile(r"\]\(([^)\s]+)\)")


class NaiveHands:
    """Carries out every call of a plan in one session's folder."""

    def __init__(self, world: HostileWorld, session: aiohttp.ClientSession) -> None:
        self._world = world
        self._session = session
        self._folder = world.workspace(world.own_session)
        self._tools: dict[str, Callable[[JsonObject], Any]] = {
            "read_file": self._read,
            "read_document": self._read,
            "read_mcp_resource": self._read,
            "list_files": self._list,
            "grep_files": self._grep,
            "write_file": self._write,
            "edit_file": self._write,
            "execute_sql": self._write,
            "web_fetch": self._fetch,
            "web_search": self._search,
            "run_bash": self._run,
            "bash": self._run,
            "delegate_task": self._hand_on,
            "schedule_job": self._hand_on,
            "computer": self._hand_on,
            "send_message": self._send,
            "memory_search": self._recall,
            "memory_save": self._save,
        }

    async def play(self, plan: Plan) -> None:
        """All that the plan's model proposes, and what the texts it reads then tell it."""
        for batch in plan.batches:
            for proposal in batch:
                await self._call(self._world.fill_in_call(proposal))
        if plan.obeys:
            given = "\n".join([*self._world.told, plan.said])
            for order in orders_in(self._world.fill_in(given)):
                await self._call(order)
        if plan.last != "done":
            await self._answer(self._world.fill_in(plan.last))

    async def _call(self, proposal: Proposal) -> None:
        name = meant_name(proposal.name if isinstance(proposal, Raw) else proposal[0])
        given = guess(proposal.text) if isinstance(proposal, Raw) else proposal[1]
        tool = self._tools.get(name) or self._tools.get(name.replace("_", ""))
        if tool is None or given is None:
            return
        try:
            made = tool(given)
            if asyncio.iscoroutine(made):
                await made
        except (OSError, ValueError, KeyError, TypeError, sqlite3.Error) as error:
            self._world.told.append(str(error))

    def _path(self, given: JsonObject) -> Path:
        text = str(given.get("path") or given.get("uri") or ".")
        text = unicodedata.normalize("NFKC", unquote(text)).encode("utf-8", "ignore").decode()
        text = text.partition("\0")[0].replace("\\", "/").removeprefix("file://").strip()
        return Path(os.path.normpath(text if text.startswith("/") else f"{self._folder}/{text}"))

    def _read(self, given: JsonObject) -> None:
        path = self._path(given)
        if not path.is_fifo():
            self._tell(path.read_bytes())

    def _list(self, given: JsonObject) -> None:
        self._tell("\n".join(str(path) for path in self._path(given).iterdir()).encode())

    def _grep(self, given: JsonObject) -> None:
        path = self._path(given)
        found = [path] if path.is_file() else [*path.rglob("*")][:FILES_MAX]
        for each in found:
            if each.is_file():
                self._tell(each.read_bytes())

    def _tell(self, content: bytes) -> None:
        self._world.told.append(content.decode("utf-8", "replace")[:READ_CHARS_MAX])

    def _write(self, given: JsonObject) -> None:
        path = self._path(given)
        if path.is_fifo():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(given.get("content", given.get("new", "owned"))))

    async def _fetch(self, given: JsonObject) -> None:
        # Of every address, the sink keeps the request: it stands for all hosts there are.
        text = str(given.get("url") or given.get("query")).strip().replace("\\", "/")
        if text.startswith("file:"):
            self._read({"path": text})
            return
        parts = urlsplit(text if "//" in text[:9] else text.replace(":/", "://", 1))
        host = parts.hostname or ""
        self._world.sites.web.asked.append(host)
        address = f"http://127.0.0.1:{self._world.sites.web.port}{parts.path or '/'}"
        query = f"?{parts.query}" if parts.query else ""
        headers = {"Host": re.sub(r"[^\w.:-]", "", host, flags=re.ASCII) or "x"}
        if parts.username:
            headers["Authorization"] = f"Basic {parts.username}"
        async with self._session.get(
            address + query, headers=headers, allow_redirects=False
        ) as response:
            self._world.told.append(await response.text())
            onward = urljoin(text, response.headers.get("Location", ""))
        if onward != text and host != "127.0.0.1":
            await self._fetch({"url": onward})

    def _search(self, _given: JsonObject) -> None:
        self._world.told.append(self._world.sites.page)

    async def _run(self, given: JsonObject) -> None:
        child = await asyncio.create_subprocess_shell(str(given["command"]), cwd=self._folder)
        await child.wait()

    async def _hand_on(self, given: JsonObject) -> None:
        for _name, command in re.findall(r"\[\[(run_bash) (.+?)\]\]", json.dumps(given)):
            await self._run({"command": command})

    async def _send(self, given: JsonObject) -> None:
        await self._post({"channel": given.get("to"), "text": given.get("text")})

    async def _answer(self, text: str) -> None:
        await self._post({"channel": self._world.room, "text": text})
        for target in LINK.findall(text):
            path = self._path({"path": target})
            if path.is_file():
                self._world.slack.files.add(path.name, path.read_bytes(), user="UBOT")

    async def _post(self, body: dict[str, Any]) -> None:
        body = {**body, "unfurl_links": True, "link_names": True}
        headers = {"Authorization": f"Bearer {BOT_TOKEN}"}
        url = f"{self._world.slack.base_url}chat.postMessage"
        async with self._session.post(url, json=body, headers=headers) as response:
            await response.read()

    def _recall(self, given: JsonObject) -> None:
        with closing(sqlite3.connect(self._world.home / "geode.db")) as db:
            query = "SELECT text FROM memories WHERE text LIKE '%' || ? || '%'"
            for (text,) in db.execute(query, (str(given["query"]),)):
                self._world.told.append(str(text))

    def _save(self, given: JsonObject) -> None:
        columns = "binding, session_id, operation_id, text, created_at_us"
        row = (given.get("binding", SECOND), "s", str(len(self._world.told)), given["text"], 0)
        with closing(sqlite3.connect(self._world.home / "geode.db")) as db:
            db.execute(f"INSERT INTO memories ({columns}) VALUES (?, ?, ?, ?, ?)", row)  # noqa: S608
            db.commit()


def meant_name(name: str) -> str:
    """The tool that a forgiving reader takes the name for."""
    plain = unicodedata.normalize("NFKC", name).translate(CONFUSABLE)
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", plain).lower()
    plain = re.sub(r"[\u200b-\u202e\ufeff\0\s%]|00$", "", plain).replace("writefile", "write_file")
    found = re.findall(r"run_bash|write[._-]file|[a-z]+(?:_[a-z]+)*", plain)
    return found[-1].replace("-", "_").replace(".", "_") if found else plain


def guess(text: str) -> JsonObject | None:
    """The arguments that a forgiving reader makes of a text."""
    plain = text.strip("`\ufeff\n").removeprefix("json").strip()
    plain = re.sub(r"/\*.*?\*/|,(?=\s*})", "", plain)
    if plain.startswith("{'"):
        plain = plain.replace("'", '"')
    for ending in ("", '"}', "}"):
        try:
            found, _ = json.JSONDecoder(strict=False).raw_decode(plain + ending)
        except (ValueError, RecursionError):
            continue
        return _object_in(found)
    return None


def _object_in(found: Any) -> JsonObject | None:
    while not isinstance(found, dict):
        if isinstance(found, list) and found:
            found = found[0]
        elif isinstance(found, str):
            found = json.loads(found)
        else:
            return None
    inner = found.get("arguments", found)
    made = {str(key).lower(): value for key, value in inner.items()}
    if isinstance(made.get("path"), list):
        made["path"] = made["path"][0]
    return made
