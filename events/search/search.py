"""Search through a store in bounded steps, so that a screen never waits.

A match that can narrow down whole columns (`Sieve`) does so first, and only the remaining rows are decoded: five
million events take a second or two. Any other match decodes every record.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np

from events.format import EventFormat, Field, FieldKind
from events.record import Record
from events.store.outage_mark import task_text
from events.text import show

if TYPE_CHECKING:
    from events.store.columns import Mask, StoreColumns
    from events.store.store import Store
from events.names.number_names import NumberFormat

Match = Callable[[Record], bool]

_STRIDE = 32
"""Records between two checks of the time."""
_LARGEST_PIECE = 1 << 14
"""Maximum rows passed to a sieve between two checks of the time."""
_SIEVE_RATE = 1_000_000
"""Rows per second that a sieve processes even on a busy machine."""


class NumberedRows(Protocol):
    """Rows `first` to `next - 1`, each of an item with a number."""

    @property
    def first(self) -> int:
        """Oldest row."""

    @property
    def next(self) -> int:
        """Number of the next row."""

    def number(self, row: int) -> int:
        """Return the number of a row's item. Raises IndexError if there is no such row."""


class SearchStep(NamedTuple):
    """Result of one step of a search."""

    seq: int | None
    """Row that matches; None: none found yet."""
    next: int
    """Sequence number at which the next step must start."""
    done: bool
    """True if a row was found, or there are no more rows in this direction."""


class RowSelection(Protocol):
    """Rows of numbered items in order of time: the events of a store by sequence number, or calls."""

    @property
    def first(self) -> int:
        """Number of the oldest row."""

    @property
    def next(self) -> int:
        """Number that the next row will get."""

    @property
    def marks(self) -> int:
        """Number of rows that are no items, but marks between them."""

    @property
    def backlog(self) -> int:
        """Number of events or items not tested yet."""

    def number(self, row: int) -> int:
        """Return the number of a row's item. Raises IndexError if there is no such row."""

    def at(self, number: int) -> int:
        """Return the first row whose item has at least a number; `next` if there is none."""

    def at_time(self, ts: int) -> int:
        """Return the first row that is not older than a time in nanoseconds; `next` if all are older."""

    def tick(self, budget: float) -> None:
        """Test new items for about `budget` seconds."""


@runtime_checkable
class Sieve(Protocol):
    """Match that can test many rows at once."""

    def __call__(self, record: Record) -> bool:
        """Return whether the record matches."""

    def candidates(self, columns: StoreColumns) -> Mask:
        """Return a mask of the rows that may match, including all rows that do."""


class LineStyle(Protocol):
    """Format of a record as one line: `comm-pid event name=value name=value`."""

    def text(self, record: Record) -> str:
        """Return the line of a record."""

    def fields(self, fmt: EventFormat) -> Sequence[Field]:
        """Return the fields that the line contains, in order."""

    def reading(self, fmt: EventFormat, field: Field) -> NumberFormat:
        """Return the format of a single-number field."""


class PlainStyle:
    """Line style with all fields, without names of values."""

    def text(self, record: Record) -> str:
        """Return the line; see `plain_text`."""
        return plain_text(record)

    def fields(self, fmt: EventFormat) -> Sequence[Field]:
        """Return all fields."""
        return fmt.fields

    def reading(self, fmt: EventFormat, field: Field) -> NumberFormat:  # noqa: ARG002 - no format is special
        """Return the number format that `show` uses."""
        return NumberFormat(names=lambda value: show(bool(value))) if field.kind is FieldKind.BOOL else NumberFormat()


def plain_text(record: Record) -> str:
    """Return a record as one line for searching: task, event and all values."""
    if record.text:
        return f"{task_text(record.comm, record.pid, record.event)} {record.event} {record.text}"
    values = " ".join(f"{name}={show(value)}" for name, value in record.values.items())
    return f"{task_text(record.comm, record.pid, record.event)} {record.event} {values}"


PLAIN = PlainStyle()


def step(
    store: Store, match: Match, start: int, direction: int, budget: float, events: frozenset[int] | None
) -> SearchStep:
    """Test rows from `start` on until one matches, the rows end, or `budget` seconds have passed."""
    deadline = time.monotonic() + budget
    seq = max(start, store.first_seq) if direction > 0 else min(start, store.next_seq - 1)
    size = _STRIDE
    if isinstance(match, Sieve):  # each piece has a fixed cost, however short it is
        size = min(max(size, int(budget * _SIEVE_RATE)), _LARGEST_PIECE)
    while store.first_seq <= seq < store.next_seq:
        rows, after = _next_candidates(store, match, seq, direction * size, events)
        for count, row in enumerate(rows, 1):
            if match(store.record(row)):
                return SearchStep(row, row + direction, True)
            if count % _STRIDE == 0 and time.monotonic() >= deadline:
                return SearchStep(None, row + direction, False)
        seq = after
        if time.monotonic() >= deadline:
            break
    return SearchStep(None, seq, not store.first_seq <= seq < store.next_seq)


def _next_candidates(
    store: Store, match: Match, seq: int, distance: int, events: frozenset[int] | None
) -> tuple[Sequence[int], int]:
    """Return (rows that may match, in search order; the first row after them)."""
    after = min(max(seq + distance, store.first_seq - 1), store.next_seq)
    if not isinstance(match, Sieve):
        rows = range(seq, after, 1 if distance > 0 else -1)
        return (rows if events is None else [row for row in rows if store.row(row).id in events]), after
    first, stop = (seq, after) if distance > 0 else (after + 1, seq + 1)
    found = _candidates(store, match, first, stop, events)
    return (found if distance > 0 else found[::-1]), after


def _candidates(store: Store, sieve: Sieve, start: int, stop: int, events: frozenset[int] | None) -> list[int]:
    """Return rows from `start` to before `stop` that may match, the oldest first."""
    columns = store.columns(start, stop)
    rows = sieve.candidates(columns)
    if events is not None:
        rows = rows & np.isin(columns.run.ids, list(events))
    found: list[int] = (np.flatnonzero(rows) + columns.first).tolist()
    return found


def search_rows(
    rows: NumberedRows, matches: Callable[[int], bool], start: int, direction: int, budget: float
) -> SearchStep:
    """Test the items of rows one by one from `start` on until one matches, the rows end, or `budget` seconds have
    passed.
    """
    deadline = time.monotonic() + budget
    row = max(start, rows.first) if direction > 0 else min(start, rows.next - 1)
    while rows.first <= row < rows.next:
        with contextlib.suppress(IndexError):  # the item was dropped, but those of neighbours may not be
            if matches(rows.number(row)):
                return SearchStep(row, row + direction, True)
        row += direction
        if time.monotonic() >= deadline:
            return SearchStep(None, row, False)
    return SearchStep(None, row, True)
