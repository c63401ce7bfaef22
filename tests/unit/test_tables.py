"""Tables as text: columns as wide as a reader sees them."""

from channels.tables import draw_table, table_width


def test_columns_are_as_wide_as_a_reader_sees_them() -> None:
    rows = [["name", "x"], ["步骤", "1"], ["e\u0301a", "2"], ["👩‍👩‍👧‍👦", "3"], ["✈️", "4"]]

    lines = draw_table(rows).split("\n")

    bars = {table_width([[line[: line.index("|")]]]) for line in [lines[0], *lines[2:]]}
    assert len(bars) == 1


def test_width_counts_what_a_reader_sees() -> None:
    assert table_width([["✈️"], ["ab"]]) == 2
    assert table_width([["👩‍👩‍👧‍👦", "e\u0301"]]) == 2 + 3 + 1


def test_numbers_stand_to_the_right_where_the_source_says_so() -> None:
    assert draw_table([["a", "n"], ["b", "100"]], ["left", "right"]) == "a |   n\n--+----\nb | 100"


def test_nothing_is_drawn_of_nothing() -> None:
    assert draw_table([]) == ""
