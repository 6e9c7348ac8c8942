"""From the rows of a store to the ends of calls, by columns (some 50 ns an event).

Which record is what is said by its format file alone: a kernel may keep arguments, a return value, a return address,
or none of them, and widths have changed more than once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.format import EventFormat, Field
from events.graph.call_ends import EndKind, GraphEnds, joined, zeros
from events.graph.record_ends import EVENTS
from events.store.columns import PIECE, FormatTable
from events.store.store import Store

_IRQ_SYSTEMS = frozenset(("irq", "irq_vectors", "ipi"))
_NUMBERS = ("irq", "vec", "vector")
"""What the events of interrupts call the number of theirs."""
_MOST_ARGUMENTS = 255

_Rows = NDArray[np.int64] | slice
"""Places in a piece."""


class Role(NamedTuple):
    """What the records of one format are."""

    kind: EndKind
    other: str = ""
    """Field for `GraphEnds.other`; empty: there is none."""


def role_of(fmt: EventFormat) -> Role:
    """What the records of a format are; see `EndKind`."""
    ending = fmt.name.rpartition("_")[2]
    if is_graph(fmt):
        return Role(EndKind.EXIT if ending == "exit" else EndKind.ENTRY)
    if fmt.path == "sched/sched_switch":
        return Role(EndKind.SWITCH, "next_pid")
    if fmt.system not in _IRQ_SYSTEMS or ending not in ("entry", "exit"):
        return Role(EndKind.COMMENT)
    number = next((name for name in _NUMBERS if name in fmt.names), "")
    if fmt.name.startswith("softirq_"):
        return Role(EndKind.SOFTIRQ_ENTRY if ending == "entry" else EndKind.SOFTIRQ_EXIT, number)
    if fmt.system == "irq" and not fmt.name.startswith("irq_handler_"):
        return Role(EndKind.COMMENT)  # tasklet_entry and its like are softirqs already
    return Role(EndKind.IRQ_ENTRY if ending == "entry" else EndKind.IRQ_EXIT, number)


def is_graph(fmt: EventFormat) -> bool:
    """Whether these are records of the function_graph tracer."""
    return fmt.path in EVENTS


def ends_of(store: Store, start: int, stop: int) -> GraphEnds:
    """The rows of a store from sequence number `start` to before `stop`, as far as they are kept.

    Rows that came as text are left out: the kernel prints a graph for people, and its lines are no events.
    """
    first, after = max(start, store.first_seq), min(stop, store.next_seq)
    return joined([_piece(store, at, min(at + PIECE, after)) for at in range(first, after, PIECE)])


def _piece(store: Store, start: int, stop: int) -> GraphEnds:
    columns = store.columns(start, stop)
    made = zeros(len(columns))
    made.ts[:] = columns.run.stamps
    made.seq[:] = np.arange(columns.first, columns.first + len(columns))
    made.cpu[:] = columns.cpus[columns.slabs]
    for number, table in columns.tables.items():
        _fill(made, number, table)
    return made.of(~columns.is_text) if columns.is_text.any() else made


def _fill(made: GraphEnds, number: int, table: FormatTable) -> None:
    """The rows of one format."""
    fmt = table.layout.format
    role = role_of(fmt)
    # Most pieces hold two formats in turn; where one has all rows, a slice is several times faster.
    at: _Rows = table.places if len(table) < len(made) else slice(None)
    made.kind[at] = role.kind
    made.pid[at] = table.pids
    if role.kind is EndKind.COMMENT:
        made.other[at] = number
    elif role.kind not in (EndKind.ENTRY, EndKind.EXIT):
        made.other[at] = _column(table, role.other) if role.other else -1
    else:
        _fill_end(made, at, table, role.kind)


def _fill_end(made: GraphEnds, at: _Rows, table: FormatTable, kind: EndKind) -> None:
    """What the tracer says of a call."""
    names = table.layout.format.names
    made.function[at] = _column(table, "func")
    made.depth[at] = _column(table, "depth")
    if kind is EndKind.ENTRY:
        if "retaddr" in names:
            made.retaddr[at] = _column(table, "retaddr")
        if "args" in names:
            made.arguments[at] = _recorded(table, _field(table, "args"))
        return
    for name, column in (("calltime", made.calltime), ("rettime", made.rettime), ("overrun", made.overrun)):
        if name in names:
            column[at] = _column(table, name)
    if "retval" in names:
        made.retval[at] = _column(table, "retval").view(np.int64)
        made.has_retval[at] = table.lengths >= _field(table, "retval").end


def _field(table: FormatTable, name: str) -> Field:
    return next(field for field in table.layout.format.fields if field.name == name)


def _column(table: FormatTable, name: str) -> NDArray[Any]:
    """Numbers of a field; 0 where the record ends before it."""
    return table.column(_field(table, name)).values


def _recorded(table: FormatTable, args: Field) -> NDArray[np.int64]:
    """Argument registers behind the fixed part of each record."""
    room = np.maximum(table.lengths - args.offset, 0)
    counts: NDArray[np.int64] = np.minimum(room // max(args.width, 1), _MOST_ARGUMENTS)
    return counts
