"""The configuration as it would be with what was answered so far, checked as `geode serve` does."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from geode.cli.setup_answers import Answers, ChannelAnswer
from geode.cli.setup_document import build_document
from geode.cli.setup_file import check_document
from geode.cli.setup_questions import Questions
from geode.cli.setup_secrets import SecretDesk
from geode.settings import Section, Settings


@dataclass(slots=True)
class Draft:
    """What every step of the set-up reads and adds to."""

    questions: Questions
    secrets: SecretDesk
    environ: Mapping[str, str]
    target: Path
    existing: str
    answers: Answers = field(default_factory=Answers)

    def text(self) -> str:
        """The file as it would be written."""
        return build_document(self.existing, self.answers)

    def settings(self) -> Settings:
        """What it means; raises `ConfigError`."""
        return check_document(self.text(), self.target, self.environ)

    def section_of(self, answer: ChannelAnswer) -> Section:
        """One channel's settings with its answer, addresses from the environment included."""
        kept = [each for each in self.answers.channels if each.name != answer.name]
        text = build_document(
            self.existing, Answers(channels=[*kept, ChannelAnswer(answer.name, answer.secrets)])
        )
        return check_document(text, self.target, self.environ).channels[answer.name]

    @property
    def written_channels(self) -> list[str]:
        """The channels of the present file."""
        return list(tomllib.loads(self.existing).get("channels", {}))
