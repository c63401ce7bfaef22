"""`run_bash`: a shell command in the session's workspace, inside a sandbox, never without one."""

from __future__ import annotations

import asyncio
from functools import partial

from geode.errors import SandboxError, ToolError
from geode.messages import JsonObject, Mode, SessionId
from geode.ports import Clock
from geode.steps import (
    Applied,
    DataClass,
    Done,
    Effect,
    Ending,
    NotApplied,
    SafetyPolicy,
    Tool,
    ToolContext,
)
from geode.tools import schema
from geode.tools.blocking import run_to_end
from geode.tools.sandbox.detect import PROBE, SandboxProbe, explain_absence
from geode.tools.sandbox.run import Command, Ran, Stop, has_command_begun, run_command
from geode.tools.workspace import Workspaces
from geode.tools.write_file import encode_text, workspace_lock

POLICY = SafetyPolicy(
    effect=Effect.EXECUTE,
    data_class=DataClass.PERSONAL,
    approval="ask",
    modes=frozenset({Mode.REPL, Mode.IPC}),
)
RUN_S_MAX = 120.0
"""Wall clock of one command, waiting for its place included."""
RUNS_PARALLEL_MAX = 4
"""Commands at once, over all sessions."""
COMMAND_CHARS_MAX = 20_000
END_S = 3.0
"""What is left of the call's time to end a command and to tell of it."""


def build(
    workspaces: Workspaces,
    clock: Clock,
    *,
    probe: SandboxProbe = PROBE,
    run_s_max: float = RUN_S_MAX,
) -> Tool:
    """The tool over these workspaces; the probe says whether and how a command can run."""
    places = asyncio.Semaphore(RUNS_PARALLEL_MAX)

    async def run_bash(context: ToolContext, arguments: JsonObject) -> Ending:
        left_s = context.deadline - clock.monotonic()
        limit_s = min(run_s_max, left_s - min(END_S, left_s / 4))
        if limit_s <= 0:
            return NotApplied("Not run: the time of this turn is used up.")
        waits_until = clock.monotonic() + limit_s
        try:
            text = encode_text(schema.text_of(arguments, "command"))
            if b"\0" in text:
                return NotApplied("The command holds a NUL character; no shell can read it.")
            async with asyncio.timeout(limit_s):
                await places.acquire()
        except ToolError as exc:
            return NotApplied(str(exc))
        except TimeoutError:
            return NotApplied("Not run: too many commands are running; try again later.")
        try:
            left_s = waits_until - clock.monotonic()
            command = Command(context.session_id, text, context.operation_id, left_s)
            return await _run(workspaces, probe, command)
        finally:
            places.release()

    async def reconcile(context: ToolContext, arguments: JsonObject) -> bool | None:
        del arguments
        work = partial(has_command_begun, workspaces, context.session_id, context.operation_id)
        try:
            return await run_to_end(work)
        except (ToolError, OSError):
            return None

    return Tool(
        name="run_bash",
        description=(
            "Run a bash command in the workspace, in a sandbox without network: files of the "
            "workspace (/ws) and installed programs, nothing else. Output and error output come "
            "back together; whatever it started ends with it."
        ),
        schema=schema.closed_object(
            ("command",),
            command=schema.string("the command", chars_max=COMMAND_CHARS_MAX, chars_min=1),
        ),
        policy=POLICY,
        handler=run_bash,
        resources=_shell_resources,
        reconcile=reconcile,
        timeout_s=run_s_max + END_S,
    )


async def _run(workspaces: Workspaces, probe: SandboxProbe, command: Command) -> Ending:
    stop = Stop()
    try:
        return await run_to_end(
            partial(_run_blocking, workspaces, probe, command, stop), stop=stop.set
        )
    except SandboxError as exc:
        return NotApplied(f"Not run, because no sandbox could be started: {exc}.")
    finally:
        stop.close()


def _run_blocking(
    workspaces: Workspaces, probe: SandboxProbe, command: Command, stop: Stop
) -> Ending:
    verdict = probe.wait()
    if verdict.sandbox is None:
        return NotApplied(explain_absence(verdict.reason).sentence)
    return _tell(run_command(verdict.sandbox, workspaces, command, stop), command.run_s_max)


def _tell(ran: Ran, limit_s: float) -> Ending:
    end = ran.end
    match end.why:
        case "ended":
            last = f"[exit code {end.exit_code}]"
        case "timed_out":
            last = f"[timed out after {limit_s:.3g} s: everything it had started was ended]"
        case "stopped":
            last = "[cancelled: everything it had started was ended]"
        case "outgrown":
            last = f"[everything it had started was ended: {end.note}]"
    notes = [last]
    if ran.workspace_note and end.why != "outgrown":
        notes.append(f"[{ran.workspace_note}]")
    text = end.output + ("" if end.output.endswith("\n") or not end.output else "\n")
    text += "\n".join(notes)
    return Done(text) if end.why == "ended" else Applied(text)


def _shell_resources(context: ToolContext, arguments: JsonObject) -> tuple[str, ...]:
    del arguments
    return shell_key(context.session_id), workspace_lock(context.session_id)


def shell_key(session: SessionId) -> str:
    """The resource key of a session's shell."""
    return f"shell:{session}"
