"""Compare the error in a return value, whatever its field is called and whether that has a sign."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from events.conditions.comparison import NUMERIC, Comm, Comparison, NumberComparison
from events.names.errnos import errno_of, error_in, error_numbers, returned_field

if TYPE_CHECKING:
    from events.format import EventFormat, Field
    from events.record import Record
    from events.store.columns import FormatTable, Mask

ERRNO: Final = "errno"
"""Name of the error in a return value, in conditions and as a key of tables."""
NO_ERROR: Final = "no error"
"""Word for a return value that is no error."""
NO_RESULT: Final = "errno is the error in a return value, and no probe records one: NAME%return $retval does"


@dataclass(frozen=True)
class ErrnoComparison(Comparison):
    """Comparison of `ERRNO` with a number of either sign, 0 for no error: of an event's own field by that name if it
    has one, else of its return value.
    """

    of_own: NumberComparison
    """Comparison of such a field."""

    def of_record(self, record: Record) -> bool:
        """Return whether the comparison holds for a record."""
        field = _compared_result(record.format)
        if field is None:
            return self.of_own.of_record(record)
        value = record.values.get(field.name)
        return isinstance(value, int) and bool(
            NUMERIC[self.operator](-error_in(value, field), abs(self.of_own.number))
        )

    def of_table(self, table: FormatTable, comm: Comm) -> Mask:
        """Return a boolean mask of the rows that satisfy the comparison."""
        field = _compared_result(table.layout.format)
        if field is None:
            return self.of_own.of_table(table, comm)
        values, missing = table.column(field)
        rows = self.of_own.compare(-error_numbers(values, field), abs(self.of_own.number))
        return rows if missing is None else rows & ~missing

    def negated(self) -> Comparison:
        """Return the comparison that holds where this one does not, of events that have a result."""
        of_own = replace(self.of_own, operator=self.of_own.negated().operator)
        return replace(self, operator=of_own.operator, of_own=of_own)

    def has(self, fmt: EventFormat | None) -> bool:
        """Return whether events of a format have a return value that is compared."""
        return _compared_result(fmt) is not None


def named_error(text: str) -> int | None:
    """Return the number of a word for an error, negative for `-ENOENT` and `ENOENT`, 0 for `NO_ERROR`; None: it is
    none.
    """
    return 0 if text == NO_ERROR else errno_of(text if text.startswith("-") else f"-{text}")


def _compared_result(fmt: EventFormat | None) -> Field | None:
    if fmt is None or any(field.name == ERRNO for field in fmt.fields):
        return None
    return returned_field(fmt)
