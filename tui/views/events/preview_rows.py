"""First rows of a recording in the table of events, until a store has all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from widgets.events.event_rows import EventColumn, EventRows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tui.present.first_row import FirstRow, FirstRows
    from widgets.events.event_rows import ShownEvent

_NOT_YET: Final = "…"
"""Text of an older row, whose texts are read with the store."""


class _UnfinishedStep(NamedTuple):
    """Step of a search that goes on when the store is loaded (`widgets.lists.table_rows.FoundRow`)."""

    next: int
    seq: int | None = None
    done: bool = False


class _PreviewSource:
    """A `widgets.lists.table_rows.ItemSource` of the rows read so far."""

    def __init__(self, rows: FirstRows) -> None:
        self.first = rows.first
        self.next = rows.next
        self._rows: Mapping[int, FirstRow] = {row.seq: row for row in rows.rows}

    def item(self, row: int) -> FirstRow:
        """Return an event. Raises IndexError if its texts were not read."""
        try:
            return self._rows[row]
        except KeyError:
            raise IndexError(row) from None

    def find(self, text: str, start: int, direction: int, budget: float) -> _UnfinishedStep:  # noqa: ARG002
        """Return a step without a result that is not the last one."""
        return _UnfinishedStep(start)

    def texts(self, event: ShownEvent) -> Mapping[str, str]:
        """Return the texts of an event by field name."""
        return self._rows[event.seq].texts


def preview_rows(rows: FirstRows, columns: Sequence[EventColumn], fields: Sequence[str]) -> EventRows:
    """Return rows that look like those of the store; `fields`: those that are shown, with a column or without."""
    source = _PreviewSource(rows)
    owners = rows.owners
    return EventRows(
        source,
        columns,
        source.texts,
        fields=fields,
        owners=lambda event: owners.get(event, {}),
        kinds=rows.kinds,
        missing=_NOT_YET,
    )
