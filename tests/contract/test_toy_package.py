"""A channel that a stranger published works without a change here: found, configured, served."""

import ast
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from fakes.contract_toy import TOY_FILE
from fakes.contract_toy_package import NAME, install, toy_environ, write_config
from fakes.contract_toy_server import STRANGER, ToyServer
from fakes.geode_command import run_geode, serving
from fakes.spine_room import until

LINES_MAX = 100
pytestmark = pytest.mark.timeout(90)


def test_example_is_a_distribution_with_both_entry_points(tmp_path: Path) -> None:
    site = install(tmp_path / "site")

    found = Distribution.at(site / NAME)

    assert {(entry.group, entry.name) for entry in found.entry_points} == {
        ("geode.channels", "toy"),
        ("geode.channel_settings", "toy"),
    }


async def test_served_toy_answers_in_the_thread_and_ignores_a_stranger(tmp_path: Path) -> None:
    environ = toy_environ(tmp_path / "home", install(tmp_path / "site"))
    async with ToyServer() as server:
        path = write_config(tmp_path / "home", server.url)
        async with serving(environ, "--config", str(path)) as served:
            await served.wait_line("toy")
            await until(lambda: server.calls["events"], timeout_s=30)
            server.say("@geode hello", author=STRANGER)

            said = server.say("@geode hello")

            await until(lambda: server.shown("lobby", said.id), timeout_s=30)
            await until(
                lambda: "Working" not in server.shown("lobby", said.id)[-1].text, timeout_s=30
            )
            (answer,) = server.shown("lobby", said.id)
            assert answer.text.strip()
            assert {each.thread for each in server.said if each.author == "bot"} == {said.id}
            assert server.refused == {}


async def test_wrong_key_of_the_toy_is_refused_by_its_own_settings(tmp_path: Path) -> None:
    environ = toy_environ(tmp_path / "home", install(tmp_path / "site"))
    path = write_config(tmp_path / "home", "http://127.0.0.1:1")
    path.write_text(path.read_text().replace("url =", "urll ="))

    ended = await run_geode(environ, "serve", "--config", str(path))

    assert ended.code != 0
    assert "channels.toy.urll" in " ".join(ended.sentences)


def test_example_has_less_than_a_hundred_lines_of_code() -> None:
    source = TOY_FILE.read_text(encoding="utf-8")
    said: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            assert node.end_lineno is not None
            said |= set(range(node.lineno, node.end_lineno + 1))
    lines = enumerate(source.splitlines(), start=1)

    code = [line for number, line in lines if line.strip() and number not in said]

    assert len([line for line in code if not line.lstrip().startswith("#")]) < LINES_MAX
