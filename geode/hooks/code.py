"""The operator's code behind one name: a command, or a Python callable inside this process."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from geode.errors import HookError
from geode.hooks.candidates import JudgedCandidate, ShownCandidate
from geode.hooks.decisions import EndedCall, ProposedCall
from geode.hooks.events import LifecycleEvent
from geode.hooks.processes import Command, ProcessEnd, Processes
from geode.hooks.wire import describe_call, describe_candidate, describe_event, read_answer
from geode.log import get_logger
from geode.settings_hooks import DecisionEvent
from geode.tools.output import decode_text

log = get_logger(__name__)

Question: TypeAlias = ProposedCall | EndedCall | ShownCandidate | JudgedCandidate


class DecidingCode(Protocol):
    """Code that is asked about a call or an answer; what it says is judged by whoever asks."""

    async def ask(self, event: DecisionEvent, question: Question) -> object:
        """Its decision; raises `HookError` when there is none."""
        ...


class ObservingCode(Protocol):
    """Code that is told what happened."""

    async def tell(self, event: LifecycleEvent) -> None:
        """Take one event; raises `HookError` when it could not."""
        ...


@dataclass(frozen=True, slots=True)
class CommandCode:
    """A command, started anew for each question: JSON on stdin, JSON on stdout."""

    name: str
    command: Command
    processes: Processes

    async def ask(self, event: DecisionEvent, question: Question) -> object:
        """Run it and read its decision."""
        end = await self.processes.run(self.command, _describe(event, question))
        self._demand_success(end)
        return read_answer(event, self.name, end.stdout)

    async def tell(self, event: LifecycleEvent) -> None:
        """Run it; what it writes is of no interest."""
        self._demand_success(await self.processes.run(self.command, describe_event(event)))

    def _demand_success(self, end: ProcessEnd) -> None:
        fault = _find_fault(end)
        if fault:
            if end.stderr:
                log.warning("hook_complained", hook=self.name, stderr=decode_text(end.stderr))
            raise HookError(fault)


@dataclass(frozen=True, slots=True)
class PythonCode:
    """An async callable of an installed package; it is given copies and keeps nothing of ours."""

    deciding: Callable[[Question], Awaitable[object]]

    async def ask(self, event: DecisionEvent, question: Question) -> object:
        """Await its decision; the event is that under which it is configured."""
        del event
        try:
            return await self.deciding(_copy(question))
        except SystemExit:
            raise HookError("tried to end the process") from None


@dataclass(frozen=True, slots=True)
class PythonObserver:
    """An async callable that is told what happened."""

    observing: Callable[[LifecycleEvent], Awaitable[object]]

    async def tell(self, event: LifecycleEvent) -> None:
        """Await it; what it returns is of no interest."""
        try:
            await self.observing(replace(event, body=copy.deepcopy(event.body)))
        except SystemExit:
            raise HookError("tried to end the process") from None


def _describe(event: DecisionEvent, question: Question) -> bytes:
    if isinstance(question, ShownCandidate | JudgedCandidate):
        return describe_candidate(event, question)
    return describe_call(event, question)


def _copy(question: Question) -> Question:
    if isinstance(question, ShownCandidate | JudgedCandidate):
        return copy.deepcopy(question)
    if isinstance(question, EndedCall):
        proposed = question.proposed
        copied = replace(proposed, arguments=copy.deepcopy(proposed.arguments))
        return replace(question, proposed=copied)
    return replace(question, arguments=copy.deepcopy(question.arguments))


def _find_fault(end: ProcessEnd) -> str:
    if end.fault:
        return f"could not be started ({end.fault})"
    if end.is_too_long:
        return "wrote too much"
    if end.code is None:
        return "was ended before it answered"
    if end.code < 0:
        return f"was ended by signal {-end.code}"
    return f"ended with exit code {end.code}" if end.code else ""
