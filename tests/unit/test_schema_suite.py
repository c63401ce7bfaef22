"""The argument check against the published JSON-Schema-Test-Suite for draft 2020-12."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from fakes.gate_room import make_tool
from fakes.schema_files import FOLDER

from geode.gate.schema import Fault, SchemaChecks
from geode.llm.arguments import parse_call

SUITE = FOLDER / "json-schema-suite"

REFUSED_REFERENCES = {
    "anchor.json": 6,
    "defs.json": 2,
    "dynamicRef.json": 34,
    "ref.json": 30,
    "refRemote.json": 31,
    "unevaluatedItems.json": 2,
    "unevaluatedProperties.json": 2,
    "optional/cross-draft.json": 1,
    "optional/dynamicRef.json": 2,
    "optional/id.json": 3,
    "optional/unknownKeyword.json": 3,
}
"""Tests whose schema names another document, which a tool's schema never may: all are refused."""

STRICTER_THAN_ASKED = {"vocabulary.json": 1}
"""A metaschema of its own switches validation off; we validate all the same."""

OTHERWISE = {
    "optional/bignum.json": 6,  # integers beyond 64 bits are refused as arguments
    "optional/dependencies-compatibility.json": 14,  # a keyword that this draft no longer has
    "optional/ecmascript-regex.json": 32,  # patterns are Python's; what that cannot read is refused
    "optional/format-assertion.json": 2,  # `format` is a remark, as the draft's default says
}
"""Optional tests, formats apart, that end otherwise, and why."""

FORMATS_ASKED = 491
FORMATS_NOT_ASSERTED = 204
"""`format` asserts nothing here: a tool looks at its own addresses, dates and names."""

MANDATORY_RIGHT = 1149
OPTIONAL_RIGHT = 95


def cases() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Each test of the suite: its file, its schema as a property of a tool's, and the test."""
    for path in sorted(SUITE.rglob("*.json")):
        for case in json.loads(path.read_text(encoding="utf-8")):
            schema = case["schema"]
            if isinstance(schema, dict):
                # With an id of its own it stays the document that its "#" means.
                schema = {"$id": "https://suite.invalid/case", **schema}
            for test in case["tests"]:
                tool_schema = {"type": "object", "properties": {"value": schema}}
                yield str(path.relative_to(SUITE)), tool_schema, test


def rule_of(checks: SchemaChecks, schema: dict[str, Any], value: object) -> str:
    """What becomes of the value as an argument, the whole way from a provider's text."""
    call = parse_call("c1", "tool", json.dumps({"value": value}))
    found = checks.read_arguments(call, make_tool("tool", schema=schema).tool)
    return found.rule if isinstance(found, Fault) else "fits"


def test_published_suite_holds_but_for_what_is_refused_on_purpose() -> None:
    checks = SchemaChecks()
    right, refused, otherwise = Counter[str](), Counter[str](), Counter[str]()
    let_through: list[str] = []
    for name, schema, test in cases():
        rule = rule_of(checks, schema, test["data"])
        if rule == "schema.remote_ref":
            refused[name] += 1
        elif rule == ("fits" if test["valid"] else "schema.mismatch"):
            right[name] += 1
        else:
            otherwise[name] += 1
            if rule == "fits":
                let_through.append(name)

    formats = {name for name in (right | otherwise) if name.startswith("optional/format/")}
    optional = {name for name in right if name.startswith("optional/")} - formats
    assert dict(refused) == REFUSED_REFERENCES
    assert sum(otherwise[name] for name in formats) == FORMATS_NOT_ASSERTED
    assert sum((right + otherwise)[name] for name in formats) == FORMATS_ASKED
    assert {n: c for n, c in otherwise.items() if n not in formats} == {
        **STRICTER_THAN_ASKED,
        **OTHERWISE,
    }
    assert sum(c for n, c in right.items() if n not in optional | formats) == MANDATORY_RIGHT
    assert sum(right[name] for name in optional) == OPTIONAL_RIGHT
    assert not [name for name in let_through if not name.startswith("optional/")]
