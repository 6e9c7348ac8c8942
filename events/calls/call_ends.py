"""Which events are ends of calls, and what of them pairs one with another, as columns."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.calls.pairing import PROBE_BITS, End, EndOf, function_of, idle_task
from events.decode import Value
from events.record import Record
from events.store.columns import Columns, Table, is_number

if TYPE_CHECKING:
    from events.store.store import Store

_MASK = (1 << 64) - 1
_ODD = 0x9E3779B97F4A7C15
"""Spreads the bits of a value over all of a proof."""


class Ends(NamedTuple):
    """Ends in the order of time; all arrays have one length."""

    seqs: NDArray[np.int64]
    stamps: NDArray[np.int64]
    tasks: NDArray[np.int64]
    """As `events.calls.pairing.End.task`."""
    functions: NDArray[np.int64]
    """As `events.calls.pairing.End.function`."""
    at_exit: NDArray[np.bool_]
    proofs: NDArray[np.uint64]
    frames: NDArray[np.int64]
    """Stack pointer at the call."""
    cpus: NDArray[np.int64]

    def part(self, start: int, stop: int) -> Ends:
        """Some of them; a view."""
        return Ends._make(column[start:stop] for column in self)

    def then(self, other: Ends) -> Ends:
        """Return these, and others behind them."""
        return Ends._make(np.concatenate(both) for both in zip(self, other, strict=True))

    def of(self, places: NDArray[np.intp]) -> Ends:
        """Those at some places, in this order."""
        return Ends._make(column[places] for column in self)


def ends_among(store: Store, columns: Columns, ends: Mapping[str, EndOf]) -> Ends:
    """The ends among rows that are there as columns."""
    parts = [
        _of_table(table, end)
        for number, table in columns.tables.items()
        if (end := ends.get(store.event(number))) and _has({f.name for f in table.layout.format.fields}, end)
    ]
    parts += [
        _of_text(record, found, end)
        for place in np.flatnonzero(columns.is_text).tolist()
        if (end := ends.get(store.event(int(columns.run.ids[place]))))
        and (found := end_of(record := store.record(columns.first + place), end))
    ]
    if not parts:
        none = np.empty(0, np.int64)
        return Ends(none, none, none, none, none.astype(np.bool_), none.astype(np.uint64), none, none)
    together = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(together[0], kind="stable")
    return Ends(*together).of(order)


def _has(names: Container[str], end: EndOf) -> bool:
    """Whether an event has what proves a call; not where a probe of its name had other fields before."""
    return all(name in names for name in (end.frame, *end.kept))


def _of_table(table: Table, end: EndOf) -> Ends:
    fields = {field.name: field for field in table.layout.format.fields}
    proofs = frames = _unsigned(table.column(fields[end.frame]).values) - np.uint64(end.shift)
    for name in end.kept:
        if is_number(fields[name]):
            proofs = (proofs ^ _unsigned(table.column(fields[name]).values)) * np.uint64(_ODD)
    tasks = np.where(table.pids == 0, idle_task(0) - table.cpus, table.pids)
    functions = np.full(len(table.seqs), end.function, np.int64)
    if end.address in fields:
        functions |= _unsigned(table.column(fields[end.address]).values).view(np.int64) << PROBE_BITS
    cpus = table.cpus.astype(np.int64)
    stack_pointers = frames.view(np.int64)
    return _ends(end, table.seqs, table.stamps, tasks.astype(np.int64), functions, proofs, stack_pointers, cpus)


def end_of(record: Record, end: EndOf) -> End | None:
    """The end of a call that one event is; None where it lacks what proves a call.

    Its proof compares with others from here; `ends_among` has its own for events that came as bytes.
    """
    if not _has(record.values, end):
        return None
    proof = frame = (_number(record.values.get(end.frame)) - end.shift) & _MASK
    for name in end.kept:
        proof = (proof ^ _number(record.values.get(name))) * _ODD & _MASK
    task = record.pid or idle_task(record.cpu)
    address = record.values.get(end.address)
    function = function_of(end.function, address if isinstance(address, int) else 0)
    return End(record.seq, record.ts, task, function, end.at_exit, proof & _MASK, frame)


def _of_text(record: Record, found: End, end: EndOf) -> Ends:
    numbers = (found.seq, found.ts, found.task, found.function, record.cpu)
    seq, stamp, task, function, cpu = (np.array([number], np.int64) for number in numbers)
    proof, frames = (np.array([number], np.uint64) for number in (found.proof, found.frame))
    return _ends(end, seq, stamp, task, function, proof, frames.view(np.int64), cpu)


def _ends(
    end: EndOf,
    seqs: NDArray[np.int64],
    stamps: NDArray[np.int64],
    tasks: NDArray[np.int64],
    functions: NDArray[np.int64],
    proofs: NDArray[np.uint64],
    frames: NDArray[np.int64],
    cpus: NDArray[np.int64],
) -> Ends:
    at_exit = np.full(len(seqs), end.at_exit)
    return Ends(seqs, stamps, tasks, functions, at_exit, proofs, frames, cpus)


def _unsigned(values: NDArray[Any]) -> NDArray[np.uint64]:
    if values.dtype.kind == "u":
        return values.astype(np.uint64, copy=False)
    return values.astype(np.int64, copy=False).view(np.uint64)


def _number(value: Value) -> int:
    return (value if isinstance(value, int) else hash(value)) & _MASK
