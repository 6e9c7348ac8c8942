"""Compare a descriptor with the file that it stood for: `fd == /etc/passwd`, `fd ~ "*.so*"`."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as member
from typing import TYPE_CHECKING

from events.conditions.comparison import Comm, TextComparison
from events.conditions.named_number import NumberSource

if TYPE_CHECKING:
    from events.record import Record
    from events.store.columns import FormatTable, Mask


@dataclass(frozen=True)
class FileComparison(TextComparison):
    """Comparison of the file of a descriptor with a text; where the file is not certain, no comparison holds."""

    source: NumberSource = member(compare=False, repr=False)

    def of_record(self, record: Record) -> bool:
        """Return whether the comparison holds for a record."""
        file = self.source.file(record, self.field)
        return file is not None and self.holds(file)

    def of_table(self, table: FormatTable, comm: Comm) -> Mask:  # noqa: ARG002 - of all
        """Return a boolean mask of the rows that satisfy the comparison."""
        import numpy as np

        field = next((one for one in table.layout.format.fields if one.name == self.field), None)
        files = self.source.files(table, field) if field is not None else None
        if files is None:
            return np.zeros(len(table), np.bool_)
        holds = {one: isinstance(one, str) and self.holds(one) for one in set(files)}
        return np.array([holds[one] for one in files], np.bool_)
