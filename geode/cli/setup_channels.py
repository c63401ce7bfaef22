"""The channels of `geode setup`: what to do on each platform, its tokens, and whether they work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from geode.cli.setup_answers import ChannelAnswer, SecretAnswer
from geode.cli.setup_choices import parse_names
from geode.cli.setup_draft import Draft
from geode.cli.setup_places import ask_places
from geode.cli.setup_probe import Probe
from geode.cli.setup_secrets import file_of
from geode.errors import ChannelError
from geode.guides import SetupGuide
from geode.ports import Finding
from geode.roster import Opening
from geode.settings import CHANNEL_EMBEDDED, Section
from geode.settings_load import InstalledChannelModels
from geode.settings_secrets import SecretRef

AGAIN, GO_ON, LEAVE = 0, 1, 2
WAYS = ("look again", "go on as it is", "leave this channel out")


def ask_channels(draft: Draft) -> None:
    """Ask which channels are wanted, then about each of them."""
    known = sorted(InstalledChannelModels(), key=lambda name: (name != CHANNEL_EMBEDDED, name))
    usual = draft.written_channels or [CHANNEL_EMBEDDED]
    draft.questions.say("\nWhere do people talk to it?")
    for number, name in enumerate(known, start=1):
        draft.questions.say(f"  {number}. {name}")
    question = "Channels, with commas between them"
    names = draft.questions.ask(question, ", ".join(usual), lambda text: parse_names(text, known))
    for name in draft.written_channels:
        if name not in names:
            draft.questions.say(f"  {name} stays as it is written.")
    for name in names:
        answer = _ask_channel(draft, name)
        if answer is not None:
            draft.answers.channels.append(answer)


def _ask_channel(draft: Draft, name: str) -> ChannelAnswer | None:
    """One channel's answer; None when it is left out."""
    questions = draft.questions
    questions.say(f"\n{name}")
    section = draft.section_of(ChannelAnswer(name))
    if section.built_in_bindings():
        questions.say("  It needs nothing: it serves you, at this machine.")
        return ChannelAnswer(name)
    guide = Probe(name, Opening(section, {}), questions.redactor).guide()
    for number, step in enumerate(guide.steps, start=1):
        questions.say(f"  {number}. {step}")
    answer, probe = _ask_tokens(draft, name, guide)
    if answer is None or probe is None:
        return None
    places = ask_places(draft, name, probe, guide)
    if not places and name not in draft.written_channels:
        questions.say(f"  No place was chosen, so {name} is left out.")
        return None
    return ChannelAnswer(name, answer.secrets, places)


def _ask_tokens(
    draft: Draft, name: str, guide: SetupGuide
) -> tuple[ChannelAnswer | None, Probe | None]:
    """The tokens that the platform accepts, or that somebody goes on with."""
    keys = _secret_keys(draft.section_of(ChannelAnswer(name)), guide.tokens)
    found: dict[str, SecretAnswer] = {}
    refused: set[str] = set()
    while True:
        _ask_missing(draft, name, keys, found, refused)
        answer = ChannelAnswer(name, dict(found))
        opening = Opening(draft.section_of(answer), {k: s.value for k, s in found.items()})
        probe = Probe(name, opening, draft.questions.redactor)
        faults = _look(draft, probe)
        refused = {key for key in keys if key.replace("_", " ") in faults}
        for key in refused:
            del found[key]
        if not faults:
            return answer, probe
        if not refused:
            way = draft.questions.choose("Mend it, then", WAYS)
            if way != AGAIN:
                return (answer, probe) if way == GO_ON else (None, None)


def _ask_missing(
    draft: Draft,
    name: str,
    keys: Mapping[str, str],
    found: dict[str, SecretAnswer],
    refused: set[str],
) -> None:
    present = draft.section_of(ChannelAnswer(name))
    for key, label in keys.items():
        if key not in found:
            written: SecretRef = getattr(present, key)
            file = file_of(name, key)
            found[key] = draft.secrets.ask(label, written, file, is_refused=key in refused)


def _secret_keys(section: Section, named: Mapping[str, str]) -> dict[str, str]:
    """Every secret that the channel needs, and what people call it."""
    fields = type(section).model_fields
    needed = [key for key in fields if isinstance(getattr(section, key), SecretRef)]
    return {key: named.get(key, key.replace("_", " ")) for key in (*named, *needed)}


def _look(draft: Draft, probe: Probe) -> set[str]:
    """Say what the platform says; the subjects of what must be mended."""
    try:
        findings: Sequence[Finding] = probe.diagnose()
    except ChannelError as error:
        draft.questions.say(f"  {error} Check the network and the address, then look again.")
        return {"network"}
    for finding in findings:
        mark = "ok" if finding.level == "ok" else finding.level.upper()
        draft.questions.say(f"  {mark} {finding.subject}: {finding.sentence}")
    return {finding.subject for finding in findings if finding.level == "fault"}
