"""The unit file that operators copy starts, reloads and stops the service as it really behaves."""

from __future__ import annotations

import re
import shlex
from configparser import ConfigParser, SectionProxy
from pathlib import Path

import pytest
from fakes.source_tree import ROOT
from typer.main import get_group

from geode.cli.main import app
from geode.cli.serve import DRAIN_S

UNIT = ROOT / "deploy" / "geode.service"
SECTIONS = ["Unit", "Service", "Install"]


class _UnitFile(ConfigParser):
    """systemd's ini dialect: names keep their case, `%` and `$` mean nothing here."""

    def optionxform(self, optionstr: str) -> str:
        return optionstr


@pytest.fixture
def unit() -> ConfigParser:
    # Strict: an option that stands twice is an error, and the file needs none.
    found = _UnitFile(interpolation=None, delimiters=("=",), comment_prefixes=("#",))
    found.read_string(UNIT.read_text(encoding="utf-8"))
    return found


@pytest.fixture
def service(unit: ConfigParser) -> SectionProxy:
    return unit["Service"]


def _list_settings(service: SectionProxy, name: str) -> list[str]:
    return shlex.split(service[name])


def test_unit_has_the_three_sections_of_a_service(unit: ConfigParser) -> None:
    assert unit.sections() == SECTIONS


def test_unit_starts_with_words_that_the_command_takes(service: SectionProxy) -> None:
    program, verb, *options = _list_settings(service, "ExecStart")
    command = get_group(app).commands[verb]

    context = command.make_context(verb, options)

    assert Path(program).name == "geode"
    assert context.params["log"] == "json"
    assert context.params["config"] == Path("/etc/geode/geode.toml")
    assert context.params["until_stdin_closes"] is False


def test_unit_keeps_the_state_in_the_folder_that_systemd_makes_for_its_user_alone(
    service: SectionProxy,
) -> None:
    state = f"/var/lib/{service['StateDirectory']}"

    assert _list_settings(service, "Environment") == [f"GEODE_HOME={state}"]
    assert service["WorkingDirectory"] == state
    assert (service["StateDirectoryMode"], service["UMask"]) == ("0700", "0077")
    assert service["User"] not in {"", "root"}


def test_unit_reloads_by_the_signal_that_reloads(service: SectionProxy) -> None:
    assert service["ExecReload"] == "/bin/kill -HUP $MAINPID"


def test_unit_waits_longer_for_the_end_than_turns_may_take_to_drain(service: SectionProxy) -> None:
    assert int(service["TimeoutStopSec"]) > DRAIN_S
    assert service["KillMode"] == "mixed"


def test_unit_lets_the_service_reach_only_what_it_uses(service: SectionProxy) -> None:
    closed = {name for name in service if re.match(r"Protect|Private|Restrict|NoNew", name)}
    opened = {"ProtectProc", "ProtectSystem", "RestrictAddressFamilies"}

    assert {service[name] for name in closed - opened} == {"yes"}
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""
    families = set(_list_settings(service, "RestrictAddressFamilies"))
    assert families >= {"AF_UNIX", "AF_INET", "AF_INET6"}


def test_unit_names_the_same_paths_in_its_comments_and_options(service: SectionProxy) -> None:
    comments = [line for line in UNIT.read_text(encoding="utf-8").splitlines() if line[:1] == "#"]
    named = set(re.findall(r"/(?:etc|opt|var/lib)/geode[\w./-]*\w", "\n".join(comments)))
    used = set(re.findall(r"/(?:etc|opt|var/lib)/geode[\w./-]*", "\n".join(service.values())))

    assert named <= used | {str(Path(path).parent) for path in used} | {"/opt/geode"}


def test_drop_in_for_the_shell_opens_only_what_the_unit_closes(service: SectionProxy) -> None:
    found = _UnitFile(interpolation=None, delimiters=("=",), comment_prefixes=("#",))
    found.read_string((UNIT.parent / "geode-shell.conf").read_text(encoding="utf-8"))

    assert found.sections() == ["Service"]
    opened = found["Service"]
    assert set(opened) < set(service)
    # What a sandbox has no use for stays closed.
    assert not {"User", "NoNewPrivileges", "CapabilityBoundingSet", "ProtectSystem"} & set(opened)
    assert set(opened["RestrictNamespaces"].split()) == {
        *("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")
    }
