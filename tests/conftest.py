"""What holds for every test: a clean environment, loopback only, and no test left out unseen."""

from __future__ import annotations

import ipaddress
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes.schema_check import Listener
from hypothesis import HealthCheck, settings

from channels.rehearsal.observers import REQUESTS_FILE, observed_by

_OURS = ("GEODE_", "SLACK_", "DISCORD_", "TELEGRAM_", "ANTHROPIC_", "OPENAI_", "OPENROUTER_")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")

for _name in list(os.environ):
    # The machine's own tokens and proxies must neither help a test nor be used by one.
    if _name.startswith(_OURS) or _name.upper() in _PROXIES:
        del os.environ[_name]

# A program that a test starts without saying where must not find the state of a real service.
os.environ["GEODE_HOME"] = str(Path(tempfile.gettempdir(), f"geode-tests-{os.getpid()}"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A background job ignores SIGINT, and so would every process that a test starts and interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile(
    "ci",
    max_examples=500,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost"


def _watch_sockets(event: str, args: tuple[Any, ...]) -> None:
    if event not in {"socket.connect", "socket.sendto"}:
        return
    address: object = args[1]
    if isinstance(address, tuple) and not _is_loopback(str(address[0])):
        raise AssertionError(f"a test reached for {address[0]}; tests stay on loopback")


sys.addaudithook(_watch_sockets)


@pytest.fixture(autouse=True)
def _requests_fit_their_schemas(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Fail a test in which a platform was sent what its published schema does not allow."""
    name = f"requests-{abs(hash(request.node.nodeid)):x}.jsonl"
    listener = Listener(tmp_path_factory.getbasetemp() / name)
    os.environ[REQUESTS_FILE] = str(listener.file)
    with observed_by(listener.hear):
        yield
    del os.environ[REQUESTS_FILE]
    if request.node.get_closest_marker("foreign_requests") is None:
        violations = listener.violations()
        assert not violations, "\n".join(violations)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the continuous check refuse what a developer's machine may skip, and repeat a storm."""
    parser.addoption(
        "--forbid-skips", action="store_true", help="fail the run when any test was skipped"
    )
    parser.addoption(
        "--storm-seed", default="2026", help="another storm of faults, or one that was printed"
    )


LONG_S = 200
"""A test that may take so long begins early."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest, so that no worker waits alone for its last test; else by chance."""
    items.sort(key=_limit_s, reverse=True)


def _limit_s(item: pytest.Item) -> float:
    marker = item.get_closest_marker("timeout")
    limit_s = float(marker.args[0]) if marker and marker.args else 0.0
    return limit_s if limit_s >= LONG_S else 0.0


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Turn a skipped test into a failed run when asked to; the controller sees all workers."""
    if not session.config.getoption("--forbid-skips") or hasattr(session.config, "workerinput"):
        return
    reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped: Sequence[object] = reporter.stats.get("skipped", ())
    if skipped and session.exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"\n{len(skipped)} tests were skipped, and --forbid-skips is set")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
