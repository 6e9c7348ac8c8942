"""Represent the ends of calls as columns, from which a call tree or a view of it is built.

There is one row per event, in the order of the store (of time). The function_graph tracer's values come from its
records (kernel/trace/trace_entries.h: funcgraph_entry, fgraph_retaddr_entry, funcgraph_exit), those of switches and
interrupts from the events of `sched`, `irq` and `irq_vectors` if they were enabled as well.

`ts` is read from the clock of the trace instance; `calltime` and `rettime` from `trace_clock_local()`, whatever the
instance's clock. Only the difference of the latter two has a meaning: `GraphEnds.durations`.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray


class EndKind(enum.IntEnum):
    """Kind of a row; values of `GraphEnds.kind`."""

    ENTRY = 0
    """Begin of a call."""
    EXIT = 1
    """Return of a call."""
    SWITCH = 2
    """sched_switch: `pid` leaves the CPU, `other` is the thread switched in."""
    IRQ_ENTRY = 3
    """Begin of a hard interrupt (irq_handler_entry, irq_vectors/*_entry); `other`: its number or vector, -1:
    unknown."""
    IRQ_EXIT = 4
    """End of a hard interrupt; `other` as for `IRQ_ENTRY`."""
    SOFTIRQ_ENTRY = 5
    """Begin of a softirq; `other` is its vector (enum in include/linux/interrupt.h: 1 TIMER, 3 NET_RX, 7 SCHED,
    ...)."""
    SOFTIRQ_EXIT = 6
    """End of a softirq; `other` as for `SOFTIRQ_ENTRY`."""
    COMMENT = 7
    """Any other event, which the kernel prints as a comment between the calls; `other` is its format id."""


@dataclass(frozen=True, eq=False)
class GraphEnds:
    """Columns of equal length; read-only."""

    ts: NDArray[np.uint64]
    """Nanoseconds (or ticks) of the trace instance's clock when the record was written."""
    cpu: NDArray[np.int16]
    pid: NDArray[np.int32]
    """Thread id; 0 is the idle task of the row's CPU, a separate thread on each CPU."""
    kind: NDArray[np.uint8]
    """`EndKind` of the row."""
    function: NDArray[np.uint64]
    """Address of the function, as in kallsyms, for ENTRY and EXIT; else 0."""
    depth: NDArray[np.int32]
    """Number of enclosing calls that the tracer follows, from 0, for ENTRY and EXIT; else 0.

    The depth counts per task, not per CPU: an interrupt continues from the depth of the interrupted code."""
    calltime: NDArray[np.uint64]
    """Nanoseconds of `trace_clock_local()` at which the call began, for EXIT; 0: not recorded."""
    rettime: NDArray[np.uint64]
    """Nanoseconds of `trace_clock_local()` at which the call returned, for EXIT; 0: not recorded."""
    retval: NDArray[np.int64]
    """Return value for EXIT, as the register held it; 0 without `has_retval`."""
    has_retval: NDArray[np.bool_]
    """True if the record has a return value (CONFIG_FUNCTION_GRAPH_RETVAL), whether or not its display is enabled."""
    retaddr: NDArray[np.uint64]
    """Return address for ENTRY, an instruction of the caller; 0: not recorded (funcgraph-retaddr)."""
    overrun: NDArray[np.uint32]
    """Number of calls that the tracer could not follow since the task began, for lack of space; for EXIT."""
    arguments: NDArray[np.uint8]
    """Number of argument registers in the record (funcgraph-args), for ENTRY; 0: not recorded.

    `events.graph.arguments` decodes the registers, with their names from BTF."""
    other: NDArray[np.int64]
    """Value that depends on the kind; see `EndKind`; 0 for ENTRY and EXIT."""
    seq: NDArray[np.int64]
    """Sequence number of the row in the store; `Store.record` returns the whole event."""

    def __len__(self) -> int:
        return len(self.seq)

    @property
    def durations(self) -> NDArray[np.int64]:
        """Nanoseconds of each call, at its EXIT; -1 for other rows and where not recorded.

        Without the option sleep-time the kernel excludes the time in which the task slept.
        """
        is_recorded = (self.kind == EndKind.EXIT) & (self.rettime != 0)
        return np.where(is_recorded, (self.rettime - self.calltime).astype(np.int64), -1)

    def part(self, start: int, stop: int) -> GraphEnds:
        """Return a view of the rows from index `start` to before `stop`."""
        return GraphEnds(*(column[start:stop] for column in self.columns()))

    def of(self, selection: NDArray[np.bool_] | NDArray[np.intp]) -> GraphEnds:
        """Return the rows selected by a mask, or by indexes in that order."""
        return GraphEnds(*(column[selection] for column in self.columns()))

    def columns(self) -> list[NDArray[Any]]:
        """Return all columns, in the order of the fields."""
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
    """Return `rows` rows of zeros, to be filled in."""
    return GraphEnds(**{name: np.zeros(rows, dtype) for name, dtype in _DTYPES.items()})


def concatenate_ends(parts: Sequence[GraphEnds]) -> GraphEnds:
    """Concatenate the rows of all parts; without parts, no rows."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return zeros(0)
    return GraphEnds(*map(np.concatenate, zip(*(part.columns() for part in parts), strict=True)))
