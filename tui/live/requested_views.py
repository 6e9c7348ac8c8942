"""Go to the view that shows what was asked for elsewhere: a probe that was armed, a preset, an event."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine
from typing import TYPE_CHECKING, Any, cast

from tui.filter.filter import of_events, slower_than
from tui.live.filter_control import FilterControl
from tui.live.view_switch import ViewSwitch
from tui.workbench import Workbench

if TYPE_CHECKING:
    from probes.command import Armable
    from tui.dialogs.preset_screen import PickedPreset
    from tui.views.failures.view import FailuresView
    from tui.views.summary.view import SummaryView


class RequestedViews:
    """See the module; the screen has been gone to."""

    def __init__(
        self,
        bench: Workbench,
        views: ViewSwitch,
        filtering: FilterControl,
        go: Callable[[str], Coroutine[Any, Any, None]],
        tick: Callable[[], None],
    ) -> None:
        """Take the functions that show a view by its name, and new events."""
        self._bench = bench
        self._views = views
        self._filtering = filtering
        self._go = go
        self._tick = tick

    async def show_armed(self, probe: Armable) -> None:
        """Show the events of a probe that was armed just now; a view that can't gives way to the events.

        One that was armed with a hist trigger is shown by its table.
        """
        watching = self._bench.current_watch
        armed = watching.armed.probes if watching is not None else ()
        plan = next((one.plan for one in armed if one.plan.probe == probe), None)
        if plan is None or watching is None:
            return
        if plan.has_hist_trigger:
            await self._go("histograms")
        elif plan.counts_only:
            await self._go("maps")
        elif not self._views.current.shows(plan):
            await self._go("events")
        if watching.store is not None:
            recorded = watching.info.holds_events  # before it was asked for
            self._filtering.wait_for(plan, watching.store.first_seq if recorded else watching.store.next_seq)
            self._tick()
            self._views.events.show_kind_of(plan)
        if watching.live:  # its events are wanted, not the rows that were held before
            self._views.current.follow()

    async def show_preset(self, picked: PickedPreset) -> None:
        """Show the view that a preset asks for, with its columns, and of its calls those that are long enough; of a
        recording its events alone.
        """
        from events.conditions.condition_parser import and_condition
        from probes.presets.substitute import least_latency

        preset = picked.preset
        cast("SummaryView", await self._views.made("summary")).prefer(picked.probes, preset.columns)
        await self._go(str(preset.view))
        if not picked.recorded_events:
            self._views.current.follow()
        if preset.columns:
            self._views.events.prefer(picked.probes, preset.columns)
        condition = of_events(picked.recorded_events)
        if least := least_latency(preset, picked.given):
            condition = and_condition(condition, slower_than(least))
        if condition:
            self._filtering.replace(condition)

    async def show_matching(self, condition: str, view: str) -> None:
        """Show only the events that match a condition as well as the filter, in a view."""
        from events.conditions.condition_parser import and_condition

        await self._go("events")
        self._views.events.pane.only(and_condition(self._views.events.filter.text, condition))
        if view != "events":
            await self._go(view)

    async def show_row(self, seq: int) -> None:
        """Put the cursor on an event by its sequence number, among the events."""
        await self._go("events")
        self._views.events.pane.go_to_event(seq)

    async def show_event(self, path: str) -> None:
        """Show the rows of one event alone."""
        await self._go("events")
        self._filtering.replace(of_events([path]))

    async def show_failures(self, picked: PickedPreset) -> None:
        """Show the first failures of the calls, and with the error, that a preset asks for."""
        from probes.presets.failure_request import failure_request

        view = cast("FailuresView", await self._views.made("failures"))
        request = failure_request(picked.preset, picked.given)._replace(calls=picked.functions)
        view.choose(request, self._bench.planner)
        await self._go("failures")
        if told := view.choice:

            def take_back() -> None:
                view.choose(None)
                self._tick()

            self._bench.undo.add(told, take_back)

    def leave_out_earlier(self, since: int) -> None:
        """Show only what happens from a time of the kernel's clock on, where rows have no order of time."""
        view, watching = self._views.current, self._views.watch
        store = watching.store if watching is not None else None
        if store is not None and (back := view.leave_out_earlier(store, since)) is not None:
            self._tick()

            def take_back() -> None:
                back()
                self._tick()

            self._bench.undo.add(f"{view.name}: only those since the command began", take_back)

    async def show_newest_of(self, events: Collection[str]) -> None:
        """Put the cursor on the newest event of some, by their paths, among the events."""
        await self._go("events")
        if not self._views.events.pane.go_to_newest(events):
            self._bench.notices.notify("no event of it is on the list yet")
