"""`update_plan`: the steps that the session means to take, shown to people as progress."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, cast

from geode.messages import JsonObject, JsonValue, Mode
from geode.steps import DataClass, Done, Effect, Ending, NotApplied, SafetyPolicy, Tool, ToolContext
from geode.tools import schema
from geode.tools.search.hits import clean_line

# It changes nothing but this process's memory, so it needs no receipt and may run again.
POLICY = SafetyPolicy(
    effect=Effect.READ, data_class=DataClass.PERSONAL, approval="none", modes=frozenset(Mode)
)
STEPS_MAX = 20
TITLE_CHARS_MAX = 200
TITLE_SHOWN_CHARS_MAX = 80

StepState: TypeAlias = Literal["pending", "running", "done", "dropped"]
STATES: tuple[StepState, ...] = ("pending", "running", "done", "dropped")


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of a plan."""

    title: str
    state: StepState = "pending"


class PlanBoard(Protocol):
    """Where sessions keep their plans."""

    def put(self, context: ToolContext, steps: tuple[PlanStep, ...]) -> None:
        """Replace the plan of the call's session and let people see it."""
        ...


def build(board: PlanBoard) -> Tool:
    """The tool over this board."""

    async def update_plan(context: ToolContext, arguments: JsonObject) -> Ending:
        steps = read_steps(arguments["steps"])
        if not all(step.title for step in steps):
            return NotApplied("A step has no title; nothing was changed.")
        board.put(context, steps)
        return Done(_describe(steps))

    title = schema.string("what is done", chars_max=TITLE_CHARS_MAX, chars_min=1)
    states: list[JsonValue] = list(STATES)
    step = schema.closed_object(("title",), title=title, state={"enum": states})
    return Tool(
        name="update_plan",
        description=(
            "Show people your plan for a longer task: all its steps, each time. They are seen "
            "before the answer is checked, so name the work and no findings."
        ),
        schema=schema.closed_object(
            ("steps",),
            steps={"type": "array", "maxItems": STEPS_MAX, "items": {"anyOf": [step, title]}},
        ),
        policy=POLICY,
        handler=update_plan,
    )


def read_steps(rows: JsonValue) -> tuple[PlanStep, ...]:
    """The steps of arguments that passed the schema; a bare title is a pending step."""
    return tuple(_read_step(row) for row in cast("list[JsonValue]", rows))


def _read_step(row: JsonValue) -> PlanStep:
    if not isinstance(row, dict):
        return PlanStep(_clean(row))
    state = cast("StepState", row.get("state", "pending"))
    return PlanStep(_clean(row["title"]), state)


def _clean(title: JsonValue) -> str:
    assert isinstance(title, str)
    plain = title.encode("utf-8", "replace").decode()
    return clean_line(plain, TITLE_SHOWN_CHARS_MAX)


def _describe(steps: tuple[PlanStep, ...]) -> str:
    counts = ((sum(step.state == state for step in steps), state) for state in STATES)
    told = ", ".join(f"{count} {state}" for count, state in counts if count)
    return f"The plan has {len(steps)} steps: {told}." if steps else "The plan is empty."
