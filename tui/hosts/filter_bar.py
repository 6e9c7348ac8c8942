"""Filter line of the events of several hosts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernel.watch.watch import Watch
    from tui.hosts.filtered_rows import FilteredHostRows
    from tui.hosts.rows import HostRows
from tui.filter.bar import FilterBar, PassingEvents


class HostsFilterBar(FilterBar):
    """Filter of the events of several hosts."""

    def __init__(self, rows: HostRows, keep_place: Callable[[], None]) -> None:
        """Take the rows, and the function that keeps the place of a held picture before other rows pass."""
        super().__init__(rows.filter)
        self._rows = rows
        self._keep_place = keep_place

    def watches(self) -> Sequence[Watch]:
        return self._rows.watches

    def begin(self, text: str) -> FilteredHostRows:
        return self._rows.preview(text)

    def choose(self, text: str, found: PassingEvents | None) -> None:  # noqa: ARG002 - it is looked for anew
        self._keep_place()
        self._rows.choose(text)
