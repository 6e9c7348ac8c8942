"""What every filtered table does, whatever its rows are: here numbers, of which the filter passes the even ones."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from events.search.row_numbers import RowNumbers
from events.search.search import search_rows
from tui.views.filtered_table import FilteredTable
from widgets.events.event_rows import EventColumn

BY_DIGIT = EventColumn("digit")


class Numbers:
    """Items `first` to `next - 1`: the numbers themselves, ten nanoseconds apart; every fifth is a mark."""

    def __init__(self, first: int = 0, after: int = 40) -> None:
        self.first, self.next, self.backlog = first, after, 0

    @property
    def marks(self):
        return sum(number % 5 == 0 for number in range(self.first, self.next))

    def number(self, row):
        return row

    def at(self, number):
        return number

    def at_time(self, ts):
        return min(max(self.first, -(-ts // 10)), self.next)

    def tick(self, budget):
        assert budget > 0

    def passing(self, events):
        return Even(self)

    def item(self, number):
        if not self.first <= number < self.next:
            raise IndexError(number)
        return str(number)

    def ts(self, number):
        return int(self.item(number)) * 10

    def sort(self, numbers, column, descending):
        assert column is BY_DIGIT and numbers == sorted(numbers)
        return sorted((n for n in numbers if n % 5), key=lambda n: n % 10, reverse=descending)

    def matcher(self, text):
        return lambda number: text in self.item(number)

    def find(self, text, rows, start, direction, budget):
        return search_rows(rows, self.matcher(text), start, direction, budget)


class Even:
    def __init__(self, numbers):
        self._numbers, self._kept, self._looked = numbers, RowNumbers(), numbers.first

    @property
    def first(self):
        return self._kept.drop_before(self._numbers.first)

    @property
    def next(self):
        return self._kept.next

    @property
    def backlog(self):
        return self._numbers.next - self._looked

    marks = 0

    def number(self, row):
        return self._kept.number(row)

    def at(self, number):
        return self._kept.at(number)

    def at_time(self, ts):
        return self._kept.at(self._numbers.at_time(ts))

    def tick(self, budget):
        import numpy as np

        found = [number for number in range(self._looked, self._numbers.next) if number % 2 == 0]
        self._kept.add(np.array(found, np.int64))
        self._looked = self._numbers.next


class Chosen:
    """Filter: its text, and an object for the events that pass, another one whenever it changed."""

    def __init__(self) -> None:
        self.text, self.renamed = "", False
        self._events: object = None

    def of(self, watch, store):
        return self._events

    def choose(self, text, watch):
        self.text, self._events = text, object() if text else None

    def names_changed(self, watch):
        if self.renamed:
            self._events = object()


@pytest.fixture
def table() -> FilteredTable[Numbers]:
    return FilteredTable(SimpleNamespace(), SimpleNamespace(), Numbers(), Chosen())


def items(table: FilteredTable[Numbers]) -> list[int]:
    return [int(table.item(row)) for row in range(table.first, table.next)]


def even(table: FilteredTable[Numbers]) -> None:
    table.choose("even")
    assert table.backlog == 40 and not items(table)
    assert not table.tick(1.0)


def test_all_items_are_rows_until_there_is_a_filter(table):
    assert items(table) == list(range(40)) and table.filter_text == "" and table.counts == (32, 32)
    even(table)
    assert items(table) == list(range(0, 40, 2)) and table.filter_text == "even" and table.counts == (20, 32)
    table.choose("")
    assert items(table) == list(range(40))


def test_an_item_has_a_place_that_no_filter_changes(table):
    assert (table.place(6), table.row_of(6), table.row_from(6)) == (6, 6, 6)
    even(table)
    assert (table.place(3), table.row_of(6), table.row_from(6)) == (6, 3, 3)
    assert (table.row_of(7), table.row_from(7)) == (None, 4), "it is hidden: the next is shown"
    assert table.place(20) is table.place(-1) is None
    table.items.first = 7
    assert (table.first, table.row_of(6), table.row_of(8), table.place(3)) == (4, None, 4, None), "6 was dropped"


def test_a_time_has_a_row_while_rows_are_in_order_of_time(table):
    assert (table.row_at(55), table.ts(6), table.row_at(391)) == (6, 60, None)
    even(table)
    assert (table.row_at(70), table.ts(4), table.row_at(381)) == (4, 80, None)
    assert table.ts(99) == 390, "of the newest where there is no such row"
    table.sort(BY_DIGIT, descending=False)
    assert table.row_at(70) is None
    assert FilteredTable(SimpleNamespace(), SimpleNamespace(), Numbers(0, 0), Chosen()).ts(0) == 0


@pytest.mark.parametrize("descending", [False, True])
def test_sorted_rows_are_of_one_moment(table, descending):
    even(table)
    table.sort(BY_DIGIT, descending)
    digits = [2, 4, 6, 8][:: -1 if descending else 1]
    assert items(table) == [digit + ten for digit in digits for ten in (0, 10, 20, 30)]
    assert table.order == (BY_DIGIT, descending) and table.counts == (16, 32)
    assert table.place(0) == digits[0] and table.row_of(3) is None
    assert [table.row_of(number) for number in items(table)] == list(range(16)), "rows in the order that is shown"
    with pytest.raises(IndexError):
        table.number(-1)
    before = items(table)
    table.items.next = 50
    table.tick(1.0)
    assert items(table) == before
    table.filter.renamed = True
    assert not table.names_changed() and items(table) == before
    table.items.first = 3
    assert table.row_of(2) is None and table.row_of(4) is not None, "2 was dropped"
    table.items.first = 0
    table.unsort()
    table.tick(1.0)
    assert items(table) == list(range(0, 50, 2)) and table.order is None


def test_the_order_of_time_is_restored_by_another_filter_but_not_by_new_names(table):
    table.sort(BY_DIGIT, descending=False)
    assert not table.sync() and table.order
    table.filter.choose("even", None)
    assert table.sync() and table.order is None
    assert not table.names_changed(), "they change nothing"
    table.filter.renamed = True
    assert table.names_changed()


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("text", ["", "even"])
@pytest.mark.parametrize("ordered", [False, True])
def test_a_search_goes_through_the_rows_as_they_stand(table, text, ordered, direction):
    table.choose(text)
    table.tick(1.0)
    if ordered:
        table.sort(BY_DIGIT, descending=True)
    rows, found = range(table.first, table.next), []
    at = rows[0] if direction > 0 else rows[-1]
    while (step := table.find("2", at, direction, 1.0)).seq is not None:
        assert step.done
        found.append(step.seq)
        at = step.next
    assert step.done
    assert found == [row for row in rows[::direction] if "2" in table.item(row)]


def test_a_search_takes_no_longer_than_it_may_and_passes_dropped_items(table):
    step = table.find("3", 0, 1, 0.0)
    assert (step.seq, step.next, step.done) == (None, 1, False)
    table.sort(BY_DIGIT, descending=False)
    table.items.first = 39
    assert table.item(table.find("3", 0, 1, 1.0).seq) == "39", "rows before are of dropped items"
