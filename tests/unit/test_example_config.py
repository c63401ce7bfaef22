"""The examples that operators copy are ones the service takes as they stand."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from fakes.source_tree import ROOT, list_sources
from fakes.tool_room import NotesInMemory, SaidUrls

from channels.slack.parse import BotIdentity, Dropped, parse_payload
from channels.slack.settings import SlackSettings
from channels.telegram.settings import TelegramSettings
from geode.llm.routes import open_route
from geode.ports import SystemClock
from geode.session.assembly import check_profiles
from geode.settings_load import Loaded, load_settings
from geode.tools.catalogue import build_catalogue
from geode.tools.web_fetch import FetchGrant
from geode.tools.workspace import Workspaces

EXAMPLE = ROOT / "deploy" / "example-geode.toml"
MANIFEST = ROOT / "deploy" / "slack-manifest.json"

_READS = {"channels:history", "groups:history", "im:history"}
_METHOD = re.compile(
    r'"((?:chat|conversations|users|reactions|files)\.\w+)"'
    r"|\.((?:apps|auth|chat|conversations|files|reactions|users)_\w+)"
    r"|\b(include_all_metadata)="
)
SCOPES: dict[str, set[str]] = {
    "apps_connections_open": set(),
    "auth_test": set(),
    "chat.postMessage": {"chat:write"},
    "chat.update": {"chat:write"},
    "conversations.history": _READS,
    "conversations.list": {"im:read"},
    "conversations.replies": _READS,
    "include_all_metadata": {"metadata.message:read"},
    "reactions_add": {"reactions:write"},
    "reactions_remove": {"reactions:write"},
}
"""What Slack asks for each method as it is called here; metadata is how sent messages are found."""


def _load(tmp_path: Path, path: Path = EXAMPLE) -> Loaded:
    environ = {"HOME": str(tmp_path)}
    return load_settings(
        path, channel_models={"slack": SlackSettings, "telegram": TelegramSettings}, environ=environ
    )


def _manifest() -> dict[str, Any]:
    return json.loads(MANIFEST.read_text(encoding="utf-8"))


def test_example_configuration_loads(tmp_path: Path) -> None:
    settings = _load(tmp_path).settings

    assert [binding.key for binding in settings.bindings] == [
        "slack:T0123ABCD/C0456EFGH",
        "slack:T0123ABCD/dm",
    ]
    assert isinstance(settings.channels["slack"], SlackSettings)


def test_example_configuration_loads_with_every_hint_taken(tmp_path: Path) -> None:
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    shown = [line.removeprefix("# ") if _is_hint(line) else line for line in lines]
    path = tmp_path / "geode.toml"
    path.write_text("\n".join(shown), encoding="utf-8")

    settings = _load(tmp_path, path).settings

    assert set(tomllib.loads(path.read_text("utf-8"))) > set(tomllib.loads("\n".join(lines)))
    assert settings.providers["anthropic"].prices


def _is_hint(line: str) -> bool:
    head = line.removeprefix("# ")
    return line.startswith("# ") and (head.startswith(("[", '"')) or head.partition(" =")[1] != "")


def test_example_configuration_grants_tools_that_exist(tmp_path: Path) -> None:
    catalogue = build_catalogue(
        workspaces=Workspaces(tmp_path),
        memory=NotesInMemory(),
        witness=SaidUrls(),
        grant=FetchGrant(),
    )

    check_profiles(_load(tmp_path).settings, catalogue)


def test_example_configuration_opens_its_model_under_its_cost_limit(tmp_path: Path) -> None:
    settings = _load(tmp_path).settings

    route, _ = open_route(settings, {"ANTHROPIC_API_KEY": "sk-ant-0123456789"}, SystemClock())

    assert settings.limits.cost_usd_per_turn is not None
    assert route.name == settings.agent.model


def test_slack_manifest_switches_on_what_the_channel_needs() -> None:
    manifest = _manifest()

    assert manifest["settings"]["socket_mode_enabled"] is True
    assert manifest["features"]["app_home"]["messages_tab_enabled"] is True
    assert manifest["features"]["app_home"]["messages_tab_read_only_enabled"] is False


def test_slack_manifest_has_the_scopes_of_the_methods_in_use_and_no_other() -> None:
    source = "".join(path.read_text("utf-8") for path in list_sources("channels/slack"))
    used = {name for found in _METHOD.findall(source) for name in found if name}

    needed = set[str]().union(*(SCOPES[name] for name in used), {"app_mentions:read"})

    assert set(_manifest()["oauth_config"]["scopes"]["bot"]) == needed


def test_slack_manifest_subscribes_to_events_the_channel_reads() -> None:
    events = _manifest()["settings"]["event_subscriptions"]["bot_events"]
    kinds = {name.partition(".")[0] for name in events}
    body = {"user": "U1", "channel": "C1", "ts": "1700000000.000100", "text": "hello"}

    for kind in kinds:
        payload: Any = {"type": "event_callback", "team_id": "T1", "event": {**body, "type": kind}}
        assert not isinstance(parse_payload(payload, BotIdentity("UBOT", "BBOT", "T1")), Dropped)

    assert kinds == {"app_mention", "message"}
