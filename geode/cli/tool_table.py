"""Writes docs/tools.md: every built-in tool as the code declares it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

from geode.gate.policy import ALWAYS_REMOVED
from geode.messages import UNATTENDED, JsonObject, JsonValue, Mode, SessionId, TurnId
from geode.ports import SystemClock
from geode.settings import READ_ONLY_TOOLS
from geode.steps import Effect, Tool, ToolContext
from geode.tools import delegate_task, run_bash, send_message, update_plan, web_search
from geode.tools.catalogue import build_catalogue, register
from geode.tools.output import OUTPUT_BYTES_MAX
from geode.tools.search.searxng import SearxngSite
from geode.tools.web_fetch import FetchGrant
from geode.tools.workspace import Workspaces

HEAD = f"""# The built-in tools

This page is written by `make docs` from the declarations in `geode/tools/`; a test fails when it
differs from them.

- **Effect**: `read` changes nothing; the others leave a receipt before they begin. *Reaches out*:
  it opens addresses beyond this machine, so an approval of it never outlives one call.
- **Approval**: `by profile` runs when the profile has the tool in `tools`, and asks for each call
  when it is in `ask`; `ask` always asks. Where nobody can be asked the call is denied.
- **Modes**: where the tool can exist at all. In {", ".join(sorted(UNATTENDED))} nobody sits by,
  so the profile must name it too; `default` is the profile of a binding that names none.
- **Touches**: the keys under which calls wait for each other, and which an effect of unknown
  outcome blocks.
- **Bounds**: of the arguments and the time of one call. A result has at most
  {OUTPUT_BYTES_MAX:,} bytes.

`web_search` is there once `[web] search` is written, `send_message` has the places of the profile's
`send_to`, and `run_bash` needs bubblewrap and user namespaces: where something is missing the tool
is absent and says why.
"""
_COLUMNS = ("tool", "arguments", "effect", "data", "approval", "modes", "touches", "bounds")
_CONTEXT = ToolContext(
    session_id=SessionId("SESSION"),
    turn_id=TurnId("TURN"),
    step=1,
    position=0,
    epoch=1,
    mode=Mode.DAEMON,
    binding="BINDING",
    model="",
)
_ABSENT: Any = None
"""In the place of stores and services: tools are described here and never called."""


def list_tools() -> tuple[Tool, ...]:
    """Every built-in tool, those included that need something configured."""
    workspaces, clock = Workspaces(Path("workspaces")), SystemClock()
    built_in = build_catalogue(
        workspaces=workspaces,
        memory=_ABSENT,
        witness=_ABSENT,
        grant=FetchGrant(),
        more=(
            web_search.build(SearxngSite("http://127.0.0.1"), clock),
            update_plan.build(_ABSENT),
            send_message.build(_ABSENT),
            delegate_task.build(_ABSENT),
            run_bash.build(workspaces, clock),
        ),
    )
    return register(*built_in)


def write_table(tools: tuple[Tool, ...]) -> str:
    """The whole page."""
    rows = [_COLUMNS, tuple("---" for _ in _COLUMNS), *map(_write_row, tools)]
    lines = [f"| {' | '.join(cells)} |" for cells in rows]
    said = [f"- `{tool.name}`: {tool.description}" for tool in tools]
    return "\n".join([HEAD, *lines, "", "What the model is told of each:", "", *said, ""])


def _write_row(tool: Tool) -> tuple[str, ...]:
    effect = str(tool.policy.effect) + (", reaches out" if tool.reaches_out else "")
    approval = "ask" if tool.policy.approval == "ask" else "by profile"
    default = ", in `default`" if tool.name in READ_ONLY_TOOLS else ""
    return (
        f"`{tool.name}`",
        _write_arguments(tool.schema),
        effect,
        str(tool.policy.data_class),
        approval + default,
        _write_modes(tool),
        _write_resources(tool),
        _write_bounds(tool),
    )


def _properties(schema: JsonObject) -> dict[str, JsonObject]:
    return cast("dict[str, JsonObject]", schema["properties"])


def _write_arguments(schema: JsonObject) -> str:
    required = cast("list[JsonValue]", schema["required"])
    names = (name if name in required else f"{name}?" for name in _properties(schema))
    return f"`{', '.join(names)}`"


def _write_modes(tool: Tool) -> str:
    modes = [
        mode
        for mode in Mode
        if mode in tool.policy.modes
        and tool.name not in ALWAYS_REMOVED[mode]
        and not (mode in UNATTENDED and tool.policy.effect is Effect.ADMINISTRATIVE)
    ]
    return "all" if len(modes) == len(Mode) else ", ".join(modes)


def _write_resources(tool: Tool) -> str:
    if tool.resources is None:
        return "–"
    arguments: JsonObject = {name: name.upper() for name in _properties(tool.schema)}
    return ", ".join(f"`{key}`" for key in tool.resources(_CONTEXT, arguments))


def _write_bounds(tool: Tool) -> str:
    told = [
        f"{name} {bounded['maxLength']:,} characters"
        for name, bounded in _properties(tool.schema).items()
        if isinstance(bounded.get("maxLength"), int)
    ]
    told += [
        f"{bounded['maxItems']} {name}"
        for name, bounded in _properties(tool.schema).items()
        if isinstance(bounded.get("maxItems"), int)
    ]
    return ", ".join([*told, f"{tool.timeout_s:g} s"])


def main() -> None:
    """Write the page to stdout."""
    sys.stdout.write(write_table(list_tools()))


if __name__ == "__main__":
    main()
