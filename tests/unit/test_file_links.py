"""Links to files are found as a Markdown parser finds them, and leave their words behind."""

from __future__ import annotations

import pytest

from geode.reply.links import find_file_links, take_out_links


def split(markdown: str) -> tuple[list[str], str]:
    links = find_file_links(markdown)
    targets = [link.target for link in links]
    return targets, take_out_links(markdown, links, targets)


@pytest.mark.parametrize(
    ("markdown", "targets", "left"),
    [
        ("See [Report](report.pdf).", ["report.pdf"], "See Report."),
        ("![chart](out/chart.png)", ["out/chart.png"], "chart"),
        ("[a](<my file.txt>)", ["my%20file.txt"], "a"),
        ('[a](a.txt "title") [b](./b.txt)', ["a.txt", "./b.txt"], "a b"),
        ("`[a](a.txt)` and [a](a.txt)", ["a.txt"], "`[a](a.txt)` and a"),
        ("[a](a.txt) [a](a.txt)", ["a.txt", "a.txt"], "a a"),
        ("**[x *y*](x.txt)**", ["x.txt"], "**x *y***"),
        ("> one [q](q.txt)\n> two [r](r.txt)", ["q.txt", "r.txt"], "> one q\n> two r"),
        ("- [ ] [i](i.txt)\n- [j](j.txt)", ["i.txt", "j.txt"], "- [ ] i\n- j"),
        ("|a|b|\n|-|-|\n|[c](c)|[c](c)|", ["c", "c"], "|a|b|\n|-|-|\n|c|c|"),
        ("[r][1]\n\n[1]: r.txt", ["r.txt"], "r\n\n[1]: r.txt"),
        ("[![alt](in.png)](out.pdf)", ["out.pdf", "in.png"], "alt"),
        ("[](empty.txt)", ["empty.txt"], "empty.txt"),
        ("[up](../x)", ["../x"], "up"),
    ],
)
def test_link_to_a_file_becomes_its_label(markdown: str, targets: list[str], left: str) -> None:
    assert split(markdown) == (targets, left)


@pytest.mark.parametrize(
    "markdown",
    [
        "[a](https://example.com/a.pdf)",
        "[a](mailto:a@example.com)",
        "[a](/etc/passwd)",
        "[a](//example.com/x)",
        "[a](#part)",
        "[a](www.example.com)",
        "```\n[a](a.txt)\n```",
        "    [a](a.txt)",
        "`[a](a.txt)`",
        r"\[a](a.txt)",
        "![alt [l](x.txt)](https://example.com/a.png)",
        "plain words",
        "",
    ],
)
def test_everything_else_stays_as_it_is(markdown: str) -> None:
    assert split(markdown) == ([], markdown)


def test_link_is_only_taken_out_where_its_target_was() -> None:
    links = find_file_links("[a](a.txt) [b](b.txt)")

    assert take_out_links("[a](a.txt) [b](b.txt)", links, {"b.txt"}) == "[a](a.txt) b"


def test_target_is_tried_without_its_escapes_and_its_fragment() -> None:
    (link,) = find_file_links("[a](my%20file.pdf#page=2)")

    assert link.spellings == ("my file.pdf#page=2", "my%20file.pdf#page=2", "my file.pdf")
