"""Tables of hist triggers that were given to probes: the kernel's own histograms, as it sorts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kernel.watch.hist_tables import events_with_tables
from tui.app.ways_out import GIVE_TRIGGER, SUM_UP
from tui.filter.filter import Filter
from tui.present.status import note_of
from tui.views.histograms.pane import HistogramsPane, TableLines
from tui.views.view import View, ViewPlace

if TYPE_CHECKING:
    from events.store.store import Store
    from kernel.watch.watch import Watch
    from probes.plans.plan import Plan
    from tui.present.hist_tables import TableLine

_NONE = f"no probe has a hist trigger: {GIVE_TRIGGER}, e.g. hist:keys=common_pid"
_NONE_RECORDED = f"no probe has a hist trigger: {SUM_UP}"


class HistogramsView(View):
    """Reads the tables each second while it is on the screen."""

    name: ClassVar[str] = "histograms"
    pane: HistogramsPane

    def __init__(self, chosen: Filter) -> None:
        super().__init__(chosen)
        self.pane = HistogramsPane(self.name)
        self.pane.came = self.came
        self._lines: tuple[TableLine, ...] | None = None
        self._error = ""

    def tick(self, watching: Watch, store: Store, fields: tuple[str, ...]) -> bool:  # noqa: ARG002 - of every view
        """Read at once what is new here."""
        if self.pane.watching is not watching:
            self.pane.watching, self._lines = watching, None
            self.pane.look()
        return False

    def came(self, event: HistogramsPane.Read) -> None:
        """Show what was read; after an error what was read before stays."""
        if event.watching is not self.pane.watching:
            self.pane.look()
            return
        self._error = event.error
        if not event.error and event.rows.lines != self._lines:
            self._lines = event.rows.lines
            self.pane.show(event.rows)

    def forget(self) -> None:
        """Show nothing: the tables are read anew."""
        self.pane.watching, self._lines, self._error = None, None, ""
        self.pane.show(TableLines())

    def shows(self, plan: Plan) -> bool:
        """Only those with a hist trigger have tables."""
        return plan.has_hist_trigger

    @property
    def table_name(self) -> str:
        """Its own, where there is one."""
        return self.name if self._lines else ""

    @property
    def filtered(self) -> str:
        """Counts of the kernel have no events."""
        return "not filtered: the kernel counts all"

    @property
    def place(self) -> ViewPlace:
        """Follows always, and shows no events."""
        return ViewPlace()

    def lacks(self, watching: Watch) -> str:
        """A trigger that counts."""
        if self._error or events_with_tables(watching):
            return ""
        return _NONE if watching.connection.target.is_kernel else _NONE_RECORDED

    def note(self, watching: Watch) -> str:
        """What is missing, what failed, else what is going on."""
        if self._error:
            return self._error
        if self._lines is None:
            events = events_with_tables(watching)
            return f"reading the histograms of {', '.join(event.event for event in events)} …"
        return note_of(watching)
