"""Tables as text: columns where they fit, a line for each cell where they do not."""

from channels.tables import COLUMNS_MAX, draw_table, width_of


def test_columns_are_as_wide_as_a_reader_sees_them() -> None:
    rows = [["name", "x"], ["步骤", "1"], ["e\u0301a", "2"], ["👩‍👩‍👧‍👦", "3"]]

    lines = draw_table(rows).split("\n")

    bars = {width_of(line[: line.index("|")]) for line in [lines[0], *lines[2:]]}
    assert len(bars) == 1


def test_table_that_is_too_wide_is_told_row_by_row_under_the_names() -> None:
    rows = [["name", "what it does"], ["alpha", "w" * COLUMNS_MAX], ["beta", "short"]]

    assert draw_table(rows) == (
        f"name: alpha\nwhat it does: {'w' * COLUMNS_MAX}\n\nname: beta\nwhat it does: short"
    )


def test_head_alone_is_drawn_however_wide_it_is() -> None:
    assert "w" * 100 in draw_table([["w" * 100, "b"]])


def test_nothing_is_drawn_of_nothing() -> None:
    assert draw_table([]) == ""
