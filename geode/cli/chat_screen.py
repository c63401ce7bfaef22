"""What a person sees of a conversation at the terminal; with no terminal the same as plain text."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from rich.console import Console
from rich.markdown import Markdown
from rich.status import Status
from rich.text import Text

from geode.cli.chat_card import ShownCard, read_card
from geode.cli.chat_files import ArrivedFile, find_path, read_files
from geode.cli.chat_text import clean_line, clean_text
from geode.reply.sentences import POINTERS, WORKING

QUIET = "dim"
LOUD = "bold"


class WholeMarkdown(Markdown):
    """Markdown whose HTML is text and whose links show their addresses: nothing is dropped."""

    def __init__(self, text: str) -> None:
        super().__init__(text, hyperlinks=False)
        parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
        self.parsed = parser.parse(text)
        for token in self.parsed:
            for child in token.children or ():
                if child.type == "softbreak":
                    child.type = "hardbreak"  # a line that was written is a line that is read


@dataclass
class Screen:
    """Prints each message once, and again only when what it says has changed."""

    console: Console
    state_folder: Path
    agent: str = "Geode"
    cards: dict[str, ShownCard] = field(default_factory=dict[str, ShownCard])
    """Those that wait for somebody, oldest first."""
    files: list[ArrivedFile] = field(default_factory=list[ArrivedFile])
    """All that arrived, as they are numbered."""
    _shown: dict[str, str] = field(default_factory=dict[str, str])

    def show(self, row: dict[str, Any]) -> None:
        """One message of the conversation."""
        card = read_card(row)
        what = f"{row['kind']} {row['markdown']} {card}"
        if row["kind"] == "progress" or row["markdown"] in POINTERS:
            return
        if self._shown.get(row["id"]) == what:
            return
        self._shown[row["id"]] = what
        if row["kind"] == "said":
            self.tell(f"You: {clean_text(row['markdown'])}", QUIET)
        elif card is not None:
            self.show_card(card)
        else:
            self.say(row["markdown"], is_answer=row["kind"] == "answer")
        for file in read_files(row):
            self.show_file(file)

    def say(self, text: str, *, is_answer: bool = True) -> None:
        """Markdown, under the agent's name when the agent says it; as it is without a terminal."""
        if is_answer and self.console.is_terminal:
            self.tell(f"{clean_line(self.agent)}:", LOUD)
        if self.console.is_terminal:
            self.console.print(WholeMarkdown(clean_text(text)))
            self.console.print()
        else:
            self.tell(clean_text(text))

    def show_card(self, card: ShownCard) -> None:
        """A card, and whether it still waits for somebody."""
        if card.buttons:
            self.cards[card.message_id] = card
        else:
            self.cards.pop(card.message_id, None)
        self.print_card(card)

    def print_card(self, card: ShownCard) -> None:
        """A card, whole."""
        self.tell(f"[{card.title}]", LOUD)
        if self.console.is_terminal:
            self.console.print(WholeMarkdown(card.body))
        else:
            self.tell(card.body)
        for name, value in card.fields:
            self.tell(f"{name}: {value}")
        self.console.print()

    def show_file(self, file: ArrivedFile) -> None:
        """A file, and where it lies."""
        self.files.append(file)
        path = find_path(self.state_folder, file)
        number = len(self.files)
        self.tell(f"File {number}: {file.name} ({file.size_bytes:,} bytes) in {path}", QUIET)
        if self.console.is_terminal:
            self.tell(f"/save {number} [PATH] copies it under its name.", QUIET)

    def tell(self, text: str, style: str = "") -> None:
        """Plain words, never read as formatting."""
        self.console.print(Text(text, style=style), soft_wrap=True)

    @contextmanager
    def working(self) -> Generator[Status | None]:
        """One live line for as long as something is under way; none in a simple terminal."""
        is_live = self.console.is_terminal and not self.console.is_dumb_terminal
        with self.console.status(WORKING) if is_live else nullcontext() as status:
            yield status


def show_line(status: Status | None, line: str) -> None:
    """What is being done now."""
    if status is not None:
        status.update(Text(clean_line(line) or WORKING))
