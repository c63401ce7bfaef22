"""The hooks that operators copy work as they stand, run as an operator runs them."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest
from fakes.hook_room import HookRoom, candidate, install_package, proposed
from fakes.source_tree import ROOT

from geode.hooks.candidates import Strengthen
from geode.hooks.decisions import AskPerson, Block, Proceed
from geode.hooks.events import BODY_FIELDS, LifecycleEvent
from geode.settings import Settings

GUARD = ROOT / "deploy" / "hooks" / "guard.py"
SOURCES = ROOT / "deploy" / "hooks" / "sources.py"
TOY = ROOT / "docs" / "toy_hooks.py"
PAGE = ROOT / "docs" / "writing-a-hook.md"


@pytest.fixture
def room(tmp_path: Path) -> HookRoom:
    return HookRoom(tmp_path)


@pytest.fixture
def guarded(room: HookRoom) -> HookRoom:
    """The room with the example command, configured as the example configuration shows it."""
    (room.folder / "hooks").mkdir()
    shutil.copy(GUARD, room.folder / "hooks" / "guard.py")
    room.configure("PreToolUse", 'command = ["python3", "hooks/guard.py"], tools = ["web_fetch"]')
    return room


REFUSED = {
    "host": "https://wiki.example.org/page",
    "subdomain": "http://deep.wiki.example.org/",
    "upper": "HTTPS://WIKI.Example.Org",
    "dot": "https://wiki.example.org./",
    "dots": "https://wiki.example.org../",
    "port": "https://wiki.example.org:8443/",
    "query": "https://wiki.example.org?x",
    "login": "https://me@wiki.example.org/",
    "disguised-login": "https://example.org@wiki.example.org/",
    "letters": "https://wıkı.example.org/",
    "wide": "https://ｗiki.example.org/",
    "kelvin": "https://wi\u212ai.example.org/",
    "backslash": "https://wiki.example.org\\@example.org/",
    "escape": "https://wiki%2eexample.org/",
    "white": " https://wiki.example.org/",
    "scheme": "ftp://wiki.example.org/",
}
LET_PASS = ("https://example.org/wiki.example.org", "https://notwiki.example.org/#x\ny")


@pytest.mark.parametrize("url", REFUSED.values(), ids=REFUSED)
async def test_guard_refuses_a_listed_host_however_it_is_written(
    guarded: HookRoom, url: str
) -> None:
    answer = await (await guarded.build()).registry.pre_tool_use(proposed(arguments={"url": url}))

    assert isinstance(answer, Block)
    assert not answer.has_failed


@pytest.mark.parametrize("url", LET_PASS)
async def test_guard_lets_other_addresses_and_other_tools_pass(guarded: HookRoom, url: str) -> None:
    registry = (await guarded.build()).registry

    assert await registry.pre_tool_use(proposed(arguments={"url": url})) == Proceed()
    assert await registry.pre_tool_use(proposed("read_file", {"path": "x"})) == Proceed()


async def test_guard_that_meets_what_it_does_not_expect_denies(guarded: HookRoom) -> None:
    answer = await (await guarded.build()).registry.pre_tool_use(proposed(arguments={"u": 1}))

    assert isinstance(answer, Block)
    assert answer.has_failed


NAMED = Strengthen(
    "PreVerify[1]", ("Each address in the answer is one that the observations name.",)
)
MISSED = Strengthen(
    "PreVerify[1]",
    (),
    ("no_source_link",),
    "Name the address of each page that the answer rests on.",
)
ANSWERS = {
    "no-page": ("It is 42.", "read_file", ()),
    "no-address": ("It is 42 (example.org).", "web_fetch", (MISSED,)),
    "address": ("It is 42, see https://example.org/a", "web_fetch", (NAMED,)),
    "searched": ("It is 42.", "web_search", (MISSED,)),
}


@pytest.mark.parametrize(("text", "tool", "added"), ANSWERS.values(), ids=ANSWERS)
async def test_sources_asks_for_the_addresses_of_pages(
    room: HookRoom, text: str, tool: str, added: tuple[Strengthen, ...]
) -> None:
    room.script("hooks/sources.py", SOURCES.read_text(encoding="utf-8"))
    room.configure("PreVerify", 'command = ["python3", "hooks/sources.py"]')

    registry = (await room.build()).registry

    assert await registry.pre_verify(candidate(text, tool)) == added


async def test_package_of_the_docs_asks_and_counts(
    room: HookRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = re.search(
        r'^\[project.entry-points."geode.hooks"\]\n(.*?)```', _page(), re.MULTILINE | re.DOTALL
    )
    assert declared is not None
    entries = [line.replace('"', "") for line in declared[1].strip().splitlines()]
    monkeypatch.syspath_prepend(str(install_package(room.folder / "site", entries, TOY)))
    room.configure("PreToolUse", 'entry_point = "long-texts"')
    room.configure("Observe", 'entry_point = "refusals", events = ["tool_refused"]')
    hooks = await room.build()

    short = await hooks.registry.pre_tool_use(proposed(arguments={"text": "x"}))
    long = await hooks.registry.pre_tool_use(proposed(arguments={"text": "x" * 3_000}))

    assert short == Proceed()
    assert long == AskPerson("PreToolUse[1]", "A text of more than 2000 characters.")


async def test_observer_of_the_docs_counts_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOY.parent))
    from toy_hooks import RefusalCount  # pyright: ignore[reportMissingImports]

    count = RefusalCount()
    await count(LifecycleEvent("tool_refused", {"rule": "scope.unknown"}))
    await count(LifecycleEvent("tool_ended", {}))

    assert dict(count.by_rule) == {"scope.unknown": 1}


def _page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_configuration_of_the_page_is_valid() -> None:
    (text,) = re.findall(r"```toml\n# geode.toml\n(.*?)```", _page(), re.DOTALL)

    hooks = Settings.model_validate(tomllib.loads(text)).hooks

    assert len(hooks.PreToolUse) == 2
    assert len(hooks.PostToolUse) == len(hooks.PreVerify) == len(hooks.Observe) == 1


def test_page_names_the_fields_of_every_lifecycle_event() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| (`(?:operation|number|action|review|reason)`.*) \|$", _page(), re.MULTILINE
    )

    assert {name: tuple(re.findall(r"`(\w+)`", said)) for name, said in rows} == BODY_FIELDS
