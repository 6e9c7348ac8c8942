"""View of sums: latencies, the most frequent values, rates over time, processes."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from events.names.event_names import regrouped_path
from kernel.watch.counting_states import Phase
from tui.filter.filter import Filter, PassCount
from tui.messages import UndoOffered
from tui.present.activity import after_counting
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
from tui.views.late_picture import LatePicture
from tui.views.summary.pane import SummaryPane
from tui.views.summary.text import of_events, of_kernel
from tui.views.view import View, ViewPlace
from widgets.call_after import call_after
from widgets.events.summary_panel import SummaryText

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.widget import Widget

    from events.search.filtered_rows import FilteredRows
    from events.store.store import Store
    from events.summary.summary import Summary
    from kernel.watch.histogram import CountedSet, HistogramReading
    from kernel.watch.watch import Watch
    from probes.command import Armable
    from probes.plans.plan import Plan

_COUNTING: Final = 0.008
"""Seconds for counting at once."""
_SOON: Final = 0.01
_DRAWING: Final = 0.25
"""Seconds between two updates of the screen."""


class SummaryView(View):
    """View that counts the store's events, or shows the kernel's counts."""

    name: ClassVar[str] = "summary"
    pane: SummaryPane

    def __init__(self, chosen: Filter) -> None:
        super().__init__(chosen)
        self.pane = SummaryPane(self.name)
        self.pane.turn, self.pane.other_source = self.turn, self.other_source
        self.pane.on_counts, self.pane.condition = self.came, self.condition
        self._summary: Summary | None = None
        self._watch: Watch | None = None
        self._store: Store | None = None
        self._passing: FilteredRows | None = None
        self._plans: tuple[Plan, ...] = ()
        self._subjects: tuple[Subject, ...] = (Subject(),)
        self._preset_subjects: tuple[Subject, ...] = ()
        """Subjects of the preset that was armed last."""
        self._subject = Subject()
        self._group = ""
        """Event group of our probes, as the store has it."""
        self._picked = False
        """True if the user chose the subject, so that it stays."""
        self._preset: tuple[frozenset[Armable], tuple[str, ...]] = (frozenset(), ())
        """Probes of the preset that was armed last, and its columns."""
        self._reads: tuple[HistogramReading, ...] = ()
        self._asked: CountedSet | None = None
        """Probes that were last requested to be counted in the kernel, even if a worker has not begun it."""
        self._drawn = 0.0
        self._next_picture = LatePicture(self.pane, self._show)
        self._values: list[SummaryValue] = []
        """Values on the screen."""
        self._tasks: list[SummaryValue] = []

    @property
    def focus(self) -> Widget:
        """Widget of the values."""
        return self.pane.panel.values

    @property
    def in_kernel(self) -> bool:
        """True if the kernel counts."""
        return self._watch is not None and self._watch.counting is not Phase.OFF

    def tick(self, watch: Watch, store: Store, fields: tuple[str, ...]) -> bool:  # noqa: ARG002 - of every view
        """Count new events; work that takes longer goes on in later ticks."""
        passing = self.filter.of(watch, store)
        if self._summary is None or self._store is not store or passing is not self._passing:
            from events.summary.summary import Summary  # imports numpy

            self._summary, self._passing = Summary(store, chosen=passing), passing
            self._watch, self._store, self._plans = watch, store, ()
            self._group = watch.event_fields.group
            self.choose(self._subject)
            if self.pane.histograms is not None and self.pane.histograms is not watch.histograms:
                self.pane.histograms, self._reads = None, ()
                self._asked = None
        if (group := watch.event_fields.group) != self._group:
            now = partial(regrouped_path, old=self._group, new=group)
            self._summary.rename(now)
            self._subject, self._group = self._subject._replace(event=now(self._subject.event)), group
        if self._plans != watch.event_fields.plans:
            self._plans = watch.event_fields.plans
            self._summary.use(ends_of(self._plans))
        own, columns = self._preset
        self._preset_subjects, self._subjects = preferred(watch, subjects_of(watch, store), own, columns)
        self._open_on_values(watch, self._summary)
        self._summary.tick(_COUNTING)
        if passing is not None and not self._summary.backlog:
            self._open_on_values(watch, self._summary)
        behind = self._summary.backlog > 0
        wait = self._drawn + _DRAWING - time.monotonic()
        if wait <= 0:
            self._show()
        elif not behind:
            self._next_picture.due(wait)
        return behind

    def _open_on_values(self, watch: Watch, summary: Summary) -> None:
        """Select a subject with values, from the preset if one was armed, unless the user chose one that still
        exists; under a filter one of an event that passes, once that is known.
        """
        subject = self._subject
        wanted = self._preset_subjects or self._subjects
        if self._passing is not None:
            if summary.backlog and subject in self._subjects:
                return
            passing = summary.timeline.kinds
            of_passing = (tuple(one for one in some if one.event in passing) for some in (wanted, self._subjects))
            wanted = next(filter(None, of_passing), wanted)
        counted = self.in_kernel or (has_values(watch, subject) and subject in wanted)
        stays = self._picked or (subject.field and counted)
        if stays and subject in self._subjects:
            return
        self._picked = False
        if (first := first_subject(watch, wanted)) != self._subject:
            self.choose(first)

    def prefer(self, probes: Iterable[Armable], columns: tuple[str, ...]) -> None:
        """Select the columns of a newly armed preset."""
        self._preset = frozenset(probes), columns
        self._picked = False

    def choose(self, subject: Subject) -> None:
        """Count another subject."""
        self._subject = subject
        if self._summary is not None and subject.field:
            self._summary.choose(subject.event, subject.field)

    def turn(self, step: int) -> None:
        """Count another field, `step` subjects away."""
        at = self._subjects.index(self._subject) if self._subject in self._subjects else 0
        self.choose(self._subjects[(at + step) % len(self._subjects)])
        self._picked = True
        if self.counts_in_kernel and (former := self._counted_set) is not None and self._watch is not None:
            from kernel.watch.histogram import counted_set

            # The same probes: one that was armed since is recorded.
            probes = [armed for armed in self._watch.armed.probes if armed.key in former.keys]
            self._count(former._replace(fields=counted_set(probes, self._fields).fields))
        self._drawn = 0.0
        self._go_on()

    def other_source(self) -> UndoOffered | str:
        """Switch between counting in the kernel and counting events; return the undo, or an error text."""
        former, watch = self._counted_set, self._watch
        if self.counts_in_kernel and watch is not None:
            again = after_counting(watch.histograms.own_modes)
            done = "events again" if again == after_counting(()) else again
            self._count(None)
        elif watch is None or not watch.live:
            return "only a probe that is armed on a kernel can be counted there"
        else:
            from kernel.watch.histogram import counted_set  # nobody may ask for it

            done = "counted in the kernel, nothing is recorded"
            self._count(counted_set(watch.armed.probes, self._fields))

        def undo() -> None:
            if self._counted_set != former:
                self._count(former)

        return UndoOffered(done, undo)

    @property
    def _counted_set(self) -> CountedSet | None:
        """Probes that are counted in the kernel, or will be once the workers are done."""
        histograms = self.pane.histograms
        return self._asked if self.pane.changing or histograms is None else histograms.wanted

    @property
    def counts_in_kernel(self) -> bool:
        """True if the kernel counts, or a worker is about to start that."""
        return self._asked is not None and (self.pane.changing > 0 or self.in_kernel)

    def _count(self, wanted: CountedSet | None) -> None:
        if (watch := self._watch) is not None:
            histograms = self.pane.histograms = watch.histograms
            self._asked, self._reads = wanted, () if wanted is not None else self._reads
            failed = "the kernel can't count this: " if wanted is not None else ""
            self.pane.change(histograms, lambda: histograms.count(wanted), failed)

    def clear(self) -> None:
        """Reset all counts, also in the kernel."""
        histograms = self.pane.histograms
        if self.counts_in_kernel and histograms is not None:
            self._reads = ()
            self.pane.change(histograms, histograms.clear)

    def came(self, event: SummaryPane.Came) -> None:
        """Show the kernel's counts."""
        if event.histograms is not self.pane.histograms:
            return
        self._reads = event.reads
        if not self.pane.changing:  # a key pressed meanwhile takes precedence
            self._asked = event.histograms.wanted
        self._show()

    def condition(self, of_tasks: bool, row: int) -> str:
        """Return the condition for the events of a row; empty: none is possible."""
        shown = self._tasks if of_tasks else self._values
        return shown[row].condition if row < len(shown) else ""

    def forget(self) -> None:
        """Clear the summary."""
        # The kernel goes on counting: `tick` detects another watch.
        self._summary = self._watch = self._store = None
        self._subjects = (Subject(),)  # the chosen subject stays, for the case that it exists again
        self.pane.panel.show(SummaryText())

    def names_changed(self) -> None:
        """Show new names of processes."""
        if self._watch is not None:
            self.filter.names_changed(self._watch)
        if self._summary is not None:
            self._show()

    @property
    def place(self) -> ViewPlace:
        """Constant position with the number of counted events."""
        summary = self._summary
        if summary is None or self.in_kernel:
            return ViewPlace(row_count=None)
        return ViewPlace(row_count=summary.counted, total=summary.of if self._passing is not None else 0)

    @property
    def table_name(self) -> str:
        """Name of the table."""
        return "kernel-summary" if self.in_kernel else self.name

    @property
    def filtered(self) -> PassCount | str:
        """Number of counted events, including those dropped since; or why the filter does not apply."""
        if self.in_kernel:
            return "not filtered: the kernel counts all"
        return PassCount(self._summary.counted, self._summary.of) if self._summary is not None else PassCount(0, 0)

    def shows(self, plan: Plan) -> bool:  # noqa: ARG002 - of every view
        """Return True unless the kernel counts, which only includes probes armed before."""
        return not self.counts_in_kernel

    def note(self, watch: Watch) -> str:
        """Return the note on the events: recording, counted, ended, disarmed."""
        return note_of(watch)

    @property
    def _fields(self) -> tuple[tuple[str, str], ...]:
        return ((self._subject.event, self._subject.field),) if self._subject.field else ()

    def _go_on(self) -> None:
        """Continue to count if no new event triggers a tick."""
        if self._watch is not None and self._store is not None and self.tick(self._watch, self._store, ()):
            call_after(self.pane, _SOON, self._go_on)

    def _show(self) -> None:
        self._drawn = time.monotonic()
        self._next_picture.drop()
        watch, store, summary = self._watch, self._store, self._summary
        if watch is None or store is None or summary is None:
            return
        if self.in_kernel:
            self._values = self._tasks = []
            self.pane.panel.show(of_kernel(watch, self._reads, self._subject))
            return
        self._tasks = tasks_of(store, summary)
        self._values = values_of(watch, summary.values) if self._subject.field else self._tasks
        self.pane.panel.show(of_events(watch, summary, self._subject, self._values, self._tasks))
