"""Rows of a table that is replaced as a whole, in the order of a column."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from widgets.columns import ASCENDING, DESCENDING, TableColumns
from widgets.lists.row_order import OrderedRows, RowOrder, sort_key
from widgets.number_format import duration, grouped, short
from widgets.safe_text import width

NUMBERS = st.integers(0, 10**13)
CELLS = st.one_of(
    st.text(max_size=8), st.integers(-5, 5), st.sampled_from(["", " ", "1,204", "2.00 ms", "10 us", "0xff"])
)


@given(NUMBERS, NUMBERS)
def test_numbers_are_in_order_as_people_read_them(one: int, other: int) -> None:
    one, other = sorted((one, other))
    for written in (duration, grouped, short, str):
        first, second = sort_key(written(one)), sort_key(written(other))
        assert first is not None and second is not None
        assert first <= second, (written(one), written(other))
        if written in (grouped, str):
            assert (first == second) == (one == other)


def test_units_count() -> None:
    texts = ["812 ns", "3.21 us", "18.2 ms", "1.20 s", "43.9k", "310M", "cat", "head"]
    assert sorted([*texts[4:], *texts[:4]], key=lambda text: sort_key(text) or (0, 0.0, "")) == texts
    assert sort_key("12.3k/s") == sort_key("12,300") == sort_key(12300)
    assert sort_key("  ") is None and sort_key("1" * 400) == (1, 0.0, "1" * 400)


@given(st.lists(st.tuples(CELLS, CELLS), max_size=12), st.lists(st.sampled_from([0, 1, None]), max_size=6))
def test_no_row_is_lost_and_the_third_time_all_are_as_they_came(rows, clicks) -> None:
    ordered: OrderedRows[tuple[str | int, ...]] = OrderedRows(("a", "b"), lambda _: None)
    ordered.take(rows)
    for column in clicks:
        ordered.sort(column)
        assert [rows[ordered.number(n)] for n in range(len(rows))] == ordered.rows
        assert sorted(map(ordered.number, range(len(rows)))) == list(range(len(rows)))
        if (by := ordered.order.column) is not None:
            keys = [sort_key(row[by]) for row in ordered.rows]
            there = [key for key in keys if key is not None]
            assert keys == [*there, *([None] * (len(keys) - len(there)))], "rows without a value are at the end"
            assert there == sorted(there, reverse=ordered.order.descending)
    order = RowOrder().by(0, rows)
    assert order.turned(rows).descending != order.descending
    assert order.turned(rows).turned(rows) == RowOrder()


@given(st.lists(st.text("ab ", min_size=1, max_size=12), min_size=1, max_size=6), st.integers(10, 90), st.data())
def test_each_place_of_a_header_is_of_the_column_below_it(titles, columns, data) -> None:
    table = TableColumns(titles)
    column = data.draw(st.integers(0, len(titles) - 1))
    table.order = column, data.draw(st.booleans())
    assert table.heading(column)[-1] in (ASCENDING, DESCENDING)
    after = 0
    for n, size in enumerate(table.widths(columns)):
        assert size >= (width(table.heading(n)) if n == column else 1)
        assert {table.at(x, columns) for x in range(after, after + size + 2)} == {n}
        after += size + 2
    assert table.at(after, columns) is None and table.at(-1, columns) is None
