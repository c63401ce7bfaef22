"""Cards and progress as Block Kit: within every limit, and nothing in them pings."""

import pytest

from channels.rehearsal.slack_rules import check_message
from channels.slack.cards import has_plan, render_body, without_plan
from geode.messages import Button, Card, JsonObject, OutboundBody, Part, ProgressStep

NONCE = "abcdefghijklmnopqrstuv"


def parts(card: Card, instead: str = "") -> tuple[Part, ...]:
    return render_body(OutboundBody(instead, "card", card))


def blocks(part: Part) -> list[JsonObject]:
    shown = part.payload["blocks"]
    assert isinstance(shown, list)
    return [block for block in shown if isinstance(block, dict)]


def kinds(part: Part) -> list[str]:
    return [str(block["type"]) for block in blocks(part)]


CARD = Card(
    title="Approve *this*?",
    body="Runs `rm` on **two** files.",
    fields=(("Tool", "run_bash"), ("Asked by", "<@U1>")),
    buttons=(
        Button("Approve", NONCE, "primary"),
        Button("Deny", NONCE + "2", "danger", asks="Why?"),
        Button("Show", NONCE + "3"),
    ),
)


def test_card_is_header_fields_body_and_buttons() -> None:
    (part,) = parts(CARD)

    assert kinds(part) == ["header", "section", "section", "actions"]
    header, fields, body, actions = blocks(part)
    assert header["text"] == {"type": "plain_text", "text": "Approve *this*?", "emoji": False}
    assert "*Tool*\nrun_bash" in str(fields).replace("\\n", "\n")
    assert "Runs `rm` on *two* files." in str(body)
    assert check_message(part.payload) == ""
    assert len(str(actions)) > 0


def test_buttons_carry_nonce_style_and_prompt() -> None:
    (part,) = parts(CARD)
    elements = blocks(part)[-1]["elements"]

    assert isinstance(elements, list)
    shown = [e for e in elements if isinstance(e, dict)]
    assert [e["action_id"] for e in shown] == [
        f"press:{NONCE}",
        f"ask:{NONCE}2",
        f"press:{NONCE}3",
    ]
    assert [e.get("style") for e in shown] == ["primary", "danger", None]
    assert [e.get("value") for e in shown] == [None, "Why?", None]


def test_decided_card_has_no_buttons() -> None:
    (part,) = parts(Card("Approved", "by @ana"))

    assert kinds(part) == ["header", "section"]


def test_card_means_nothing_that_was_not_said() -> None:
    hostile = "<!channel> <@U1> & `<#C1>`"
    (part,) = parts(Card(hostile, hostile, ((hostile, hostile),), (Button(hostile, NONCE),)))

    assert not any(sign in str(part.payload) for sign in ("<!", "<@", "<#"))


@pytest.mark.parametrize("size", [10, 2_999, 3_000, 9_000, 30_000])
def test_card_of_any_size_is_shown_whole_with_its_buttons_last(size: int) -> None:
    body = " ".join(f"word{number}" for number in range(size // 8))
    fields = tuple((f"Name {n}", "value & more " * (size // 200)) for n in range(10))
    found = parts(Card("T" * 400, body, fields, CARD.buttons))

    shown = "".join(str(part.payload["blocks"]) for part in found)
    assert all(f"word{number}" in shown for number in range(size // 8))
    assert [check_message(part.payload, is_update=True) for part in found] == [""] * len(found)
    assert [kinds(part)[-1] == "actions" for part in found] == [False] * (len(found) - 1) + [True]
    assert kinds(found[0])[0] == "header"


def test_long_value_becomes_a_paragraph_of_its_own() -> None:
    (part,) = parts(Card("T", "body", (("Arguments", "x" * 500),)))

    assert kinds(part) == ["header", "section"]
    assert "x" * 500 in str(part.payload["blocks"])


def test_empty_card_is_still_a_message() -> None:
    (part,) = parts(Card("Decide", buttons=CARD.buttons))

    assert kinds(part) == ["header", "actions"]
    assert check_message(part.payload) == ""


def test_plain_text_of_a_card_is_what_stands_instead() -> None:
    assert parts(CARD, "Answer with !approve")[0].plain == "Answer with !approve"
    assert "Approve *this*?" in parts(CARD)[0].plain


STEPS = (
    ProgressStep("read_file", "done"),
    ProgressStep("web_fetch", "failed"),
    ProgressStep("grep_files"),
)


def test_progress_is_a_plan_of_its_steps() -> None:
    (part,) = render_body(
        OutboundBody("Working on it: *grep_files* · 3 s", "progress", None, STEPS)
    )

    (plan,) = blocks(part)
    tasks = plan["tasks"]
    assert isinstance(tasks, list)
    assert [(t["title"], t["status"]) for t in tasks if isinstance(t, dict)] == [
        ("read_file", "complete"),
        ("web_fetch", "error"),
        ("grep_files", "in_progress"),
    ]
    assert str(plan["title"]).startswith("Working on it")
    assert check_message(part.payload) == ""
    assert str(part.payload["text"]).startswith("Working on it")


def test_progress_without_its_plan_is_its_line() -> None:
    (part,) = render_body(OutboundBody("Working on it", "progress", None, STEPS))

    assert has_plan(part.payload)
    assert not has_plan(without_plan(part.payload))
    assert "read_file" not in str(without_plan(part.payload))
    assert check_message(without_plan(part.payload)) == ""


def test_long_progress_shows_its_newest_steps_under_ids_of_their_own() -> None:
    steps = tuple(ProgressStep(f"tool {n}", "done") for n in range(100))
    (part,) = render_body(OutboundBody("Working on it", "progress", None, steps))

    (plan,) = blocks(part)
    assert "tool 99" in str(plan)
    assert "tool 10'" not in str(plan)
    assert check_message(part.payload) == ""


def test_progress_without_steps_is_text() -> None:
    (part,) = render_body(OutboundBody("Working on it", "progress"))

    assert kinds(part) == ["section"]
