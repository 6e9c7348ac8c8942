"""Estimate the cost of a probe for its machine from its kind, its fields and its rate of hits.

The cost has two parts: the probe itself, and on a remote host the process that reads and sends its events.

The figures are for a current machine, each for a hit without contention. Of kprobes in general:
Documentation/trace/kprobes.rst, "Probe Overhead". Those of a remote host's readers were measured on a virtual machine
with two processors in 2026: CPU time (/proc/PID/schedstat) of the agent, or of the shell's `dd`, and of OpenSSH's
server, at 0 to 10,000 events a second of 44 and of 100 bytes. Costs that only show in a kernel's own buffer (its
text, an additional field) were measured in the lab: CPU time of a whole guest with Linux 7.2, with and without a
reader, and the number of its instructions (QEMU's icount).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from probes.command import UserProbe
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe

ENTRY_NS = {"f": 50, "p": 60, "r": 120, "t": 30, "e": 150, "s": 0}
"""Nanoseconds to enter and leave a probe, by the letter of its line. Fprobes, and kprobes at a function's beginning,
use ftrace's call."""
EXIT_NS = 60
"""Further nanoseconds of an fprobe at the exit, which stores and restores the return address."""
TRAP_NS = 500
"""Nanoseconds of a kprobe within a function, which may need a breakpoint instruction."""
USER_NS = {"p": 1500, "r": 3000}
"""Nanoseconds of a probe in a program: a trap, and the entry into the kernel."""
RECORD_NS = 120
"""Nanoseconds to reserve space in the buffer and write an event without fields."""
DISCARD_NS = 60
"""Nanoseconds of an event that its filter discards after it was filled in."""
FIELD_NS = 15
"""Nanoseconds to fetch a field."""
COUNT_NS = 80
"""Nanoseconds of a hist trigger to count a hit."""

EMULATED = 15
"""Factor of these times on an emulated machine, such as the lab's guests. Measured there: 10 (a probe) to 15 (its
reader)."""


class ReaderCost(NamedTuple):
    """CPU time in nanoseconds of the process that reads events on a remote host, including its ssh server's."""

    per_second: int
    """Nanoseconds in each second, with or without events: the process reads losses and names of tasks."""
    per_pass: int
    """Nanoseconds of a pass over the buffers that returns events."""
    passes: int
    """Largest number of passes in a second; fewer events have a pass each."""
    per_event: int
    """Nanoseconds of an event without fields."""
    per_field: int
    """Nanoseconds of each field."""


AGENT = ReaderCost(per_second=1_000_000, per_pass=330_000, passes=33, per_event=470, per_field=25)
"""Cost of `kernel.agent.main`, a Python program: its passes are `kernel.agent.ring_reader.PERIOD` apart, and it
compresses pages before it sends them."""
SHELL = ReaderCost(per_second=2_000_000, per_pass=150_000, passes=200, per_event=3_500, per_field=500)
"""Cost of `dd` of trace_pipe: the kernel formats each event as text, and wakes its reader for every few events."""


class EventRate(NamedTuple):
    """Rate of an event."""

    hits: float
    """Hits of the probe in a second."""
    records: float
    """Hits in a second that pass the event's filter."""


def cost_of(plan: Plan, rates: Mapping[str, EventRate], *, counting: bool = False) -> float:
    """Return the share of a CPU that a probe takes: 0.05 is five percent.

    Args:
        plan: plan of the probe.
        rates: rates by `group/event`; missing events cost nothing.
        counting: the kernel counts hits and records no events.
    """
    ns = 0.0
    for event in plan.events:
        rate = rates.get(event.path, EventRate(0, 0))
        fields = len(event.columns) * FIELD_NS
        if counting:
            ns += rate.hits * (hit_ns(plan, event) + fields + DISCARD_NS + COUNT_NS)
        else:
            passed = min(rate.hits, rate.records)
            ns += rate.hits * (hit_ns(plan, event) + fields) + passed * RECORD_NS
            ns += (rate.hits - passed) * DISCARD_NS
    return ns / 1e9


def reading_cost_of(plan: Plan, rates: Mapping[str, EventRate], reader: ReaderCost) -> float:
    """Return the share of a remote host's CPU that reading a probe's events takes, if no other probe is read.

    Args:
        plan: plan of the probe.
        rates: rates by `group/event`; missing events cost nothing.
        reader: cost of the reading process.
    """
    records, ns = 0.0, float(reader.per_second)
    for event in plan.events:
        rate = rates.get(event.path, EventRate(0, 0))
        passed = min(rate.hits, rate.records)
        records += passed
        ns += passed * (reader.per_event + len(event.columns) * reader.per_field)
    return (ns + min(records, reader.passes) * reader.per_pass) / 1e9


def hit_ns(plan: Plan, event: PlannedEvent) -> int:
    """Return the nanoseconds to enter and leave an event's handler."""
    letter = event.line[:1]
    if isinstance(plan.probe, UserProbe):
        returns = letter == "r" or plan.probe.returns
        return USER_NS["r" if returns else "p"]
    if letter == "p" and event.at_exit:
        letter = "r"
    ns = ENTRY_NS.get(letter or "t", ENTRY_NS["p"])  # an existing event of the kernel is a tracepoint
    if letter == "f" and event.at_exit:
        ns += EXIT_NS
    if letter == "p" and isinstance(plan.probe, Probe) and _is_inside(plan.probe):
        ns = TRAP_NS
    return ns


def _is_inside(probe: Probe) -> bool:
    """Return whether a probe stands behind the beginning of its function."""
    return bool(probe.place.offset) or probe.needs_code


def percent(share: float) -> str:
    """Return a share of CPUs as text: `12 % of a CPU`, `< 0.1 % of a CPU`; above 1 as a number: `2.5 CPUs`."""
    if share >= 1:
        return f"{share:.1f} CPUs"
    if share < 0.001:
        return "< 0.1 % of a CPU"
    return f"{share:.0%} of a CPU".replace("%", " %") if share >= 0.1 else f"{share * 100:.1f} % of a CPU"
