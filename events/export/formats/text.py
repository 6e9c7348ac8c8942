"""Write text exactly as the kernel prints it, a line per event, as trace_pipe does with its default options.

    head-221     [001] ...1.    18.307518: rd: (vfs_read+0x4/0x490) count=1024

Sources: kernel/trace/trace_output.c, trace_print_context() and trace_print_lat_fmt();
`events.names.kernel_text.kernel_text` makes the part after the time stamp. An event received as text has no flags;
then the line looks as with the kernel's option `irq-info` off. Strings are the recorded bytes, whatever they are.

The calls of the function_graph tracer have no lines of their own: the kernel draws a graph of them. They are omitted,
and counted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import BinaryIO

from events.export.catalogue import left_out_note
from events.export.escape import exact_values, unescape_text
from events.export.source import ExportSource
from events.graph.record_ends import EVENTS
from events.kernel_time import seconds
from events.names.kernel_text import kernel_text
from events.record import Record
from events.stacks.stack import KERNEL_STACKS, is_stack, kernel_frames, user_frames

_IRQS_OFF, _RESCHED_LAZY, _RESCHED, _HARDIRQ, _SOFTIRQ, _PREEMPT, _NMI, _BH_OFF = (1 << bit for bit in range(8))
"""Flags of enum trace_flag_type, include/linux/trace_events.h."""
_RESCHEDULE = {
    _RESCHED | _RESCHED_LAZY | _PREEMPT: "B",
    _RESCHED | _PREEMPT: "N",
    _RESCHED_LAZY | _PREEMPT: "L",
    _RESCHED | _RESCHED_LAZY: "b",
    _RESCHED: "n",
    _RESCHED_LAZY: "l",
    _PREEMPT: "p",
}


def latency_flags(flags: int, preempt_count: int) -> str:
    """Return the five characters of the CPU's state, `d.h2.`, from `common_flags` and `common_preempt_count`."""
    off = {_IRQS_OFF | _BH_OFF: "D", _IRQS_OFF: "d", _BH_OFF: "b"}.get(flags & (_IRQS_OFF | _BH_OFF), ".")
    reschedule = _RESCHEDULE.get(flags & (_RESCHED | _RESCHED_LAZY | _PREEMPT), ".")
    hard, soft = flags & _HARDIRQ, flags & _SOFTIRQ
    if flags & _NMI:
        interrupt = "Z" if hard else "z"
    else:
        interrupt = "H" if hard and soft else "h" if hard else "s" if soft else "."
    depth, migrate = preempt_count & 0xF, preempt_count >> 4
    return f"{off}{reschedule}{interrupt}{f'{depth:x}' if depth else '.'}{f'{migrate:x}' if migrate else '.'}"


def context(record: Record) -> str:
    """Return the part before an event's own text: task, CPU, flags, time in microseconds."""
    flags = f" {latency_flags(record.raw[2], record.raw[3])}" if len(record.raw) > 3 else ""
    task, cpu = f"{record.comm:>16}-{record.pid:<7}", f"{record.cpu:03}" if record.cpu >= 0 else "---"
    return f"{task} [{cpu}]{flags} {seconds(record.ts):>12}: "


def _exact(record: Record) -> Record:
    """Return the event with strings that are distinct from their escapes."""
    values = exact_values(record)
    if values is record.values:
        return record
    copy = replace(record)
    copy.__dict__["values"] = values  # the attribute in which cached_property stores its result
    return copy


class KernelText:
    """Writer of the kernel's text; see the module."""

    def __init__(self, source: ExportSource, out: BinaryIO) -> None:
        self._source = source
        self._out = out
        self.omitted = 0

    @property
    def notes(self) -> tuple[str, ...]:
        if not self.omitted:
            return ()
        return (left_out_note(self.omitted, "the kernel draws a graph of these calls, not a line of each"),)

    def take(self, record: Record) -> None:
        if record.event in EVENTS and not record.text:
            self.omitted += 1
            return
        for part in (record, *record.stacks):
            self._write(part)

    def _write(self, record: Record) -> None:
        line = context(record) + self._text(_exact(record))
        # Bytes that are not UTF-8 were decoded to `\xNN`: the kernel prints the bytes.
        self._out.write((unescape_text(line) if "\\x" in line else line.encode()) + b"\n")

    def _text(self, record: Record) -> str:
        if is_stack(record):  # trace_stack_print(), trace_user_stack_print()
            kernel = record.event in KERNEL_STACKS
            frames = (kernel_frames(record, self._source.symbols) if kernel else user_frames(record)) or ()
            lines = (f" => {frame.function if frame.symbol else f'{frame.address or 0:x}'}" for frame in frames)
            return "\n".join(["<stack trace>" if kernel else "<user stack trace>", *lines])
        about = self._source.of(record.event)
        return kernel_text(record, self._source.symbols(record.boot), about.attached, about.user)

    def finish(self) -> None:
        """Write nothing: every line is complete."""
