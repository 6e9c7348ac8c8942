"""Compare the probed function with a name, also for events without a field for it: of a probe on one function it is a
constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field as member
from typing import TYPE_CHECKING, Final

from events.conditions.comparison import Comm, TextComparison

if TYPE_CHECKING:
    from events.record import Record
    from events.store.columns import FormatTable, Mask

FUNC: Final = "func"
"""Name of the probed function, in conditions and as a key of tables."""
FunctionSource = Callable[[str], str]
"""Function that returns the probed function of an event on one function by its path; empty: it is no such event."""


@dataclass(frozen=True)
class FunctionComparison(TextComparison):
    """Comparison of `FUNC` with a text: of the event's own field if it has one, else of the probed function."""

    function_of: FunctionSource = member(compare=False, repr=False)

    def of_record(self, record: Record) -> bool:
        """Return whether the comparison holds for a record."""
        if self.field in record.values:
            return super().of_record(record)
        return self._holds_of(record.event)

    def of_table(self, table: FormatTable, comm: Comm) -> Mask:
        """Return a boolean mask of the rows that satisfy the comparison."""
        import numpy as np

        if self.field in table.layout.format.names:
            return super().of_table(table, comm)
        return np.full(len(table), self._holds_of(table.layout.format.path))

    def has(self, path: str) -> bool:
        """Return whether an event, given by its path, is on one function."""
        return bool(self.function_of(path))

    def _holds_of(self, path: str) -> bool:
        function = self.function_of(path)
        return bool(function) and self.holds(function)
