"""Select events by conditions: comparisons of fields, combined as in the kernel's own filters.

A condition is evaluated on whole columns (`Condition.candidates`), a few nanoseconds per event and comparison. No
comparison, nor its negation, holds for an event that lacks the field: no event passes a condition and its negation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

from events.conditions.comparison import (
    COMM,
    CPU,
    LATENCY,
    PID,
    Comm,
    Comparison,
    InCgroup,
    SymbolComparison,
    TextComparison,
)
from events.conditions.field_kinds import ValueKind
from events.conditions.file_comparison import FileComparison
from events.conditions.time_comparison import TIME
from events.names.event_names import CGROUP
from events.record import Record

if TYPE_CHECKING:
    from events.store.columns import FormatTable, Mask, StoreColumns

COMMON_FIELDS: Final = {
    **dict.fromkeys(COMM, ValueKind.TEXT),
    **dict.fromkeys((*PID, *CPU), ValueKind.NUMBER),
    **dict.fromkeys(TIME, ValueKind.TIME),
    "event": ValueKind.TEXT,
    **dict.fromkeys(CGROUP, ValueKind.TEXT),
}
"""Value kinds of the properties of every event; an event's own field of the same name takes precedence."""


class Term(Protocol):
    """Node of a condition's syntax tree."""

    def of_record(self, record: Record) -> bool:
        """Return whether the term holds for a record."""

    def rows(self, of: Callable[[Comparison], Mask]) -> Mask:
        """Return a boolean mask of the rows that satisfy the term; `of` returns the mask of a comparison."""

    def parts(self) -> Iterator[Comparison]:
        """Yield the comparisons of the term."""

    def negated(self) -> Term:
        """Return the term that holds where this one does not, of events that have the compared fields."""


@dataclass(frozen=True)
class BinaryCondition:
    """Conjunction (`&&`) of two terms, or their disjunction (`||`) if `either`."""

    left: Term
    right: Term
    either: bool = False
    by_kind: bool = False
    """True of two comparisons of one field by the kind of its value, of which an event has one."""

    def of_record(self, record: Record) -> bool:
        """Return whether the term holds for a record."""
        if self.either:
            return self.left.of_record(record) or self.right.of_record(record)
        return self.left.of_record(record) and self.right.of_record(record)

    def rows(self, of: Callable[[Comparison], Mask]) -> Mask:
        """Return a boolean mask of the rows that satisfy the term."""
        left = self.left.rows(of)
        if left.all() if self.either else not left.any():
            return left
        right = self.right.rows(of)
        return left | right if self.either else left & right

    def parts(self) -> Iterator[Comparison]:
        """Yield the comparisons of both terms."""
        yield from self.left.parts()
        yield from self.right.parts()

    def negated(self) -> Term:
        """Return the term that holds where this one does not, of events that have the compared fields."""
        either = self.either if self.by_kind else not self.either
        return replace(self, left=self.left.negated(), right=self.right.negated(), either=either)


@dataclass(frozen=True)
class Condition:
    """Parsed condition. An `events.search.search.Sieve` whose `candidates` are exact."""

    text: str
    """Text as typed."""
    term: Term
    comm: Comm

    @cached_property
    def fields(self) -> frozenset[str]:
        """Names of the compared fields."""
        return frozenset(part.field for part in self.term.parts())

    @property
    def of_calls(self) -> bool:
        """True if the condition may hold for both ends of a call together and for neither separately."""
        return LATENCY in self.fields or len(self.fields - COMMON_FIELDS.keys()) > 1

    def __call__(self, record: Record) -> bool:
        return self.term.of_record(record)

    def candidates(self, columns: StoreColumns) -> Mask:
        """Return a mask of the rows that satisfy the condition, plus the rows received as text."""
        found = columns.is_text.copy()
        for table in columns.tables.values():
            found[table.places] = self._of_table(table)
        return found

    def _of_table(self, table: FormatTable) -> Mask:
        return self.term.rows(lambda part: part.of_table(table, self.comm))

    def tasks(self, names: Mapping[int, str]) -> frozenset[tuple[int, int]]:
        """Return the state of tasks on which the result depends; if it differs later, the condition selects other
        events.

        For comparisons of task names: (number of the comparison, matching thread id). For those of cgroups: (-1,
        revision). For those of functions: (-2, number of boots whose symbols became known since). For those of files:
        (-3, revision).
        """
        parts = [part for part in self.term.parts() if isinstance(part, TextComparison) and part.field in COMM]
        matching = {(n, pid) for n, part in enumerate(parts) for pid, name in names.items() if part.holds(name)}
        symbols = {(-2, part.named_since) for part in self.term.parts() if isinstance(part, SymbolComparison)}
        files = {(-3, part.source.files_revision) for part in self.term.parts() if isinstance(part, FileComparison)}
        return frozenset(matching | {(-1, part.cgroups.revision) for part in self.of_cgroups} | symbols | files)

    @cached_property
    def of_cgroups(self) -> tuple[InCgroup, ...]:
        """Comparisons of cgroups."""
        return tuple(part for part in self.term.parts() if isinstance(part, InCgroup))
