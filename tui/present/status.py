"""Status texts of the live screen. Imports no screen code."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from foreign.count_text import counted
from tui.present import watched_events
from tui.present.loss_totals import losses_of
from tui.present.ways_out import ARM_ONE, BUILD_PROBE, OPEN_KERNEL
from widgets.events.values import Status

# The first rows must not wait for imports that only a later key needs.
if TYPE_CHECKING:
    from events.conditions.condition import Condition
    from events.conditions.field_kinds import ValueKind
    from events.decode import Value
    from events.format import Field
    from events.loss_counts import LossCounts
    from events.record import Record
    from kernel.connection.kernel_info import KernelInfo
    from kernel.watch.watch import Watch
    from tui.present.first_row import FirstRows, Preview
    from widgets.events.values import DetailField

_CONTEXT = ("common_flags", "common_preempt_count")
_PREEMPT_COUNT = 3
"""Offset of the second of them in a record; the first is before it."""
_INT = 4
"""Bytes of an `int`."""


def fields_of(watch: Watch) -> tuple[str, ...]:
    """Return the names of the fields of a watch's events, in the order in which the probes name them, those of the
    kernel's own events in the order in which people read them.
    """
    probes = watch.armed.probes
    formats = (fmt for one in probes for fmt in one.formats.values())
    return watched_events.fields_of(watch.event_fields.plans, (one.plan for one in probes), watch.store, formats)


def sorts_of_fields(watch: Watch) -> dict[str, ValueKind]:
    """Return the kind of value of each field that a probe records, or recorded before."""
    from events.conditions.errno_comparison import ERRNO
    from events.conditions.field_kinds import ValueKind, common_kind, value_kinds
    from events.conditions.function_comparison import FUNC
    from events.format import PROBE_FIELDS
    from events.graph.record_ends import EVENTS
    from events.names.errnos import returned_field
    from events.recording.chunks import RecordingError

    formats = [fmt for one in watch.armed.probes for fmt in one.formats.values()]
    with contextlib.suppress(RecordingError):  # a damaged recording is reported where it is read
        formats += watched_events.formats_of(watch)
    # The tracer has no plan that names the fields of its calls.
    traced = (name for fmt in formats if fmt.path in EVENTS for name in fmt.names)
    plans = watch.event_fields.plans
    columns = (column.name for plan in plans for event in plan.events for column in event.columns)
    places = (name for fmt in formats for name in fmt.names if name in PROBE_FIELDS)
    kinds = value_kinds(formats, dict.fromkeys((*columns, *traced, *places)))
    for name in {name for fmt in formats for name in watch.event_fields.address_fields(fmt)}:
        if kinds.get(name) is ValueKind.NUMBER:
            kinds[name] = ValueKind.SYMBOL
    has_results = any(column.is_retval for plan in plans for event in plan.events for column in event.columns)
    if has_results or any(returned_field(fmt) is not None for fmt in formats):
        kinds[ERRNO] = common_kind((ValueKind.NUMBER, kinds.get(ERRNO, ValueKind.NUMBER)))
    if watched_events.probed_functions(plans):
        kinds[FUNC] = common_kind((ValueKind.TEXT, kinds.get(FUNC, ValueKind.TEXT)))
    return kinds


def remark_of(condition: Condition) -> str:
    """Return, for a condition on cgroups, how many match and how many tasks are in unknown ones; else an empty
    text.
    """
    parts = condition.of_cgroups
    if not parts:
        return ""
    meant = len({path for part in parts for path in part.paths})
    unknown = len(parts[0].cgroups.unknown)
    words = counted(meant, "cgroup") if meant else "no such cgroup is known"
    return words + (f", {counted(unknown, 'task')} in unknown ones" if unknown else "")


def status_of(info: KernelInfo, watch: Watch | None, counts: LossCounts | None, *, tracing: bool) -> Status:
    """Return the status in the top line."""
    return Status(
        info.target.name,
        info.facts.title,
        len(info.catalog),
        len(watch.armed.probes) if watch and watch.error is None else 0,
        losses_of(watch, counts),
        recording=bool(watch and watch.recording.recorder),
        is_disconnected=bool(watch and watch.error is not None),
        tracing=tracing,
        overdue_text=silence_of(info, live=tracing or (watch is not None and watch.live)),
        is_recording=info.target.recording is not None and info.holds_events,
    )


def silence_of(info: KernelInfo, *, live: bool) -> str:
    """Return the time since a target last answered, if it owes an answer and events are expected of it."""
    seconds = getattr(info.target, "overdue_seconds", None) if live else None
    if seconds is None:
        return ""
    from kernel.remote.silence import words

    return words(seconds)


def status_of_preview(preview: Preview, rows: FirstRows) -> Status:
    """Return the status of a recording that is not open yet."""
    return Status(preview.target, preview.kernel, len(preview.names), rows.armed, rows.losses, is_recording=True)


def note_of_gap(watch: Watch) -> str:
    """Return the note for screens that count calls or events: the duration of outages; empty: there were none."""
    from events.store.outage_mark import total_outage_text

    return f"disconnected for {gap}" if (gap := total_outage_text(watch.outages)) else ""


def note_of(watch: Watch) -> str:
    """Return the note above the events."""
    if note := note_of_recording(watch):
        return note
    if watch.ended and (watch.info.is_truncated or watch.error is None):
        return note_of_end(cut_short=watch.info.is_truncated)
    if watch.ended:
        return watch.connection_note
    if not watch.armed.probes:
        return "nothing is armed any more"
    from tui.present.activity import activity_of

    return activity_of(watch).note


def note_of_order(order: str, watch: Watch) -> str:
    """Return the note on rows that are not in the order of time; empty: they are, `order` is empty."""
    left_out = "new rows are left out, " if watch.live else ""
    return f"{order}; {left_out}S changes it" if order else ""


def note_of_end(*, cut_short: bool) -> str:
    """Return the note of a recording whose events are all read: what is missing, or what can be done next."""
    if cut_short:
        return "the recording is cut short here: its end is missing"
    return f"{BUILD_PROBE}, {OPEN_KERNEL}"


def note_of_preview(rows: FirstRows) -> str:
    """Return the note above the first rows of a recording; empty if more will come."""
    return note_of_end(cut_short=rows.is_truncated) if rows.complete else ""


def note_of_recording(watch: Watch) -> str:
    """Return the note of the recording being written; empty: none is."""
    recorder = watch.recording.recorder
    if recorder is None:
        return watch.recording.error
    dropped = recorder.dropped
    note = f", which {counted(dropped, 'event was', 'events were')} too fast for" if dropped else ""
    return f"recording to {recorder.path.name}{note}"


def note_of_nothing(info: KernelInfo | None) -> str:
    """Return the note where no events can come; empty while the target is being opened."""
    if info is None:
        return ""
    if info.is_truncated and not info.holds_events:
        return "the recording is cut short: its events are missing"
    if not info.target.is_kernel:
        return f"no events are here, only what is known of a kernel: {BUILD_PROBE}, {OPEN_KERNEL}"
    return f"nothing is armed: {ARM_ONE}"


def rates_of(watch: Watch | None) -> dict[str, float | None]:
    """Return events per second of each armed function or event by its name in the list; None: unknown."""
    if watch is None:
        return {}
    from probes.attaching.places import listed_name

    if not watch.has_pace:
        return {listed_name(armed.plan.probe): None for armed in watch.armed.probes}
    rates = watch.store.by_event(watch.store.rates()) if watch.store else {}
    found: dict[str, float | None] = {}
    for armed in watch.armed.probes:
        name = listed_name(armed.plan.probe)
        found[name] = (found.get(name) or 0.0) + sum(rates.get(event.path, 0.0) for event in armed.plan.events)
    return found


def detail_of(watch: Watch, record: Record, call: tuple[DetailField, ...] = ()) -> tuple[DetailField, ...]:
    """Return every field of an event: captured ones, stack, time of day and cgroup, then those the kernel adds.

    `call`: rows on the call that the event is an end of, after the captured fields.
    """
    from events.record import detail
    from events.stacks.stack import is_stack
    from events.store.outage_mark import is_mark, mark_values
    from tui.present.stack_rows import stack_rows
    from tui.present.value_text import ValueStyle
    from widgets.events.values import DetailField

    if is_mark(record):
        return tuple(DetailField(name, str(value), "", -1, 0, b"") for name, value in mark_values(record).items())
    named = dict(ValueStyle(watch.event_fields).values(record, at_once=True))
    context = _context_of(record)
    rows = []
    unshown = ("caller",) if is_stack(record) else ()  # all callers stand as rows of the stack
    for one in detail(record):
        field = one.field
        if field.name in unshown:
            continue
        value = named.get(field.name) or watch.event_fields.namer(record.boot).text(one.value, field=field)
        number = _number_text(one.value, field)
        if (
            number == str(one.value)
            and isinstance(one.value, int)
            and one.value > 9
            and _is_hexadecimal(watch, record, field)
        ):
            number = hex(one.value)
        # An address has only one form, and the name of a system call already has its number behind it.
        alone = number in (value, "") or value.startswith(("0x", f"{number} ", f"{number}<"))
        both = context.get(field.name) or (value if alone else f"{value}  ({number})")
        if note := watch.event_fields.note(record, field.name, one.value):
            both = f"{both}  {note}"
        rows.append(DetailField(field.name, both, field.type, field.offset, len(one.raw), one.data))
    captured, of_probe, common = ([row for row in rows if rank_of(row.name) == rank] for rank in range(3))
    known = (*_day_row(watch, record), *_cgroup_row(watch, record))
    return (*captured, *call, *stack_rows(watch, record), *known, *of_probe, *common)


def _context_of(record: Record) -> dict[str, str]:
    """Return the texts of the fields that tell in which context an event is; empty: the record is text."""
    from events.names.number_names import context_texts

    if len(record.raw) <= _PREEMPT_COUNT:
        return {}
    return dict(zip(_CONTEXT, context_texts(record.raw[_PREEMPT_COUNT - 1], record.raw[_PREEMPT_COUNT]), strict=True))


def _number_text(value: Value, field: Field) -> str:
    """Return a value without its name; of an `int` that a system call's event has in 64 bits the number it is."""
    from events.names.number_names import as_int
    from events.text import show

    return str(as_int(value)) if type(value) is int and field.type == "int" and field.width > _INT else show(value)


def _is_hexadecimal(watch: Watch, record: Record, field: Field) -> bool:
    from events.names.value_names import is_address

    return is_address(field) or (
        record.format is not None and watch.event_fields.reading(record.format, field).hexadecimal
    )


def rank_of(name: str) -> int:
    """Return the order of a field: 0 captured by the probe; 1 added by the kernel for a probe; 2 common to all
    events.
    """
    return 2 if name.startswith("common_") else 1 if name.startswith("__probe_") else 0


def _day_row(watch: Watch, record: Record) -> tuple[DetailField, ...]:
    """Return the time of day on this machine's clock with its uncertainty, if it is known."""
    from tui.present.event_times import day_of
    from widgets.events.values import DetailField

    day = day_of(watch, record.ts, record.seq)
    return (DetailField("time of day", day, "", -1, 0, b""),) if day else ()


def _cgroup_row(watch: Watch, record: Record) -> tuple[DetailField, ...]:
    """Return the cgroup of the task, if it is known."""
    from widgets.events.values import DetailField

    path = watch.store.cgroups.path_of(record.pid, record.ts, record.seq) if watch.store else None
    return (DetailField("cgroup", path, "", -1, 0, b""),) if path else ()
