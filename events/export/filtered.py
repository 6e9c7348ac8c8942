"""Count the events that pass a filter on their way to an export format."""

from __future__ import annotations

from collections.abc import Callable

from events.record import Record
from foreign.count_text import counted


class ExportFilter:
    """Selection of the events passed to a writer: those that pass the filter, or all if it pairs calls itself."""

    def __init__(self, passes: Callable[[Record], bool] | None = None, *, pairs: bool = False) -> None:
        """Take the filter (None: no filter), and whether the format has whole calls (`Format.whole_calls`)."""
        self.number = 0
        """Number of events that passed."""
        self.of = 0
        """Number of events tested."""
        self._passes = passes
        self._pairs = pairs

    @property
    def passes(self) -> Callable[[Record], bool] | None:
        """Filter; None: no filter."""
        return self._passes

    @property
    def filtered(self) -> bool:
        """True if there is a filter."""
        return self._passes is not None

    def text(self, omitted: int = 0) -> str:
        """Return `155 of 790 events`, or without a filter `790 events`; `omitted` of these were not written."""
        written = self.number - omitted
        total = self.of if self.filtered else written
        return f"{f'{written:,} of ' * self.filtered}{counted(total, 'event')}"

    def shows(self, record: Record) -> bool:
        """Return whether a row passes, without counting it as an event."""
        return self._passes is None or self._passes(record)

    def gives(self, record: Record) -> bool:
        """Count one event; return whether to pass it to the writer."""
        passes = self.shows(record)
        self.of += 1
        self.number += passes
        return passes or self._pairs
