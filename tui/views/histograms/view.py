"""View of the tables of hist triggers on probes: the kernel's own histograms, as it sorts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kernel.watch.hist_tables import events_with_tables
from tui.filter.filter import Filter
from tui.present.status import note_of
from tui.present.ways_out import BY_TRACEFS_ELSEWHERE, GIVE_TRIGGER, SUM_UP
from tui.views.view import View
from tui.views.watch_reading import WatchReading
from widgets.lists.text_list import TableLines, TableList

if TYPE_CHECKING:
    from collections.abc import Sequence

    from events.store.store import Store
    from kernel.watch.watch import Watch
    from probes.plans.plan import Plan
    from widgets.lists.text_list import StyledLine

_NONE = f"no probe has a hist trigger: {GIVE_TRIGGER}, e.g. hist:keys=common_pid"
_NONE_OF_PROGRAMS = f"BPF programs record these probes, and have no triggers: {BY_TRACEFS_ELSEWHERE}"
_NONE_RECORDED = f"no probe has a hist trigger: {SUM_UP}"


def _lines_of(watch: Watch) -> tuple[StyledLine, ...]:
    """Return the lines of all tables, read from the kernel."""
    from kernel.watch.hist_tables import read_tables
    from tui.present.hist_tables import lines_of_watch

    return tuple(lines_of_watch(tuple(read_tables(watch.armed)), len(watch.outages)))


class HistogramsView(View):
    """View that reads the tables each second while it is visible."""

    name: ClassVar[str] = "histograms"
    pane: TableList

    def __init__(self, chosen: Filter) -> None:
        super().__init__(chosen)
        self.pane = TableList(id=self.name)
        self._reading = WatchReading(self.pane, _lines_of, self._came, self._failed)
        self._lines: Sequence[StyledLine] | None = None
        self._error = ""

    def tick(self, watch: Watch, store: Store, fields: tuple[str, ...]) -> bool:  # noqa: ARG002 - of every view
        """Start a reading for a new watch."""
        if self._reading.follow(watch):
            self._lines = None
        return False

    def _came(self, lines: tuple[StyledLine, ...]) -> None:
        self._error = ""
        if lines != self._lines:
            self._lines = lines
            self.pane.show(TableLines(lines))

    def _failed(self, error: str) -> None:
        self._error = error  # the last tables stay

    def forget(self) -> None:
        """Clear the tables: they are read again."""
        self._reading.follow(None)
        self._lines, self._error = None, ""
        self.pane.show(TableLines())

    def shows(self, plan: Plan) -> bool:
        """Return True for probes with a hist trigger: only these have tables."""
        return plan.has_hist_trigger

    @property
    def table_name(self) -> str:
        """Name of the table, if there is one."""
        return self.name if self._lines else ""

    @property
    def filtered(self) -> str:
        """Note that the filter does not apply: the kernel counts all."""
        return "not filtered: the kernel counts all"

    def empty_reason(self, watch: Watch) -> str:
        """Return the text for a watch without a hist trigger."""
        if self._error or events_with_tables(watch.armed):
            return ""
        if watch.armed.probes and all(armed.plan.by_programs for armed in watch.armed.probes):
            return _NONE_OF_PROGRAMS
        return _NONE if watch.info.target.is_kernel else _NONE_RECORDED

    def note(self, watch: Watch) -> str:
        """Return the error, or the progress, or the note on the events."""
        if self._error:
            return self._error
        if self._lines is None:
            events = events_with_tables(watch.armed)
            return f"reading the histograms of {', '.join(event.event for event in events)} …"
        return note_of(watch)
