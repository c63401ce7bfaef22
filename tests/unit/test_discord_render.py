"""Markdown for Discord: within the limit, fences whole, nothing that pings or hides."""

import pytest

from channels.discord.render import content_of, message_fields, render_parts
from channels.discord.silence import silence
from geode.messages import OutboundBody, Part


def texts(markdown: str) -> list[str]:
    return [content_of(part) for part in render_parts(OutboundBody(markdown))]


def code_lines(parts: list[str]) -> list[str]:
    return [line for part in parts for line in part.split("\n") if not line.startswith("```")]


LONG = [f"value_{number:03} = {number:012}" for number in range(300)]
SOURCES = {
    "300 lines": ("intro\n```py\n" + "\n".join(LONG) + "\n```\nDone.", ["intro", *LONG, "Done."]),
    "break at 1,998": (
        "```\n" + "x" * 1993 + "\n" + "y" * 300 + "\n```",
        ["x" * 1992, "x", "y" * 300],
    ),
    "info of 1,990": ("```" + "i" * 1990 + "\n" + "\n".join(LONG) + "\n```", ["i" * 1990, *LONG]),
    "tildes": ("~~~sh\n" + "\n".join(LONG) + "\n~~~", LONG),
}


@pytest.mark.parametrize(("markdown", "lines"), SOURCES.values(), ids=SOURCES.keys())
def test_code_is_split_with_its_fence_dc_01(markdown: str, lines: list[str]) -> None:
    parts = texts(markdown)

    assert all(len(part) <= 2000 for part in parts)
    assert all(part.count("```") == 2 for part in parts)
    assert "".join(code_lines(parts)) == "".join(lines)


def test_line_of_5_000_inside_a_fence_is_cut_and_kept_dc_01() -> None:
    parts = texts("```\n" + "z" * 5000 + "\n```")

    assert all(len(part) <= 2000 and part.count("```") == 2 for part in parts)
    assert "".join(code_lines(parts)) == "z" * 5000


PLAIN = {
    "prose": ("**bold** and `code`", "**bold** and `code`"),
    "person": ("hi <@123>", "hi \\<@123>"),
    "role": ("hi <@&123>", "hi \\<@&123>"),
    "channel": ("see <#5>", "see \\<#5>"),
    "command": ("use </do it:5>", "use \\</do it:5>"),
    "moment": ("at <t:1>", "at \\<t:1>"),
    "emoji": ("<:name:5> <a:name:5>", "\\<:name:5> \\<a:name:5>"),
    "everyone": ("@everyone @here", "\\@everyone \\@here"),
    "in code": ("`<@123> @everyone`", "`<@123> @everyone`"),
    "in a block": ("```\n<@123> || @here\n```", "```\n<@123> || @here\n```"),
    "comparison": ("a < b", "a < b"),
    "spoiler": ("a || b || c", "a \\|\\| b \\|\\| c"),
    "label": ("[here](https://e.org/a_(b))", "here (<https://e.org/a_(b)>)"),
    "label that is the address": ("[https://e.org](https://e.org)", "https://e.org"),
    "image": ("![cat](https://e.org/c.png)", "cat (<https://e.org/c.png>)"),
    "address with signs": ("https://e.org/@here||x", "https://e.org/@here||x"),
    "deep heading": ("#### Title", "**Title**"),
    "heading": ("## Title", "## Title"),
    "indented code": ("x\n\n    a = <@1>\n\ny", "x\n\n```\na = <@1>\n```\n\ny"),
    "fence in a fence": ("````\n```\n````", "```\n`\u200b`\u200b`\n```"),
    "empty": ("", "(no text)"),
}


@pytest.mark.parametrize(("markdown", "text"), PLAIN.values(), ids=PLAIN.keys())
def test_markdown_means_only_what_we_meant(markdown: str, text: str) -> None:
    assert texts(markdown) == [text]


def test_table_becomes_a_drawing() -> None:
    table = "| a | b |\n|---|---|\n| 1 | long |\n\nend"

    assert texts(table) == ["```\na | b\n--+-----\n1 | long\n```\n\nend"]


def test_plain_words_of_a_part_are_what_was_written() -> None:
    (part,) = render_parts(OutboundBody("<@1> @everyone a || b"))

    assert part.plain == "<@1> @everyone a || b"
    assert content_of(Part({}, part.plain)) == content_of(part)


def test_plain_part_is_cut_to_the_limit() -> None:
    assert len(content_of(Part({}, "x" * 3000))) == 2000


def test_every_message_is_silent_about_mentions_dc_04() -> None:
    (part,) = render_parts(OutboundBody("@everyone"))

    assert silence(message_fields(part))["allowed_mentions"]["parse"] == []
