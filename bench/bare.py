"""The yardstick: a bare loop over the official Anthropic SDK, as its users write it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anthropic

from bench.history import make_history
from bench.stub import FOLDERS

MODEL = "claude-opus-5-5"
TOOLS: Any = [
    {
        "name": "list_files",
        "description": "List one folder.",
        "input_schema": {
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
        },
    }
]


class BareLoop:
    """Conversations in memory, one streamed request after the other; no store and no gate."""

    def __init__(self, url: str, folder: Path) -> None:
        self._client = anthropic.AsyncAnthropic(api_key="sk-ant-bench", base_url=url)
        self._files = folder / "files"
        self._saved = folder / "saved"
        self._conversations: dict[str, list[Any]] = {}

    async def open(self) -> None:
        """Make the folders that the tool lists."""
        self._saved.mkdir(parents=True, exist_ok=True)
        for number in range(FOLDERS):
            (self._files / f"d{number}").mkdir(parents=True, exist_ok=True)
            (self._files / f"d{number}" / "notes.md").write_text("notes")

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def ask(self, conversation: str, text: str) -> None:
        """One turn: stream, run what is called, until the model answers in text."""
        messages = self._open_conversation(conversation)
        messages.append({"role": "user", "content": text})
        more: Any = {"tools": TOOLS} if "[tools=" in text else {}
        while True:
            async with self._client.messages.stream(
                model=MODEL, max_tokens=8192, messages=messages, **more
            ) as stream:
                reply = await stream.get_final_message()
            messages.append({"role": "assistant", "content": reply.content})
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": self._run(block.input)}
                for block in reply.content
                if block.type == "tool_use"
            ]
            if not results:
                return
            messages.append({"role": "user", "content": results})

    def _run(self, arguments: Any) -> str:
        folder = self._files / arguments["path"]
        rows = sorted(folder.iterdir())
        return "\n".join(f"{row.name} ({row.stat().st_size:,} bytes)" for row in rows)

    def _open_conversation(self, name: str) -> list[Any]:
        if name not in self._conversations:
            saved = self._saved / f"{name}.json"
            known = json.loads(saved.read_text()) if saved.exists() else []
            self._conversations[name] = known
        return self._conversations[name]

    async def prepare(self, conversation: str) -> None:
        """Begin a conversation; the files are there."""
        await self.ask(conversation, "hi")

    async def seed(self, conversation: str, count: int) -> None:
        """Put a conversation of so many messages into a file."""
        rows: list[Any] = []
        for said in make_history(count):
            content: Any = said.text
            if said.call_id and said.role == "assistant":
                called = {"id": said.call_id, "name": "list_files", "input": {"path": said.path}}
                content = [{"type": "tool_use", **called}]
            elif said.call_id:
                answered = {"tool_use_id": said.call_id, "content": said.text}
                content = [{"type": "tool_result", **answered}]
            rows.append({"role": said.role, "content": content})
        (self._saved / f"{conversation}.json").write_text(json.dumps(rows))

    async def settle(self) -> None:
        """Nothing is at work after a turn."""

    def count(self) -> dict[str, int]:
        """It writes nothing."""
        return {}
