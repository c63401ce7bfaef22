"""What operators, supervisors and monitors are told, also when the service does not answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse_metrics

from channels.web import operator
from channels.web.health import tell_alive, tell_metrics, tell_ready
from channels.web.operator import read_report
from channels.web.views import Report, Section
from geode.errors import StorageBusyError
from geode.messages import JsonObject
from geode.oversight import Measurement, OperatorView

WEB, SLACK = "web/local/home/0001", "slack/T0123/C0456/1796.1"


class Service(OperatorView):
    """A service that tells what it is given, fails, or hangs."""

    def __init__(self, fails: Exception | None = None, *, hangs: bool = False) -> None:
        self.fails, self.hangs = fails, hangs
        self.hindrances: list[str] = []

    async def _arrive(self) -> None:
        if self.hangs:
            await asyncio.Event().wait()
        if self.fails is not None:
            raise self.fails

    async def status(self) -> dict[str, object]:
        await self._arrive()
        channels = {
            "web": {"state": "up", "reason": ""},
            "slack": {"state": "down", "reason": "Put a new token in SLACK_BOT_TOKEN."},
        }
        return {"state": "running", "channels": channels, "degraded": ["slack: refused"]}

    async def list_sessions(self, limit: int) -> Sequence[JsonObject]:
        rows: list[JsonObject] = [
            {
                "id": "s1",
                "state": "awaiting_review",
                "binding": "b",
                "thread": WEB,
                "active_at_us": 0,
            },
            {"id": "s2", "state": "idle", "binding": "c", "thread": SLACK, "active_at_us": 0},
        ]
        return rows

    async def list_open_cards(self, limit: int) -> Sequence[JsonObject]:
        card: JsonObject = {
            "id": "c",
            "kind": "effect",
            "title": "Did it?",
            "session": "s",
            "subject": "r1",
        }
        return [{**card, "thread": WEB, "age_s": 30}, {**card, "thread": SLACK, "age_s": 7_300}]

    async def find_hindrances(self) -> Sequence[str]:
        await self._arrive()
        return self.hindrances

    async def measure(self) -> Sequence[Measurement]:
        await self._arrive()
        return [
            Measurement("sessions", "Sessions", 2, labels=(("state", "idle"),)),
            Measurement("sessions", "Sessions", 1, labels=(("state", 'a"b'),)),
            Measurement("messages_total", "Messages taken in", 12, "counter"),
        ]


def _sections(report: Report) -> dict[str, Section]:
    return {section.id: section for section in report.sections}


async def test_report_tells_channels_with_what_to_do() -> None:
    channels = _sections(await read_report(Service()))["channels"]

    assert [(line.cells, line.level) for line in channels.lines] == [
        (("web", "up", "nothing to do"), "good"),
        (("slack", "down", "Put a new token in SLACK_BOT_TOKEN."), "bad"),
    ]


async def test_report_links_what_lies_on_the_page_and_says_where_the_rest_is() -> None:
    found = _sections(await read_report(Service()))
    cards, sessions = found["open-cards"].lines, found["sessions"].lines

    assert [line.url for line in cards] == ["/rooms/home/0001", ""]
    assert [line.cells[2] for line in cards] == ["30 s", "2 h"]
    assert "geode effects settle r1 happened" in cards[1].cells[3]
    assert [(line.cells[1], line.url) for line in sessions] == [
        ("awaiting review", "/rooms/home/0001"),
        ("idle", ""),
    ]


async def test_part_that_cannot_be_read_says_so_and_leaves_the_others() -> None:
    report = await read_report(Service(StorageBusyError("The database is busy.")))
    found = _sections(report)

    assert found["channels"].is_fault
    assert "The database is busy." in found["channels"].sentence
    assert len(found["sessions"].lines) == 2
    assert report.hindrances == ("The database is busy.",)


async def test_report_without_a_service_says_so() -> None:
    assert (await read_report(None)).hindrances


async def test_alive_is_ok_without_asking_anything() -> None:
    answer = await tell_alive()

    assert (answer.status_code, bytes(answer.body)) == (200, b"ok\n")


async def test_ready_is_refused_with_each_hindrance_on_a_line() -> None:
    service = Service()
    ready = await tell_ready(service)
    service.hindrances = ["The disk is full.", "No channel is up."]
    hindered = await tell_ready(service)

    assert ready.status_code == 200
    assert hindered.status_code == 503
    assert bytes(hindered.body).decode().splitlines() == service.hindrances
    assert (await tell_ready(None)).status_code == 503


@pytest.mark.timeout(30)
async def test_service_that_hangs_is_told_within_the_time_out() -> None:
    service = Service(hangs=True)
    async with asyncio.timeout(2 * operator.READ_S_MAX + 5):
        ready, metrics, report = await asyncio.gather(
            tell_ready(service), tell_metrics(service), read_report(service)
        )

    assert (ready.status_code, metrics.status_code) == (503, 503)
    found = _sections(report)
    assert found["channels"].is_fault
    assert found["numbers"].is_fault
    assert len(found["sessions"].lines) == 2


async def test_metrics_are_read_by_prometheus() -> None:
    answer = await tell_metrics(Service())
    families = {f.name: f for f in parse_metrics(bytes(answer.body).decode())}

    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert {name: f.type for name, f in families.items()} == {
        "geode_sessions": "gauge",
        "geode_messages": "counter",
    }
    assert [(s.labels, s.value) for s in families["geode_sessions"].samples] == [
        ({"state": "idle"}, 2.0),
        ({"state": 'a"b'}, 1.0),
    ]
    assert [(s.name, s.value) for s in families["geode_messages"].samples] == [
        ("geode_messages_total", 12.0)
    ]


async def test_metrics_that_cannot_be_read_are_unavailable() -> None:
    failed = await tell_metrics(Service(StorageBusyError("The database is busy.")))

    assert failed.status_code == 503
    assert (await tell_metrics(None)).status_code == 503
