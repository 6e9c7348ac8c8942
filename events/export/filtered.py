"""Count the events that pass a filter on their way into a format."""

from __future__ import annotations

from collections.abc import Callable

from events.record import Record


class ExportFilter:
    """Decides which events a writer is given: those that pass, or all where it pairs calls and decides itself."""

    def __init__(self, passes: Callable[[Record], bool] | None = None, *, pairs: bool = False) -> None:
        """Take the filter, None: there is none; and whether the format has whole calls (`Format.whole_calls`)."""
        self.number = 0
        """Events that passed."""
        self.of = 0
        """Events that were asked about."""
        self._passes = passes
        self._pairs = pairs

    @property
    def passes(self) -> Callable[[Record], bool] | None:
        """The filter; None: there is none."""
        return self._passes

    @property
    def filtered(self) -> bool:
        """Whether there is a filter."""
        return self._passes is not None

    def text(self, left_out: int = 0) -> str:
        """Return `155 of 790 events`, without a filter `790 events`; `left_out` of them were not written."""
        written = self.number - left_out
        of = self.of if self.filtered else written
        return f"{f'{written:,} of ' * self.filtered}{of:,} event{'' if of == 1 else 's'}"

    def shows(self, record: Record) -> bool:
        """Return whether a row passes, without counting it as an event."""
        return self._passes is None or self._passes(record)

    def gives(self, record: Record) -> bool:
        """Count one event; whether the writer is given it."""
        passes = self.shows(record)
        self.of += 1
        self.number += passes
        return passes or self._pairs
