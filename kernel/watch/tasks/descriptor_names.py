"""Name the files of the descriptors in a watch's events, as far as the events of its probes make them certain."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from events.decode import Value
from events.format import Field
from events.names.number_names import NumberFormat
from events.record import Record
from probes.functions.known_numbers import DESCRIPTORS
from probes.plans.descriptor_sources import OPENING, descriptor_sources, event_orders
from probes.plans.plan import Plan, PlanColumn

if TYPE_CHECKING:
    from events.descriptors.index import DescriptorIndex
    from events.store.columns import FormatTable
    from events.store.store import Store


class DescriptorNames:
    """Files by descriptor and event; nothing is read before the first one is asked for."""

    def __init__(self, plans: Callable[[], tuple[Plan, ...]]) -> None:
        """Take the source of the plans of all probes ever armed, oldest first."""
        self._plans = plans
        self._store: Store | None = None
        self._machine = ""
        self._read: tuple[Plan, ...] = ()
        self._index: DescriptorIndex | None = None
        self.revision = 0
        """Number of times that the probes which tell of descriptors changed."""
        self.are_wanted = False
        """True if a screen showed an event without its files, as too many events before it are still to be read."""

    def use(self, store: Store, machine: str) -> None:
        """Set the store whose events have descriptors, and `uname -m` of its kernel."""
        self._store, self._machine, self._read, self._index = store, machine, (), None
        self.are_wanted = False

    @property
    def index(self) -> DescriptorIndex | None:
        """Index of the store; None: no event tells of descriptors that are made."""
        plans = self._plans()
        if self._store is not None and plans != self._read:
            self._read, self._index, self.revision = plans, None, self.revision + 1
            sources = descriptor_sources(plans)
            if any(one.role in OPENING for one in sources.values()):
                from events.descriptors.index import DescriptorIndex, Known  # and numpy

                self._index = DescriptorIndex(self._store, Known(sources, event_orders(plans)), self._machine)
        return self._index

    def file(self, record: Record, column: PlanColumn, value: Value, *, at_once: bool = False) -> str | None:
        """Return the file of a value that is a descriptor; None: it is none, or its file is not certain.

        `at_once`: None, too, where many events are to be read before it is known; `are_wanted` says so.
        """
        if column.naming not in DESCRIPTORS or type(value) is not int or (index := self.index) is None:
            return None
        if at_once and not index.coverage.missing and not index.is_near(record.seq):
            self.are_wanted = True
            return None
        return index.file(record, value)

    def read_on(self, seconds: float) -> bool:
        """Read wanted files for about so many seconds of CPU time; return True if more remain."""
        self.are_wanted = self.are_wanted and (index := self.index) is not None and index.read_on(seconds)
        return self.are_wanted

    def names(self, column: PlanColumn) -> bool:
        """Return whether values of a column may have files."""
        return column.naming in DESCRIPTORS and (index := self.index) is not None and not index.coverage.missing

    def lack(self, column: PlanColumn) -> str | None:
        """Return why files of a column's values are not known; empty: they may be; None: they are no descriptors."""
        if column.naming not in DESCRIPTORS:
            return None
        return _missing_text(index) if (index := self.index) is not None else "no call that opens is recorded"

    def reading(self, column: PlanColumn, number: NumberFormat) -> NumberFormat:
        """Return the format of a column's numbers, with files where they may have some."""
        index = self.index
        return number._replace(beside=index.may_show) if index is not None and self.names(column) else number

    def files(self, table: FormatTable, field: Field, column: PlanColumn) -> list[Value] | None:
        """Return the file or number of each value of a field; None: its values have no files."""
        if (index := self.index) is None or not self.names(column):
            return None
        return index.files(table, table.column(field).values.tolist())

    def note(self, record: Record, column: PlanColumn, value: Value) -> str:
        """Return what is known at once of a descriptor without certainty; empty: nothing."""
        if column.naming not in DESCRIPTORS or type(value) is not int or (index := self.index) is None:
            return ""
        if not index.is_near(record.seq):
            return "the files of many events before are still being read"
        if index.file(record, value) is not None or not (opened := index.opened(record, value)):
            return ""
        return f"last opened as {opened} ({_missing_text(index) or 'closed since, or not certain'})"


def _missing_text(index: DescriptorIndex) -> str:
    """Return which calls are not recorded that can change a descriptor; empty: all are."""
    missing = index.coverage.missing
    return f"{', '.join(missing[:3])}{' …' if missing[3:] else ''} not recorded" if missing else ""
