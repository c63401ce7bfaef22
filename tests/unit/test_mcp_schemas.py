"""Another server's schema becomes one whose check is cheap, and that refuses nothing more."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from geode.errors import McpSchemaError
from geode.gate.schema import compile_check
from geode.mcp.definitions import read_definition
from geode.mcp.listing import judge_listing
from geode.mcp.schemas import make_plain
from geode.settings_mcp import McpServerSettings, McpToolSettings
from geode.store.pinned_tools import Pin


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_reference_is_followed_and_its_definitions_go() -> None:
    schema = {
        **_object(row={"$ref": "#/$defs/Row", "description": "one"}),
        "$defs": {"Row": _object(id={"type": "integer"})},
    }

    assert make_plain(schema) == _object(
        row={**_object(id={"type": "integer"}), "description": "one"}
    )


def test_recursive_reference_allows_anything_below() -> None:
    node = _object(children={"type": "array", "items": {"$ref": "#/$defs/Node"}})
    plain = make_plain({**_object(tree={"$ref": "#/$defs/Node"}), "$defs": {"Node": node}})

    check = compile_check(plain)

    assert check({"tree": {"children": [{"children": [{"x": 1}]}]}}) is None
    assert check({"tree": {"children": 3}}) is not None


def test_pattern_is_told_and_not_run() -> None:
    plain = make_plain(_object(a={"type": "string", "pattern": "(a+)+$", "description": "An a."}))

    began = time.perf_counter()
    assert compile_check(plain)({"a": "a" * 60 + "!"}) is None
    assert time.perf_counter() - began < 5
    assert plain == _object(a={"type": "string", "description": "An a. (pattern: (a+)+$)"})


def test_what_is_loosened_below_not_refuses_nothing() -> None:
    plain = make_plain(
        _object(a={"not": {"pattern": "x"}}, b={"if": {"pattern": "x"}, "then": False})
    )

    assert compile_check(plain)({"a": "y", "b": "y"}) is None


def test_arguments_of_alternatives_are_known_to_the_gate() -> None:
    plain = make_plain({"type": "object", "anyOf": [_object(a={"type": "string"}), _object(b={})]})

    assert compile_check(plain)({"a": "x"}) is None
    assert compile_check(plain)({"c": "x"}) is not None


REFUSED = {
    "remote": ({"$ref": "https://x.example/s.json"}, "another document"),
    "file": (_object(a={"$ref": "file:///etc/passwd"}), "another document"),
    "dangling": (_object(a={"$ref": "#/$defs/none"}), "does not have"),
    "dynamic": (_object(a={"$dynamicRef": "#a"}), "dynamic"),
    "array": ({"type": "array"}, "not a JSON object"),
    "invalid": (_object(a={"type": "nothing"}), "not valid"),
    "wide": (_object(**{f"a{n}": {} for n in range(3_000)}), "too large"),
    "long": (_object(a={"enum": ["x" * 60_000]}), "bytes"),
    "unseen-value": (_object(a={"enum": ["a\u200b"]}), "unseen"),
}


@pytest.mark.parametrize(("schema", "part"), REFUSED.values(), ids=REFUSED.keys())
def test_schema_that_cannot_be_used_is_refused_with_its_reason(
    schema: dict[str, Any], part: str
) -> None:
    with pytest.raises(McpSchemaError, match=part):
        make_plain(schema)


def test_deep_schema_is_refused_before_it_is_followed_to_its_end() -> None:
    deep: dict[str, Any] = {}
    for _ in range(500):
        deep = {"items": deep}

    with pytest.raises(McpSchemaError, match="too large"):
        make_plain(_object(a=deep))


_LEAVES: list[Any] = [
    {"type": "string"},
    {"type": "integer", "minimum": 3},
    {"const": None},
    {"enum": ["a", 1]},
    {"pattern": "^a"},
    True,
]


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        pytest.param({"multipleOf": float("nan")}, "a number that is none", id="no number"),
        pytest.param({"maximum": float("inf")}, "a number that is none", id="no end"),
        pytest.param({"$ref": "#/prefixItems/" + "1" * 5_000}, "does not have", id="long place"),
    ],
)
def test_schema_that_nothing_can_be_held_against_is_refused(part: Any, reason: str) -> None:
    with pytest.raises(McpSchemaError, match=reason):
        make_plain({**_object(a=part), "prefixItems": [{}]})


def test_definition_that_is_no_json_without_its_secrets_takes_only_itself_away() -> None:
    rows = [
        {"name": "bad", "inputSchema": _object(a={"maximum": 12345678})},
        {"name": "good", "inputSchema": _object(a={"maximum": 5})},
    ]
    found = [read_definition(row, lambda text: text.replace("12345678", "[out]")) for row in rows]
    settings = McpServerSettings(
        command=("s",), tools={name: McpToolSettings(effect="read") for name in ("bad", "good")}
    )
    pins = {each.tool: Pin("s", each.tool, each.digest, each.text, "op") for each in found}

    listing = judge_listing("s", settings, found, pins)

    assert list(listing.offers) == ["good"]
    assert listing.absences["bad"].rule == "mcp.definition_refused"


def _around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"oneOf": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"if": inner, "then": inner, "else": inner}),
        st.fixed_dictionaries({"properties": st.fixed_dictionaries({"x": inner})}),
        st.fixed_dictionaries({"patternProperties": st.fixed_dictionaries({"^x": inner})}),
        st.fixed_dictionaries({"unevaluatedProperties": inner}),
    )


_SCHEMAS = st.recursive(st.sampled_from([*_LEAVES, {"$ref": "#/$defs/d"}]), _around, max_leaves=8)
_DEFINITIONS = st.recursive(st.sampled_from(_LEAVES), _around, max_leaves=8)
_VALUES = st.recursive(
    st.sampled_from(["a", "b", 1, 5, None, True]),
    lambda inner: st.fixed_dictionaries({"x": inner}),
    max_leaves=4,
)


@given(a=_SCHEMAS, d=_DEFINITIONS, value=_VALUES)
def test_plain_schema_allows_at_least_what_the_given_one_allows(a: Any, d: Any, value: Any) -> None:
    schema = {**_object(a=a), "$defs": {"d": d}}
    allows = Draft202012Validator(schema).is_valid({"a": value})

    plain = make_plain(schema)

    assert not allows or Draft202012Validator(plain).is_valid({"a": value})
