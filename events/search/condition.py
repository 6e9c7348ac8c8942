"""What events are chosen by: comparisons of their fields, joined as in the kernel's own filters.

A condition looks at whole columns (`Condition.candidates`), a few nanoseconds an event and comparison. It holds of a
record or it does not: of an event without the field a comparison never holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

from events.names.event_names import CGROUP
from events.record import Record
from events.search.comparison import COMM, CPU, LATENCY, PID, Comm, Comparison, InCgroup, TextComparison
from events.search.field_kinds import ValueKind

if TYPE_CHECKING:
    from events.store.columns import Columns, FormatTable, Mask

OF_ALL: Final = {
    **dict.fromkeys(COMM, ValueKind.TEXT),
    **dict.fromkeys((*PID, *CPU), ValueKind.NUMBER),
    "event": ValueKind.TEXT,
    **dict.fromkeys(CGROUP, ValueKind.TEXT),
}
"""What every event has; a field of the event's own with such a name comes first."""


class Term(Protocol):
    """A part of a condition."""

    def of_record(self, record: Record) -> bool:
        """Whether it holds of one event."""

    def rows(self, of: Callable[[Comparison], Mask]) -> Mask:
        """Of which rows it holds; asks of which ones its comparisons do."""

    def parts(self) -> Iterator[Comparison]:
        """The comparisons it is made of."""


@dataclass(frozen=True)
class Negation:
    """What does not hold."""

    term: Term

    def of_record(self, record: Record) -> bool:
        """Whether it holds of one event."""
        return not self.term.of_record(record)

    def rows(self, of: Callable[[Comparison], Mask]) -> Mask:
        """Of which rows it holds."""
        return ~self.term.rows(of)

    def parts(self) -> Iterator[Comparison]:
        """Those of its term."""
        return self.term.parts()


@dataclass(frozen=True)
class BinaryCondition:
    """`&&`, or `||` where one is enough."""

    left: Term
    right: Term
    either: bool = False

    def of_record(self, record: Record) -> bool:
        """Whether it holds of one event."""
        if self.either:
            return self.left.of_record(record) or self.right.of_record(record)
        return self.left.of_record(record) and self.right.of_record(record)

    def rows(self, of: Callable[[Comparison], Mask]) -> Mask:
        """Of which rows it holds."""
        left = self.left.rows(of)
        if left.all() if self.either else not left.any():
            return left
        right = self.right.rows(of)
        return left | right if self.either else left & right

    def parts(self) -> Iterator[Comparison]:
        """Those of both."""
        yield from self.left.parts()
        yield from self.right.parts()


@dataclass(frozen=True)
class Condition:
    """An `events.search.search.Sieve` that gives exactly the rows it holds of."""

    text: str
    """As it was typed."""
    term: Term
    comm: Comm

    @cached_property
    def fields(self) -> frozenset[str]:
        """Names that are compared."""
        return frozenset(part.field for part in self.term.parts())

    @property
    def of_calls(self) -> bool:
        """Whether it may hold of both ends of a call together, and of neither alone."""
        return LATENCY in self.fields or len(self.fields - OF_ALL.keys()) > 1

    def __call__(self, record: Record) -> bool:
        return self.term.of_record(record)

    def candidates(self, columns: Columns) -> Mask:
        """Exactly the rows it holds of, and those that came as text."""
        found = columns.is_text.copy()
        for table in columns.tables.values():
            found[table.places] = self._of_table(table)
        return found

    def _of_table(self, table: FormatTable) -> Mask:
        return self.term.rows(lambda part: part.of_table(table, self.comm))

    def tasks(self, names: Mapping[int, str]) -> frozenset[tuple[int, int]]:
        """What its comparisons say of which threads: where that is another set now, other events are chosen.

        Those of names: their number and a thread that it holds of. Those of cgroups: how often the answers changed.
        """
        parts = [part for part in self.term.parts() if isinstance(part, TextComparison) and part.field in COMM]
        held = {(n, pid) for n, part in enumerate(parts) for pid, name in names.items() if part.holds(name)}
        return frozenset(held | {(-1, part.cgroups.revision) for part in self.of_cgroups})

    @cached_property
    def of_cgroups(self) -> tuple[InCgroup, ...]:
        """Its comparisons of cgroups."""
        return tuple(part for part in self.term.parts() if isinstance(part, InCgroup))
