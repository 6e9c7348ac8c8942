"""Rows of a selection in the order of a field, as they were at one moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from events.decode import text_of
from events.names.event_names import event_name
from events.store.columns import PIECE, FormatTable, Ints, is_number, is_string

if TYPE_CHECKING:
    from events.record import Record
    from events.search.comparison import Comm
    from events.search.filtered_rows import RowSelection
    from events.store.store import Store

MOST: Final = 250_000
"""Rows that are put in order, the newest: what a moment is enough for."""


class SortedRows:
    """A selection to which nothing comes."""

    first = 0

    def __init__(self, seqs: list[int]) -> None:
        self._seqs = seqs

    @property
    def next(self) -> int:
        """Number of its rows."""
        return len(self._seqs)

    def seq(self, row: int) -> int:
        """Sequence number of a row. Raises IndexError where there is none."""
        if row < 0:
            raise IndexError(row)
        return self._seqs[row]


def ordered(
    store: Store, selection: RowSelection, field: str, descending: bool = False, *, own: bool = False
) -> SortedRows:
    """The newest `MOST` rows of a selection by a field: numbers, then texts, at the end what has no such field.

    `time`, `cpu`, `task` and `event` are those of every event, unless `own`: then it is a field whatever its name is.
    What is equal stays in the order of time.
    """
    rows = range(max(selection.first, selection.next - MOST), selection.next)
    wanted = sorted(selection.seq(row) for row in rows)
    if field == "time" and not own:
        return SortedRows(wanted[::-1] if descending else wanted)
    numbers: list[tuple[int, int]] = []
    texts: list[tuple[str, int]] = []
    of_all = "" if own else field
    for seq, key in _keys(store, np.array(wanted, np.int64), field, of_all):
        if isinstance(key, int):
            numbers.append((key, seq))
        else:
            texts.append((key, seq))
    for keys in (numbers, texts):
        keys.sort(key=itemgetter(1))
        keys.sort(key=itemgetter(0), reverse=descending)
    found = [seq for _, seq in (*numbers, *texts)]
    there = set(found)
    return SortedRows([*found, *(seq for seq in wanted if seq not in there)])


def _keys(store: Store, wanted: Ints, field: str, of_all: str) -> Iterator[tuple[int, int | str]]:
    """Sequence number and value of each event that has one, in the order of time within a format and a piece."""
    at = 0
    while at < len(wanted):
        start = int(wanted[at])
        columns = store.columns(start, start + PIECE)
        here = wanted[at : int(np.searchsorted(wanted, start + PIECE))]
        places = here - columns.first
        for place in places[columns.is_text[places]].tolist():
            value = _value(store.record(columns.first + place), field, of_all)
            if value is not None:
                yield columns.first + place, value
        for table in columns.tables.values():
            inside = np.flatnonzero(np.isin(table.seqs, here))
            keys = _of_all(table, of_all, store.comm, inside) or _values(table, field, inside)
            seqs = table.seqs[inside].tolist()
            yield from ((seq, key) for seq, key in zip(seqs, keys, strict=bool(keys)) if key is not None)
        at = int(np.searchsorted(wanted, start + PIECE))


def _value(record: Record, field: str, of_all: str) -> int | str | None:
    """Of one event; None: it has no such field."""
    if of_all == "task":
        return _task(record.comm, record.pid)
    value = {"cpu": record.cpu, "event": event_name(record.event)}.get(of_all, record.values.get(field))
    return value if isinstance(value, int | str) else None


def _task(comm: str, pid: int) -> str:
    """By the name, then by the number."""
    return f"{comm}-{pid:010d}"


def _of_all(table: FormatTable, of_all: str, comm: Comm, rows: Ints) -> Sequence[int | str]:
    """Of some events of a format what every event has; none where it is no such thing."""
    if of_all == "cpu":
        return [int(cpu) for cpu in table.cpus[rows]]
    if of_all == "event":
        return [event_name(table.layout.format.path)] * len(rows)
    if of_all == "task":
        return [_task(comm(pid), pid) for pid in table.pids[rows].tolist()]
    return ()


def _values(table: FormatTable, field: str, rows: Ints) -> Sequence[int | str | None]:
    """Of some events of a format a field; none where it has no order."""
    found = next((one for one in table.layout.format.fields if one.name == field), None)
    if found is not None and is_number(found):
        values, missing = table.column(found)
        gone = np.zeros(len(rows), np.bool_) if missing is None else missing[rows]
        return [
            None if without else int(value)
            for value, without in zip(values[rows].tolist(), gone.tolist(), strict=True)
        ]
    if found is not None and is_string(found):
        data, begins, faults = table.string_bytes(found)
        return [
            None if fault else text_of(data[begin : data.index(0, begin)])
            for begin, fault in zip(begins[rows].tolist(), faults[rows].tolist(), strict=True)
        ]
    return ()
