"""Write `kprobe_event=` for the kernel's command line: probes from early boot on.

Documentation/trace/kprobetrace.rst ("Kernel Boot Parameter"): commas stand for spaces and semicolons for line ends
(setup_boot_kprobe_events, kernel/trace/trace_kprobe.c), and nothing else can be escaped. The events are enabled in
the kernel's own buffer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from probes.export.dialect import ExportText, gather
from probes.export.names import events_of, notes_of
from probes.facts.facts import TargetFacts
from probes.plans.plan import Plan, PlannedEvent

LONGEST = 2047
"""Largest number of characters of a whole command line (COMMAND_LINE_SIZE on x86 and arm64, with its NUL)."""
SMALL_BUFFER = "the kernel's own buffer has two pages until it is used: ftrace=nop trace_buf_size=4M give it its size"
"""Note on a text with probes (trace_set_ring_buffer_expanded, kernel/trace/trace.c)."""
_WRITABLE = re.compile(r"[!#-+\--:<-~]+")
"""Pattern for printable ASCII without space, quote, comma and semicolon."""


def write(plans: Sequence[Plan], facts: TargetFacts) -> ExportText:
    """Return a kernel command line for the plans. Raises CannotExport."""
    events, reasons = events_of(plans), list[str]()
    for event in events:
        reasons += _reasons(event)
    probes = ";".join(line.replace(" ", ",") for event in events for line in event.lines)
    existing = ",".join(f"{event.group}:{event.event}" for event in events if not event.line)
    text = " ".join([f"kprobe_event={probes}"] * bool(probes) + [f"trace_event={existing}"] * bool(existing))
    if len(text) > LONGEST:
        reasons.append(f"{len(text)} characters are too many: a kernel's command line has {LONGEST}")
    gather(reasons)
    note = f"a boot loader has its own way with $ and ;: see what came of them in /proc/cmdline on {facts.title}"
    return ExportText(text + "\n", (*notes_of(plans), note, *[SMALL_BUFFER] * bool(probes)))


def _reasons(event: PlannedEvent) -> list[str]:
    reasons = []
    if event.line and (event.line[0] not in "pr" or "/" in event.line.split(" ")[1]):
        reasons.append(f"{event.event}: the command line makes kprobes and kretprobes only")
    if event.filter:
        reasons.append(f"{event.event}: the command line has no filters: {event.filter}")
    if event.triggers:
        reasons.append(f"{event.event}: the command line has no triggers for probes: {event.triggers[0]}")
    words = [event.group, event.event, *(word for line in event.lines for word in line.split(" "))]
    unwritable = (word for word in words if not _WRITABLE.fullmatch(word))
    return reasons + [
        f"{event.event}: comma, semicolon, quote and space can't be escaped there: {w}" for w in unwritable
    ]
