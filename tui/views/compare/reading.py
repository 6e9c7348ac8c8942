"""Read a recording for a comparison: count its events as they come, and name keys and values. Imports no screen
code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from events.aggregates.request import AggregateRequest
from events.conditions.function_comparison import FUNC
from events.decode import Value
from events.differences.differences import GroupFacts, Labels, RecordingFacts
from events.differences.event_counts import OTHERS
from events.differences.value_counts import NumberCounts, ValueShares
from events.format import FieldKind
from events.names.event_names import exported_name
from events.store.outage_mark import total_outage_seconds
from events.text import UNNAMED
from foreign.count_text import counted
from foreign.files import home_path
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import names_file, open_target
from kernel.connection.planner import Planner
from kernel.errors import TargetUnusable
from kernel.guards.row_bounds import HEADLESS, SCREEN
from kernel.watch.watch import Watch
from tui.present.call_ends import ends_of
from tui.present.loss_totals import losses_of
from tui.present.summary_values import ValueNames
from tui.present.watched_events import formats_of
from tui.views.aggregate.labels import KeyLabels
from tui.views.aggregate.plan_columns import PlanColumns, check_request

if TYPE_CHECKING:
    from events.differences.event_counts import EventCounts
    from events.differences.group_counts import GroupCounts
    from tui.filter.filter import Filter

BOUNDS = HEADLESS._replace(tasks=SCREEN.tasks, moves=SCREEN.moves)
"""Bounds of the memory for the events of a recording, which are not needed once they are counted."""
_BUDGET = 0.1
"""Seconds of counting for each part of a recording that is read."""


class ReadingStopped(Exception):
    """Reading was stopped before its end."""


def require_files(a: str, b: str) -> None:
    """Raise TargetUnusable for two words of targets that are not two recordings."""
    for file in (a, b):
        if not names_file(file):
            raise TargetUnusable(
                f"{file}: compare takes two recordings", f"record one of it first: record SPEC -t {file} -o FILE.pwr"
            )
    try:
        for file in (a, b):
            if not home_path(file).is_file():
                raise TargetUnusable(f"{file}: no such recording", "`record` writes recordings")
        is_same = home_path(a).samefile(home_path(b))
    except (OSError, ValueError) as error:  # a name too long, a NUL in it
        raise TargetUnusable(f"{a} or {b}: {error}", "`record` writes recordings") from error
    if is_same:
        raise TargetUnusable(f"{a} and {b} are the same file", "a recording is compared with another one")


def require_events(info: KernelInfo, file: str) -> None:
    """Raise TargetUnusable for a target without events."""
    if not info.holds_events:
        raise TargetUnusable(f"{file}: holds no events", "compare takes two recordings, as `record` writes them")


def read_file(
    file: str, condition: str, tell: Callable[[str, float | None], None], is_stopped: Callable[[], bool]
) -> RecordingFacts:
    """Read a recording from its begin to its end.

    Args:
        file: path of the recording.
        condition: text of the filter; empty: all events count.
        tell: called with the progress, as text, now and then.
        is_stopped: returns True to end with ReadingStopped.

    Raises:
        KernelError: it can't be read.
        ConditionError: its events lack a field of the filter.
    """
    info = KernelInfo(open_target(file))
    try:
        require_events(info, file)
        reading = RecordingReading(Planner(info), partial(_filter_of, condition))
        while reading.step():
            tell(f"{Path(file).name}: {counted(reading.counted, 'event')}", None)
            if is_stopped():
                raise ReadingStopped(file)
        return reading.facts()
    finally:
        info.close()


def _filter_of(text: str, watch: Watch) -> Filter:
    """Return a filter on the events of a watch. Raises ConditionError."""
    from tui.filter.filter import Filter

    chosen = Filter()
    chosen.choose(text, watch)
    return chosen


class RecordingReading:
    """Pass over a recording, step by step."""

    def __init__(self, planner: Planner, filter_of: Callable[[Watch], Filter], keys: tuple[str, ...] = ()) -> None:
        """Open the recording of a planner.

        Args:
            planner: planner of a target that holds events.
            filter_of: returns the filter on a watch's events; what it raises is raised here.
            keys: keys beside the event; none: the function, where an event has one.

        Raises:
            AggregateError: no event of the recording has one of the keys.
        """
        self.watch = Watch(planner, BOUNDS)
        self.watch.begin()
        self._columns = PlanColumns(self.watch)
        self._keys = keys
        self._filter = filter_of(self.watch)
        if keys:
            check_request(self.watch, AggregateRequest(keys), self._columns, ",".join(keys))
        if not planner.info.symbols.are_read:
            planner.info.symbols.load()
        self._counts: EventCounts | None = None

    @property
    def counted(self) -> int:
        """Number of events counted so far."""
        return self._counts.counted if self._counts is not None else 0

    def step(self) -> bool:
        """Read and count a part of the events; return False once all are counted."""
        self.watch.tick(0.0)
        if self.watch.ended and self.watch.store is not None:
            self.watch.store.flush()  # the last events wait for none of another CPU
        counts = self._tick()
        while counts is not None and counts.backlog:  # before later events could displace these
            counts.tick(_BUDGET)
        return not self.watch.ended

    def _tick(self) -> EventCounts | None:
        store = self.watch.store
        if self._counts is None and store is not None:
            from events.differences.event_counts import EventCounts  # imports numpy

            self._counts = EventCounts(
                store,
                self._columns.of,
                KeyLabels(self.watch, store, unnamed=UNNAMED).label,  # a thread id is of one recording
                keys=self._keys,
                ends=ends_of(self.watch.event_fields.plans),
                passing=self._filter.of(self.watch, store),
                piece=self.watch.bounds.piece,
                most_open=self.watch.bounds.calls,
            )
        if self._counts is not None:
            self._counts.tick(_BUDGET)
        return self._counts

    def facts(self) -> RecordingFacts:
        """Return what was counted."""
        losses = losses_of(self.watch, self.watch.counts())
        groups = dict(self._groups())
        fields = self._fields()
        nanoseconds = self._counts.time.nanoseconds if self._counts is not None else 0
        without_events = total_outage_seconds(one for one in self.watch.outages if one.is_between_events)
        return RecordingFacts(
            groups,
            max(0.0, nanoseconds / 1e9 - without_events),
            self.counted,
            frozenset((*fields, *(exported_name(path) for path in ends_of(self.watch.event_fields.plans)))),
            fields,
            losses.lost + losses.missed + losses.dropped + losses.unread,
            losses.gap,
            tuple(self._notes()),
        )

    def _fields(self) -> dict[str, frozenset[str]]:
        """Return the names of the fields of each event of the recording, by its name."""
        found: dict[str, frozenset[str]] = {}
        for fmt in formats_of(self.watch):
            own = {field.name for field in fmt.arguments} - self._columns.of(fmt.path).hidden - {FUNC}
            name = exported_name(fmt.path)
            found[name] = found.get(name, frozenset()) | own
        return found

    def _groups(self) -> Iterator[tuple[Labels, GroupFacts]]:
        for labels, group in self._counts.groups.items() if self._counts is not None else ():
            if not group.count and group.durations is None:
                continue  # the filter leaves none of its events
            name = labels if labels == OTHERS else (exported_name(labels[0]), *labels[1:])
            yield name, GroupFacts(group.count, self._values(group), group.durations)

    def _values(self, group: GroupCounts) -> dict[str, ValueShares]:
        return {
            field: self._named(group.path, found) if isinstance(found, NumberCounts) else found.named()
            for field, found in group.values.items()
        }

    def _named(self, path: str, found: NumberCounts) -> ValueShares:
        field = found.field
        if field is None:
            return found.named(lambda value, _: str(value))
        names = cache(partial(ValueNames, self.watch, path, field.name))

        def name_of(value: Value, boot: int) -> str:
            return names(boot).of(bool(value) if field.kind is FieldKind.BOOL else value, field, exact=True)

        return found.named(name_of)

    def _notes(self) -> Iterator[str]:
        counts = self._counts
        if self.watch.error is not None:
            yield str(self.watch.error)
        if counts is None:
            return
        if counts.left_out:
            yield f"{counted(counts.left_out, 'event')} without a key of the table: left out"
        if counts.skipped:
            yield f"{counted(counts.skipped, 'event')} dropped from memory before they were counted"
        if OTHERS in counts.groups:
            yield f"{counted(counts.groups[OTHERS].count, 'event')} of further groups are counted together, as others"
        if counts.room.is_exceeded:
            yield "there are too many groups for the values of all fields: those of some are not compared"
