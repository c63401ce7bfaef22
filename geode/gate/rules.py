"""What every rule of the gate means, and who could change its answer and how; words only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RuleWords:
    """One rule in plain words; `{tool}`, `{profile}` and `{binding}` stand for those of a call."""

    means: str
    """What the rule found, as the end of a sentence about the call."""
    change: str = ""
    """A sentence: what would make it answer otherwise; empty for a rule that lets a call pass."""


NOTHING = "Nothing: no profile, no approver and no setting can change it."
OTHER_CALL = "The agent can make the call again in another way; no grant is missing."
IN_TIME = "Nothing is missing but time: the agent, or the person, can ask again."
GRANT = (
    'An operator adds "{tool}" to `[profiles.{profile}] tools` in geode.toml, or to its `ask` and '
    "names `approvers` in the binding `{binding}`."
)
APPROVERS = (
    "An operator names `approvers` in the binding `{binding}`: each such call then waits for one "
    'of them. Or, for a tool that asks because the profile says so: "{tool}" moves from '
    "`[profiles.{profile}] ask` to its `tools`."
)
AUTHOR = "Whoever wrote the tool has to mend its declaration; no grant can."
HOOK = "An operator changes the hook, or its entry under `[hooks]` in geode.toml."
SETTLE = (
    "An operator says whether the earlier effect happened: on its card in the thread, or with "
    "`geode effects settle`."
)
STORAGE = (
    "An operator makes room for the database, or frees it from another program; then ask again."
)

RULES: Mapping[str, RuleWords] = {
    "scope.unknown_tool": RuleWords(
        "no tool of this exact name exists here",
        "The agent has to use a name that it was given; nobody can grant what is not there.",
    ),
    "mode.removed": RuleWords(
        "tools of this kind are always taken out where nobody sits beside the agent", NOTHING
    ),
    "mode.unavailable": RuleWords("the tool is not made for this kind of session", NOTHING),
    "profile.granted": RuleWords("the profile grants the tool"),
    "profile.not_granted": RuleWords("the profile does not name the tool", GRANT),
    "policy.missing": RuleWords(
        "there was no valid profile, so nothing was granted",
        "An operator gives the binding `{binding}` a profile that exists.",
    ),
    "policy.mode_mismatch": RuleWords(
        "the tools were chosen for another kind of session than this one", NOTHING
    ),
    "policy.not_in_plan": RuleWords("the tool was not one of this step's", OTHER_CALL),
    "policy.ask": RuleWords("each call of the tool needs a person's approval"),
    "ask.no_approver": RuleWords(
        "the call needs a person's approval, and nobody could be asked", APPROVERS
    ),
    "catalogue.invalid_name": RuleWords("the tool's name is not one that models may use", AUTHOR),
    "catalogue.name_twice": RuleWords(
        "two tools have this name, so it means neither",
        "An operator renames the server of one of them, or takes it out.",
    ),
    "catalogue.no_resources": RuleWords(
        "the tool has an effect and does not say what it touches", AUTHOR
    ),
    "schema.unreadable": RuleWords("the arguments were cut or are not one JSON object", OTHER_CALL),
    "schema.not_json": RuleWords("the arguments are not plain JSON", OTHER_CALL),
    "schema.unknown_argument": RuleWords("it names an argument that the tool lacks", OTHER_CALL),
    "schema.mismatch": RuleWords("the arguments do not fit the tool's schema", OTHER_CALL),
    "schema.not_canonical": RuleWords(
        "a number is too large to be written in one certain way", OTHER_CALL
    ),
    "schema.remote_ref": RuleWords("the tool's schema refers to another document", AUTHOR),
    "schema.invalid": RuleWords("the tool's schema itself cannot be used", AUTHOR),
    "resources.failed": RuleWords("what it would touch could not be worked out", OTHER_CALL),
    "resources.none": RuleWords("it names nothing that it would touch", OTHER_CALL),
    "locks.busy": RuleWords("what it would touch was busy with an earlier call", IN_TIME),
    "time.expired": RuleWords(
        "the turn's time was used up",
        "An operator raises `time_budget_s` of the binding `{binding}`.",
    ),
    "receipt.not_written": RuleWords("it could not be recorded, so it did not begin", STORAGE),
    "receipt.blocked": RuleWords(
        "an earlier effect on the same thing has an unknown outcome", SETTLE
    ),
    "loop.repeated": RuleWords(
        "the same call had run often enough in this turn with the same result", OTHER_CALL
    ),
    "loop.too_many": RuleWords("the answer held more calls than run at once", OTHER_CALL),
    "sandbox.missing": RuleWords(
        "commands run only in a sandbox, and this machine has none",
        "An operator installs bubblewrap and lets it make user namespaces; `geode doctor` tells.",
    ),
    "mcp.not_offered": RuleWords(
        "the MCP server does not offer the tool now",
        "Whoever runs the server brings the tool back, or an operator takes it out of geode.toml.",
    ),
    "mcp.name_twice": RuleWords(
        "the MCP server offers several tools of this name", "Whoever runs the server renames one."
    ),
    "mcp.definition_refused": RuleWords(
        "the MCP server's description of the tool cannot be used",
        "Whoever runs the server mends what it says of the tool.",
    ),
    "mcp.definition_changed": RuleWords(
        "the MCP server describes the tool otherwise than when it was accepted",
        "An operator looks at the change and accepts it: `geode mcp accept SERVER TOOL`.",
    ),
    "mcp.server_starting": RuleWords("the MCP server was still being started", IN_TIME),
    "mcp.server_down": RuleWords(
        "the MCP server cannot be used",
        "An operator sees to the server; it is tried again by itself, and `geode mcp list` tells.",
    ),
    "mcp.project_untrusted": RuleWords(
        "a project's file names the MCP server, and nobody has trusted that file",
        "An operator reads the file and trusts it: `geode trust`.",
    ),
    "middleware.checked": RuleWords("a rewrite made it no lesser call"),
    "middleware.downgrade": RuleWords(
        "a rewrite would have made it a lesser call than was judged",
        "Whoever wrote the hook or the middleware has to keep effect and data class; no grant can.",
    ),
    "hook.proceeds": RuleWords("the operator's hooks had no objection"),
    "hook.rewrites": RuleWords("a hook gave it other arguments, and every check was made again"),
    "hook.asks": RuleWords("a hook wants a person to approve it"),
    "hook.added": RuleWords("a hook added words to the result, as data"),
    "hook.blocked": RuleWords("a hook said no", HOOK),
    "hook.denied": RuleWords("a hook said no before a person was asked", HOOK),
    "hook.failed": RuleWords(
        "a hook gave no valid answer in time, and that counts as no",
        "An operator mends the hook; the log says what went wrong.",
    ),
    "hook.withheld": RuleWords("it ran, and a hook withheld the result from the agent", HOOK),
    "approval.pending": RuleWords("a person was asked"),
    "approval.once": RuleWords("a person approved this call"),
    "approval.session": RuleWords("a person approved the tool until the chapter ends"),
    "approval.denied": RuleWords(
        "a person said no", "Nothing but that person's mind: the agent has to be asked for it anew."
    ),
    "approval.denied_before": RuleWords(
        "a person had said no to the same call in this chapter",
        "After `new`, which begins a chapter, it can be asked again.",
    ),
    "approval.expired": RuleWords(
        "nobody answered in time",
        "Ask again when somebody is there; an operator sets `approval_expires_s` of `{binding}`.",
    ),
    "approval.undeliverable": RuleWords(
        "the question could not be shown to anybody",
        "An operator looks at what the platform refused; `geode doctor` tells.",
    ),
    "approval.withdrawn": RuleWords("the question was withdrawn before anybody answered", IN_TIME),
    "approval.changed": RuleWords(
        "the call, the tool or those it is made for were no longer what people were asked about",
        "It has to be asked again as it is now.",
    ),
    "approval.used": RuleWords(
        "its approval was for one call, and that had begun", "It has to be asked again."
    ),
    "approval.not_taken": RuleWords("the use of its approval could not be recorded", STORAGE),
    "approval.too_many": RuleWords(
        "this conversation had asked people for too many approvals within an hour", IN_TIME
    ),
    "approval.too_many_at_once": RuleWords(
        "more calls at once asked for approval than a person would read", OTHER_CALL
    ),
    "schema.valid": RuleWords("the arguments fit the tool's schema"),
    "scope.in_plan": RuleWords("the tool is one of this step's"),
    "locks.held": RuleWords("nothing else was touching the same thing"),
    "receipt.prepared": RuleWords("it was recorded before it began"),
    "search.not_configured": RuleWords(
        "no search service is configured",
        'An operator configures `[web] search` in geode.toml, and grants "web_search".',
    ),
    "search.key_missing": RuleWords(
        "the search service's key is not there",
        "An operator sets what `[web] search` names as its key, and starts the service again.",
    ),
}

_UNKNOWN = RuleWords("this version has no words for the rule", "Ask whoever runs this service.")


def explain_rule(rule: str) -> RuleWords:
    """The words of a rule; a record of another version may name one that is gone."""
    return RULES.get(rule, _UNKNOWN)
