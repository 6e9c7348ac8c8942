"""The place where events arrive: one of the views of what came, the details of a row, what was lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.timer import Timer

from tui.commands import bindings
from tui.dialogs import dialogs
from tui.filter.bar import FilterBar, LiveFilterBar
from tui.filter.filter import Filter, slower_than
from tui.filter.hidden_rows import HiddenRows
from tui.live.commands import LiveCommands
from tui.live.registry import EXTRA_LABELS, LABELS, make_view
from tui.present.status import (
    fields_of,
    losses_of,
    note_of_nothing,
    note_of_preview,
    silence_of,
    status_of,
    status_of_preview,
)
from tui.refresh import SLOWEST
from tui.views.events.filtered_pane import FilteredPane
from tui.views.events.view import EventsView
from tui.views.view import View
from widgets.events.status_bar import LiveLine, LiveState, LossTotals, Status, TopLine
from widgets.footer import KeyFooter
from widgets.lists.tail_table import TailTable
from widgets.number_format import grouped

if TYPE_CHECKING:
    from kernel.session.session import Armed
    from kernel.watch.watch import Watch
    from probes.command import Armable
    from tui.dialogs.preset_screen import PickedPreset
    from tui.preview import FirstRows, Preview
    from tui.views.events.pane import EventsPane
    from tui.views.summary.pane import SummaryPane
    from tui.views.summary.view import SummaryView
    from tui.workbench import Workbench

_TRACED: Final = "calls are traced: g; no probe is armed"
_SOON: Final = 0.01
"""Seconds to the next tick of a view that has more to do."""


class LiveScreen(LiveCommands):
    """See the module; what is shown is decided by the views (`tui.views`) and in `tui.present.status`."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("live"), Binding("slash", "no_search", show=False)]
    AUTO_FOCUS = "TailTable"

    def __init__(self, bench: Workbench) -> None:
        super().__init__(bench)
        self._top = TopLine()
        self._line = LiveLine()
        self.filter = Filter()
        """Of all views, their search and the exports."""
        self._hidden = HiddenRows()
        self._filtered = ""
        """The filter that can be gone back to from the next one."""
        self._filter_bar = LiveFilterBar(self.filter, lambda: self.seen, self._hidden)
        self._events = EventsView(self.filter)
        self._view: View = self._events
        self._views: dict[str, View] = {"events": self._events}
        """Those that were shown."""
        self._more: Timer | None = None
        self._line_shown = 0.0
        """Time at which the line was made last, in seconds."""
        self._preview: tuple[Preview, FirstRows] | None = None
        """A recording and its first rows, until they are in the store."""

    @property
    def views(self) -> Iterable[View]:
        return self._views.values()

    @property
    def view(self) -> View:
        """What is on the screen."""
        return self._view

    def compose(self) -> ComposeResult:
        yield self._top
        yield self._line
        yield self._events.pane
        yield self._filter_bar
        yield KeyFooter("help")

    def on_mount(self) -> None:
        self._events.show_times(self.stamp)

    def on_screen_resume(self) -> None:
        self.tick()
        self.refresh_state()

    # -- from the application -----------------------------------------------------------------------------------

    def preview(self, preview: Preview, rows: FirstRows) -> None:
        """Show the first rows of a recording that is not open yet."""
        self._preview = preview, rows
        self._events.preview(rows)
        self.refresh_state()

    def connected(self) -> None:
        """Show nothing of the target before; rows of a preview stay until the store has them."""
        if self.bench.opening.by_hand:
            self._preview = None
        if self._preview is None:
            self._show_nothing()
        self.refresh_state()

    @property
    def seen(self) -> Watch | None:
        """Where what is on the screen comes from."""
        graph, watching = self.bench.tracing.watching, self.bench.watching
        if not self._view.of_graph or graph is None:
            return watching
        # Where one has ended and was cleared, calls come of probes at both ends alone.
        is_over = not graph.live and not graph.closing and graph.store is not None and not len(graph.store)
        return watching if is_over and watching is not None and watching.armed else graph

    def tick(self) -> None:
        """The store has grown."""
        watching = self.seen
        if watching is None or watching.store is None:
            return
        if self._preview is not None:
            if watching.store.next_seq < self._preview[1].next and not watching.ended:
                return  # fewer rows than are shown
            self._preview = None
            self.refresh_state()
        if self._more is not None:
            self._more.stop()
        more = self._view.tick(watching, watching.store, fields_of(watching))
        more |= self._hidden.look(watching.store, self.filter.of(watching, watching.store))
        self._more = self.set_timer(_SOON, self.tick, name="more") if more else None
        if not more or time.monotonic() - self._line_shown >= SLOWEST:
            self._show_line()

    def _show_nothing(self) -> None:
        for view in self._views.values():
            view.forget()

    def names_changed(self) -> None:
        """Tasks have names now that they had not before."""
        for view in self._views.values():
            view.names_changed()
        self._filter_bar.show(self._view.filtered)

    def refresh_state(self) -> None:
        """What is armed or lost has changed."""
        bench = self.bench
        if self._preview is not None:
            self._top.status = status_of_preview(*self._preview)
        elif bench.connection is None:
            self._top.status = Status(bench.opening.spec, "opening")
        else:
            self._top.status = status_of(bench.connection, bench.watching, bench.counts, tracing=bench.tracing.runs)
        self._show_line()

    def _show_line(self) -> None:
        self._line_shown = time.monotonic()
        self._filter_bar.show(self._view.filtered)
        watching = self.seen
        store = watching.store if watching else None
        if self._preview is not None:
            self._line.state = self._state(note_of_preview(self._preview[1]))
            return
        if watching is None or store is None:
            hosts = self.bench.hosts.note if self.bench.hosts is not None else ""
            note = _TRACED if self._only_traced else hosts or note_of_nothing(self.bench.connection)
            self._line.state = LiveState(shown=None, note=note)
            return
        from tui.present.activity import mark_of

        lacking = self._view.lacks(watching)
        silent = silence_of(watching.connection, live=watching.live)
        self._line.state = replace(
            self._state(_TRACED if self._only_traced else lacking or self._view.note(watching)),
            silent=silent,
            per_second=sum(store.rates().values()) if watching.has_pace else None,
            losses=self._losses(watching),
            urgent=watching.error is not None or bool(lacking),
            instead=mark_of(watching),
        )

    def _state(self, note: str) -> LiveState:
        """Return the view and its place, with a note and no figures."""
        place = self._view.place
        labels = LABELS | {name: label for name, label in EXTRA_LABELS.items() if name == self._view.name}
        return LiveState(
            views=tuple(labels.values()),
            view=list(labels).index(self._view.name),
            following=place.following,
            new=place.new,
            per_second=None,
            shown=place.shown,
            of=place.of,
            note=note,
        )

    def _losses(self, watching: Watch) -> LossTotals | None:
        """Those of the tracer, where it lost something; those of the probes are in the top line."""
        graphing = self.bench.tracing
        losses = losses_of(watching, graphing.counts) if watching is graphing.watching else LossTotals()
        return losses if losses != LossTotals() else None

    @property
    def _only_traced(self) -> bool:
        """Whether calls are traced, no probe is armed, and the view shows what probes record."""
        armed = self.bench.watching is not None and bool(self.bench.watching.armed)
        return self.bench.tracing.runs and not self._view.of_graph and not armed

    # -- requests of a view -------------------------------------------------------------------------------------

    @on(TailTable.Followed)
    def _followed(self, event: TailTable.Followed) -> None:
        event.stop()
        self._show_line()

    @on(TailTable.DetailRequested)
    def _detail_requested(self, event: TailTable.DetailRequested) -> None:
        from tui.live.detail import DetailScreen

        event.stop()
        if self.seen is None:
            return
        try:
            self.app.push_screen(DetailScreen(*self._view.detail(self.seen, event.row)))
        except IndexError:
            self.notify("this event was dropped to make room for newer ones", markup=False)

    def on_summary_pane_came(self, event: SummaryPane.Came) -> None:
        event.stop()
        self._show_line()

    async def on_summary_pane_events_wanted(self, event: SummaryPane.EventsWanted) -> None:
        event.stop()
        from events.search.condition_parser import joined

        await self.action_view("events")
        self._events.pane.only(joined(self.filter.text, event.condition))

    def on_events_pane_kernel_filter_wanted(self, event: EventsPane.KernelFilterWanted) -> None:
        from tui import kernel_jobs

        event.stop()
        clause = event.clause

        def filter_it(meant: Armed) -> None:
            self.bench.arming.remedy(lambda watching: kernel_jobs.add_to_filter(watching, meant, clause))

        self.with_meant(f"record only {clause} of", filter_it)

    @on(FilteredPane.FilterChanged)
    def _filter_changed(self, event: FilteredPane.FilterChanged) -> None:
        event.stop()
        self._filter_is_another()

    @on(FilterBar.Done)
    def _filter_done(self, event: FilterBar.Done) -> None:
        event.stop()
        self.set_focus(self._view.focus)
        if event.changed:
            self._filter_is_another()
        self._filter_bar.show(self._view.filtered)

    def _filter_is_another(self) -> None:
        """Show what passes now; `u` goes back to the filter before."""
        before, self._filtered = self._filtered, self.filter.text
        if before != self._filtered:
            said = f"filter: {self._filtered}" if self._filtered else "no filter"
            self.bench.undo.add(said, lambda: self._filter_again(before))
        self.tick()

    def _filter_again(self, text: str) -> None:
        """Show what passes a filter that was there before: it was a condition then."""
        self.filter.choose(text, None)
        self._filtered = text
        self.tick()
        self._show_line()

    # -- commands -----------------------------------------------------------------------------------------------

    def action_filter(self) -> None:
        """Type a condition that holds for all views."""
        self._filter_bar.ask()

    async def action_view(self, view: str) -> None:
        """Show what came in another way."""
        chosen = await self._made(view)
        self._view.pane.display = False
        self._view = chosen
        self._view.pane.display = True
        self.set_focus(self._view.focus)
        self.tick()

    async def show_armed(self, probe: Armable) -> None:
        """Show the events of a probe that was armed just now; a view that can't gives way to the events.

        One that was armed with a hist trigger is shown by its table.
        """
        watching = self.bench.watching
        armed = watching.armed if watching is not None else ()
        plan = next((one.plan for one in armed if one.plan.probe == probe), None)
        if plan is None or watching is None:
            return
        if plan.has_hist_trigger:
            await self.action_view("histograms")
        elif not self._view.shows(plan):
            await self.action_view("events")
        if watching.store is not None:
            recorded = watching.connection.holds_events  # before it was asked for
            self._hidden.begin(plan, watching.store.first_seq if recorded else watching.store.next_seq)
            self.tick()

    async def _made(self, name: str) -> View:
        """Return a view; its pane is made, and not seen, where it was never asked for."""
        if name not in self._views:
            view = self._views[name] = make_view(name, self.filter)
            view.show_times(self.stamp)
            view.pane.display = False
            await self.mount(view.pane, before=self._filter_bar)
        return self._views[name]

    async def show_preset(self, picked: PickedPreset) -> None:
        """In the view that a preset asks for, with its columns, of its calls those that are long enough."""
        from probes.presets.substitute import least_latency

        preset = picked.preset
        cast("SummaryView", await self._made("summary")).prefer(picked.probes, preset.columns)
        await self.action_view(str(preset.view))
        if preset.columns:
            self._events.prefer(picked.probes, preset.columns)
        if least := least_latency(preset, picked.given):
            self._filter_again(slower_than(least))

    async def show_newest_of(self, events: Collection[str]) -> None:
        """Put the cursor on the newest event of some, by their paths, among the events."""
        await self.action_view("events")
        if not self._events.pane.go_to_newest(events):
            self.notify("no event of it is on the list yet", markup=False)

    def action_clear(self) -> None:
        """Show only what comes from now on."""
        watching, summary = self.seen, cast("SummaryView | None", self._views.get("summary"))
        if watching is None or watching.store is None:
            return
        if summary is not None and summary.counts_in_kernel:
            details = ("What the kernel has counted can't be taken back.",)
            dialogs.ask(self.app, "Count from 0 on?", details, "Clear", lambda: self._clear(watching, summary.clear))
        elif len(watching.store):
            self._clear(watching)

    def _clear(self, watching: Watch, also: Callable[[], object] = lambda: None) -> None:
        gone = f"cleared: {grouped(len(watching.store or ()))} events"
        watching.forget()
        also()
        self._begin_anew()
        self.bench.undo.add(gone, lambda: self._recall(watching))

    def _recall(self, watching: Watch) -> None:
        watching.recall()
        self._begin_anew()

    def _begin_anew(self) -> None:
        """The views show another store."""
        self._show_nothing()
        self.tick()
        self.refresh_state()
