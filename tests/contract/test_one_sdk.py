"""A configuration with one channel imports no other platform's SDK, and help imports none."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
from fakes.contract_toy_package import install, toy_environ
from fakes.contract_toy_server import TOKEN
from fakes.geode_command import command_environ

WEB_LIBRARIES = ("starlette", "uvicorn", "jinja2")
SDKS = ("slack_sdk", "slack_bolt", "discord", "telegram", "mcp", "re2", *WEB_LIBRARIES)
"""Beside these `httpx`, which only Telegram's SDK brings along."""
OWN = {
    "slack": {"slack_sdk", "slack_bolt"},
    "discord": {"discord"},
    "telegram": {"telegram", "httpx"},
    "toy": set[str](),
    "web": {*WEB_LIBRARIES},
}
CONFIG = {
    "slack": '[channels.slack]\nbot_token = "env:ONE"\napp_token = "env:ONE"\n',
    "discord": '[channels.discord]\ntoken = "env:ONE"\n',
    "telegram": '[channels.telegram]\ntoken = "env:ONE"\n',
    "toy": '[channels.toy]\ntoken = "env:ONE"\n',
    "web": '[channels.web]\nlisten = "127.0.0.1:0"\n',
}
CHILD_S = 60.0
"""A fresh interpreter on a busy machine."""
pytestmark = pytest.mark.timeout(90)
OPEN = """
import asyncio, json, sys
from geode.app import Daemon
from geode.settings_load import load_settings

async def main():
    daemon = await Daemon.open(load_settings())
    channels = list(daemon.channel_states())
    await daemon.close()
    with open("/proc/self/status") as file:
        rss = next(line.split()[1] for line in file if line.startswith("VmRSS"))
    print(json.dumps({"channels": channels, "modules": list(sys.modules), "rss_kb": int(rss)}))

asyncio.run(main())
"""


async def run_child(environ: dict[str, str], *arguments: str) -> tuple[str, str]:
    """What a fresh interpreter prints, on both streams."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *arguments),
        env=command_environ(environ),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(CHILD_S):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, err
    return out.decode(), err.decode()


def sdks_among(modules: list[str]) -> set[str]:
    """The SDKs among the names of imported modules."""
    return {name.partition(".")[0] for name in modules} & {*SDKS, "httpx"}


@pytest.mark.parametrize("channel", sorted(CONFIG))
async def test_one_channel_imports_its_own_sdk_only(
    channel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = install(tmp_path / "site")
    environ = toy_environ(tmp_path, site) | {"ONE": TOKEN}
    (tmp_path / "geode.toml").write_text(CONFIG[channel])

    out, _ = await run_child(environ, "-c", OPEN)

    found = json.loads(out.splitlines()[-1])

    with capsys.disabled():
        print(f"\n{channel}: {found['rss_kb']} kB resident")  # noqa: T201 - a number to look at
    assert found["channels"] == [channel]
    assert sdks_among(found["modules"]) == OWN[channel]


async def test_help_imports_no_sdk(tmp_path: Path) -> None:
    environ = {"GEODE_HOME": str(tmp_path), "HOME": str(tmp_path)}

    out, err = await run_child(environ, "-X", "importtime", "-m", "geode.cli", "--help")

    imported = [line.rpartition("|")[2].strip() for line in err.splitlines()]
    assert "serve" in out
    assert "geode.cli.main" in imported
    assert sdks_among(imported) == set()
