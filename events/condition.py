"""What events are chosen by: comparisons of their fields, joined as in the kernel's own filters.

A condition looks at whole columns (`Condition.candidates`), a few nanoseconds an event and comparison. It holds of a
record or it does not: of an event without the field a comparison never holds.
"""

from __future__ import annotations

import fnmatch
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

from events.decode import text_of
from events.field_sort import Sort
from events.record import Record
from events.text import FAULT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from events.columns import Columns, Mask, Table

NUMERIC: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "&": lambda value, bits: (value & bits) != 0,
}
OF_ALL: Final = {"comm": Sort.TEXT, "pid": Sort.NUMBER, "cpu": Sort.NUMBER, "event": Sort.TEXT}
"""What every event has; a field of the event's own with such a name comes first."""
LATENCY: Final = "latency"
"""Of a call from its entry to its exit, in nanoseconds; events alone have none."""

_ALL_BITS: Final = (1 << 64) - 1

Comm = Callable[[int], str]
"""Thread id -> name of the task."""


class Term(Protocol):
    """A part of a condition."""

    def of_record(self, record: Record) -> bool:
        """Whether it holds of one event."""

    def rows(self, of: Callable[[Number | Text], Mask]) -> Mask:
        """Of which rows it holds; asks of which ones its comparisons do."""

    def parts(self) -> Iterator[Number | Text]:
        """The comparisons it is made of."""


@dataclass(frozen=True)
class Number:
    """A field that is one number, or `pid` or `cpu`, compared with a number."""

    field: str
    operator: str
    number: int

    def of_record(self, record: Record) -> bool:
        """Whether it holds of one event."""
        value = record.values.get(self.field)
        if value is None:
            value = {"pid": record.pid, "cpu": record.cpu}.get(self.field)
        return isinstance(value, int) and bool(NUMERIC[self.operator](value, self.number))

    def of_table(self, table: Table, comm: Comm) -> Mask:  # noqa: ARG002 - of both
        """Of which rows it holds."""
        import numpy as np

        from events.columns import is_number

        field = next((one for one in table.layout.format.fields if one.name == self.field), None)
        if field is None and self.field in ("pid", "cpu"):
            return self.compare(table.pids if self.field == "pid" else table.cpus)
        if field is None or not is_number(field):
            return np.zeros(len(table), np.bool_)
        values, missing = table.column(field)
        if values.dtype.kind == "b":  # numpy compares these with nothing above 64 bits
            values = values.view("u1")
        rows = self.compare(values)
        return rows if missing is None else rows & ~missing

    def compare(self, values: NDArray[Any]) -> Mask:
        """Of which numbers it holds."""
        import numpy as np

        if self.operator == "&":  # below zero all higher bits count as set
            wide = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64).view(np.uint64)
            return np.asarray((wide & np.uint64(self.number & _ALL_BITS)) != 0)
        found: Mask = NUMERIC[self.operator](values, self.number)
        return found

    def rows(self, of: Callable[[Number | Text], Mask]) -> Mask:
        """Of which rows it holds."""
        return of(self)

    def parts(self) -> Iterator[Number | Text]:
        """Itself."""
        yield self


