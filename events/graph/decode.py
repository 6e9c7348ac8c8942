"""Convert the rows of a store to ends of calls, by columns (about 50 ns per event).

The format file alone identifies the records: depending on the kernel they contain arguments, a return value, a return
address, or none of these, and widths have changed more than once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.format import EventFormat, Field
from events.graph.call_ends import EndKind, GraphEnds, concatenate_ends, zeros
from events.graph.record_ends import EVENTS
from events.store.columns import PIECE, FormatTable
from events.store.store import Store

_IRQ_SYSTEMS = frozenset(("irq", "irq_vectors", "ipi"))
_NUMBERS = ("irq", "vec", "vector")
"""Names of the fields with the interrupt's number in events of interrupts."""
_MOST_ARGUMENTS = 255
_NEEDED = frozenset(("func", "depth"))
"""Fields without which a record tells no call."""

_Rows = NDArray[np.int64] | slice
"""Indexes into a piece."""


class ColumnRole(NamedTuple):
    """Meaning of the records of one format."""

    kind: EndKind
    other: str = ""
    """Field for `GraphEnds.other`; empty: there is none."""


def role_of(fmt: EventFormat) -> ColumnRole:
    """Return the meaning of the records of a format; see `EndKind`."""
    ending = fmt.name.rpartition("_")[2]
    if is_graph(fmt):
        return ColumnRole(EndKind.EXIT if ending == "exit" else EndKind.ENTRY)
    if fmt.path == "sched/sched_switch":
        return ColumnRole(EndKind.SWITCH, "next_pid")
    if fmt.system not in _IRQ_SYSTEMS or ending not in ("entry", "exit"):
        return ColumnRole(EndKind.COMMENT)
    number = next((name for name in _NUMBERS if name in fmt.names), "")
    if fmt.name.startswith("softirq_"):
        return ColumnRole(EndKind.SOFTIRQ_ENTRY if ending == "entry" else EndKind.SOFTIRQ_EXIT, number)
    if fmt.system == "irq" and not fmt.name.startswith("irq_handler_"):
        return ColumnRole(EndKind.COMMENT)  # tasklet_entry and similar events occur within softirqs
    return ColumnRole(EndKind.IRQ_ENTRY if ending == "entry" else EndKind.IRQ_EXIT, number)


def is_graph(fmt: EventFormat) -> bool:
    """Return whether a format's records come from the function_graph tracer, and have what all of them have."""
    return fmt.path in EVENTS and _NEEDED.issubset(fmt.names)


def read_graph_ends(store: Store, start: int, stop: int) -> GraphEnds:
    """Return the retained rows of a store from sequence number `start` to before `stop`.

    Rows received as text are omitted: the kernel prints a graph for people, and its lines are no events.
    """
    first, after = max(start, store.first_seq), min(stop, store.next_seq)
    return concatenate_ends([_piece(store, at, min(at + PIECE, after)) for at in range(first, after, PIECE)])


def _piece(store: Store, start: int, stop: int) -> GraphEnds:
    columns = store.columns(start, stop)
    ends = zeros(len(columns))
    ends.ts[:] = columns.run.stamps
    ends.seq[:] = np.arange(columns.first, columns.first + len(columns))
    ends.cpu[:] = columns.cpus[columns.slabs]
    for number, table in columns.tables.items():
        _fill(ends, number, table)
    return ends.of(~columns.is_text) if columns.is_text.any() else ends


def _fill(ends: GraphEnds, number: int, table: FormatTable) -> None:
    """Fill in the rows of one format."""
    fmt = table.layout.format
    role = role_of(fmt)
    # Most pieces contain two formats in alternation; if one format has all rows, a slice is several times faster.
    at: _Rows = table.places if len(table) < len(ends) else slice(None)
    ends.kind[at] = role.kind
    ends.pid[at] = table.pids
    if role.kind is EndKind.COMMENT:
        ends.other[at] = number
    elif role.kind not in (EndKind.ENTRY, EndKind.EXIT):
        ends.other[at] = _column(table, role.other) if role.other else -1
    else:
        _fill_end(ends, at, table, role.kind)


def _fill_end(ends: GraphEnds, at: _Rows, table: FormatTable, kind: EndKind) -> None:
    """Fill in the tracer's fields of a call."""
    names = table.layout.format.names
    ends.function[at] = _column(table, "func")
    ends.depth[at] = _column(table, "depth")
    if kind is EndKind.ENTRY:
        if "retaddr" in names:
            ends.retaddr[at] = _column(table, "retaddr")
        if "args" in names:
            ends.arguments[at] = _argument_counts(table, _field(table, "args"))
        return
    for name, column in (("calltime", ends.calltime), ("rettime", ends.rettime), ("overrun", ends.overrun)):
        if name in names:
            column[at] = _column(table, name)
    if "retval" in names:
        ends.retval[at] = _column(table, "retval").view(np.int64)
        ends.has_retval[at] = table.lengths >= _field(table, "retval").end


def _field(table: FormatTable, name: str) -> Field:
    return next(field for field in table.layout.format.fields if field.name == name)


def _column(table: FormatTable, name: str) -> NDArray[Any]:
    """Return the values of a number field; 0 where the record ends before it."""
    return table.column(_field(table, name)).values


def _argument_counts(table: FormatTable, args: Field) -> NDArray[np.int64]:
    """Return the number of argument registers after the fixed part of each record."""
    room = np.maximum(table.lengths - args.offset, 0)
    counts: NDArray[np.int64] = np.minimum(room // max(args.width, 1), _MOST_ARGUMENTS)
    return counts
