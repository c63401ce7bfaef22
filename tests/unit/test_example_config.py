"""The examples that operators copy are ones the service takes as they stand."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml
from fakes.source_tree import ROOT, list_sources
from fakes.tool_room import NotesInMemory, SaidUrls

from channels.discord.settings import DiscordSettings
from channels.slack.origin import BotIdentity, Dropped
from channels.slack.parse import STOPPED, parse_payload
from channels.slack.settings import SlackSettings
from channels.telegram.settings import TelegramSettings
from channels.web.settings import WebSettings
from geode.llm.routes import open_route
from geode.messages import ChatCommand
from geode.ports import SystemClock
from geode.session.assembly import check_profiles
from geode.settings_load import Loaded, load_settings
from geode.tools.catalogue import build_catalogue
from geode.tools.web_fetch import FetchGrant
from geode.tools.workspace import Workspaces

MODELS = {
    "discord": DiscordSettings,
    "slack": SlackSettings,
    "telegram": TelegramSettings,
    "web": WebSettings,
}
EXAMPLE = ROOT / "deploy" / "example-geode.toml"
MANIFEST = ROOT / "deploy" / "slack-manifest.yaml"

_READS = {"channels:history", "groups:history", "im:history", "mpim:history"}
_METHOD = re.compile(
    r'"((?:agents|assistant|chat|conversations|users|reactions|files|views)\.[\w.]+)"'
    r"|\.((?:apps|auth|chat|conversations|files|reactions|users|views)_\w+)"
    r"|\b(include_all_metadata)="
)
SCOPES: dict[str, set[str]] = {
    "agents.sessions.setStatus": {"chat:write"},
    "apps_connections_open": set(),
    "assistant.threads.setStatus": {"assistant:write"},
    "auth_test": set(),
    "chat.postEphemeral": {"chat:write"},
    "chat.postMessage": {"chat:write"},
    "chat.update": {"chat:write"},
    "conversations.history": _READS,
    "conversations.info": {"channels:read", "groups:read"},
    "conversations.list": {"im:read"},
    "conversations.members": {"channels:read", "groups:read"},
    "conversations.replies": _READS,
    "files.info": {"files:read"},
    "files_completeUploadExternal": {"files:write"},
    "files_getUploadURLExternal": {"files:write"},
    "include_all_metadata": {"metadata.message:read"},
    "reactions_add": {"reactions:write"},
    "reactions_remove": {"reactions:write"},
    "users.conversations": {"channels:read", "groups:read"},
    "users.info": {"users:read"},
    "views_open": set(),
}
"""What Slack asks for each method as it is called here; metadata is how sent messages are found."""


def _load(tmp_path: Path, path: Path = EXAMPLE) -> Loaded:
    environ = {"HOME": str(tmp_path)}
    return load_settings(path, channel_models=MODELS, environ=environ)


def _manifest() -> dict[str, Any]:
    return yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))


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

    check_profiles(_load(tmp_path).settings, {tool.name for tool in catalogue})


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

    heard = {"app_mentions:read", "commands"}
    needed = set[str]().union(*(SCOPES[name] for name in used), heard)

    assert set(_manifest()["oauth_config"]["scopes"]["bot"]) == needed


def test_slack_manifest_subscribes_to_events_the_channel_reads() -> None:
    events = _manifest()["settings"]["event_subscriptions"]["bot_events"]
    kinds = {name.partition(".")[0] for name in events}
    body = {"user": "U1", "channel": "C1", "ts": "1700000000.000100", "text": "hello"}
    body["thread_ts"] = body["ts"]

    for kind in kinds:
        payload: Any = {"type": "event_callback", "team_id": "T1", "event": {**body, "type": kind}}
        assert not isinstance(parse_payload(payload, BotIdentity("UBOT", "BBOT", "T1")), Dropped)

    assert kinds == {"app_mention", "message", STOPPED}
    assert {name for name in events if name.startswith("message.")} == {
        f"message.{kind}" for kind in ("channels", "groups", "im", "mpim")
    }


def test_slack_manifest_has_the_slash_command_and_lets_buttons_answer() -> None:
    manifest = _manifest()
    (command,) = manifest["features"]["slash_commands"]
    payload = {"command": command["command"], "text": "", "channel_id": "C1", "user_id": "U1"}

    parsed = parse_payload({**payload, "trigger_id": "1.a"}, BotIdentity("UBOT", "BBOT", "T1"))

    assert isinstance(parsed, ChatCommand)
    assert command["command"] == "/geode"
    assert "url" not in command
    assert manifest["settings"]["interactivity"] == {"is_enabled": True}
    assert manifest["features"]["agent_view"]["agent_description"]
