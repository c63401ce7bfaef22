"""Every rule of the gate has words, and no words stand for a rule that nothing answers with."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import geode
from geode.gate.rules import RULES, explain_rule

SOURCE = Path(geode.__file__).parent
TABLE = SOURCE / "gate" / "rules.py"
RULE = re.compile(r"[a-z][a-z_]*\.[a-z][a-z_]*")
ANSWERS = {
    **dict.fromkeys(("Deny", "Refusal", "Fault", "Absence", "Allow", "Ask"), 0),
    **dict.fromkeys(("TraceStep", "pass_step"), None),
}
"""Constructors of answers, and where their rule stands; None: any of their arguments."""
NOT_ANSWERS = {"write", "write_along", "save", "hit", "run", "read", "joinpath"}
"""Calls that name a commit, a point or a file in the same shape."""
WORDS_WANTED = "write in geode/gate/rules.py what these mean and what changes them"
GATE_SIDE = {"gate", "loop", "hooks", "tools", "records", "session", "mcp"}
"""The rooms in which calls are answered; others have verbs and labels in the same shape."""
FILE_NAMES = {"mcp.toml"}
FAMILIES = {rule.partition(".")[0] for rule in RULES}


def name_of(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def constants(tree: ast.AST) -> dict[str, str]:
    """The texts that have a name of their own."""
    return {
        target.id: str(each.value.value)
        for each in ast.walk(tree)
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant)
        for target in each.targets
        if isinstance(target, ast.Name)
    }


NAMED = {
    name: text
    for path in SOURCE.rglob("*.py")
    for name, text in constants(ast.parse(path.read_text())).items()
    if name.isupper()
}


def literals(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value
        if isinstance(each, ast.Name) and each.id in NAMED:
            yield NAMED[each.id]


def constructed(tree: ast.AST) -> Iterator[str]:
    """What the constructors of answers are given as a rule, of whatever family."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or name_of(call) not in ANSWERS:
            continue
        place = ANSWERS[name_of(call)]
        given = call.args if place is None else call.args[place : place + 1]
        named = [keyword.value for keyword in call.keywords if keyword.arg == "rule"]
        for argument in (*given, *named):
            yield from (text for text in literals(argument) if RULE.fullmatch(text))


def mentioned(tree: ast.AST) -> Iterator[str]:
    """Every text in the shape of a rule of a known family, wherever it is passed on from."""
    skipped = {
        id(each)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and name_of(call) in NOT_ANSWERS
        for argument in call.args[:1]
        for each in ast.walk(argument)
    }
    for each in ast.walk(tree):
        if not isinstance(each, ast.Constant) or id(each) in skipped:
            continue
        text = str(each.value)
        is_rule = RULE.fullmatch(text) and text not in FILE_NAMES
        if is_rule and text.partition(".")[0] in FAMILIES:
            yield text


def collect(pick: object) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0]
        if path != TABLE and (pick is constructed or room in GATE_SIDE):
            for rule in pick(ast.parse(path.read_text())):  # type: ignore[operator]
                found.setdefault(rule, str(path.relative_to(SOURCE)))
    return found


def test_every_rule_that_an_answer_names_has_words() -> None:
    wordless = {rule: at for rule, at in collect(constructed).items() if rule not in RULES}

    assert not wordless, f"{WORDS_WANTED}: {wordless}"


def test_every_text_in_the_shape_of_a_rule_has_words() -> None:
    wordless = {rule: at for rule, at in collect(mentioned).items() if rule not in RULES}

    assert not wordless, f"{WORDS_WANTED}: {wordless}"


def test_no_words_stand_for_a_rule_that_does_not_exist() -> None:
    known = collect(constructed) | collect(mentioned)

    assert set(RULES) <= known.keys()


@pytest.mark.parametrize("rule", RULES)
def test_words_fit_into_a_sentence_and_name_only_what_a_call_has(rule: str) -> None:
    words = RULES[rule]

    assert words.means[0].islower()
    assert words.means[-1] not in ".!?"
    filled = words.change.format(tool="t", profile="p", binding="b")
    assert not filled or (filled[0].isupper() and filled.endswith("."))
    assert "{" not in filled.replace("{ engine", "")


def test_rule_of_another_version_has_words_too() -> None:
    assert explain_rule("gone.since").means


def test_collector_sees_rules_in_every_form_in_which_they_are_written() -> None:
    code = """
def f(x):
    rule = "policy.other"
    write("policy.not_a_rule")
    return Deny("new.family", "no.sentence") if x else TraceStep("scope", "pass", rule="late.one")
"""
    tree = ast.parse(code)

    assert set(constructed(tree)) == {"new.family", "late.one"}
    assert set(mentioned(tree)) == {"policy.other"}
