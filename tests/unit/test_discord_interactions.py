"""Interactions as JSON: what is a press, a command or a form, and what is dropped."""

import re
from typing import Any

import pytest

from channels.discord.cards import button_id, plain_words
from channels.discord.commands import SUMMARIES, define_commands, is_same
from channels.discord.interactions import (
    Interaction,
    acknowledgement_of,
    event_of,
    form_of,
    parse_interaction,
)
from channels.discord.parse import Dropped
from channels.discord.places import Spot
from channels.discord.silence import silence
from geode.messages import COMMANDS, Button, ButtonPress

NONCE = "n" * 22
ROW = {"type": 1, "components": [{"type": 2, "custom_id": f"press:{NONCE}", "label": "Yes"}]}
SHOWN: dict[str, Any] = {
    "id": "1100000000000000001",
    "token": "secret-token",
    "application_id": "7",
    "channel_id": "1234567890123456789",
    "guild_id": "9",
    "type": 3,
    "member": {"nick": "Annie", "user": {"id": "11", "username": "ana", "global_name": "Ana"}},
    "data": {"custom_id": f"press:{NONCE}", "component_type": 2},
    "message": {"id": "22", "components": [ROW]},
}


def parsed(**changed: Any) -> Interaction:
    found = parse_interaction(SHOWN | changed)
    assert isinstance(found, Interaction)
    return found


def test_press_keeps_every_digit_and_hides_its_token_cf_03() -> None:
    press = parsed()

    assert (press.channel, press.guild, press.message) == ("1234567890123456789", "9", "22")
    assert (press.kind, press.name, press.label) == ("press", NONCE, "Yes")
    assert (press.presser.id, press.presser.name) == ("11", "Annie")
    assert "secret-token" not in repr(press)


def test_press_in_a_thread_is_a_press_of_its_conversation() -> None:
    event = event_of(parsed(), Spot("1234567890123456789", "9", "thread", "5", "4"))

    assert isinstance(event, ButtonPress)
    assert (event.thread.channel, event.thread.thread) == ("5", "1234567890123456789")
    assert (event.category, event.dedupe_key) == ("4", "interaction/1100000000000000001")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"id": "x"}, "malformed"),
        ({"id": 1100000000000000001}, "malformed"),
        ({"token": ""}, "malformed"),
        ({"channel_id": "1e5"}, "malformed"),
        ({"member": {}}, "no_author"),
        ({"member": {"user": {"id": "1", "bot": True}}}, "no_author"),
        ({"data": {"custom_id": "other:1", "component_type": 2}}, "interaction.foreign"),
        ({"data": {"custom_id": "press:", "component_type": 2}}, "interaction.foreign"),
        ({"data": {"custom_id": f"press:{NONCE}", "component_type": 3}}, "interaction.type.3"),
        ({"data": None}, "interaction.type.3"),
        ({"type": 1, "data": {}}, "interaction.type.1"),
        ({"type": 4, "data": {"name": "status"}}, "interaction.type.4"),
        ({"type": 2, "data": {"name": "Report", "type": 3}}, "interaction.menu"),
    ],
)
def test_anything_else_is_dropped_under_a_name(changed: dict[str, Any], reason: str) -> None:
    assert parse_interaction(SHOWN | changed) == Dropped(reason)


@pytest.mark.parametrize("shape", ["label", "row"])
def test_words_of_a_form_are_read_in_either_shape(shape: str) -> None:
    box = {"type": 4, "custom_id": "answer", "value": " because \n"}
    row = {"type": 18, "component": box} if shape == "label" else {"type": 1, "components": [box]}

    form = parsed(type=5, data={"custom_id": f"ask:{NONCE}", "components": [row]})

    assert (form.kind, form.name, form.text) == ("submit", NONCE, "because")


def test_prompt_travels_in_the_id_of_its_button_and_back() -> None:
    prompt = "Why: should this not be run, and what should be done instead of it? " * 3
    custom_id = button_id(Button("No", NONCE, asks=prompt))
    row = {"type": 1, "components": [{"type": 2, "custom_id": custom_id, "label": "No"}]}
    asked = parsed(
        data={"custom_id": custom_id, "component_type": 2},
        message={"id": "22", "components": [row]},
    )

    assert len(custom_id) <= 100
    assert (asked.kind, asked.name, asked.label) == ("ask", NONCE, "No")
    assert prompt.startswith(asked.text)
    form = form_of(asked)
    assert form["custom_id"] == f"ask:{NONCE}"
    assert form["components"][0]["description"] == asked.text


@pytest.mark.parametrize(("kind", "number"), [("press", 6), ("submit", 6), ("command", 5)])
def test_first_answer_shows_nothing_to_others(kind: Any, number: int) -> None:
    done = Interaction("1", "t", "7", "", "5", parsed().presser, kind, "x")

    body = acknowledgement_of(done)

    assert body["type"] == number
    assert kind != "command" or body["data"] == {"flags": 64}


def test_every_verb_is_a_command_that_discord_takes() -> None:
    commands: list[Any] = define_commands()

    assert [command["name"] for command in commands] == list(COMMANDS) == list(SUMMARIES)
    assert all(re.fullmatch(r"[a-z]{1,32}", command["name"]) for command in commands)
    assert all(1 <= len(command["description"]) <= 100 for command in commands)
    assert all(not command["options"][0]["required"] for command in commands)


def test_commands_are_the_same_whatever_discord_adds_and_in_any_order() -> None:
    wanted: list[Any] = define_commands()
    known = [command | {"id": "1", "version": "2"} for command in reversed(wanted)]

    assert is_same(known, wanted)
    assert not is_same(known[1:], wanted)
    assert not is_same([*known, known[0] | {"name": "old"}], wanted)
    assert not is_same([known[0] | {"description": "x"}, *known[1:]], wanted)
    assert not is_same([known[0] | {"options": []}, *known[1:]], wanted)


@pytest.mark.parametrize(
    "body",
    [
        {"content": "@everyone"},
        {"content": "x", "allowed_mentions": {"parse": ["everyone"]}},
        {"components": []},
        {"type": 4, "data": {"content": "@here"}},
    ],
)
def test_gate_silences_every_body_that_says_something_dc_04(body: Any) -> None:
    quiet: Any = silence(body)

    said = quiet.get("data", quiet)
    assert said["allowed_mentions"]["parse"] == []


@pytest.mark.parametrize("body", [{"name": "thread"}, {"type": 9, "data": {"title": "t"}}])
def test_gate_leaves_what_says_nothing_as_it_is(body: Any) -> None:
    assert silence(body) == body


@pytest.mark.parametrize(
    ("plain", "shown"),
    [("a*b_c", "a\\*b\\_c"), ("# no\nheading", "\\# no heading"), ("[x](y)", "\\[x\\](y)")],
)
def test_plain_words_show_exactly_themselves(plain: str, shown: str) -> None:
    assert plain_words(plain) == shown
