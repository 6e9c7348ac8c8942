"""A line of the tree of calls takes the columns there are, whatever letters foreign text has."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from widgets.events.graph_pane import nanoseconds
from widgets.events.graph_rows import GraphRows, GraphText
from widgets.events.hot_rows import TITLES, HotRows, HotText
from widgets.number_format import decade_bar
from widgets.safe_text import width

FOREIGN = st.text(st.sampled_from("ab漢字ｆé\u0301\x1b\u202e "), max_size=60)


class One:
    """A source of one line."""

    first, next, all_tasks, slow = 0, 1, True, 0

    def __init__(self, line: GraphText) -> None:
        self.line = line

    def text(self, place: int) -> GraphText:
        return self.line


@given(FOREIGN, FOREIGN, FOREIGN, FOREIGN, st.integers(0, 40), st.integers(60, 160))
def test_wide_letters_move_no_column(name, arguments, task, note, level, columns):
    rows = GraphRows(One(GraphText(1, task, level, None, name, arguments, "0", duration=1_234, note=note)))  # type: ignore[arg-type]
    rows.prepare(0, 1)
    texts = [piece.text for piece in rows.pieces(0, columns)]
    assert sum(map(width, texts)) == columns
    took = next(n for n, text in enumerate(texts) if text.endswith("1.23 us"))
    header = "".join(piece.text for piece in rows.header(columns))
    assert sum(map(width, texts[: took + 1])) == header.index("took") + len("took")


def test_what_no_number_can_hold_is_no_time():
    assert nanoseconds("9" * 400 + " s") is None
    assert nanoseconds("1.5 ms") == 1_500_000


class Several(One):
    """A source of several lines."""

    def __init__(self, *lines: GraphText) -> None:
        self.lines, self.next = lines, len(lines)

    def text(self, place: int) -> GraphText:
        return self.lines[place]


def drawn(rows: GraphRows | HotRows, row: int, columns: int) -> str:
    return "".join(piece.text for piece in rows.pieces(row, columns))


def test_each_level_has_a_guide_and_names_get_the_columns_that_nothing_else_needs():
    outer = GraphText(1, "cat-8", 0, False, "vfs_read", "(count=4096)", duration=9_000, self_time=8_000)
    inner = GraphText(2, "cat-8", 2, None, "a" * 200, duration=500)
    rows = GraphRows(Several(outer, inner))  # type: ignore[arg-type]
    rows.prepare(0, 2)
    assert "▾ vfs_read(count=4096)" in drawn(rows, 0, 120)
    assert f"│ │   {'a' * 40}" in drawn(rows, 1, 120)
    assert drawn(rows, 1, 120).count("a") > 70, "no result was recorded, and times and tasks are short"
    assert "ret" not in "".join(piece.text for piece in rows.header(120))
    deep = GraphRows(Several(inner._replace(level=20, name="b" * 99)))  # type: ignore[arg-type]
    assert drawn(deep, 0, 80).count("b") > 20, "guides stand close where there are many"
    with_result = GraphRows(Several(outer._replace(returned="-ENOENT", failed=True), inner))  # type: ignore[arg-type]
    assert with_result.prepare(0, 2)
    assert not with_result.prepare(0, 2), "nothing became wider"
    assert "-ENOENT" in drawn(with_result, 0, 120)


@given(st.integers(0, 10**12), st.integers(0, 10**12), st.integers(1, 20))
def test_a_column_of_a_bar_is_ten_times_as_long(one, other, columns):
    shorter, longer = sorted((one, other))
    assert width(decade_bar(one, columns)) == columns
    assert decade_bar(shorter, columns).count("█") <= decade_bar(longer, columns).count("█")
    assert (decade_bar(one, columns).strip() == "") == (one == 0)


def test_bars_begin_at_a_tenth_of_a_microsecond():
    full = [decade_bar(10**power, 8).count("█") for power in range(2, 12)]
    assert full == [0, 1, 2, 3, 4, 5, 6, 7, 8, 8]


@given(st.integers(40, 200), st.booleans(), st.integers(1, 60))
def test_hot_spots_leave_out_what_does_not_fit_and_end_in_a_bar(columns, failed, length):
    spot = HotText("f" * length, 1_020, 35_500_000, 63_600_000, 3_970, 12_300, 29_500_000, 3 if failed else 0)
    rows = HotRows([spot, spot._replace(self_time=1)])
    rows.prepare(0, 2)
    header = "".join(piece.text for piece in rows.header(columns))
    line = drawn(rows, 0, columns)
    assert width(line) == rows.total(columns)
    assert width(line) <= max(columns, 80)
    assert line.rstrip().endswith("█" * 8)
    assert {"function", "calls", "self", "total"} <= set(header.split())
    assert ("errors" in header) <= failed
    if columns >= 120:
        assert set(TITLES) - set(header.split()) == (set() if failed else {"errors"})
