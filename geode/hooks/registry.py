"""The decision hooks of the gate and of completion, asked in the order of the configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Final

from geode.hooks.answers import is_same
from geode.hooks.asking import Failed, RegisteredHook, ask_hook
from geode.hooks.candidates import (
    Accept,
    Continue,
    Escalate,
    JudgedCandidate,
    PostVerify,
    Revise,
    ShownCandidate,
    Stop,
    Strengthen,
)
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
from geode.messages import JsonObject
from geode.settings_hooks import DecisionEvent

HOOK_FAILED: Final = "hook_failed"
"""The miss of a candidate that a hook could not look at."""
SecondsLeft = Callable[[], float]


def _no_limit() -> float:
    return inf


class HookRegistry:
    """Every decision hook by its event; without any, nothing objects.

    A hook only ever strengthens: it may stop a call, change it before every check is done again,
    or ask for a person; it may let a candidate fail, and never lets one pass. One that fails in
    any way has denied.
    """

    def __init__(
        self, hooks: Mapping[DecisionEvent, Sequence[RegisteredHook]] | None = None
    ) -> None:
        self._hooks = {event: tuple(each) for event, each in (hooks or {}).items()}

    @property
    def has_hooks(self) -> bool:
        """Whether any is about calls, so that the gate of a service without them pays nothing."""
        return any(map(self.has, ("PreToolUse", "PermissionRequest", "PostToolUse")))

    async def pre_tool_use(self, call: ProposedCall) -> PreToolUse:
        """The first objection, else a request for approval, else a rewrite; who fails blocks.

        Each hook sees the call as those before it left it: a guard belongs behind what rewrites.
        """
        asked: AskPerson | None = None
        rewritten: Rewrite | None = None
        for hook in self._about("PreToolUse", call.tool):
            answer = await ask_hook(hook, "PreToolUse", call)
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
            answer = await ask_hook(hook, "PermissionRequest", call)
            if isinstance(answer, Failed):
                return Block(hook.name, answer.sentence, has_failed=True)
            if isinstance(answer, Block):
                return answer
        return Proceed()

    async def post_tool_use(self, call: EndedCall) -> tuple[PostToolUse, ...]:
        """What is added to the result, in order; or one `Withhold`, also from one that fails."""
        added: list[AddContext] = []
        for hook in self._about("PostToolUse", call.proposed.tool):
            answer = await ask_hook(hook, "PostToolUse", call)
            if isinstance(answer, Failed):
                return (Withhold(hook.name, answer.sentence, has_failed=True),)
            if isinstance(answer, Withhold):
                return (answer,)
            if isinstance(answer, AddContext):
                added.append(answer)
        return tuple(added) or (Keep(),)

    def _about(self, event: DecisionEvent, tool: str) -> tuple[RegisteredHook, ...]:
        return tuple(hook for hook in self._hooks.get(event, ()) if hook.is_about(tool))

    def has(self, event: DecisionEvent) -> bool:
        """Whether any is registered for the event."""
        return bool(self._hooks.get(event))

    async def pre_verify(
        self, candidate: ShownCandidate, seconds_left: SecondsLeft = _no_limit
    ) -> tuple[Strengthen, ...]:
        """What is added, in order; one that fails is the last and adds `HOOK_FAILED`."""
        added: list[Strengthen] = []
        for hook in self._hooks.get("PreVerify", ()):
            answer = await ask_hook(hook, "PreVerify", candidate, seconds_left())
            if isinstance(answer, Failed):
                missed = (HOOK_FAILED,)
                added.append(
                    Strengthen(hook.name, misses=missed, reason=answer.sentence, has_failed=True)
                )
                break
            if isinstance(answer, Strengthen):
                added.append(answer)
        return tuple(added)

    async def post_verify(
        self, judged: JudgedCandidate, seconds_left: SecondsLeft = _no_limit
    ) -> PostVerify:
        """The strongest word, of equal ones the first; one that fails escalates."""
        strongest: PostVerify = Proceed()
        for hook in self._hooks.get("PostVerify", ()):
            answer = await ask_hook(hook, "PostVerify", judged, seconds_left())
            match answer:
                case Failed():
                    return Escalate(hook.name, answer.sentence, has_failed=True)
                case Escalate():
                    return answer
                case Revise() if not isinstance(strongest, Revise):
                    strongest = answer
                case Accept() if isinstance(strongest, Proceed):
                    strongest = answer
                case _:
                    pass
        return strongest

    async def stop(self, judged: JudgedCandidate, seconds_left: SecondsLeft = _no_limit) -> Stop:
        """The first request to go on, unless one behind it fails: that escalates."""
        asked: Continue | None = None
        for hook in self._hooks.get("Stop", ()):
            answer = await ask_hook(hook, "Stop", judged, seconds_left())
            if isinstance(answer, Failed):
                return Escalate(hook.name, answer.sentence, has_failed=True)
            if isinstance(answer, Continue):
                asked = asked or answer
        return asked or Proceed()
