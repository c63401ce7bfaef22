"""`[mcp]`: what a server and its tools may be, and one sentence for what they may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from geode.errors import ConfigError
from geode.settings import SecretRef
from geode.settings_load import load_settings
from geode.settings_mcp import McpSettings

SERVER = '[mcp.servers.db]\ncommand = ["x"]\n'


def _load(tmp_path: Path, text: str) -> McpSettings:
    path = tmp_path / "geode.toml"
    path.write_text(text, encoding="utf-8")
    return load_settings(path, channel_models={}, environ={"HOME": str(tmp_path)}).settings.mcp


def test_whole_environment_is_values_and_places_of_secrets(tmp_path: Path) -> None:
    text = SERVER + 'env = { A = "plain", B = "env:B", C = "file:/run/c", D = "enviable" }'

    env = _load(tmp_path, text).servers["db"].env

    assert env == {
        "A": "plain",
        "B": SecretRef("env", "B"),
        "C": SecretRef("file", "/run/c"),
        "D": "enviable",
    }


def test_tool_is_personal_and_unasked_unless_it_says_otherwise(tmp_path: Path) -> None:
    tool = _load(tmp_path, SERVER + '[mcp.servers.db.tools.q]\neffect = "read"')

    written = tool.servers["db"].tools["q"]
    assert (written.data_class, written.approval, written.resources) == ("personal", "none", ())


WRONG = {
    "effect": ('tools.q = { effect = "harmless" }', "tools.q.effect should be 'read'"),
    "no-effect": ("tools.q = {}", "tools.q.effect is missing"),
    "no-resources": ('tools.q = { effect = "mutate" }', 'effect = "mutate" needs resources'),
    "template": (
        'tools.q = { effect = "mutate", resources = ["db:{id}"] }',
        "is not a resource's name",
    ),
    "pattern": ('tools.q = { effect = "read", fails_when = "(?=x)" }', "write it in RE2's syntax"),
    "both": ('url = "https://x.example/mcp"', "either command"),
    "token": ('token = "env:T"', "token and headers belong to a server with a url"),
    "relative": ('cwd = "here"', "is not an absolute path"),
    "variable": ('env = { "A=B" = "c" }', "is not the name of an environment variable"),
    "look-alike": (
        'tools.a = { effect = "read", name = "list" }\n'
        'tools.b = { effect = "read", name = "1ist" }',
        "could be mistaken",
    ),
    "dotted": ('tools."a.b" = { effect = "read" }', "give the tool another one here: name"),
    "unknown": ("sampling = true", "sampling is not a known key"),
}


@pytest.mark.parametrize(("line", "part"), WRONG.values(), ids=WRONG.keys())
def test_fault_of_a_server_is_one_sentence(tmp_path: Path, line: str, part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _load(tmp_path, SERVER + line)

    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("header", ["Host", "Mcp-Session-Id", "Content-Type", "A B"])
def test_headers_of_the_protocol_are_not_the_operators(tmp_path: Path, header: str) -> None:
    text = f'[mcp.servers.db]\nurl = "https://x.example/mcp"\nheaders = {{ "{header}" = "env:A" }}'

    with pytest.raises(ConfigError, match="header"):
        _load(tmp_path, text)


def test_secret_of_a_header_is_never_written_out(tmp_path: Path) -> None:
    text = '[mcp.servers.db]\nurl = "https://x.example/mcp"\nheaders = { X-Key = "hunter2hunter2" }'

    with pytest.raises(ConfigError) as caught:
        _load(tmp_path, text)

    assert "hunter2" not in str(caught.value)
