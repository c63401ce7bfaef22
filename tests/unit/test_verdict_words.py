"""Every rule that can decide about an answer has one sentence."""

from __future__ import annotations

from geode.reply.verdicts import RULES, describe_rule


def test_sentences_are_plain_and_each_its_own() -> None:
    assert len(set(RULES.values())) == len(RULES)
    assert all(each.endswith(".") and "_" not in each for each in RULES.values())


def test_unknown_rule_is_named() -> None:
    assert describe_rule("passed") == "It passed its check."
    assert describe_rule("of_tomorrow") == "Its rule is of_tomorrow."
