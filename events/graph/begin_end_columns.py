"""What a tree of calls is made of: begins, ends and points of tasks, as columns in the order of time.

Two sources give them: the function_graph tracer (`of_graph`), and our own probes at both ends of functions
(`events.graph.probe_pairs`). They differ in what tells how deep a call is, which is what proves a nesting: see
`Deeper`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.calls.pairing import idle_task
from events.graph.call_ends import EndKind, GraphEnds

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Deeper = Callable[[Any, Any, Any], Any]
"""Whether a call at the first place can be inside a call at the second, and whether both are of one function; for
arrays, and for numbers."""

NOWHERE: Final = -(1 << 62)
"""Place of what encloses everything."""
_STACK_BITS: Final = 14
"""Kernel stacks are not smaller than this, and begin at multiples of their size (THREAD_SIZE)."""


class Edge(enum.IntEnum):
    """What an event does to the calls of its task."""

    BEGIN = 0
    END = 1
    POINT = 2
    LATE_END = 3
    """An end of which it was known only here, behind its time, what it ends: no row where that is not there."""
    OVER = 4
    """A call is known to be over, whose end was not seen or may be of several: never a row."""


ENDS: Final = np.array([edge in (Edge.END, Edge.LATE_END, Edge.OVER) for edge in Edge])
"""Whether an edge ends what began, by its number."""
WITHOUT_ROW: Final = np.array([edge in (Edge.LATE_END, Edge.OVER) for edge in Edge])
"""Whether an edge is not shown where there is no begin for it, by its number."""


class What(enum.IntEnum):
    """What a row of the tree is."""

    CALL = 0
    IRQ = 1
    """A hard interrupt; `function` is its number or vector."""
    SOFTIRQ = 2
    """`function` is its vector."""
    SWITCH = 3
    """The task was off its CPU; `function` is the thread that came."""
    COMMENT = 4
    """Another event; `function` is the id of its format."""


class Brackets(NamedTuple):
    """Columns of one length."""

    ts: Ints
    seq: Ints
    """Row of the event in the store."""
    task: NDArray[np.int32]
    """Thread id; of an idle task `events.calls.pairing.idle_task`."""
    cpu: NDArray[np.int16]
    edge: NDArray[np.uint8]
    what: NDArray[np.uint8]
    function: NDArray[np.uint64]
    """Address of the function; see `What` for the others."""
    place: Ints
    """Of a call: how deep it is, in the measure of a `Deeper`."""
    proof: NDArray[np.uint64]
    """What both ends of a call have in common beside function and place."""
    duration: Ints
    """END: nanoseconds as the kernel measured them; -1: the time between the two events counts."""
    retval: Ints
    has_retval: Mask

    @property
    def size(self) -> int:
        """Number of events."""
        return len(self.ts)

    def of(self, wanted: Mask | NDArray[np.intp] | slice) -> Brackets:
        """Some of the events."""
        return Brackets(*(column[wanted] for column in self.columns()))

    def columns(self) -> tuple[NDArray[Any], ...]:
        """All columns, in their order."""
        return tuple(getattr(self, name) for name in self._fields)


def together(parts: Sequence[Brackets]) -> Brackets:
    """One behind the other."""
    if len(parts) == 1:
        return parts[0]
    return Brackets(*map(np.concatenate, zip(*(part.columns() for part in parts), strict=True)))


def by_depth(inner: Any, outer: Any, same: Any) -> Any:  # noqa: ANN401, ARG001 - arrays or numbers
    """`Deeper` of the tracer's own depth."""
    return inner > outer


def by_stack(inner: Any, outer: Any, same: Any) -> Any:  # noqa: ANN401
    """`Deeper` of stack pointers (`on_stack`): on one stack, which grow downwards, an inner call has the lower one.

    What a function calls as its last act may take its place, but for the function itself where exits of it are left
    out on purpose; as in `events.calls.pairing`. An interrupt has a stack of its own: of two stacks nothing is
    concluded.
    """
    one, other = inner >> 1, outer >> 1
    return (one + (same & inner) <= other) | (one >> _STACK_BITS != other >> _STACK_BITS)


def on_stack(frame: Any, chosen: Any) -> Any:  # noqa: ANN401
    """Return a place for `by_stack`: of a stack pointer, and whether a filter leaves exits of its function out."""
    return frame * 2 + chosen


_EDGES = {
    EndKind.ENTRY: (Edge.BEGIN, What.CALL),
    EndKind.EXIT: (Edge.END, What.CALL),
    EndKind.SWITCH: (Edge.BEGIN, What.SWITCH),
    EndKind.IRQ_ENTRY: (Edge.BEGIN, What.IRQ),
    EndKind.IRQ_EXIT: (Edge.END, What.IRQ),
    EndKind.SOFTIRQ_ENTRY: (Edge.BEGIN, What.SOFTIRQ),
    EndKind.SOFTIRQ_EXIT: (Edge.END, What.SOFTIRQ),
    EndKind.COMMENT: (Edge.POINT, What.COMMENT),
}
_EDGE = np.array([_EDGES[kind][0] for kind in EndKind], np.uint8)
_WHAT = np.array([_EDGES[kind][1] for kind in EndKind], np.uint8)


def of_graph(ends: GraphEnds) -> Brackets:
    """What the tracer recorded. A task switch begins in the task that leaves, and ends in the one that comes."""
    edge, what = _EDGE[ends.kind], _WHAT[ends.kind]
    pid = ends.pid
    idle = pid == 0
    task = np.where(idle, idle_task(0) - ends.cpu.astype(np.int32), pid) if idle.any() else pid
    call = what == What.CALL
    function = ends.function if call.all() else np.where(call, ends.function, ends.other.view(np.uint64))
    made = Brackets(
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
    return _with_returns(made) if (what == What.SWITCH).any() else made


def _with_returns(made: Brackets) -> Brackets:
    """Add the ends of task switches: where the thread that comes is back."""
    switch = np.flatnonzero(made.what == What.SWITCH)
    back = made.of(switch)
    comes = back.function.view(np.int64)
    task = np.where(comes == 0, idle_task(0) - back.cpu.astype(np.int64), comes).astype(np.int32)
    # Which thread it gave way to is of no account when it comes back: any end of a switch ends its own.
    ends = back._replace(task=task, edge=np.full(len(switch), Edge.END, np.uint8))
    both = together([made, ends])
    order = np.argsort(np.concatenate((np.arange(made.size) * 2, switch * 2 + 1)), kind="stable")
    return both.of(order)
