"""The plan that a session draws for itself: in memory only, shown as progress, never restored."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from geode.messages import ProgressStep, SessionId, TurnId
from geode.steps import ToolContext
from geode.tools.update_plan import PlanStep

SESSIONS_MAX = 200
"""Plans that are kept; those of the sessions that were longest idle go first."""
SHOWN_MAX = 10
"""Steps of a plan that people see at once: what is under way and around it."""

Show = Callable[[tuple[ProgressStep, ...]], None]


def _show_nothing(steps: tuple[ProgressStep, ...]) -> None:
    del steps


@dataclass(slots=True)
class TaskGraph:
    """One session's plan; nothing that runs depends on it."""

    steps: tuple[PlanStep, ...] = ()
    turn_id: TurnId | None = None
    """The turn whose progress shows it."""
    show: Show = field(default=_show_nothing, repr=False)

    def replace(self, steps: tuple[PlanStep, ...]) -> None:
        """Take over the whole plan and show it."""
        self.steps = steps
        self.show(self.shown())

    def shown(self) -> tuple[ProgressStep, ...]:
        """What people see: no dropped steps, and of a long plan the part under way."""
        kept = [step for step in self.steps if step.state != "dropped"]
        done = next((n for n, step in enumerate(kept) if step.state != "done"), len(kept))
        first = max(0, min(done - 2, len(kept) - SHOWN_MAX))
        return tuple(_progress_of(step) for step in kept[first : first + SHOWN_MAX])


class TaskGraphs:
    """The plans of this process, bounded; a restart loses them all without harm."""

    def __init__(self) -> None:
        self._graphs: OrderedDict[SessionId, TaskGraph] = OrderedDict()

    def open_turn(self, session_id: SessionId, turn_id: TurnId, show: Show) -> None:
        """From now on the session's plan is shown by this turn's progress."""
        graph = self._take(session_id)
        graph.turn_id, graph.show = turn_id, show

    def find(self, session_id: SessionId) -> TaskGraph | None:
        """The session's plan, if this process knows one."""
        return self._graphs.get(session_id)

    def put(self, context: ToolContext, steps: tuple[PlanStep, ...]) -> None:
        """Replace the plan of the call's session; one of an earlier turn shows nothing."""
        graph = self._take(context.session_id)
        if graph.turn_id != context.turn_id:
            graph.steps = steps
        else:
            graph.replace(steps)

    def _take(self, session_id: SessionId) -> TaskGraph:
        graph = self._graphs.setdefault(session_id, TaskGraph())
        self._graphs.move_to_end(session_id)
        while len(self._graphs) > SESSIONS_MAX:
            self._graphs.popitem(last=False)
        return graph


def _progress_of(step: PlanStep) -> ProgressStep:
    match step.state:
        case "running":
            return ProgressStep(step.title, "running")
        case "done":
            return ProgressStep(step.title, "done")
        case _:
            return ProgressStep(step.title, "pending")
