"""Asks one decision hook: its judged answer within its time, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from geode.errors import HookError
from geode.hooks.answers import judge_answer
from geode.hooks.code import DecidingCode, Question
from geode.hooks.waiting import LATE, wait_for
from geode.hooks.wire import Decision
from geode.log import get_logger
from geode.records.guard import Raised
from geode.settings_hooks import HOOK_S_MAX, DecisionEvent

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RegisteredHook:
    """One hook under the name that the configuration gives it: `PreToolUse[1]`."""

    name: str
    code: DecidingCode
    tools: frozenset[str] = frozenset()
    """Empty: every tool."""
    timeout_s: float = HOOK_S_MAX

    def is_about(self, tool: str) -> bool:
        """Whether it is asked about this tool."""
        return not self.tools or tool in self.tools


@dataclass(frozen=True, slots=True)
class Failed:
    """The hook gave no decision; `why` completes "it …"."""

    why: str

    @property
    def sentence(self) -> str:
        """For the model and the record."""
        return f"The hook failed: it {self.why}."


async def ask_hook(
    hook: RegisteredHook, event: DecisionEvent, question: Question, left_s: float = HOOK_S_MAX
) -> Decision | Failed:
    """What it decides within its own time and what is left of the turn's."""

    async def decide() -> Decision | Failed:
        try:
            return judge_answer(event, hook.name, await hook.code.ask(event, question))
        except HookError as error:
            return Failed(str(error))

    limit_s = min(hook.timeout_s, left_s)
    if limit_s <= 0:
        answer = Failed("was not asked, as the time of the turn is over")
    else:
        answer = await wait_for(hook.name, decide, limit_s)
    if answer is LATE:
        answer = Failed(f"gave no answer within {limit_s:g} s")
    if isinstance(answer, Raised):
        answer = Failed(f"raised {type(answer.error).__name__}")
    if isinstance(answer, Failed):
        log.warning("hook_failed", hook=hook.name, why=answer.why)
    return answer
