"""Text exactly as the kernel prints it, a line an event, as trace_pipe gives it with its default options.

    head-221     [001] ...1.    18.307518: rd: (vfs_read+0x4/0x490) count=1024

Sources: kernel/trace/trace_output.c, trace_print_context() and trace_print_lat_fmt(); what stands behind the time
stamp is made by `events.text.kernel_text`. An event that came as text has no flags: they stand where the kernel's
option `irq-info` is off. Strings are the bytes that were recorded, whatever they are.

The calls of the function_graph tracer have no lines of their own there: the kernel draws a graph of them. They are
left out, and counted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import BinaryIO

from events.export.catalogue import left_out_note
from events.export.escape import exact_values, unescaped
from events.export.source import Source
from events.graph.record_ends import EVENTS
from events.kernel_time import seconds
from events.record import Record
from events.stacks.stack import KERNEL_STACKS, is_stack, kernel_frames, user_frames
from events.text import kernel_text

_IRQS_OFF, _RESCHED_LAZY, _RESCHED, _HARDIRQ, _SOFTIRQ, _PREEMPT, _NMI, _BH_OFF = (1 << bit for bit in range(8))
"""enum trace_flag_type, include/linux/trace_events.h."""
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
    """The five characters that say in what state a CPU was: `d.h2.`; of `common_flags` and `common_preempt_count`."""
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
    """What stands in front of an event's own text: task, CPU, flags, time in microseconds."""
    flags = f" {latency_flags(record.raw[2], record.raw[3])}" if len(record.raw) > 3 else ""
    task = f"{record.comm:>16}-{record.pid:<7}"
    return f"{task} [{record.cpu:03}]{flags} {seconds(record.ts):>12}: "


def _exact(record: Record) -> Record:
    """The same event with strings that can be told from their escapes."""
    values = exact_values(record)
    if values is record.values:
        return record
    same = replace(record)
    same.__dict__["values"] = values  # where cached_property keeps what it has computed
    return same


class KernelText:
    """See the module."""

    def __init__(self, source: Source, out: BinaryIO) -> None:
        self._source = source
        self._out = out
        self.left_out = 0

    @property
    def notes(self) -> tuple[str, ...]:
        if not self.left_out:
            return ()
        return (left_out_note(self.left_out, "the kernel draws a graph of these calls, not a line of each"),)

    def take(self, record: Record) -> None:
        if record.event in EVENTS and not record.text:
            self.left_out += 1
            return
        for one in (record, *record.stacks):
            self._write(one)

    def _write(self, record: Record) -> None:
        line = context(record) + self._text(_exact(record))
        # What is no UTF-8 was made `\xNN` when it was decoded: the kernel prints the bytes.
        self._out.write((unescaped(line) if "\\x" in line else line.encode()) + b"\n")

    def _text(self, record: Record) -> str:
        if is_stack(record):  # trace_stack_print(), trace_user_stack_print()
            kernel = record.event in KERNEL_STACKS
            frames = (kernel_frames(record, self._source.symbols) if kernel else user_frames(record)) or ()
            lines = (f" => {frame.function if frame.symbol else f'{frame.address or 0:x}'}" for frame in frames)
            return "\n".join(["<stack trace>" if kernel else "<user stack trace>", *lines])
        about = self._source.of(record.event)
        return kernel_text(record, self._source.symbols(), about.attached, about.user)

    def finish(self) -> None:
        """Every line is whole."""
