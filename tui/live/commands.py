"""The part of the live place that has the commands about what is under the cursor, and about all that came."""

from __future__ import annotations

import time
from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.screen import Screen

from tui.app.ways_out import CHOOSE_TARGET, SEARCH_EVENTS, SHOW_CALLS
from tui.dialogs import dialogs
from tui.present.event_times import Face, stamp_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kernel.session.session import Armed
    from kernel.watch.watch import Watch
    from tui.app.app import Probewright
    from tui.filter.filter import Filter
    from tui.views.view import View
    from widgets.events.times import Stamp


_STACKS = ("ftrace/kernel_stack", "ftrace/user_stack")
"""Events that the kernel adds to those of probes; they name no probe."""


class LiveCommands(Screen[None]):
    """What a key does with probes that are armed and with their events."""

    @property
    def bench(self) -> Probewright:
        """The application, by its type."""
        return cast("Probewright", self.app)

    filter: Filter
    """Of all that is shown and given out."""

    @property
    def stamp(self) -> Stamp:
        """Write times of rows by the clock that was chosen."""
        return stamp_of(lambda: self.seen, self.bench.face)

    def action_clock(self) -> None:
        """Show the time of day beside the kernel's seconds, or no more."""
        self.bench.face = face = self.bench.face.after
        for view in self.views:
            view.show_times(self.stamp)
        clock = self.seen.clock if self.seen is not None else None
        unknown = clock is not None and not clock.known and face is not Face.KERNEL
        why = ": the recording does not say it" if self.seen and self.seen.connection.holds_events else " yet"
        self.notify(f"times: {face.words}{f', which is not known{why}' if unknown else ''}", markup=False)

    @property
    @abstractmethod
    def views(self) -> Iterable[View]:
        """Views that were shown."""

    @property
    @abstractmethod
    def view(self) -> View:
        """What is on the screen."""

    @property
    @abstractmethod
    def seen(self) -> Watch | None:
        """Where what is on the screen comes from."""

    @abstractmethod
    def refresh_state(self) -> None:
        """What is armed or lost has changed."""

    def _event_under_cursor(self) -> str:
        """Path of an event; empty where there is no cursor, or its row was dropped."""
        store = self.seen.store if self.seen else None
        record = self.view.record_under_cursor(store) if store else None
        return record.event if record else ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """What can be taken back is offered where there is something."""
        return action != "take_back" or len(self.bench.undo) > 0

    def action_take_back(self) -> None:
        """Take back what destroyed something last."""
        self.bench.undo_last()

    def action_disarm(self) -> None:
        """Disarm the probe whose event is under the cursor; without a cursor one that is chosen."""
        if self.view.of_graph and self.bench.graphing.runs:
            self._ask_to_end_graph(lambda: None)
        else:
            self.with_meant("disarm", lambda meant: self.bench.disarm([meant]))

    def _ask_to_end_graph(self, then: Callable[[], object]) -> None:
        def end() -> None:
            self.bench.end_graph()
            then()

        details = ["Its calls stay until another one is begun."]
        dialogs.ask(self.bench, "End the call graph?", details, "End it", end)

    def action_no_search(self) -> None:
        """Say that this view has no rows with words; what is typed behind the key is for no command."""
        self.bench.keyboard.begins("search")
        self.bench.keyboard.ends("search")
        self.bench.notify(f"nothing to search in this view: {SEARCH_EVENTS}", markup=False, topic="search")

    def action_losses(self) -> None:
        """What was lost, and what helps."""
        from tui.live.losses import LossScreen

        self.app.push_screen(LossScreen())

    def action_triggers(self) -> None:
        """Triggers of the probe whose event is under the cursor; without a cursor of one that is chosen."""
        from tui.live.triggers import TriggerScreen

        watching = self.bench.watching
        if watching is not None and not watching.connection.target.is_kernel:
            self.notify("a recording takes no triggers", markup=False)
        elif watching is not None:

            def show(meant: Armed) -> None:
                of_text = self.bench.compose_place.triggers_meant(meant.plan.probe)
                self.app.push_screen(TriggerScreen(watching, meant, of_text))

            self.with_meant("triggers of", show)

    def with_meant(self, what: str, then: Callable[[Armed], object]) -> None:
        """Do something with the armed probe that a key is about; where that may be several, have one chosen.

        Args:
            what: is done, for the question.
            then: does it.
        """
        watching = self.bench.watching
        armed = watching.armed if watching is not None else ()
        recorded = watching is not None and not watching.connection.target.is_kernel
        event = self._event_under_cursor()
        meant = [one for one in armed if not event or any(planned.path == event for planned in one.plan.events)]
        if len(meant) == 1:
            then(meant[0])
        elif not armed:
            self.notify("this recording holds no probe" if recorded else "nothing is armed", markup=False)
        elif event and not meant and event not in _STACKS:
            gone = "taken away" if recorded else "disarmed"
            self.notify(f"the probe of this event is {gone} already", markup=False)
        else:
            several = meant or armed
            rows = [str(one.plan.probe) for one in several]
            dialogs.pick(self.bench, f"{what} which probe?", rows, lambda row: then(several[row]))

    def action_disarm_all(self) -> None:
        if self.bench.graphing.runs:
            self._ask_to_end_graph(self._disarm_probes)
        else:
            self._disarm_probes()

    def _disarm_probes(self) -> None:
        if self.bench.watching is not None:
            self.bench.disarm(self.bench.watching.armed)

    def action_record(self) -> None:
        """Begin to write a recording to a file that is asked for, or end it after a question."""
        watching = self.seen
        if watching is not None and not watching.connection.target.is_kernel:
            self.notify("this is a recording: it stands in its file; o exports what is in it", markup=False)
            return
        if watching is None or not watching.live:
            self.notify("nothing is armed that could be recorded", markup=False)
            return
        recorder, beginning = watching.recorder, self.bench.beginning
        if recorder is None and beginning is None:
            if not self.bench.say_taping():
                name = time.strftime("probewright-%Y%m%d-%H%M%S.pwr")
                dialogs.ask_recording(self.bench, name, lambda path: self.bench.toggle_recording(path, watching))
            return
        name = recorder.path.name if recorder else beginning.name if beginning else ""
        details = ["What was recorded stays." if recorder else "It is being begun; it ends as soon as it is."]
        end = partial(self.bench.end_recording, watching)
        dialogs.ask(self.bench, f"End the recording {name}?", details, "End it", end)

    def action_export(self) -> None:
        """Give the events out in a format of other tools."""
        from tui.live.event_export import EventExportScreen
        from tui.present.view_tables import OF_KERNEL

        watching = self.seen
        table = self.view.table_name
        if watching is None or watching.store is None or not (len(watching.store) or table in OF_KERNEL):
            self.notify("there are no events that could be given out", markup=False)
        else:
            self.app.push_screen(EventExportScreen(watching, watching.store, self.filter, table))

    def action_probe(self) -> None:
        """Build a probe on the function under the cursor; without a cursor on one that is chosen."""

        def build(name: str) -> None:
            self.bench.in_compose(lambda: self.bench.compose_place.pick(name))

        if self.bench.connection is None:
            self.notify(f"no target is open yet: {CHOOSE_TARGET}", markup=False)
        elif name := self.view.function_under_cursor():
            build(name)
        elif names := self.view.functions_on_screen():
            dialogs.pick(self.bench, "a probe on which function?", names, lambda row: build(names[row]))
        else:
            self.notify(f"no function is on the screen: {SHOW_CALLS}", markup=False)
