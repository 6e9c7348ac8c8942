"""Check what is to be aggregated against the events of a watch, and tell what their fields mean. Imports no screen
code.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from events.aggregates.event_columns import (
    EVENT,
    STACKS,
    EventColumns,
    field_of,
    key_names,
    key_source,
    value_names,
    value_source,
)
from events.aggregates.request import BY, TIMED, AggregateError, AggregateRequest, place_of_key, unknown_name
from events.conditions.condition import COMMON_FIELDS
from events.conditions.errno_comparison import ERRNO, NO_RESULT
from events.conditions.field_kinds import value_kind
from events.conditions.function_comparison import FUNC
from events.format import RETVAL
from events.graph.record_ends import EXIT
from events.stacks.events_beside import is_counted
from tui.present.call_ends import ends_of, other_ends
from tui.present.watched_events import events_of, formats_of, probed_functions

if TYPE_CHECKING:
    from events.calls.call_values import EndRole
    from events.conditions.condition import Condition
    from events.format import EventFormat
    from kernel.watch.watch import Watch
    from probes.plans.plan import Plan, PlannedEvent

FormatColumns = tuple["EventFormat", EventColumns]

_OF_TRACER: Final = EventColumns({"$retval": RETVAL})
"""Meaning of the fields of the function_graph tracer's exits, which are of no probe."""


