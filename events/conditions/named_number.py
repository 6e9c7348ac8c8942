"""Compare a field with the name of a number: `flags & O_CREAT`, `sig == SIGKILL`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as member
from functools import reduce
from typing import TYPE_CHECKING, Protocol

from events.conditions.comparison import Comm, Comparison, NumberComparison

if TYPE_CHECKING:
    from events.decode import Value
    from events.format import EventFormat, Field
    from events.record import Record
    from events.store.columns import FormatTable, Mask


class NumberSource(Protocol):
    """Source of the names of numbers of events' fields, and of the files that numbers of descriptors stand for."""

    def names(self, field: str) -> Collection[str]:
        """Return the names that numbers of fields of this name have, in any event."""

    def numbers(self, fmt: EventFormat, field: Field) -> Mapping[str, int]:
        """Return the numbers of a field of an event by their names; empty: they have none."""

    @property
    def files_revision(self) -> int:
        """Number that changes with the probes that tell of the files of descriptors."""

    def files_lack(self, field: str) -> str | None:
        """Return why the files of fields of this name are not known; empty: they may be; None: no file is meant."""

    def file(self, record: Record, field: str) -> str | None:
        """Return the file of a descriptor in an event; None: it is not certain."""

    def files(self, table: FormatTable, field: Field) -> Sequence[Value] | None:
        """Return the file of each event's descriptor, or the number where it is not certain; None: no file is
        meant.
        """


class NoNumbers:
    """Source that has no number of any name."""

    def __init__(self, names: Collection[str] = (), lack_of_files: str | None = None) -> None:
        """Take the results of `names` and `files_lack` for every field."""
        self._names = names
        self._lack_of_files = lack_of_files

    def names(self, field: str) -> Collection[str]:  # noqa: ARG002 - as NumberSource
        return self._names

    def numbers(self, fmt: EventFormat, field: Field) -> Mapping[str, int]:  # noqa: ARG002 - as NumberSource
        return {}

    files_revision = 0

    def files_lack(self, field: str) -> str | None:  # noqa: ARG002 - as NumberSource
        return self._lack_of_files

    def file(self, record: Record, field: str) -> str | None:  # noqa: ARG002 - as NumberSource
        return None

    def files(self, table: FormatTable, field: Field) -> Sequence[Value] | None:  # noqa: ARG002 - as NumberSource
        return None


@dataclass(frozen=True)
class NamedNumberComparison(Comparison):
    """Comparison of a field with the number that a name has in the event; of another event it does not hold."""

    name: str
    source: NumberSource = member(compare=False, repr=False)

    def of_record(self, record: Record) -> bool:
        """Return whether the comparison holds for a record."""
        if record.format is None:
            return False
        found = [one.of_record(record) for one in self._by_number(record.format)]
        return bool(found) and (all(found) if self.operator == "!=" else any(found))

    def of_table(self, table: FormatTable, comm: Comm) -> Mask:
        """Return a boolean mask of the rows that satisfy the comparison."""
        import numpy as np

        masks = [one.of_table(table, comm) for one in self._by_number(table.layout.format)]
        if not masks:
            return np.zeros(len(table), np.bool_)
        both = np.logical_and if self.operator == "!=" else np.logical_or
        return reduce(both, masks)

    def _by_number(self, fmt: EventFormat) -> Iterator[NumberComparison]:
        """Yield the comparisons with each number that a field has for the name.

        A negative `int` is recorded as the register has it where an event has all arguments as longs (AT_FDCWD of a
        system call): the compiler of the program may have extended its sign, or put zeros above.
        """
        field = next((one for one in fmt.fields if one.name == self.field), None)
        number = self.source.numbers(fmt, field).get(self.name) if field else None
        if number is None or field is None:
            return
        wide = number + (1 << 8 * field.width) if number < 0 and not field.signed else number
        yield NumberComparison(self.field, self.operator, wide)
        if number < 0 and field.width > 4 and self.operator in ("==", "!="):
            yield NumberComparison(self.field, self.operator, number & 0xFFFF_FFFF)
