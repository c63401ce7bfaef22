"""What people read on a card is what will be decided, whole and visible, without our secrets."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode.cli.reports import report_effects
from geode.messages import Button, Card, ReceiptId, SessionId, TurnId
from geode.reply.cards import keep_nonces, redact_card, say_card
from geode.reply.effect_cards import (
    ARGUMENTS_CHARS_MAX,
    ask_about_effect,
    describe_person,
    show_settled,
)
from geode.reply.escaping import escape_unseen, quote_name
from geode.reply.redaction import Redactor
from geode.steps import Effect
from geode.store.card_json import card_from_json, card_to_json
from geode.store.receipts import Receipt, ReceiptState

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
BUTTON = st.builds(Button, TEXT, TEXT, st.sampled_from(("plain", "primary", "danger")), TEXT)
CARD = st.builds(
    Card,
    TEXT,
    TEXT,
    st.lists(st.tuples(TEXT, TEXT), max_size=10).map(tuple),
    st.lists(BUTTON, max_size=5).map(tuple),
)
NONCE = "sk-abcdefghij0123456789"[:22]
"""As random as any, and a secret by its looks."""


def make_receipt(arguments: str) -> Receipt:
    return Receipt(
        id=ReceiptId("r0123456789abcdef"),
        session_id=SessionId("s1"),
        turn_id=TurnId("t1"),
        binding="loop:T1/C1",
        tool="send_parcel",
        effect=Effect.COMMUNICATE,
        call_id="c1",
        arguments=arguments,
        state=ReceiptState.UNCERTAIN,
        result="",
        error="",
        prepared_at_us=0,
        settled_at_us=0,
        settled_by="",
    )


@given(CARD)
def test_card_comes_back_from_its_json(card: Card) -> None:
    assert card_from_json(card_to_json(card)) == card


def test_no_card_is_the_empty_text() -> None:
    assert card_to_json(None) == ""
    assert card_from_json("") is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pay\u202e001", "pay\\u202e001"),
        ("a\u200bb\u00adc\ufeffd", "a\\u200bb\\u00adc\\ufeffd"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("\u3164\u115f\u2800\ufe0f", "\\u3164\\u115f\\u2800\\ufe0f"),
        ("\U000e0041\U000e0100", "\\udb40\\udc41\\udb40\\udd00"),
        ("a\u00a0b\u2003c\u2028d", "a\\u00a0b\\u2003c\\u2028d"),
        ("\ue000\ud800", "\\ue000\\ud800"),
        ("plain Grüße, 日本語, emoji 🙂\n", "plain Grüße, 日本語, emoji 🙂\n"),
    ],
)
def test_characters_that_are_not_seen_as_themselves_are_escaped(text: str, shown: str) -> None:
    assert escape_unseen(text) == shown


@given(st.text(max_size=60))
def test_escaped_arguments_are_the_same_json(text: str) -> None:
    arguments = json.dumps({"text": text}, ensure_ascii=False)

    shown = escape_unseen(arguments)

    assert json.loads(shown) == json.loads(arguments)
    assert escape_unseen(shown) == shown


def test_arguments_cannot_leave_their_code_block() -> None:
    card = ask_about_effect(make_receipt('{"text":"```\\n# Approved by Ada"}'), "").card

    assert card.body.count("```") == 2
    assert card.body.endswith("\n```")


@pytest.mark.parametrize("size", [ARGUMENTS_CHARS_MAX, ARGUMENTS_CHARS_MAX + 1])
def test_arguments_are_shown_whole_or_not_at_all(size: int) -> None:
    arguments = json.dumps({"text": ""})
    arguments = json.dumps({"text": "x" * (size - len(arguments))})

    body = ask_about_effect(make_receipt(arguments), "").card.body

    assert (arguments in body) is (size <= ARGUMENTS_CHARS_MAX)
    assert ("geode effects list" in body) is (size > ARGUMENTS_CHARS_MAX)
    assert ("xxx" in body) is (size <= ARGUMENTS_CHARS_MAX)
    assert len(say_card(ask_about_effect(make_receipt(arguments), "").card)) < 2_000


def test_effects_list_shows_the_arguments_of_an_uncertain_effect_whole() -> None:
    arguments = json.dumps({"text": "x" * 5_000 + "\u202eend"}, ensure_ascii=False)
    row = {
        "id": "r1",
        "session": "s1",
        "tool": "send_parcel",
        "state": "uncertain",
        "error": "unknown",
        "arguments": arguments,
        "prepared_at_us": 1,
    }

    report = report_effects({"effects": [row], "replies": []})

    assert f"{'x' * 5_000}\\u202eend" in report


@pytest.mark.parametrize("place", ["title", "body", "fields", "label", "asks", "rendered"])
def test_secret_is_taken_out_of_a_card_and_its_nonces_stay(place: str) -> None:
    secret = "correct-horse-battery"
    redact = Redactor([secret, NONCE[5:12]]).redact
    card = Card("t", "b", (("n", "v"),), (Button("l", NONCE, "plain", "a"),))
    changed = {
        "title": replace(card, title=secret),
        "body": replace(card, body=secret),
        "fields": replace(card, fields=((secret, secret),)),
        "label": replace(card, buttons=(replace(card.buttons[0], label=secret),)),
        "asks": replace(card, buttons=(replace(card.buttons[0], asks=secret),)),
        "rendered": card,
    }[place]

    clean = redact_card(changed, redact)
    sent = keep_nonces(clean, redact)(json.dumps([card_to_json(clean), f"c:{NONCE}", secret]))

    assert secret not in card_to_json(clean)
    assert clean.buttons[0].nonce == NONCE
    assert secret not in sent
    assert json.loads(sent)[1:] == [f"c:{NONCE}", "[redacted]"]
    assert redact(NONCE) != NONCE


def test_name_of_the_decider_is_inert_and_beside_the_id() -> None:
    name = "[Ada](https://evil.example)\u202e <@U9>\n# Boss " + "x" * 200

    who = describe_person("slack:U01", name)

    assert who.endswith(" (`U01`)")
    assert "\n" not in who
    assert "\u202e" not in who
    assert "[Ada](" not in who
    assert r"\<@U9\>" in who
    assert len(who) < 300
    assert describe_person("slack:U01", " ") == "`U01`"
    assert describe_person("runtime") == "the runtime, which looked"
    assert quote_name("Ada Lovelace") == "Ada Lovelace"


def test_settled_card_says_who_what_and_when_without_a_question() -> None:
    receipt = replace(make_receipt('{"text":"to Ada"}'), result="happened")

    card = show_settled(receipt, "Ada (`U01`)", 1_700_000_000_000_000)

    assert card.buttons == ()
    assert card.title == "Settled: send_parcel"
    assert card.body.startswith("**It happened.** Settled by Ada (`U01`), 2023-11-14 22:13 UTC.")
    assert '{"text":"to Ada"}' in card.body
    assert "geode effects settle" not in say_card(card)
