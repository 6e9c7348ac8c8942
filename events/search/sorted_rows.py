"""Sort events by a field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from events.decode import text_of
from events.names.event_names import event_name
from events.store.columns import PIECE, FormatTable, Ints, is_number, is_string

if TYPE_CHECKING:
    from events.conditions.comparison import Comm
    from events.record import Record
    from events.store.store import Store

MAX_SORTED_ROWS: Final = 250_000
"""Maximum number of rows that are sorted, the newest, so that sorting takes only a moment."""


def sort_rows(
    store: Store, wanted: Sequence[int], field: str, descending: bool = False, *, own: bool = False
) -> list[int]:
    """Sort events by a field: numbers, then texts, then events without the field; `wanted`: ascending numbers.

    `time`, `cpu`, `task` and `event` denote properties of every event, unless `own`: then they denote fields. Equal
    rows stay in order of time.
    """
    if field == "time" and not own:
        return [*reversed(wanted)] if descending else [*wanted]
    numbers: list[tuple[int, int]] = []
    texts: list[tuple[str, int]] = []
    property_name = "" if own else field
    for seq, key in _keys(store, np.array(wanted, np.int64), field, property_name):
        if isinstance(key, int):
            numbers.append((key, seq))
        else:
            texts.append((key, seq))
    for keys in (numbers, texts):
        keys.sort(key=itemgetter(1))
        keys.sort(key=itemgetter(0), reverse=descending)
    found = [seq for _, seq in (*numbers, *texts)]
    found_seqs = set(found)
    return [*found, *(seq for seq in wanted if seq not in found_seqs)]


def _keys(store: Store, wanted: Ints, field: str, property_name: str) -> Iterator[tuple[int, int | str]]:
    """Yield sequence number and value of each event that has the value, in order of time within a format and
    piece.
    """
    at = 0
    while at < len(wanted):
        start = int(wanted[at])
        columns = store.columns(start, start + PIECE)
        in_piece = wanted[at : int(np.searchsorted(wanted, start + PIECE))]
        places = in_piece - columns.first
        for place in places[columns.is_text[places]].tolist():
            value = _value(store.record(columns.first + place), field, property_name)
            if value is not None:
                yield columns.first + place, value
        for table in columns.tables.values():
            inside = np.flatnonzero(np.isin(table.seqs, in_piece))
            keys = _property_keys(table, property_name, store.task_names.name, inside) or _values(
                table, field, inside
            )
            seqs = table.seqs[inside].tolist()
            yield from ((seq, key) for seq, key in zip(seqs, keys, strict=bool(keys)) if key is not None)
        at = int(np.searchsorted(wanted, start + PIECE))


def _value(record: Record, field: str, property_name: str) -> int | str | None:
    """Return the sort key of one event; None: it has no such field."""
    if property_name == "task":
        return _task(record.comm, record.pid)
    value = {"cpu": record.cpu, "event": event_name(record.event)}.get(property_name, record.values.get(field))
    return value if isinstance(value, int | str) else None


def _task(comm: str, pid: int) -> str:
    """Return the sort key of a task: by name, then by thread id."""
    return f"{comm}-{pid:010d}"


def _property_keys(table: FormatTable, property_name: str, comm: Comm, rows: Ints) -> Sequence[int | str]:
    """Return the sort keys for a property of every event; empty if `of_all` names no such property."""
    if property_name == "cpu":
        return [int(cpu) for cpu in table.cpus[rows]]
    if property_name == "event":
        return [event_name(table.layout.format.path)] * len(rows)
    if property_name == "task":
        keys, pids = table.task_keys[rows].tolist(), table.pids[rows].tolist()
        return [_task(comm(key), pid) for key, pid in zip(keys, pids, strict=True)]
    return ()


def _values(table: FormatTable, field: str, rows: Ints) -> Sequence[int | str | None]:
    """Return the values of a field of some events of a format; empty if the field cannot be sorted."""
    found = next((item for item in table.layout.format.fields if item.name == field), None)
    if found is not None and is_number(found):
        values, missing = table.column(found)
        without_value = np.zeros(len(rows), np.bool_) if missing is None else missing[rows]
        return [
            None if without else int(value)
            for value, without in zip(values[rows].tolist(), without_value.tolist(), strict=True)
        ]
    if found is not None and is_string(found):
        data, begins, faults = table.string_bytes(found)
        return [
            None if fault else text_of(data[begin : data.index(0, begin)])
            for begin, fault in zip(begins[rows].tolist(), faults[rows].tolist(), strict=True)
        ]
    return ()
