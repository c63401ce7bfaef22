"""Arguments that do not fit never reach a body (LM-02), and a schema never fetches anything."""

from __future__ import annotations

from typing import Any

import pytest
from fakes.gate_room import make_tool

from geode.gate.schema import FAULT_CHARS_MAX, Fault, SchemaChecks
from geode.llm.arguments import parse_call
from geode.messages import JsonObject, ToolCall
from geode.steps import Tool

OPEN: JsonObject = {
    "type": "object",
    "properties": {"a": {"type": "integer", "minimum": 1}, "b": {"type": "string"}},
    "additionalProperties": True,
}


def tool_with(schema: JsonObject) -> Tool:
    return make_tool("t", schema=schema).tool


def read(tool: Tool, arguments: JsonObject | None, raw: str = "") -> JsonObject | Fault:
    return SchemaChecks().read_arguments(ToolCall("c", "t", arguments, raw=raw), tool)


def fault_of(tool: Tool, arguments: JsonObject) -> Fault:
    found = read(tool, arguments)
    assert isinstance(found, Fault)
    return found


def test_fitting_arguments_come_back_unchanged() -> None:
    assert read(tool_with(OPEN), {"a": 2, "b": "x"}) == {"a": 2, "b": "x"}


def test_unknown_argument_is_refused_even_when_the_schema_is_open() -> None:
    fault = fault_of(tool_with(OPEN), {"a": 1, "surprise": True})

    assert fault.rule == "schema.unknown_argument"
    assert "'surprise'" in fault.sentence
    assert "a, b" in fault.sentence


@pytest.mark.parametrize(
    "arguments",
    [{"a": 0}, {"a": "1"}, {"a": 1.5}, {"a": True}, {"a": None}, {"b": ["x"]}],
    ids=str,
)
def test_mismatch_names_the_place(arguments: JsonObject) -> None:
    fault = fault_of(tool_with(OPEN), arguments)

    assert fault.rule == "schema.mismatch"
    assert f"{next(iter(arguments))}: " in fault.sentence


def test_missing_required_argument_is_named() -> None:
    fault = fault_of(make_tool("t").tool, {})

    assert "'text' is a required property" in fault.sentence


def test_fault_of_a_huge_argument_stays_short() -> None:
    fault = fault_of(tool_with(OPEN), {"a": "x" * 2_000_000})

    assert len(fault.sentence) <= FAULT_CHARS_MAX


@pytest.mark.parametrize(
    "text",
    ['{"city": "San Fra', "null", "[1]", '{"a":1,}', "x" * 2_000_000, '"{}"', "{} {}"],
    ids=["cut", "null", "array", "comma", "2 MB", "string", "two objects"],
)
def test_unreadable_arguments_name_the_fault_and_show_their_start(text: str) -> None:
    call = parse_call("c", "t", text)

    fault = SchemaChecks().read_arguments(call, tool_with({"type": "object"}))

    assert isinstance(fault, Fault)
    assert fault.rule == "schema.unreadable"
    assert call.fault in fault.sentence
    assert text[:100] in fault.sentence
    assert len(fault.sentence) <= FAULT_CHARS_MAX


def test_empty_text_counts_as_no_arguments_only_where_none_are_required() -> None:
    empty = ToolCall("c", "t", None, raw="")

    assert SchemaChecks().read_arguments(empty, tool_with(OPEN)) == {}
    assert isinstance(SchemaChecks().read_arguments(empty, make_tool("t").tool), Fault)


@pytest.mark.parametrize(
    "arguments", [{"b": "\ud800"}, {"a": 2**70}], ids=["surrogate", "huge integer"]
)
def test_arguments_that_cannot_be_stored_are_refused(arguments: JsonObject) -> None:
    assert fault_of(tool_with(OPEN), arguments).rule == "schema.not_json"


@pytest.mark.parametrize(
    "reference", ["http://127.0.0.1:9/s.json", "https://example.com/s", "file:///etc/passwd", "s"]
)
def test_remote_reference_is_never_followed(reference: str) -> None:
    schema: JsonObject = {"type": "object", "properties": {"a": {"$ref": reference}}}

    assert fault_of(tool_with(schema), {"a": 1}).rule == "schema.remote_ref"


def test_local_reference_is_followed() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/small"}},
        "$defs": {"small": {"type": "integer", "maximum": 9}},
    }

    assert read(tool_with(schema), {"a": 9}) == {"a": 9}
    assert fault_of(tool_with(schema), {"a": 10}).rule == "schema.mismatch"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}},
    ],
    ids=["wrong type", "dangling reference", "endless reference"],
)
def test_unusable_schema_fits_nothing(schema: JsonObject) -> None:
    assert isinstance(read(tool_with(schema), {"a": 1}), Fault)


def test_checks_of_many_schemas_are_kept_only_up_to_a_limit() -> None:
    checks = SchemaChecks()

    for number in range(600):
        tool = tool_with({"type": "object", "properties": {f"p{number}": {"type": "integer"}}})
        assert checks.read_arguments(ToolCall("c", "t", {f"p{number}": 1}), tool)

    assert len(checks._kept) == 512


@pytest.mark.parametrize(
    ("items", "are_unique"),
    [
        pytest.param([1, 1.0], False, id="one number"),
        pytest.param([1, True, "1", [1], [True], {"a": 1}, {"a": True}, None], True, id="kinds"),
        pytest.param([{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}], False, id="order of keys"),
        pytest.param([0, False, [0], [False], "", None], True, id="nothing"),
        pytest.param(["\u00e9", "e\u0301"], True, id="not normalised"),
    ],
)
def test_unique_items_are_told_apart_as_json_tells_them(items: Any, are_unique: bool) -> None:
    schema: JsonObject = {"type": "object", "properties": {"a": {"uniqueItems": True}}}

    assert isinstance(read(tool_with(schema), {"a": items}), Fault) is not are_unique


def test_long_list_of_unique_items_is_checked_without_comparing_each_with_each() -> None:
    schema: JsonObject = {"type": "object", "properties": {"a": {"uniqueItems": True}}}
    items: Any = [{"id": number, "tags": [str(number)]} for number in range(100_000)]

    assert read(tool_with(schema), {"a": items}) == {"a": items}
    assert fault_of(tool_with(schema), {"a": [*items, items[0]]}).rule == "schema.mismatch"


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"multipleOf": float("nan")}, id="no number"),
        pytest.param({"$ref": "#/$defs/x"}, id="endless reference"),
        pytest.param({"$ref": "#/$defs/gone"}, id="reference to nothing"),
    ],
)
def test_schema_that_breaks_its_check_fits_nothing_and_raises_nothing(schema: Any) -> None:
    whole: JsonObject = {
        "type": "object",
        "properties": {"a": schema},
        "$defs": {"x": {"$ref": "#/$defs/x"}},
    }

    assert fault_of(tool_with(whole), {"a": 1.5}).rule == "schema.invalid"


def test_endlessly_deep_schema_fits_nothing_and_raises_nothing() -> None:
    schema: JsonObject = {}
    for _ in range(3_000):
        schema = {"not": schema}

    assert fault_of(tool_with({"properties": {"a": schema}}), {"a": 1}).rule == "schema.invalid"
