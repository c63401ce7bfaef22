"""A model provider without a wire: its script, what goes wrong, what came in, what was refused."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, cast

import orjson
from aiohttp import web

from channels.rehearsal.faults import FaultKind
from channels.rehearsal.model_answers import PASS, Answer, Failure, Recorded, Scripted
from channels.rehearsal.model_endpoints import COUNT_TOKENS, Endpoint, Memory
from channels.rehearsal.model_faults import take_failure, twist_answer, twist_stream
from channels.rehearsal.model_http import (
    abort,
    check_headers,
    render_failure,
    render_whole,
    write_stream,
)
from channels.rehearsal.model_script import answer_by_rule
from channels.rehearsal.stand_in import StandIn
from geode.messages import JsonObject

VERDICT = "verdict"
"""As faults, counts and records name a request that asks for an answer by a schema."""


class ModelCore(StandIn):
    """Answers from its script, then with `fallback`; refuses what the real APIs refuse.

    Who asks for an answer by a schema is a judge: it gets the next of `verdicts`, then a pass, and
    neither uses up the script nor stands among the other requests.
    """

    def __init__(
        self,
        *script: Scripted,
        fallback: Scripted | None = None,
        has_rules: bool = False,
    ) -> None:
        super().__init__()
        self.script: list[Scripted] = list(script)
        self.fallback: Scripted = fallback or Answer()
        self.has_rules = has_rules
        """Without a script, follow the rules of `model_script` instead of the fallback."""
        self.verdicts: list[Scripted] = []
        self.calls: Counter[str] = Counter()
        self.requests: list[Recorded] = []
        self.judged: list[Recorded] = []
        """The judges' requests."""
        self.received = asyncio.Event()
        """Set when the first acceptable request is in."""
        self.refusals: list[str] = []
        """The rule that each refused request broke."""
        self.memory = Memory()

    def counters(self) -> JsonObject:
        """Everything counted: calls by endpoint, refused requests, faults used."""
        return {
            "calls": dict(self.calls),
            "refused": dict(Counter(self.refusals)),
            "faults_taken": dict(self.faults.taken),
        }

    async def serve(self, endpoint: Endpoint, request: web.Request) -> web.StreamResponse:
        """One call: check, note, apply faults, answer."""
        raw = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        if refused := check_headers(endpoint, headers):
            return render_failure(endpoint, refused)
        body = _read_body(raw)
        if body is None:
            return self._refuse(endpoint, "body: not a JSON object")
        is_verdict = bool(endpoint.read(body).schema) and endpoint is not COUNT_TOKENS
        name = VERDICT if is_verdict else endpoint.name
        self.calls[name] += 1
        at = asyncio.get_running_loop().time()
        records = self.judged if is_verdict else self.requests
        records.append(Recorded(raw, body, headers, at, name))
        if rule := endpoint.find_broken(body, self.memory):
            return self._refuse(endpoint, rule)
        if not is_verdict:
            self.received.set()
        return await self._answer(request, endpoint, records[-1])

    def _refuse(self, endpoint: Endpoint, rule: str) -> web.Response:
        self.refusals.append(rule)
        where = rule.partition(":")[0]
        param = where if " " not in where else None
        failure = Failure(400, endpoint.vendor.bad_request, rule, param=param)
        return render_failure(endpoint, failure)

    async def _answer(
        self, request: web.Request, endpoint: Endpoint, asked: Recorded
    ) -> web.StreamResponse:
        body, name = asked.body, asked.endpoint
        words = endpoint.read(body).words
        if self.faults.take(FaultKind.DROP_REQUEST, name, words):
            return abort(request)
        if failure := take_failure(self.faults, endpoint.vendor, name, words):
            return render_failure(endpoint, failure)
        made = self._make_answer(endpoint, asked)
        if isinstance(made, Failure):
            return render_failure(endpoint, made)
        made = twist_answer(made, self.faults, name)
        await asyncio.sleep(made.wait_s)
        if self.faults.take(FaultKind.DROP_RESPONSE, name, words):
            return abort(request)
        number = len(self.requests)
        self.memory.keep(made, number)
        if body.get("stream") is True:
            made = twist_stream(made, self.faults, endpoint.vendor, name)
            return await write_stream(request, endpoint, made, endpoint.events(body, made, number))
        if made.hold is not None:
            await made.hold.wait()
        return render_whole(endpoint, endpoint.whole(body, made, number))

    def _make_answer(self, endpoint: Endpoint, asked: Recorded) -> Answer | Failure:
        if endpoint is COUNT_TOKENS:
            return Answer()
        if asked.endpoint == VERDICT:
            return _play(self.verdicts, PASS, asked.body)
        if self.has_rules and not self.script:
            return answer_by_rule(endpoint.read(asked.body), len(self.requests))
        return _play(self.script, self.fallback, asked.body)


def _play(script: list[Scripted], rest: Scripted, body: dict[str, Any]) -> Answer | Failure:
    entry = script.pop(0) if script else rest
    return entry if isinstance(entry, (Answer, Failure)) else entry(body)


def _read_body(raw: bytes) -> dict[str, Any] | None:
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    return cast("dict[str, Any]", body) if isinstance(body, dict) else None
