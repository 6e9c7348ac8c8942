"""What is counted, by the names that people know it by: of events, and of the kernel's own histograms. No screen."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Container, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from events.decode import Value
from events.format import Field
from events.names.event_names import event_name
from events.search.comparison import COMM, PID
from events.search.condition_parser import free_word, quoted
from kernel.watch.watch import Watch
from probes.plans.plan import PlanColumn
from tui.present.value_text import ValueStyle, time_of
from tui.present.watched_events import events_of
from widgets.number_format import grouped

if TYPE_CHECKING:
    from events.store.store import Store
    from events.summary.distribution import PowerOfTwo
    from events.summary.hist_text import HistEntry
    from events.summary.summary import Summary
    from events.summary.values import FieldValues, TopValue
    from kernel.watch.histogram import HistogramReading
    from probes.command import Armable

SHOWN: Final = 200
"""Values that are shown."""
QUANTILES: Final = (("p50", 50), ("p90", 90), ("p99", 99))
"""Hundredths of all that are not above."""


class Subject(NamedTuple):
    """What values are counted of; no field: the processes of all events."""

    event: str = ""
    """Path."""
    field: str = ""

    @property
    def label(self) -> str:
        return f"{event_name(self.event)} {self.field}" if self.field else "process"


class SummaryValue(NamedTuple):
    """A value with what the events must be that have it."""

    label: str
    hits: int
    error: int
    condition: str
    """Empty: none can be made."""
    number: bool
    value: Value = None
    """The value itself, as it was recorded; of processes their name."""
    pids: tuple[int, ...] = ()
    """Thread ids of processes of that name."""


def subjects_of(watching: Watch, store: Store) -> tuple[Subject, ...]:
    """The fields of what is armed or came, in the order in which the probes name them, then the processes."""
    formats = {fmt.path: fmt for fmt in store.decoder.formats.values()}
    fields = [
        Subject(path, field.name)
        for path in events_of(watching)
        if path in formats
        for field in watching.known.fields(formats[path])
    ]
    return (*fields, Subject())


def preferred(
    watching: Watch, subjects: tuple[Subject, ...], probes: Collection[Armable], columns: tuple[str, ...]
) -> tuple[tuple[Subject, ...], tuple[Subject, ...]]:
    """Of some those that are columns of some probes, in the order of the columns, and all with these first."""
    # A recording shows a probe by another that covers it.
    names = () if watching.live else {probe.subject for probe in probes}
    plans = [plan for plan in watching.known.plans if plan.probe in probes or plan.probe.subject in names]
    paths = {event.path for plan in plans for event in plan.events}
    own = [subject for subject in subjects if subject.event in paths and (subject.field in columns or not columns)]
    if columns:
        own.sort(key=lambda subject: columns.index(subject.field))
    return tuple(own), tuple(dict.fromkeys((*own, *subjects)))


def first_subject(watching: Watch, subjects: tuple[Subject, ...]) -> Subject:
    """The first of some that has values; while none has, the first."""
    return next((subject for subject in subjects if has_values(watching, subject)), subjects[0])


def has_values(watching: Watch, subject: Subject) -> bool:
    """Whether an event of a subject came."""
    return events_of(watching).get(subject.event, False)


def values_of(watching: Watch, counted: FieldValues | None, *, exact: bool = False) -> list[SummaryValue]:
    """Return the most frequent values of a field; `exact`: none that reads as another is put together with it."""
    if counted is None:
        return []
    name = _Names(watching, counted.event, counted.field)
    known = counted.of_numbers
    if name.measured and not exact:
        return name.times(counted.top(SHOWN))
    return [
        SummaryValue(
            name.of(top.value, known, exact=exact),
            top.hits,
            top.error,
            name.condition(top.value),
            known is not None,
            top.value,
        )
        for top in counted.top(SHOWN)
    ]


def tasks_of(store: Store, summary: Summary) -> list[SummaryValue]:
    """The processes with the most events; tasks of one name are one row."""
    counted = [(store.comm(one.key), one.key, one.hits, one.error) for one in summary.top_tasks(summary.seen)]
    return by_name(counted, {field.name for fmt in store.decoder.formats.values() for field in fmt.fields})[:SHOWN]


def by_name(counted: Iterable[tuple[str, int, int, int]], own: Container[str] = ()) -> list[SummaryValue]:
    """Put tasks of one name together: name, thread id, hits, error; `own`: names of fields that events have."""
    groups: dict[str, list[tuple[int, int, int]]] = {}
    for name, pid, hits, error in counted:
        groups.setdefault(name, []).append((pid, hits, error))
    found = []
    for name, tasks in groups.items():
        hits, error = (sum(task[n] for task in tasks) for n in (1, 2))
        if len(tasks) == 1:
            pid = tasks[0][0]
            found.append(
                SummaryValue(f"{name}-{pid}", hits, error, f"{free_word(PID, own)} == {pid}", False, name, (pid,))
            )
        else:
            with_quotes = ""
            with contextlib.suppress(ValueError):
                with_quotes = f"{free_word(COMM, own)} == {quoted(name)}"
            pids = tuple(sorted(task[0] for task in tasks))
            label = f"{name}, {grouped(len(tasks))} tasks"
            found.append(SummaryValue(label, hits, error, with_quotes, False, name, pids))
    return sorted(found, key=lambda one: (-one.hits, one.label))


class _Names:
    """What the values of a field are called, and how they stand in a condition."""

    def __init__(self, watching: Watch, event: str, field: str) -> None:
        columns = (
            column
            for plan in watching.known.plans
            for planned in plan.events
            if planned.path == event
            for column in planned.columns
            if column.name == field
        )
        self._column = next(columns, PlanColumn(field, field))
        self._namer = watching.known.namer
        self.measured = ValueStyle(watching.known).measured(event, field)
        """Whether it is nanoseconds, which read as times."""
        self._event = event_name(event)
        self._field = field

    def of(self, value: Value, field: Field | None, *, exact: bool = False) -> str:
        """Return the name, with the number where it has another; `exact`: all digits of a time."""
        if self.measured and not exact and (time := time_of(value)):
            return time
        column = self._column
        return self._namer.text(value, column.btf_type, column.is_retval, field, is_call=column.is_call)

    def times(self, counted: Iterable[TopValue]) -> list[SummaryValue]:
        """Times, of which those that read the same are one row."""
        groups: dict[str, list[TopValue]] = {}
        for top in counted:
            groups.setdefault(self.of(top.value, None), []).append(top)
        found = []
        for label, tops in groups.items():
            numbers = [top.value for top in tops if isinstance(top.value, int)]
            condition = self.condition(tops[0].value)
            if len(numbers) > 1:  # nothing between them reads otherwise
                field = self._field
                condition = f"event == {self._event} && {field} >= {min(numbers)} && {field} <= {max(numbers)}"
            found.append(
                SummaryValue(label, sum(top.hits for top in tops), sum(top.error for top in tops), condition, True)
            )
        return sorted(found, key=lambda one: -one.hits)

    def condition(self, value: Value) -> str:
        """Of the events that have the value."""
        of_event = f"event == {self._event} && {self._field} == "
        if isinstance(value, bool | int):
            return f"{of_event}{int(value)}"
        try:
            return f"{of_event}{quoted(value)}" if isinstance(value, str) else ""
        except ValueError:
            return ""


def kernel_values(
    watching: Watch, read: HistogramReading, subject: Subject, *, exact: bool = False
) -> list[SummaryValue]:
    """Return the values that the kernel counted, the most frequent first; `exact`: see `values_of`."""
    name = _Names(watching, subject.event, subject.field)
    field = _field(watching, subject)
    found = []
    for entry in _by_hits(read.histogram.entries):
        value: Value = entry.keys[0].text
        is_text = field is not None and field.kind == "string"
        if (number := entry.keys[0].number) is not None and not is_text:
            bits = 8 * field.size if field and field.size in (1, 2, 4, 8) else 64
            number &= (1 << bits) - 1
            value = number - (1 << bits) if field and field.signed and number >> (bits - 1) else number
        label = name.of(value, field, exact=exact)
        found.append(SummaryValue(label, entry.hits, 0, name.condition(value), not is_text, value))
    return found


def _field(watching: Watch, subject: Subject) -> Field | None:
    formats = (fmt for armed in watching.armed for fmt in armed.formats.values() if fmt.path == subject.event)
    return next((field for fmt in formats for field in fmt.fields if field.name == subject.field), None)


def _by_hits(entries: Iterable[HistEntry]) -> list[HistEntry]:
    return sorted(entries, key=lambda entry: (-entry.hits, entry.keys[0].text))


def kernel_tasks(reads: Iterable[HistogramReading]) -> list[SummaryValue]:
    """Processes of all events together."""
    hits: dict[tuple[str, int], int] = {}
    for read in reads:
        for entry in read.histogram.entries if read.kept.is_task else ():
            key = entry.keys[0].label, entry.keys[0].number or 0
            hits[key] = hits.get(key, 0) + entry.hits
    return by_name((name, pid, count, 0) for (name, pid), count in hits.items())


def powers_of(entries: Iterable[HistEntry]) -> list[PowerOfTwo]:
    """The entries of a `.log2` key in their order, with those between them that have no hits."""
    from events.summary.distribution import PowerOfTwo

    found = {entry.keys[0].number: entry.hits for entry in entries if entry.keys[0].number is not None}
    numbers = [number for number in found if number is not None]
    return [PowerOfTwo(n, found.get(n, 0)) for n in range(min(numbers), max(numbers) + 1)] if numbers else []


def quantile_of(powers: list[PowerOfTwo], hundredths: int) -> int:
    """The exponent that so many hundredths of all are not above."""
    from events.summary.distribution import rank

    wanted, below = rank(sum(power.hits for power in powers), hundredths), 0
    for power in powers:
        below += power.hits
        if below >= wanted:
            return power.exponent
    return 0
