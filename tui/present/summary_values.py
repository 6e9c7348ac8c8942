"""Counted values of events and of the kernel's histograms, with their names for people. Imports no screen code."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Collection, Container, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from events.clocks.boots import ID_MASK
from events.conditions.comparison import COMM, PID
from events.conditions.condition_parser import and_condition, free_word, function_clause, number_clause, quote_value
from events.decode import Value
from events.format import Field
from events.names.event_names import event_name, exported_name
from events.recording.lines_in_time import COMMAND_OUTPUT
from events.stacks.events_beside import is_counted
from events.store.outage_mark import task_text
from events.text import UNNAMED
from foreign.count_text import counted
from kernel.watch.event_fields import value_text
from kernel.watch.watch import Watch
from probes.plans.plan import PlanColumn
from tui.present.status import fields_of
from tui.present.value_text import ValueStyle, time_of
from tui.present.watched_events import events_of, kernel_paths

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
"""Percentiles by name."""


class Subject(NamedTuple):
    """Field whose values are counted; without a field: the processes of all events."""

    event: str = ""
    """Path of the event."""
    field: str = ""

    @property
    def label(self) -> str:
        return f"{event_name(self.event)} {self.field}" if self.field else "process"


class SummaryValue(NamedTuple):
    """Counted value, with a filter condition for its events."""

    label: str
    hits: int
    error: int
    condition: str
    """Condition of a filter; empty: none is possible."""
    number: bool
    value: Value = None
    """Recorded value; for processes their name."""
    pids: tuple[int, ...] = ()
    """Thread ids of processes of that name."""


def subjects_of(watch: Watch, store: Store) -> tuple[Subject, ...]:
    """Return the fields of armed or received events, in the order in which the probes name them, those of the
    kernel's own events in the order in which people read them, then the processes.
    """
    formats = {fmt.path: fmt for fmt in store.decoder.formats.values()}
    order = {name: number for number, name in enumerate(fields_of(watch))}
    of_kernel = kernel_paths(watch.event_fields.plans)

    def names(path: str) -> list[str]:
        found = [field.name for field in watch.event_fields.fields(formats[path])]
        return sorted(found, key=lambda name: order.get(name, len(order))) if path in of_kernel else found

    events = [path for path in events_of(watch) if path in formats and is_counted(path, None)]
    return (*(Subject(path, name) for path in events for name in names(path)), Subject())


def preferred(
    watch: Watch, subjects: tuple[Subject, ...], probes: Collection[Armable], columns: tuple[str, ...]
) -> tuple[tuple[Subject, ...], tuple[Subject, ...]]:
    """Return the subjects that are columns of the given probes, in the order of the columns, and all with these
    first.
    """
    # A recording shows a probe through another that covers it.
    names = () if watch.live else {probe.subject for probe in probes}
    plans = [plan for plan in watch.event_fields.plans if plan.probe in probes or plan.probe.subject in names]
    paths = {event.path for plan in plans for event in plan.events}
    columns_of_probes = [
        subject for subject in subjects if subject.event in paths and (subject.field in columns or not columns)
    ]
    if columns:
        columns_of_probes.sort(key=lambda subject: columns.index(subject.field))
    return tuple(columns_of_probes), tuple(dict.fromkeys((*columns_of_probes, *subjects)))


def first_subject(watch: Watch, subjects: tuple[Subject, ...]) -> Subject:
    """Return the first subject that has values; if none has, the first."""
    return next((subject for subject in subjects if has_values(watch, subject)), subjects[0])


def has_values(watch: Watch, subject: Subject) -> bool:
    """Return True if an event of a subject was received."""
    return events_of(watch).get(subject.event, False)


def values_of(watch: Watch, counted: FieldValues | None, *, exact: bool = False) -> list[SummaryValue]:
    """Return the most frequent values of a field, those of one name together, which another boot may have elsewhere;
    `exact`: values whose rounded texts are equal are not merged.
    """
    if counted is None:
        return []
    found: dict[str, list[SummaryValue]] = {}
    floors: Counter[str] = Counter()
    boots = counted.boots
    for boot, values in boots.items():
        name = ValueNames(watch, counted.event, counted.field, boot)
        # Of several boots all are named, as the first ones together may be others than those of each.
        rows = name.rows(
            values.top(len(values.frequent) if len(boots) > 1 else SHOWN), values.of_numbers, exact=exact
        )
        for row in rows:
            found.setdefault(row.label, []).append(row)
        floors.update(dict.fromkeys((row.label for row in rows), values.frequent.floor))
    floor = sum(values.frequent.floor for values in boots.values())
    merged = [_one_value(rows, floor - floors[label]) for label, rows in found.items()]
    return sorted(merged, key=lambda one: -one.hits)[:SHOWN]


def _one_value(rows: list[SummaryValue], uncounted: int) -> SummaryValue:
    """Return the rows of one name as one; `uncounted`: greatest number that boots may have which did not count it."""
    first, conditions = rows[0], dict.fromkeys(row.condition for row in rows)
    condition = " || ".join(f"({text})" for text in conditions) if len(conditions) > 1 else first.condition
    return first._replace(
        hits=sum(row.hits for row in rows),
        error=sum(row.error for row in rows) + uncounted,
        condition=condition if all(conditions) else "",
        value=first.value if len({row.value for row in rows}) == 1 else None,
    )


def distinct_values(counted: FieldValues, shown: list[SummaryValue]) -> int:
    """Return the number of values of a field, of several boots that of the names as far as they are shown."""
    numbers = [len(values.frequent) for values in counted.boots.values()]
    return len(shown) if len(numbers) > 1 and len(shown) < SHOWN else max(numbers, default=0)


def tasks_of(store: Store, summary: Summary) -> list[SummaryValue]:
    """Return the processes with the most events; tasks of one name are one row."""
    top = summary.top_tasks(summary.counted)
    counted = [(store.task_names.name(one.key), one.key & ID_MASK, one.hits, one.error) for one in top]
    formats = store.decoder.formats.values()
    rows = by_name(counted, {field.name for fmt in formats for field in fmt.fields})[:SHOWN]
    if not any(fmt.path == COMMAND_OUTPUT for fmt in formats):
        return rows
    lines = f"event != {exported_name(COMMAND_OUTPUT)}"  # they are of a task, and are not counted
    return [row._replace(condition=and_condition(row.condition, lines) if row.condition else "") for row in rows]


def by_name(every_task: Iterable[tuple[str, int, int, int]], own: Container[str] = ()) -> list[SummaryValue]:
    """Merge tasks of one name, given as name, thread id, hits, error; `own`: names of fields that events have."""
    groups: dict[str, list[tuple[int, int, int]]] = {}
    for name, pid, hits, error in every_task:
        groups.setdefault(name, []).append((pid, hits, error))
    found = []
    for name, tasks in groups.items():
        hits, error = (sum(task[n] for task in tasks) for n in (1, 2))
        if len(tasks) == 1:
            pid = tasks[0][0]
            found.append(
                SummaryValue(
                    task_text(name, pid, ""), hits, error, f"{free_word(PID, own)} == {pid}", False, name, (pid,)
                )
            )
        else:
            with_quotes = ""
            with contextlib.suppress(ValueError):
                with_quotes = f"{free_word(COMM, own)} == {quote_value(name)}"
            pids = tuple(sorted(task[0] for task in tasks))
            label = f"{'without name' if name == UNNAMED else name}, {counted(len(tasks), 'task')}"
            found.append(SummaryValue(label, hits, error, with_quotes, False, name, pids))
    return sorted(found, key=lambda one: (-one.hits, one.label))


class ValueNames:
    """Names and filter conditions of the values of a field."""

    def __init__(self, watch: Watch, event: str, field: str, boot: int | None) -> None:
        columns = (
            column
            for plan in watch.event_fields.plans
            for planned in plan.events
            if planned.path == event
            for column in planned.columns
            if column.name == field
        )
        self._column = next(columns, PlanColumn(field, field))
        self._namer = watch.event_fields.namer(boot)
        self.measured = ValueStyle(watch.event_fields).measured(event, field)
        """True for nanoseconds, which are shown as times."""
        self._event = quote_value(event_name(event))
        self._field = field

    def of(self, value: Value, field: Field | None, *, exact: bool = False) -> str:
        """Return the name, with the number if it differs; `exact`: all digits of a time."""
        if self.measured and not exact and (time := time_of(value)):
            return time
        return value_text(value, field, self._column, self._namer)

    def rows(self, counted: Iterable[TopValue], field: Field | None, *, exact: bool) -> list[SummaryValue]:
        """Return the names of values; `field`: see `of`; `exact`: see `values_of`."""
        if self.measured and not exact:
            return self.times(counted)
        return [
            SummaryValue(
                self.of(value, field, exact=exact),
                hits,
                error,
                self.condition(value, field),
                field is not None,
                value,
            )
            for value, hits, error in counted
        ]

    def times(self, counted: Iterable[TopValue]) -> list[SummaryValue]:
        """Merge times that have the same text into one row."""
        groups: dict[str, list[TopValue]] = {}
        for top in counted:
            groups.setdefault(self.of(top.value, None), []).append(top)
        found = []
        for label, tops in groups.items():
            numbers = [top.value for top in tops if isinstance(top.value, int)]
            condition = self.condition(tops[0].value, None)
            if len(numbers) > 1:  # no value between them has another text
                field = self._field
                condition = f"event == {self._event} && {field} >= {min(numbers)} && {field} <= {max(numbers)}"
            found.append(
                SummaryValue(label, sum(top.hits for top in tops), sum(top.error for top in tops), condition, True)
            )
        return sorted(found, key=lambda one: -one.hits)

    def condition(self, value: Value, field: Field | None) -> str:
        """Return the condition for events with a value; empty: none is possible. `field` as for `of`."""
        clause = self.clause(value, field)
        return f"event == {self._event} && {clause}" if clause else ""

    def clause(self, value: Value, field: Field | None) -> str:
        """Return the comparison of the field with a value; empty: none is possible. `field` as for `of`."""
        if self._column.functions and isinstance(value, int):
            return function_clause(self._field, "==", self._namer.function(value, self._column.functions))
        if isinstance(value, bool | int):
            return number_clause(self._field, "==", int(value), self.of(value, field, exact=True))
        try:
            return f"{self._field} == {quote_value(value)}" if isinstance(value, str) else ""
        except ValueError:
            return ""


def kernel_values(
    watch: Watch, read: HistogramReading, subject: Subject, *, exact: bool = False
) -> list[SummaryValue]:
    """Return the values counted in the kernel, the most frequent first; `exact`: see `values_of`."""
    name = ValueNames(watch, subject.event, subject.field, watch.info.symbols.boot)
    field = _field(watch, subject)
    found = []
    for entry in _by_hits(read.histogram.entries):
        value: Value = entry.keys[0].text
        is_text = field is not None and field.kind == "string"
        if (number := entry.keys[0].number) is not None and not is_text:
            bits = 8 * field.size if field and field.size in (1, 2, 4, 8) else 64
            number &= (1 << bits) - 1
            value = number - (1 << bits) if field and field.signed and number >> (bits - 1) else number
        label = name.of(value, field, exact=exact)
        found.append(SummaryValue(label, entry.hits, 0, name.condition(value, field), not is_text, value))
    return found


def _field(watch: Watch, subject: Subject) -> Field | None:
    formats = (fmt for armed in watch.armed.probes for fmt in armed.formats.values() if fmt.path == subject.event)
    return next((field for fmt in formats for field in fmt.fields if field.name == subject.field), None)


def _by_hits(entries: Iterable[HistEntry]) -> list[HistEntry]:
    return sorted(entries, key=lambda entry: (-entry.hits, entry.keys[0].text))


def kernel_tasks(reads: Iterable[HistogramReading]) -> list[SummaryValue]:
    """Return the processes of all events together."""
    hits: dict[tuple[str, int], int] = {}
    for read in reads:
        for entry in read.histogram.entries if read.watched.is_task else ():
            key = entry.keys[0].label, entry.keys[0].number or 0
            hits[key] = hits.get(key, 0) + entry.hits
    return by_name((name, pid, count, 0) for (name, pid), count in hits.items())


def total_of(entries: Iterable[HistEntry]) -> int:
    """Return the sum of the durations that the kernel counted, exactly: floats have no such numbers."""
    return sum(int(dict(entry.value_texts).get("lat", 0)) for entry in entries)


def powers_of(entries: Iterable[HistEntry]) -> list[PowerOfTwo]:
    """Return the entries of a `.log2` key in their order, including those between them without hits."""
    from events.summary.distribution import PowerOfTwo

    found = {entry.keys[0].number: entry.hits for entry in entries if entry.keys[0].number is not None}
    numbers = [number for number in found if number is not None]
    return [PowerOfTwo(n, found.get(n, 0)) for n in range(min(numbers), max(numbers) + 1)] if numbers else []


def quantile_of(powers: list[PowerOfTwo], hundredths: int) -> int:
    """Return the exponent that `hundredths` percent of all do not exceed."""
    from events.summary.distribution import rank

    wanted, below = rank(sum(power.hits for power in powers), hundredths), 0
    for power in powers:
        below += power.hits
        if below >= wanted:
            return power.exponent
    return 0
