"""The decision hooks of the gate, asked in the order of the configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from geode.errors import HookError
from geode.hooks.answers import is_same, judge_answer
from geode.hooks.code import DecidingCode
from geode.hooks.decisions import (
    AddContext,
    AskPerson,
    Block,
    EndedCall,
    Keep,
    PermissionRequest,
    PostToolUse,
    PreToolUse,
    Proceed,
    ProposedCall,
    Rewrite,
    Withhold,
)
from geode.hooks.waiting import LATE, wait_for
from geode.log import get_logger
from geode.messages import JsonObject
from geode.records.guard import Raised
from geode.settings_hooks import HOOK_S_MAX, DecisionEvent

log = get_logger(__name__)

Decision = PreToolUse | PostToolUse


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


class HookRegistry:
    """Every decision hook by its event; without any, nothing objects.

    A hook only ever strengthens: it may stop a call, change it before every check is done again,
    or ask for a person. One that fails in any way has denied.
    """

    def __init__(
        self, hooks: Mapping[DecisionEvent, Sequence[RegisteredHook]] | None = None
    ) -> None:
        self._hooks = {event: tuple(each) for event, each in (hooks or {}).items()}

    @property
    def has_hooks(self) -> bool:
        """Whether any is registered, so that the gate of a service without hooks pays nothing."""
        return any(self._hooks.values())

    async def pre_tool_use(self, call: ProposedCall) -> PreToolUse:
        """The first objection, else a request for approval, else a rewrite; who fails blocks.

        Each hook sees the call as those before it left it: a guard belongs behind what rewrites.
        """
        asked: AskPerson | None = None
        rewritten: Rewrite | None = None
        for hook in self._about("PreToolUse", call.tool):
            answer = await self._ask(hook, "PreToolUse", call)
            arguments: JsonObject | None = None
            match answer:
                case Failed():
                    return Block(hook.name, answer.sentence, has_failed=True)
                case Block():
                    return answer
                case AskPerson():
                    asked = asked or answer
                    arguments = answer.arguments
                case Rewrite():
                    arguments = answer.arguments
                case _:
                    continue
            if arguments is not None and not is_same(arguments, call.arguments):
                rewritten = Rewrite(hook.name, arguments)
                call = replace(call, arguments=arguments)
        if asked is not None:
            return replace(asked, arguments=rewritten.arguments if rewritten else None)
        return rewritten or Proceed()

    async def permission_request(self, call: ProposedCall) -> PermissionRequest:
        """Asked before a person is: a hook may say no in their place, never yes."""
        for hook in self._about("PermissionRequest", call.tool):
            answer = await self._ask(hook, "PermissionRequest", call)
            if isinstance(answer, Failed):
                return Block(hook.name, answer.sentence, has_failed=True)
            if isinstance(answer, Block):
                return answer
        return Proceed()

    async def post_tool_use(self, call: EndedCall) -> tuple[PostToolUse, ...]:
        """What is added to the result, in order; or one `Withhold`, also from one that fails."""
        added: list[AddContext] = []
        for hook in self._about("PostToolUse", call.proposed.tool):
            answer = await self._ask(hook, "PostToolUse", call)
            if isinstance(answer, Failed):
                return (Withhold(hook.name, answer.sentence, has_failed=True),)
            if isinstance(answer, Withhold):
                return (answer,)
            if isinstance(answer, AddContext):
                added.append(answer)
        return tuple(added) or (Keep(),)

    def _about(self, event: DecisionEvent, tool: str) -> tuple[RegisteredHook, ...]:
        return tuple(hook for hook in self._hooks.get(event, ()) if hook.is_about(tool))

    async def _ask(
        self, hook: RegisteredHook, event: DecisionEvent, call: ProposedCall | EndedCall
    ) -> Decision | Failed:
        async def decide() -> Decision | Failed:
            try:
                return judge_answer(event, hook.name, await hook.code.ask(event, call))
            except HookError as error:
                return Failed(str(error))

        answer = await wait_for(hook.name, decide, hook.timeout_s)
        if answer is LATE:
            answer = Failed(f"gave no answer within {hook.timeout_s:g} s")
        if isinstance(answer, Raised):
            answer = Failed(f"raised {type(answer.error).__name__}")
        if isinstance(answer, Failed):
            log.warning("hook_failed", hook=hook.name, why=answer.why)
        return answer