class PlanColumns:
    """Meaning of the fields of a watch's events, by path."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._plans: tuple[Plan, ...] = ()
        self._stacks = 0
        self._functions: Mapping[str, str] = {}
        """Probed function by path, of events on one function."""
        self._columns: dict[str, EventColumns] = {}

    def of(self, path: str) -> EventColumns:
        """Return the meaning of the fields of an event."""
        known = self._watch.event_fields
        if self._plans != known.plans or self._stacks != len(known.with_stacks):
            self._plans, self._stacks = known.plans, len(known.with_stacks)
            self._functions = probed_functions(self._plans)
            self._columns = {event.path: self._of(event) for plan in self._plans for event in plan.events}
        if path == EXIT:
            return _OF_TRACER
        return self._columns.get(path) or EventColumns(has_stacks=path in known.with_stacks)

    def _of(self, event: PlannedEvent) -> EventColumns:
        return EventColumns(
            {column.label: column.name for column in event.columns if column.label},
            frozenset((event.frame,) if event.frame else ()),
            event.path in self._functions,
            event.path in self._watch.event_fields.with_stacks,
        )

    def formats(self) -> list[FormatColumns]:
        """Return the formats of the events that are armed or were received and counted, with the meaning of their
        fields.
        """
        armed = [fmt for one in self._watch.armed.probes for fmt in one.formats.values()]
        listed = events_of(self._watch)
        every = dict.fromkeys((*armed, *formats_of(self._watch)))
        found = [fmt for fmt in every if is_counted(fmt.path, None)]
        own = [fmt for fmt in found if fmt.path in listed]
        return [(fmt, self.of(fmt.path)) for fmt in own or found]


class Choices(NamedTuple):
    """Names that can be chosen."""

    keys: tuple[str, ...]
    values: tuple[str, ...]


def choices_of(columns: PlanColumns, ends: Mapping[str, EndRole]) -> Choices:
    """Return the keys and the values that the events of a watch have."""
    formats = columns.formats()
    return Choices(key_names(formats), value_names(formats, has_calls=bool(ends)))


def default_request(columns: PlanColumns) -> AggregateRequest:
    """Return the keys that suit the events of a watch: of several functions the function, and the process."""
    several = any(FUNC in fmt.names for fmt, _ in columns.formats())
    return AggregateRequest((FUNC, "comm") if several else ("comm",))


def ends_for(watch: Watch, request: AggregateRequest, columns: PlanColumns) -> Mapping[str, EndRole] | None:
    """Return the roles of events if calls are to be aggregated, as no event alone has all names; None: events are."""
    formats = columns.formats()
    if any(_has_all(request, [one]) for one in formats):
        return None
    ends = ends_of(watch.event_fields.plans)
    return ends if any(_has_all(request, pair, timed=True) for pair in _pairs(formats, ends)) else None


def left_out_ends(
    watch: Watch,
    request: AggregateRequest,
    columns: PlanColumns,
    condition: Condition | None,
    only: Container[str] | None,
) -> frozenset[str]:
    """Return the paths of the ends of calls that are not counted, so that each call counts once; see `other_ends`.

    With the event as a key or in the condition of the filter, both ends are told apart and counted. With a condition
    on what entries lack, the exits are counted: they pass it for their calls. `only`: paths of the events that are
    counted; None: all.
    """
    fields = condition.fields if condition is not None else frozenset[str]()
    if EVENT in request.keys or EVENT in fields:
        return frozenset()
    own = fields - COMMON_FIELDS.keys() - {FUNC}
    having = {one[0].path: one[0] for one in columns.formats() if _has_all(request, [one])}
    having = {path: fmt for path, fmt in having.items() if only is None or path in only}
    found = frozenset[str]()
    for plan in watch.event_fields.plans:
        entries = [having[event.path] for event in plan.events if event.path in having and not event.at_exit]
        found |= other_ends(plan, having, by_exit=any(not own <= set(entry.names) for entry in entries))
    return found


def _has_all(request: AggregateRequest, formats: Sequence[FormatColumns], *, timed: bool = False) -> bool:
    """Tell whether some events together have all keys and values; `timed`: they have a duration."""
    has_keys = all(any(key_source(key, *one) for one in formats) for key in request.keys)
    return has_keys and all(
        any(value_source(value, *one) for one in formats) or (timed and value in TIMED) for value in request.values
    )


def _pairs(formats: Sequence[FormatColumns], ends: Mapping[str, EndRole]) -> Iterator[list[FormatColumns]]:
    by_probe: dict[int, list[FormatColumns]] = {}
    for one in formats:
        if (role := ends.get(one[0].path)) is not None:
            by_probe.setdefault(role.function, []).append(one)
    yield from by_probe.values()


def check_request(
    watch: Watch, request: AggregateRequest, columns: PlanColumns, by_text: str = "", *, adds_stacks: bool = False
) -> None:
    """Raise AggregateError for a name that no event has, with its place in the text of its option.

    Nothing is wrong while no event is known. `by_text`: text of the keys as typed; `adds_stacks`: stacks are recorded
    once the probes are armed.
    """
    formats = columns.formats()
    if not formats:
        return
    ends = ends_of(watch.event_fields.plans)
    keys, values = choices_of(columns, ends)
    for key in request.keys:
        if not any(key_source(key, *one) for one in formats) and not (adds_stacks and key in STACKS):
            text = by_text or ", ".join(request.keys)
            raise AggregateError(_no_key(key, keys), BY, text, place_of_key(text, key))
    for statistic in request.statistics:
        value = statistic.value
        if value in TIMED and ends:
            continue
        if not any(value_source(value, *one) for one in formats):
            raise AggregateError(_no_value(value, values, formats), statistic.function, value, 0)
    if ends_for(watch, request, columns) is None and not any(_has_all(request, [one]) for one in formats):
        raise AggregateError(_not_together(request), BY if request.keys else request.statistics[0].function, "", 0)


def _no_key(name: str, keys: Sequence[str]) -> str:
    if name in STACKS:
        return "no event has a stack: the trigger stacktrace records them"
    if name == ERRNO:
        return NO_RESULT
    return unknown_name(name, keys)


def _no_value(name: str, values: Sequence[str], formats: Iterable[FormatColumns]) -> str:
    if name in TIMED:
        return "no event has a latency: a probe at both ends of a function has it (NAME%both)"
    field = next((field for one in formats if (field := field_of(name, *one)) is not None), None)
    if field is not None:
        return f"{name} is {value_kind(field).value}, and only numbers can be summed; as a key it can be counted"
    return unknown_name(name, values) if values else f"no event has {name}, nor any number"


def _not_together(request: AggregateRequest) -> str:
    names = (*request.keys, *request.values)
    return f"no event has all of {', '.join(names)}, nor have the two ends of a call"
