"""Find the largest sample of a source, with the interruptions before it and its stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from events.latencies.cause import CAUSES, softirq_name
from events.latencies.cpu_latencies import CpuLatencies, Measure, Worst
from events.stacks.stack import is_stack
from events.store.outage_mark import task_text
from tui.present.stack_rows import stack_lines
from widgets.number_format import duration

if TYPE_CHECKING:
    from events.record import Record
    from events.store.store import Store
    from kernel.watch.watch import Watch

_MOST_AROUND: Final = 12
"""Most events before it."""
_LOOK_BACK: Final = 4096
"""Rows in which those events are looked for."""
_LOOK_AHEAD: Final = 64
"""Rows in which its stack is looked for, where that has a row of its own."""
_EVERY: Final = 1_000_000_000


class WorstSample(NamedTuple):
    """Largest sample of a source, with the events that explain it."""

    measure: Measure
    sample: Worst
    record: Record
    around: tuple[Record, ...]
    """Interruptions of its CPU before it that may be its cause, the oldest first."""
    stack: tuple[str, ...]
    """Functions in which the interrupt found the CPU, the innermost first; empty: none was recorded."""


def worst_of(watch: Watch, store: Store, found: CpuLatencies, of: Measure | None = None) -> WorstSample | None:
    """Return the largest sample of a measure; None: there is none, or it was dropped from memory.

    `of`: the measure; None: that of threads, else the first.
    """
    measures = [of] if of in found.worst else sorted(found.worst, key=lambda one: (one.name != "thread", one))
    for measure in measures if of is None or of in found.worst else ():
        sample = found.worst[measure]
        try:
            record = store.record(sample.seq)
        except IndexError:
            continue
        return WorstSample(measure, sample, record, _around(store, sample), _stack(watch, store, sample, record))
    return None


def _around(store: Store, sample: Worst) -> tuple[Record, ...]:
    """Return the interruptions on the CPU of a sample that ended within its time."""
    found: list[Record] = []
    begin = sample.ts - sample.value
    for seq in range(sample.seq - 1, max(store.first_seq, sample.seq - _LOOK_BACK) - 1, -1):
        record = store.record(seq)
        if record.ts < begin or len(found) >= _MOST_AROUND:
            break
        if record.cpu == sample.cpu and record.event in CAUSES:
            found.append(record)
    return tuple(reversed(found))


def _stack(watch: Watch, store: Store, sample: Worst, record: Record) -> tuple[str, ...]:
    if lines := stack_lines(watch, record):
        return tuple(line.removeprefix(" => ") for line in lines)
    for seq in range(sample.seq + 1, min(store.next_seq, sample.seq + _LOOK_AHEAD)):
        later = store.record(seq)
        if later.cpu == sample.cpu:
            return tuple(line.removeprefix(" => ") for line in stack_lines(watch, later)) if is_stack(later) else ()
    return ()


def cause_text(record: Record) -> str:
    """Return an interruption as `irq local_timer 12.3 us`."""
    values = record.values
    kind = CAUSES.get(record.event, record.event)
    name = str(values.get("desc") or values.get("comm") or "")
    if kind == "softirq" and isinstance(vector := values.get("vector"), int):
        name = softirq_name(vector)
    took = values.get("duration")
    return f"{kind} {name} {duration(took) if isinstance(took, int) else ''}".strip()


def worst_lines(worst: WorstSample) -> list[str]:
    """Return the worst sample with its causes and its stack; foreign text."""
    sample, measure, record = worst.sample, worst.measure, worst.record
    at = f"{sample.ts // _EVERY}.{sample.ts % _EVERY // 1000:06}"
    task = task_text(record.comm, record.pid, record.event)
    lines = [f"worst {measure.source} {measure.name}: {duration(sample.value)} on CPU {sample.cpu} at {at}, {task}"]
    for record in worst.around:
        before = duration(max(0, sample.ts - record.ts))
        lines.append(f"  {before:>8} before  {cause_text(record)}")
    return lines + [f"  => {line}" for line in worst.stack]
