"""What a probe costs the machine it is on: an estimate, from its kind, what it records and how often it is hit.

It has two parts: the probe itself, and on a far side what reads its events there and sends them.

The figures are for a machine of today, each for one hit that nobody waits for. Of kprobes in general:
Documentation/trace/kprobes.rst, "Probe Overhead". Those of a far side's readers were measured on a virtual machine
with two processors in 2026: CPU time (/proc/PID/schedstat) of the agent, or of the shell's `dd`, and of OpenSSH's
server, at 0 to 10,000 events a second of 44 and of 100 bytes. What only a kernel's own buffer can show (its text, one
field more) comes from the lab: CPU time of a whole guest with Linux 7.2, with and without a reader, and the number of
its instructions (QEMU's icount).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from probes.command import UserProbe
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe

ENTRY_NS = {"f": 50, "p": 60, "r": 120, "t": 30, "e": 150, "s": 0}
"""To get into a probe and out again, by the letter of its line. An fprobe and a kprobe at a function's beginning
sit on ftrace's call."""
EXIT_NS = 60
"""More, for an fprobe at the exit: the return address is kept and given back."""
TRAP_NS = 500
"""A kprobe within a function, which may stand on a breakpoint instruction."""
USER_NS = {"p": 1500, "r": 3000}
"""A probe in a program: a trap, and the way into the kernel."""
RECORD_NS = 120
"""To find room in the buffer and write an event without fields."""
DISCARD_NS = 60
"""An event that its filter throws away: it was filled in all the same."""
FIELD_NS = 15
"""To fetch one field."""
COUNT_NS = 80
"""A hist trigger adds one."""

EMULATED = 15
"""Times as long as all of this takes in a machine that is emulated: the lab's guests. Measured there: 10 (a probe)
to 15 (its reader)."""


class ReaderCost(NamedTuple):
    """CPU time of what reads events on a far side, in nanoseconds; its ssh server's with it."""

    per_second: int
    """Each second, whether events come or not: losses and the names of tasks are asked for."""
    per_pass: int
    """Of one pass over the buffers that brings something."""
    passes: int
    """Most of them in a second; of fewer events each has its own."""
    per_event: int
    """Of one event without fields."""
    per_field: int
    """Of each of its fields."""


AGENT = ReaderCost(per_second=1_000_000, per_pass=330_000, passes=33, per_event=470, per_field=25)
"""`kernel.agent.main`, a Python program: passes `kernel.agent.ring_reader.PERIOD` apart; it packs pages before it
sends them."""
SHELL = ReaderCost(per_second=2_000_000, per_pass=150_000, passes=200, per_event=3_500, per_field=500)
"""`dd` of trace_pipe: the kernel makes text of each event, and wakes its reader for every few of them."""


class EventRate(NamedTuple):
    """How often an event happens."""

    hits: float
    """A second: how often the probe runs."""
    records: float
    """A second: of these, the ones that pass the event's filter."""


def cost_of(plan: Plan, rates: Mapping[str, EventRate], *, counting: bool = False) -> float:
    """Share of one CPU that a probe takes: 0.05 is five percent of it.

    Args:
        plan: its events.
        rates: by `group/event`; events that are not in it cost nothing.
        counting: the kernel counts its hits and records nothing.
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
    """Share of one CPU of a far side that reading a probe's events takes there, as long as no other is read.

    Args:
        plan: its events.
        rates: by `group/event`; events that are not in it cost nothing.
        reader: what reads them.
    """
    records, ns = 0.0, float(reader.per_second)
    for event in plan.events:
        rate = rates.get(event.path, EventRate(0, 0))
        passed = min(rate.hits, rate.records)
        records += passed
        ns += passed * (reader.per_event + len(event.columns) * reader.per_field)
    return (ns + min(records, reader.passes) * reader.per_pass) / 1e9


def hit_ns(plan: Plan, event: PlannedEvent) -> int:
    """Nanoseconds to get to an event's handler and back."""
    letter = event.line[:1]
    if isinstance(plan.probe, UserProbe):
        returns = letter == "r" or plan.probe.returns
        return USER_NS["r" if returns else "p"]
    if letter == "p" and event.at_exit:
        letter = "r"
    ns = ENTRY_NS.get(letter or "t", ENTRY_NS["p"])  # an event of the kernel's own is a tracepoint
    if letter == "f" and event.at_exit:
        ns += EXIT_NS
    if letter == "p" and isinstance(plan.probe, Probe) and plan.probe.place.offset:
        ns = TRAP_NS
    return ns


def percent(share: float) -> str:
    """`12 %`, `0.3 %`, `< 0.1 %` of one CPU; of more than one their number: `2.5 CPUs`."""
    if share >= 1:
        return f"{share:.1f} CPUs"
    if share < 0.001:
        return "< 0.1 % of a CPU"
    return f"{share:.0%} of a CPU".replace("%", " %") if share >= 0.1 else f"{share * 100:.1f} % of a CPU"
