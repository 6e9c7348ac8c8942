"""Make hist triggers that let the kernel aggregate by key, and read their entries as rows. Imports no screen code.

A trigger has at most three keys, and sums (`vals=`); it has no minimum and no maximum. The powers of two of a value
are one more key (`.log2`). See Documentation/trace/histogram.rst.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from events.aggregates.aggregate import GroupKey
from events.aggregates.event_columns import EVENT, STACKS, KeyKind, KeySource
from events.aggregates.request import (
    BY,
    MAX_KEYS,
    NEGATIVE,
    TIMED,
    AggregateError,
    AggregateFunction,
    AggregateRequest,
    unknown_name,
)
from events.conditions.comparison import COMM, CPU, PID
from events.conditions.errno_comparison import ERRNO
from events.conditions.function_comparison import FUNC
from events.names.event_names import CGROUP
from events.store.columns import is_number
from kernel.watch.hist_tables import read_tables
from probes.bpf.groups.grouping import ValueReading
from probes.command import is_function
from probes.hist.kept import is_listed_as
from probes.hist.trigger import HistTrigger
from tui.present.call_ends import other_ends
from tui.views.aggregate.kernel_groups import GroupsReading, KernelGroup

if TYPE_CHECKING:
    from events.decode import Value
    from events.format import EventFormat, Field
    from events.summary.hist_text import HistEntry, HistKey
    from kernel.watch.hist_tables import HistTable
    from kernel.watch.watch import Watch
    from probes.plans.plan import Plan, PlanColumn, PlannedEvent

ENTRIES: Final = 16384
"""Entries of a histogram; the kernel takes 80 bytes and more for each."""
_FILLER: Final = "common_cpu"
"""Key where all hits of an event are one row: a trigger needs one."""
_HIGHEST: Final = 64
"""Exponent of the numbers above 2^63: of a signed field the negative ones."""
_IN_KERNEL: Final = {
    **dict.fromkeys(COMM, "common_pid.execname"),
    **dict.fromkeys(PID, "common_pid"),
    **dict.fromkeys(CPU, "common_cpu"),
}
_KINDS: Final = {
    **dict.fromkeys(COMM, KeyKind.COMM),
    **dict.fromkeys(PID, KeyKind.PID),
    **dict.fromkeys(CPU, KeyKind.CPU),
    **dict.fromkeys(STACKS, KeyKind.STACK),
    "event": KeyKind.EVENT,
}


class KernelKey(NamedTuple):
    """Key of a request in the events of one plan."""

    kind: KeyKind
    text: str = ""
    """Key of the trigger; empty: all hits of the event have the same key."""
    field: str = ""
    """Name of the field, for a field."""


class EventTrigger(NamedTuple):
    """Hist trigger of one event."""

    event: PlannedEvent
    keys: tuple[KernelKey, ...]
    values: Mapping[str, str]
    """Name of the field by value."""
    log2: str
    """Value whose powers of two are counted; empty: none."""
    text: str


def triggers_of(request: AggregateRequest, plan: Plan, name: str) -> list[EventTrigger]:
    """Return the triggers of a probe's events; of an event that lacks a key or all values there is none.

    Args:
        request: keys and statistics.
        plan: plan of the probe.
        name: prefix of the names of the histograms, which nobody else in the kernel has: those of one name are one.

    Raises:
        AggregateError: the kernel can't count it, or no event has it; its text is the key or the value.
    """
    _check(request)
    found: list[EventTrigger] = []
    left_out = _left_out(request, plan)
    for event in plan.events:
        if event.path in left_out:
            continue
        keys = [_key(name, plan, event) for name in request.keys]
        values = {name: column.name for name in request.values if (column := column_of(name, event)) is not None}
        if event.recorded and None not in keys and (values or not request.values):
            known = tuple(key for key in keys if key is not None)
            log2 = next((name for name in request.histograms if name in values), "")
            text = _text(request, event, known, values, log2, f"{name}_{len(found)}")
            found.append(EventTrigger(event, known, values, log2, text))
    if not found:
        names = dict.fromkeys(name for event in plan.events for name in _names(plan, event))
        for key in request.keys:
            if all(_key(key, plan, event) is None for event in plan.events):
                raise AggregateError(unknown_name(key, tuple(names)), BY, key, 0)
        for one in request.statistics:
            if all(column_of(one.value, event) is None for event in plan.events):
                raise AggregateError(unknown_name(one.value, tuple(names)), one.function, one.value, 0)
        raise AggregateError(f"no event has all of {', '.join((*request.keys, *request.values))}", BY, "", 0)
    return found


def _left_out(request: AggregateRequest, plan: Plan) -> frozenset[str]:
    """Return the paths of events without a trigger: of each call the kernel counts the other end."""
    if EVENT in request.keys:
        return frozenset()

    def has_all(event: PlannedEvent) -> bool:
        values = all(column_of(name, event) is not None for name in request.values)
        return event.recorded and values and all(_key(name, plan, event) is not None for name in request.keys)

    return other_ends(plan, [event.path for event in plan.events if has_all(event)])


def _check(request: AggregateRequest) -> None:
    """Raise AggregateError for what no hist trigger counts."""
    for key in request.keys:
        if key in (ERRNO, *CGROUP):
            raise AggregateError(f"{key} is no key in the kernel, which counts fields; {_RECORD}", BY, key, 0)
    for one in request.statistics:
        if one.function in (AggregateFunction.MIN, AggregateFunction.MAX):
            raise AggregateError(
                f"the kernel keeps sums, no {one.function}imum; {_RECORD}", one.function, one.value, 0
            )
        if one.value in TIMED:
            raise AggregateError(f"the kernel has no latency by key; {_RECORD}", one.function, one.value, 0)
    if len(request.histograms) > 1 or (request.histograms and len(request.keys) == MAX_KEYS):
        raise AggregateError(
            f"the kernel has at most {MAX_KEYS} keys, and powers of two are one of them; {_RECORD}", "log2", "", 0
        )


_RECORD: Final = "recorded events are aggregated by it without --hist"


def _names(plan: Plan, event: PlannedEvent) -> Iterator[str]:
    yield from (FUNC,) if is_function(plan.probe) else ()
    yield from ("comm", "pid", "cpu", "event", STACKS[0])
    yield from (column.name for column in event.columns if column.name != event.frame)


def column_of(name: str, event: PlannedEvent) -> PlanColumn | None:
    """Return the column of a field, by its name or the expression that recorded it."""
    columns = [column for column in event.columns if not column.functions]
    return next((one for one in columns if one.name == name), None) or next(
        (one for one in columns if one.label == name), None
    )


def _key(name: str, plan: Plan, event: PlannedEvent) -> KernelKey | None:
    if (column := column_of(name, event)) is not None:
        return KernelKey(KeyKind.FIELD, column.name, column.name)
    if event.function_field and name == event.function_field:
        return KernelKey(KeyKind.FIELD, event.function_address, name)
    if name == FUNC and is_function(plan.probe):
        return KernelKey(KeyKind.FUNCTION)
    if name in _KINDS:
        kind = _KINDS[name]
        return KernelKey(kind, "stacktrace" if kind is KeyKind.STACK else _IN_KERNEL.get(name, ""))
    return None


def _text(
    request: AggregateRequest,
    event: PlannedEvent,
    keys: Iterable[KernelKey],
    values: Mapping[str, str],
    log2: str,
    name: str,
) -> str:
    texts = dict.fromkeys(key.text for key in keys if key.text)
    if log2:
        texts[f"{values[log2]}.log2"] = None
    summed = dict.fromkeys(values[one.value] for one in request.columns if one.value in values)
    trigger = HistTrigger.of(tuple(texts) or (_FILLER,), tuple(summed), size=ENTRIES, filter=event.filter, name=name)
    return str(trigger)


def read_triggers(watch: Watch, triggers: Sequence[EventTrigger]) -> GroupsReading:
    """Read the histograms of triggers. Raises FileRefused, TargetLost."""
    formats = {fmt.path: fmt for armed in watch.armed.probes for fmt in armed.formats.values()}
    found = GroupsReading()
    for table in read_tables(watch.armed):
        for trigger in triggers:
            if trigger.event.path == table.event and is_listed_as(table.histogram.trigger, trigger.text):
                groups = tuple(_groups(trigger, table, formats.get(table.event)))
                found = found.beside(GroupsReading(groups, table.histogram.hits, table.histogram.dropped))
                break
    return found


def _groups(trigger: EventTrigger, table: HistTable, fmt: EventFormat | None) -> Iterator[KernelGroup]:
    """Yield the entries of a histogram that is of a trigger; `fmt`: format of its event."""
    fields = {field.name: field for field in fmt.fields} if fmt is not None else {}
    for entry in table.histogram.entries:
        by_text = {_full(key): key for key in entry.keys}
        keys = tuple(_group_key(key, by_text, trigger.event.path, fmt, fields) for key in trigger.keys)
        exponent = None
        if trigger.log2:
            name = trigger.values[trigger.log2]
            power = by_text.get(f"{name}.log2")
            exponent = power.number if power is not None else None
            if exponent == _HIGHEST and name in fields and fields[name].signed:
                exponent = NEGATIVE
        sums = dict(_sums(trigger, entry, fields))
        powers = {exponent: entry.hits} if exponent is not None else {}
        values = {
            name: ValueReading(entry.hits, sums.get(name, 0), None, None, powers if name == trigger.log2 else {})
            for name in trigger.values
        }
        yield KernelGroup(keys, entry.hits, values)


def _full(key: HistKey) -> str:
    name = "stacktrace" if key.is_stack else key.name
    return f"{name}.{key.modifier}" if key.modifier and not key.is_stack else name


def _group_key(
    key: KernelKey,
    by_text: Mapping[str, HistKey],
    path: str,
    fmt: EventFormat | None,
    fields: Mapping[str, Field],
) -> GroupKey:
    found = by_text.get(key.text)
    if found is None:
        return GroupKey(KeySource(key.kind, fmt, path=path), path)
    value: Value = found.text
    field = fields.get(key.field)
    if key.kind is KeyKind.STACK:
        value = "\n".join(f" => {frame.strip()}" for frame in found.text.split("\n"))
    elif key.kind is KeyKind.COMM:
        value = found.label
    elif found.number is not None and (field is None or is_number(field)):
        value = _signed(found.number, field)
    return GroupKey(KeySource(key.kind, fmt, field, path), value)


def _sums(trigger: EventTrigger, entry: HistEntry, fields: Mapping[str, Field]) -> Iterator[tuple[str, int]]:
    texts = dict(entry.value_texts)
    for value, name in trigger.values.items():
        if name in texts:
            number = int(texts[name])
            yield value, number - (1 << 64) if name in fields and fields[name].signed and number >> 63 else number


def _signed(number: int, field: Field | None) -> int:
    """Return the number of a field; the kernel prints a negative one plus 2^64."""
    bits = 8 * field.size if field is not None and field.size in (1, 2, 4, 8) else 64
    number &= (1 << bits) - 1
    return number - (1 << bits) if field is not None and field.signed and number >> (bits - 1) else number
