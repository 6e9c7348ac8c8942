"""The ends of calls as columns: what a tree of calls, or a view of it, is built from.

One row an event, in the order of the store (of time). The numbers of the function_graph tracer come from its
records (kernel/trace/trace_entries.h: funcgraph_entry, fgraph_retaddr_entry, funcgraph_exit), those of switches and
interrupts from the events of `sched`, `irq` and `irq_vectors` where they were switched on beside it.

`ts` is of the clock of the trace instance; `calltime` and `rettime` are of `trace_clock_local()`, whatever clock was
chosen. Of those two only the difference means something: `GraphEnds.durations`.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray


class EndKind(enum.IntEnum):
    """What a row is; the value in `GraphEnds.kind`."""

    ENTRY = 0
    """A call began."""
    EXIT = 1
    """A call returned."""
    SWITCH = 2
    """sched_switch: `pid` leaves the CPU, `other` is the thread that comes."""
    IRQ_ENTRY = 3
    """A hard interrupt began (irq_handler_entry, irq_vectors/*_entry); `other`: its number or vector, -1 without."""
    IRQ_EXIT = 4
    """It ended; `other` as there."""
    SOFTIRQ_ENTRY = 5
    """A softirq began; `other` is its vector (enum in include/linux/interrupt.h: 1 TIMER, 3 NET_RX, 7 SCHED, ...)."""
    SOFTIRQ_EXIT = 6
    """It ended; `other` as there."""
    COMMENT = 7
    """Any other event, which the kernel prints as a comment between the calls; `other` is the id of its format."""


@dataclass(frozen=True, eq=False)
class GraphEnds:
    """Columns of equal length; not to be written into."""

    ts: NDArray[np.uint64]
    """Nanoseconds (or ticks) of the clock of the trace instance: when the record was written."""
    cpu: NDArray[np.int16]
    pid: NDArray[np.int32]
    """Thread id; 0 is the idle task of its CPU, a thread of its own on each."""
    kind: NDArray[np.uint8]
    """An `EndKind`."""
    function: NDArray[np.uint64]
    """Address of the function, as kallsyms has it, for ENTRY and EXIT; else 0."""
    depth: NDArray[np.int32]
    """Calls that this one is inside of, of those that the tracer follows, from 0; ENTRY and EXIT, else 0.

    Of a task, not of a CPU: an interrupt counts on from the depth of what it interrupted.
    """
    calltime: NDArray[np.uint64]
    """EXIT: nanoseconds of `trace_clock_local()` when the call began; 0: the record does not say."""
    rettime: NDArray[np.uint64]
    """EXIT: when it returned; 0: the record does not say."""
    retval: NDArray[np.int64]
    """EXIT: what the function returned, as the register held it; 0 without `has_retval`."""
    has_retval: NDArray[np.bool_]
    """Whether the record has a return value (CONFIG_FUNCTION_GRAPH_RETVAL), switched on to be shown or not."""
    retaddr: NDArray[np.uint64]
    """ENTRY: address that the call returns to, an instruction of its caller; 0: not recorded (funcgraph-retaddr)."""
    overrun: NDArray[np.uint32]
    """EXIT: calls of this task that the tracer could not follow for want of room, since the task began."""
    arguments: NDArray[np.uint8]
    """ENTRY: argument registers that the record holds (funcgraph-args); 0: none were recorded.

    `events.graph.arguments` gives them, and their names by BTF.
    """
    other: NDArray[np.int64]
    """See `EndKind`; 0 for ENTRY and EXIT."""
    seq: NDArray[np.int64]
    """Sequence number of the row in the store; `Store.record` gives the whole event."""

    def __len__(self) -> int:
        return len(self.seq)

    @property
    def durations(self) -> NDArray[np.int64]:
        """Nanoseconds of each call, at its EXIT; -1 for other rows and where the record does not say.

        Without the option sleep-time the kernel has taken away the time in which the task slept.
        """
        said = (self.kind == EndKind.EXIT) & (self.rettime != 0)
        return np.where(said, (self.rettime - self.calltime).astype(np.int64), -1)

    def part(self, start: int, stop: int) -> GraphEnds:
        """Some of the rows; views."""
        return GraphEnds(*(column[start:stop] for column in self.columns()))

    def of(self, wanted: NDArray[np.bool_] | NDArray[np.intp]) -> GraphEnds:
        """The rows of a mask, or those of these places in this order."""
        return GraphEnds(*(column[wanted] for column in self.columns()))

    def columns(self) -> list[NDArray[Any]]:
        """All columns, in the order of the fields."""
        return [getattr(self, field.name) for field in fields(self)]


_DTYPES: dict[str, Any] = {
    "ts": np.uint64,
    "cpu": np.int16,
    "pid": np.int32,
    "kind": np.uint8,
    "function": np.uint64,
    "depth": np.int32,
    "calltime": np.uint64,
    "rettime": np.uint64,
    "retval": np.int64,
    "has_retval": np.bool_,
    "retaddr": np.uint64,
    "overrun": np.uint32,
    "arguments": np.uint8,
    "other": np.int64,
    "seq": np.int64,
}


def zeros(rows: int) -> GraphEnds:
    """So many rows of zeros, to be filled in."""
    return GraphEnds(**{name: np.zeros(rows, dtype) for name, dtype in _DTYPES.items()})


def joined(parts: Sequence[GraphEnds]) -> GraphEnds:
    """The rows of all, one behind the other; no part: no rows."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return zeros(0)
    return GraphEnds(*map(np.concatenate, zip(*(part.columns() for part in parts), strict=True)))
