"""Extract the ends of calls from columns of events, with the values that identify matching ends."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.calls.call_values import PROBE_BITS, End, EndRole, function_key, idle_task
from events.decode import Value
from events.record import Record
from events.store.columns import FormatTable, StoreColumns, is_number

if TYPE_CHECKING:
    from events.store.store import Store

_MASK = (1 << 64) - 1
_MULTIPLIER = 0x9E3779B97F4A7C15
"""Odd multiplier (2^64 / golden ratio) that spreads the bits of a value over a whole proof."""


class CallEnds(NamedTuple):
    """Ends of calls in order of time; all arrays have the same length."""

    seqs: NDArray[np.int64]
    stamps: NDArray[np.int64]
    tasks: NDArray[np.int64]
    """Task of each end, as `events.calls.call_values.End.task`."""
    functions: NDArray[np.int64]
    """Function of each end, as `events.calls.call_values.End.function`."""
    at_exit: NDArray[np.bool_]
    proofs: NDArray[np.uint64]
    frames: NDArray[np.int64]
    """Stack pointer at the call."""
    cpus: NDArray[np.int64]
    results: NDArray[np.int64]
    """Return value, as the register held it; 0 without `has_result`."""
    has_result: NDArray[np.bool_]

    def part(self, start: int, stop: int) -> CallEnds:
        """Return a view of the ends from index `start` to before `stop`."""
        return CallEnds._make(column[start:stop] for column in self)

    def then(self, other: CallEnds) -> CallEnds:
        """Return these ends, followed by `other`."""
        return CallEnds._make(np.concatenate(both) for both in zip(self, other, strict=True))

    def of(self, places: NDArray[np.intp]) -> CallEnds:
        """Return the ends at some indexes, in that order."""
        return CallEnds._make(column[places] for column in self)


def extract_ends(store: Store, columns: StoreColumns, ends: Mapping[str, EndRole]) -> CallEnds:
    """Return the ends of calls among the rows of some columns, in order of time."""
    parts = [
        _ends_of_table(table, end)
        for number, table in columns.tables.items()
        if (end := ends.get(store.event(number))) and _has_fields({f.name for f in table.layout.format.fields}, end)
    ]
    parts += [
        _ends_of_text(record, found, end)
        for place in np.flatnonzero(columns.is_text).tolist()
        if (end := ends.get(store.event(int(columns.run.ids[place]))))
        and (found := end_from_record(record := store.record(columns.first + place), end))
    ]
    if not parts:
        empty = np.empty(0, np.int64)
        no, proofs = empty.astype(np.bool_), empty.astype(np.uint64)
        return CallEnds(empty, empty, empty, empty, no, proofs, empty, empty, empty, no)
    columns_of_ends = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns_of_ends[0], kind="stable")
    return CallEnds(*columns_of_ends).of(order)


def _has_fields(names: Container[str], end: EndRole) -> bool:
    """Return whether an event has the fields that identify a call; an earlier probe of the same name may have lacked
    them.
    """
    return all(name in names for name in (end.frame, *end.equal_fields))


def _ends_of_table(table: FormatTable, end: EndRole) -> CallEnds:
    fields = {field.name: field for field in table.layout.format.fields}
    proofs = frames = _unsigned(table.column(fields[end.frame]).values) - np.uint64(end.shift)
    for name in end.equal_fields:
        if is_number(fields[name]):
            proofs = (proofs ^ _unsigned(table.column(fields[name]).values)) * np.uint64(_MULTIPLIER)
    tasks = np.where(table.pids == 0, idle_task(0) - table.cpus, table.pids)
    functions = np.full(len(table.seqs), end.function, np.int64)
    if end.address in fields:
        functions |= _unsigned(table.column(fields[end.address]).values).view(np.int64) << PROBE_BITS
    cpus = table.cpus.astype(np.int64)
    stack_pointers = frames.view(np.int64)
    results = None
    if end.result in fields and is_number(fields[end.result]):
        results = _unsigned(table.column(fields[end.result]).values).view(np.int64)
    return _make_ends(
        end, table.seqs, table.stamps, tasks.astype(np.int64), functions, proofs, stack_pointers, cpus, results
    )


def end_from_record(record: Record, end: EndRole) -> End | None:
    """Return the end of a call that an event is; None if the event lacks a field that identifies a call.

    Compare its proof only with proofs made by this function: `extract_ends` computes proofs of binary events
    differently.
    """
    if not _has_fields(record.values, end):
        return None
    proof = frame = (_number(record.values.get(end.frame)) - end.shift) & _MASK
    for name in end.equal_fields:
        proof = (proof ^ _number(record.values.get(name))) * _MULTIPLIER & _MASK
    task = record.pid or idle_task(record.cpu)
    address = record.values.get(end.address)
    function = function_key(end.function, address if isinstance(address, int) else 0)
    return End(record.seq, record.ts, task, function, end.at_exit, proof & _MASK, frame)


def _ends_of_text(record: Record, found: End, end: EndRole) -> CallEnds:
    numbers = (found.seq, found.ts, found.task, found.function, record.cpu)
    seq, stamp, task, function, cpu = (np.array([number], np.int64) for number in numbers)
    proof, frames = (np.array([number], np.uint64) for number in (found.pair_key, found.frame))
    value = record.values.get(end.result)
    results = np.array([value & _MASK], np.uint64).view(np.int64) if isinstance(value, int) else None
    return _make_ends(end, seq, stamp, task, function, proof, frames.view(np.int64), cpu, results)


def _make_ends(
    end: EndRole,
    seqs: NDArray[np.int64],
    stamps: NDArray[np.int64],
    tasks: NDArray[np.int64],
    functions: NDArray[np.int64],
    proofs: NDArray[np.uint64],
    frames: NDArray[np.int64],
    cpus: NDArray[np.int64],
    results: NDArray[np.int64] | None,
) -> CallEnds:
    at_exit = np.full(len(seqs), end.at_exit)
    has_result = np.full(len(seqs), results is not None)
    values = results if results is not None else np.zeros(len(seqs), np.int64)
    return CallEnds(seqs, stamps, tasks, functions, at_exit, proofs, frames, cpus, values, has_result)


def _unsigned(values: NDArray[Any]) -> NDArray[np.uint64]:
    if values.dtype.kind == "u":
        return values.astype(np.uint64, copy=False)
    return values.astype(np.int64, copy=False).view(np.uint64)


def _number(value: Value) -> int:
    return (value if isinstance(value, int) else hash(value)) & _MASK