@dataclass(frozen=True)
class Text:
    """A field that is one string, or `comm` or `event`, compared with a text; `~`: with a pattern of `*` and `?`."""

    field: str
    operator: str
    text: str

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        pattern = (
            fnmatch.translate(self.text.replace("[", "[[]")) if self.operator == "~" else re.escape(self.text) + r"\Z"
        )
        return re.compile(pattern, re.DOTALL)

    def holds(self, value: str) -> bool:
        """Whether it holds of a value."""
        return (self._pattern.match(value) is None) == (self.operator == "!=")

    def of_event(self, path: str) -> bool:
        """Whether it holds of an event, by its name with or without the group."""
        return self.holds(path) if "/" in self.text else self.holds(path.rpartition("/")[2])

    def of_record(self, record: Record) -> bool:
        """Whether it holds of one event."""
        value = record.values.get(self.field)
        if value is None and self.field not in record.values:
            if self.field == "event":
                return self.of_event(record.event)
            value = record.comm if self.field == "comm" else None
        elif value is None:
            value = FAULT
        return isinstance(value, str) and self.holds(value)

    def of_table(self, table: Table, comm: Comm) -> Mask:
        """Of which rows it holds."""
        import numpy as np

        from events.columns import is_string

        fmt = table.layout.format
        field = next((one for one in fmt.fields if one.name == self.field), None)
        if field is None:
            if self.field == "event":
                return np.full(len(table), self.of_event(fmt.path))
            if self.field == "comm":
                pids = [pid for pid in np.unique(table.pids).tolist() if self.holds(comm(pid))]
                return np.isin(table.pids, pids)
            return np.zeros(len(table), np.bool_)
        if not is_string(field):
            return np.zeros(len(table), np.bool_)
        data, begins, missing = table.string_bytes(field)
        known: dict[bytes, bool] = {}
        found = np.zeros(len(table), np.bool_)
        for row, (begin, fault) in enumerate(zip(begins.tolist(), missing.tolist(), strict=True)):
            raw = FAULT.encode() if fault else data[begin : data.index(0, begin)]
            holds = known.get(raw)
            if holds is None:
                holds = known[raw] = self.holds(text_of(raw))
            found[row] = holds
        return found

    def rows(self, of: Callable[[Number | Text], Mask]) -> Mask:
        """Of which rows it holds."""
        return of(self)

    def parts(self) -> Iterator[Number | Text]:
        """Itself."""
        yield self


@dataclass(frozen=True)
class Not:
    """What does not hold."""

    term: Term

    def of_record(self, record: Record) -> bool:
        """Whether it holds of one event."""
        return not self.term.of_record(record)

    def rows(self, of: Callable[[Number | Text], Mask]) -> Mask:
        """Of which rows it holds."""
        return ~self.term.rows(of)

    def parts(self) -> Iterator[Number | Text]:
        """Those of its term."""
        return self.term.parts()


@dataclass(frozen=True)
class Both:
    """`&&`, or `||` where one is enough."""

    left: Term
    right: Term
    either: bool = False

    def of_record(self, record: Record) -> bool:
        """Whether it holds of one event."""
        if self.either:
            return self.left.of_record(record) or self.right.of_record(record)
        return self.left.of_record(record) and self.right.of_record(record)

    def rows(self, of: Callable[[Number | Text], Mask]) -> Mask:
        """Of which rows it holds."""
        left = self.left.rows(of)
        if left.all() if self.either else not left.any():
            return left
        right = self.right.rows(of)
        return left | right if self.either else left & right

    def parts(self) -> Iterator[Number | Text]:
        """Those of both."""
        yield from self.left.parts()
        yield from self.right.parts()


@dataclass(frozen=True)
class Condition:
    """An `events.search.Sieve` that gives exactly the rows it holds of."""

    text: str
    """As it was typed."""
    term: Term
    comm: Comm

    @cached_property
    def fields(self) -> frozenset[str]:
        """Names that are compared."""
        return frozenset(part.field for part in self.term.parts())

    def __call__(self, record: Record) -> bool:
        return self.term.of_record(record)

    def candidates(self, columns: Columns) -> Mask:
        """Exactly the rows it holds of, and those that came as text."""
        found = columns.is_text.copy()
        for table in columns.tables.values():
            found[table.places] = self._of_table(table)
        return found

    def _of_table(self, table: Table) -> Mask:
        return self.term.rows(lambda part: part.of_table(table, self.comm))

    def tasks(self, names: Mapping[int, str]) -> frozenset[tuple[int, int]]:
        """Which of its comparisons of `comm` hold of which threads: another set chooses other events."""
        parts = [part for part in self.term.parts() if isinstance(part, Text) and part.field == "comm"]
        return frozenset((n, pid) for n, part in enumerate(parts) for pid, name in names.items() if part.holds(name))
