"""Convert records of the function_graph tracer to ends of calls one at a time, for exports.

The tracer's records have no stack pointer, but the depth of each call. A task's next call at the same or a smaller
depth proves a call to be over, as a stack position does for probes: depths are used as positions on one stack here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from events.calls.call_values import TRACER_FUNCTION, End, idle_task
from events.format import EventFormat
from events.record import Record

ENTRIES: Final = frozenset(
    ("ftrace/funcgraph_entry", "ftrace/fgraph_retaddr_entry", "ftrace/funcgraph_retaddr_entry")
)
"""Paths of the events with which a call begins."""
EXIT: Final = "ftrace/funcgraph_exit"
EVENTS: Final = ENTRIES | {EXIT}
"""Paths of all events of the tracer."""
NO_RETURNS: Final = (
    "no return values: funcgraph-retval is missing (CONFIG_FUNCTION_GRAPH_RETVAL, Linux 6.5); "
    "f NAME%both $retval and `probewright errors NAME` have them"
)
"""Message for calls where `lacks_returns` is True."""
_TOP: Final = (1 << 64) - 1
_DEEPEST: Final = (1 << 12) - 1
"""Maximum depth, far more than the kernel follows (FTRACE_RETFUNC_DEPTH, include/linux/sched.h)."""


def lacks_returns(formats: Iterable[EventFormat]) -> bool:
    """Return whether the tracer's formats are among some formats, but without return values."""
    exits = [fmt for fmt in formats if fmt.path == EXIT]
    return bool(exits) and not any("retval" in fmt.names for fmt in exits)


def graph_end(record: Record) -> End | None:
    """Return the end of a call that a record of the tracer is; None: received as text, or truncated."""
    function, depth = record.values.get("func"), record.values.get("depth")
    if record.layout is None or not isinstance(function, int) or not isinstance(depth, int):
        return None
    depth = min(max(depth, 0), _DEEPEST)
    task = record.pid or idle_task(record.cpu)
    proof = function << 12 | depth
    # The function is part of the proof instead, so that any call can prove another one to be over.
    return End(record.seq, record.ts, task, TRACER_FUNCTION, record.event == EXIT, proof, _TOP - depth)


def measured_duration(leave: Record) -> int | None:
    """Return the nanoseconds that the tracer measured for a call, from its exit; None: not recorded.

    The result is always slightly less than the difference of the events' time stamps, and without the option
    sleep-time excludes sleep.
    """
    begin, end = leave.values.get("calltime"), leave.values.get("rettime")
    if leave.event != EXIT or not isinstance(begin, int) or not isinstance(end, int) or not end:
        return None
    return end - begin
