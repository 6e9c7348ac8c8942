"""Name what interrupted a measuring thread: the events of osnoise and timerlat, as numpy columns.

include/trace/events/osnoise.h; each event has the time at which the interruption began and its duration, which is net
of what interrupted it in turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.format import Field
from events.store.columns import FormatTable, is_string

CAUSES: Final = {
    "osnoise/irq_noise": "irq",
    "osnoise/nmi_noise": "nmi",
    "osnoise/softirq_noise": "softirq",
    "osnoise/thread_noise": "thread",
}
"""Kinds of interruptions, by the path of their event."""
SOFTIRQS: Final = (*("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"),)
"""Names of softirqs by their vector (include/linux/interrupt.h)."""
_NAMES: Final = {"irq": "desc", "thread": "comm"}


class CauseRows(NamedTuple):
    """Interruptions by one cause, among some rows."""

    kind: str
    name: str
    """Name of an interrupt, a softirq or a task; empty for an NMI."""
    cpus: NDArray[np.int32]
    durations: NDArray[np.int64]
    """Nanoseconds."""


def causes_in(table: FormatTable) -> Iterator[CauseRows]:
    """Yield the interruptions of one format, those of one name together; none: it is the format of other events."""
    fmt = table.layout.format
    kind = CAUSES.get(fmt.path)
    durations = number_column(table, "duration") if kind else None
    if kind is None or durations is None:
        return
    texts = _names(table, kind)
    for name in dict.fromkeys(texts):
        rows = np.array([text == name for text in texts], np.bool_)
        yield CauseRows(kind, name, table.cpus[rows], durations[rows])


def number_column(table: FormatTable, name: str) -> NDArray[np.int64] | None:
    """Return the values of a field; None: the format has no such number."""
    field = field_named(table, name)
    return None if field is None else table.column(field).values.astype(np.int64)


def field_named(table: FormatTable, name: str) -> Field | None:
    """Return a field of a table's format; None: it has none of that name."""
    return next((field for field in table.layout.format.fields if field.name == name), None)


def softirq_name(vector: int) -> str:
    """Return the name of a softirq; its number where that is beyond all names."""
    return SOFTIRQS[vector] if 0 <= vector < len(SOFTIRQS) else str(vector)


def _names(table: FormatTable, kind: str) -> Sequence[str]:
    if kind == "softirq":
        vectors = number_column(table, "vector")
        return [""] * len(table) if vectors is None else [softirq_name(one) for one in vectors.tolist()]
    field = field_named(table, _NAMES.get(kind, ""))
    if field is None or not is_string(field):
        return [""] * len(table)
    strings = table.string_bytes(field)
    return [
        strings.data[begin : strings.data.index(b"\0", begin)].decode("utf-8", "replace")
        for begin in strings.begins.tolist()
    ]
