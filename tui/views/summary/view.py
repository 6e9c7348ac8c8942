"""What came in sum: latencies, the most frequent values, rates over time, processes."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from events.names.event_names import regrouped_path
from kernel.watch.counting_states import Phase
from tui.filter.filter import Filter, PassCount
from tui.present.call_ends import ends_of
from tui.present.status import note_of
from tui.present.summary_values import (
    Subject,
    SummaryValue,
    first_subject,
    has_values,
    preferred,
    subjects_of,
    tasks_of,
    values_of,
)
from tui.views.summary.pane import SummaryPane
from tui.views.summary.text import of_events, of_kernel
from tui.views.view import View, ViewPlace
from widgets.events.summary_panel import SummaryText

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.timer import Timer
    from textual.widget import Widget

    from events.search.filtered_rows import FilteredRows
    from events.store.store import Store
    from events.summary.summary import Summary
    from kernel.watch.histogram import HistogramReading
    from kernel.watch.watch import Watch
    from probes.command import Armable
    from probes.plans.plan import Plan

_COUNTING: Final = 0.008
"""Seconds that counting may take at once."""
_SOON: Final = 0.01
_DRAWING: Final = 0.25
"""Seconds between two pictures."""


class SummaryView(View):
    """Counts the store's events, or shows what the kernel counted instead of recording."""

    name: ClassVar[str] = "summary"
    pane: SummaryPane

    def __init__(self, chosen: Filter) -> None:
        super().__init__(chosen)
        self.pane = SummaryPane(self.name)
        self.pane.turn, self.pane.other_source = self.turn, self.other_source
        self.pane.came, self.pane.condition = self.came, self.condition
        self._summary: Summary | None = None
        self._watching: Watch | None = None
        self._store: Store | None = None
        self._passing: FilteredRows | None = None
        self._plans: tuple[Plan, ...] = ()
        self._subjects: tuple[Subject, ...] = (Subject(),)
        self._own: tuple[Subject, ...] = ()
        """Those of the preset that was armed last."""
        self._subject = Subject()
        self._group = ""
        """Counts of our events, as the store has them."""
        self._picked = False
        """A person chose it, so that it stays."""
        self._preset: tuple[frozenset[Armable], tuple[str, ...]] = (frozenset(), ())
        """Probes of the preset that was armed last, and its columns."""
        self._reads: tuple[HistogramReading, ...] = ()
        self._asked = False
        """Whether the kernel is to count: what was asked for last, where a worker may not have begun it."""
        self._drawn = 0.0
        self._next_picture: Timer | None = None
        self._values: list[SummaryValue] = []
        """As they are on the screen."""
        self._tasks: list[SummaryValue] = []

    @property
    def focus(self) -> Widget:
        """The values."""
        return self.pane.values

    @property
    def in_kernel(self) -> bool:
        """Whether the kernel counts."""
        return self._watching is not None and self._watching.counting is not Phase.OFF

    def tick(self, watching: Watch, store: Store, fields: tuple[str, ...]) -> bool:  # noqa: ARG002 - of every view
        """Count what came; what takes longer than a moment goes on in the next ones."""
        passing = self.filter.of(watching, store)
        if self._summary is None or self._store is not store or passing is not self._passing:
            from events.summary.summary import Summary  # numpy comes with it

            self._summary, self._passing = Summary(store, chosen=passing), passing
            self._watching, self._store, self._plans = watching, store, ()
            self._group = watching.known.group
            self.choose(self._subject)
            if self.pane.histograms is not None and self.pane.histograms.watch is not watching:
                self.pane.histograms, self._reads = None, ()
                self._asked = False
        if (group := watching.known.group) != self._group:
            now = partial(regrouped_path, old=self._group, new=group)
            self._summary.rename(now)
            self._subject, self._group = self._subject._replace(event=now(self._subject.event)), group
        if self._plans != watching.known.plans:
            self._plans = watching.known.plans
            self._summary.use(ends_of(self._plans))
        own, columns = self._preset
        self._own, self._subjects = preferred(watching, subjects_of(watching, store), own, columns)
        self._open_on_values(watching)
        self._summary.tick(_COUNTING)
        behind = self._summary.behind > 0
        wait = self._drawn + _DRAWING - time.monotonic()
        if wait <= 0:
            self._show()
        elif not behind and self._next_picture is None:
            self._next_picture = self.pane.set_timer(wait, self._show)
        return behind

    def _open_on_values(self, watching: Watch) -> None:
        """Where nobody chose a field that is still there: one that has values, of a preset's where one was armed."""
        subject = self._subject
        wanted = self._own or self._subjects
        counted = self.in_kernel or (has_values(watching, subject) and subject in wanted)
        stays = self._picked or (subject.field and counted)
        if stays and subject in self._subjects:
            return
        self._picked = False
        if (first := first_subject(watching, wanted)) != self._subject:
            self.choose(first)

    def prefer(self, probes: Iterable[Armable], columns: tuple[str, ...]) -> None:
        """A preset was armed: open on its columns, whatever was there before."""
        self._preset = frozenset(probes), columns
        self._picked = False

    def choose(self, subject: Subject) -> None:
        """Count other values."""
        self._subject = subject
        if self._summary is not None and subject.field:
            self._summary.choose(subject.event, subject.field)

    def turn(self, step: int) -> None:
        """The values of another field."""
        at = self._subjects.index(self._subject) if self._subject in self._subjects else 0
        self.choose(self._subjects[(at + step) % len(self._subjects)])
        self._picked = True
        if self.counts_in_kernel:
            self._begin()
        self._drawn = 0.0
        self._go_on()

    def other_source(self) -> str:
        """Count in the kernel, or events again; gives why that can't be, empty where it can."""
        histograms, watching = self.pane.histograms, self._watching
        if self.counts_in_kernel and histograms is not None:
            self._asked = False
            self.pane.change(histograms, histograms.end)
            return ""
        if watching is None or not watching.live:
            return "only a probe that is armed on a kernel can be counted there"
        self._asked = True
        self._begin()
        return ""

    @property
    def counts_in_kernel(self) -> bool:
        """Whether the kernel counts, or a worker is about to have it count."""
        return self._asked and (self.pane.changing > 0 or self.in_kernel)

    def _begin(self) -> None:
        if (watching := self._watching) is not None:
            histograms = self.pane.histograms = watching.histograms
            armed, fields, self._reads = watching.armed, self._fields, ()
            self.pane.change(histograms, lambda: histograms.begin(armed, fields), "the kernel can't count this: ")

    def clear(self) -> None:
        """Count from 0 on, also in the kernel."""
        histograms = self.pane.histograms
        if self.counts_in_kernel and histograms is not None:
            self._reads = ()
            self.pane.change(histograms, histograms.clear)

    def came(self, event: SummaryPane.Came) -> None:
        """What the kernel has counted."""
        if event.histograms is not self.pane.histograms:
            return
        self._reads = event.reads
        if not self.pane.changing:  # a key that was pressed since is obeyed first
            self._asked = event.histograms.state.wish is not None
        self._show()

    def condition(self, of_tasks: bool, row: int) -> str:
        """The condition on the events of a row; empty: none can be made."""
        shown = self._tasks if of_tasks else self._values
        return shown[row].condition if row < len(shown) else ""

    def forget(self) -> None:
        """Show nothing."""
        # What the kernel counts it goes on counting: another watch is seen by `tick`.
        self._summary = self._watching = self._store = None
        self._subjects = (Subject(),)  # what was picked stays where it is there again
        self.pane.show(SummaryText())

    def names_changed(self) -> None:
        """Processes have names."""
        if self._watching is not None:
            self.filter.names_changed(self._watching)
        if self._summary is not None:
            self._show()

    @property
    def place(self) -> ViewPlace:
        """Follows always; of events it shows those that were counted."""
        summary = self._summary
        if summary is None or self.in_kernel:
            return ViewPlace(shown=None)
        return ViewPlace(shown=summary.seen, of=summary.of if self._passing is not None else 0)

    @property
    def table_name(self) -> str:
        """Its own."""
        return "kernel-summary" if self.in_kernel else self.name

    @property
    def filtered(self) -> PassCount | str:
        """Events that were counted, also those that are not kept any more."""
        if self.in_kernel:
            return "not filtered: the kernel counts all"
        return PassCount(self._summary.seen, self._summary.of) if self._summary is not None else PassCount(0, 0)

    def shows(self, plan: Plan) -> bool:  # noqa: ARG002 - of every view
        """While the kernel counts, only what was armed when it began."""
        return not self.counts_in_kernel

    def note(self, watching: Watch) -> str:
        """Recording, counted, ended, disarmed."""
        return note_of(watching)

    @property
    def _fields(self) -> tuple[tuple[str, str], ...]:
        return ((self._subject.event, self._subject.field),) if self._subject.field else ()

    def _go_on(self) -> None:
        """Count on where nothing comes that would ask for it."""
        if self._watching is not None and self._store is not None and self.tick(self._watching, self._store, ()):
            self.pane.set_timer(_SOON, self._go_on)

    def _show(self) -> None:
        self._drawn = time.monotonic()
        if self._next_picture is not None:
            self._next_picture.stop()
            self._next_picture = None
        watching, store, summary = self._watching, self._store, self._summary
        if watching is None or store is None or summary is None:
            return
        if self.in_kernel:
            self._values = self._tasks = []
            self.pane.show(of_kernel(watching, self._reads, self._subject))
            return
        self._tasks = tasks_of(store, summary)
        self._values = values_of(watching, summary.values) if self._subject.field else self._tasks
        self.pane.show(of_events(watching, summary, self._subject, self._values, self._tasks))
