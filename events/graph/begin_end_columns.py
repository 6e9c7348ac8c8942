"""Represent begins, ends and points of tasks, from which a call tree is built, as columns in order of time.

Two sources produce them: the function_graph tracer (`columns_from_graph`), and probes at both ends of functions
(`events.graph.probe_pairs`). The sources differ in the measure of a call's depth, which proves nesting; see `Deeper`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.calls.call_values import idle_task
from events.graph.call_ends import EndKind, GraphEnds

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Places = NDArray[np.intp]
Deeper = Callable[[Any, Any, Any], Any]
"""Function of (inner place, outer place, same function) that returns whether the first call can be inside the second;
accepts arrays or numbers."""

NOWHERE: Final = -(1 << 62)
"""Place of the root, which encloses everything."""
_STACK_BITS: Final = 14
"""Log2 of the minimum size of kernel stacks, which are aligned to their size (THREAD_SIZE)."""


class Edge(enum.IntEnum):
    """Effect of an event on the open calls of its task."""

    BEGIN = 0
    END = 1
    POINT = 2
    LATE_END = 3
    """End whose begin was determined only by a later event, at which it is placed; without its begin no row."""
    OVER = 4
    """Proof that a call is over whose end is missing, or may be that of several calls; never a row."""


ENDS: Final = np.array([edge in (Edge.END, Edge.LATE_END, Edge.OVER) for edge in Edge])
"""True, by number of an `Edge`, for edges that end a call."""
WITHOUT_ROW: Final = np.array([edge in (Edge.LATE_END, Edge.OVER) for edge in Edge])
"""True, by number of an `Edge`, for edges that are no row if their begin is missing."""


class RowKind(enum.IntEnum):
    """Kind of a row of the tree."""

    CALL = 0
    IRQ = 1
    """Hard interrupt; `function` is its number or vector."""
    SOFTIRQ = 2
    """Softirq; `function` is its vector."""
    SWITCH = 3
    """Time off the CPU; `function` is the thread that was switched in."""
    COMMENT = 4
    """Other event; `function` is its format id."""


class BeginEndColumns(NamedTuple):
    """Begins, ends and points; all columns have the same length."""

    ts: Ints
    seq: Ints
    """Row of the event in the store."""
    task: NDArray[np.int32]
    """Thread id; for an idle task `events.calls.call_values.idle_task`."""
    cpu: NDArray[np.int16]
    edge: NDArray[np.uint8]
    kind: NDArray[np.uint8]
    function: NDArray[np.uint64]
    """Address of the function; see `RowKind` for other kinds."""
    place: Ints
    """Depth of a call, in the measure of a `Deeper`."""
    pair_key: NDArray[np.uint64]
    """Value that both ends of a call have in common, besides function and place."""
    duration: Ints
    """Nanoseconds as measured by the kernel, at an END; -1: use the time between the two events."""
    retval: Ints
    has_retval: Mask

    @property
    def size(self) -> int:
        """Number of events."""
        return len(self.ts)

    def of(self, selection: Mask | NDArray[np.intp] | slice) -> BeginEndColumns:
        """Return the events of a mask, of indexes in that order, or of a slice."""
        return BeginEndColumns(*(column[selection] for column in self.columns()))

    def columns(self) -> tuple[NDArray[Any], ...]:
        """Return all columns, in order."""
        return tuple(getattr(self, name) for name in self._fields)


def concatenate_columns(parts: Sequence[BeginEndColumns]) -> BeginEndColumns:
    """Concatenate columns."""
    if len(parts) == 1:
        return parts[0]
    return BeginEndColumns(*map(np.concatenate, zip(*(part.columns() for part in parts), strict=True)))


def by_depth(inner: Any, outer: Any, same: Any) -> Any:  # noqa: ANN401, ARG001 - arrays or numbers
    """Compare depths recorded by the tracer; a `Deeper`."""
    return inner > outer


def by_stack(inner: Any, outer: Any, same: Any) -> Any:  # noqa: ANN401
    """Compare stack pointers (`on_stack`); a `Deeper`. Stacks grow downwards, so on one stack an inner call has the
    lower pointer.

    A function called as another's last act may be at the same position, unless it is the same function and a filter
    omits exits of it; see `events.calls.pairing`. Interrupts have their own stacks: between different stacks any
    nesting is accepted.
    """
    one, other = inner >> 1, outer >> 1
    return (one + (same & inner) <= other) | (one >> _STACK_BITS != other >> _STACK_BITS)


def on_stack(frame: Any, chosen: Any) -> Any:  # noqa: ANN401
    """Return a place for `by_stack` from a stack pointer and whether a filter omits exits of its function."""
    return frame * 2 + chosen


_EDGES = {
    EndKind.ENTRY: (Edge.BEGIN, RowKind.CALL),
    EndKind.EXIT: (Edge.END, RowKind.CALL),
    EndKind.SWITCH: (Edge.BEGIN, RowKind.SWITCH),
    EndKind.IRQ_ENTRY: (Edge.BEGIN, RowKind.IRQ),
    EndKind.IRQ_EXIT: (Edge.END, RowKind.IRQ),
    EndKind.SOFTIRQ_ENTRY: (Edge.BEGIN, RowKind.SOFTIRQ),
    EndKind.SOFTIRQ_EXIT: (Edge.END, RowKind.SOFTIRQ),
    EndKind.COMMENT: (Edge.POINT, RowKind.COMMENT),
}
_EDGE = np.array([_EDGES[kind][0] for kind in EndKind], np.uint8)
_WHAT = np.array([_EDGES[kind][1] for kind in EndKind], np.uint8)


def columns_from_graph(ends: GraphEnds) -> BeginEndColumns:
    """Convert the tracer's records. A task switch begins in the task that leaves, and ends in the task that is
    switched in.
    """
    edge, what = _EDGE[ends.kind], _WHAT[ends.kind]
    pid = ends.pid
    idle = pid == 0
    task = np.where(idle, idle_task(0) - ends.cpu.astype(np.int32), pid) if idle.any() else pid
    call = what == RowKind.CALL
    function = ends.function if call.all() else np.where(call, ends.function, ends.other.view(np.uint64))
    columns = BeginEndColumns(
        ends.ts.view(np.int64),
        ends.seq,
        task,
        ends.cpu,
        edge,
        what,
        function,
        ends.depth.astype(np.int64),
        np.zeros(len(ends), np.uint64),
        ends.durations,
        ends.retval,
        ends.has_retval,
    )
    return _with_returns(columns) if (what == RowKind.SWITCH).any() else columns


def _with_returns(columns: BeginEndColumns) -> BeginEndColumns:
    """Add the ends of task switches, at which the thread switched in is back on the CPU."""
    switch = np.flatnonzero(columns.kind == RowKind.SWITCH)
    back = columns.of(switch)
    next_pid = back.function.view(np.int64)
    task = np.where(next_pid == 0, idle_task(0) - back.cpu.astype(np.int64), next_pid).astype(np.int32)
    # The thread that it had given way to does not matter: any return of a thread ends its own switch.
    ends = back._replace(task=task, edge=np.full(len(switch), Edge.END, np.uint8))
    merged = concatenate_columns([columns, ends])
    order = np.argsort(np.concatenate((np.arange(columns.size) * 2, switch * 2 + 1)), kind="stable")
    return merged.of(order)


class Nesting(NamedTuple):
    """Nesting of events: one element per event, in input order; elements are indexes of events, -1: none."""

    partner: Places
    """Index of the other end."""
    parent: Places
    """Index of the enclosing begin; undefined for an END with a partner."""
    level: Ints
    """Number of enclosing begins."""
    over: Places
    """Index, for a BEGIN, of the event that proves that the call has ended, although its end is missing."""
