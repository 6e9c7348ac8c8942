"""The application: arms on its target, and moves between the two places."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import actions, on
from textual.app import SystemCommand
from textual.binding import BindingType
from textual.screen import ModalScreen, Screen

from tui.app.reconnect_control import LineApp
from tui.app.trace_control import Graphing
from tui.app.ways_out import DISARM_ALL, GIVE_UP, LEAVE_END, OPEN_ANEW, RUNNING_KERNEL, WHAT_HELPS
from tui.commands import COMMANDS, WHY_NOT, bindings, excuses
from tui.compose.screen import ComposeScreen
from tui.dialogs import dialogs
from tui.messages import (
    Counted,
    DataArrived,
    GraphFailed,
    GraphStarted,
    HostsChanged,
)
from tui.opening import Opening
from tui.present.event_times import Face
from tui.refresh import Feed
from tui.theme import SIXTEEN

# The first paint must not wait for what is needed later: the kernel's side and the other places are imported when
# they are asked for.
if TYPE_CHECKING:
    from textual.command import Provider

    from kernel.connection.planner import Connection
    from kernel.guards.loss_counts import Counts
    from kernel.hosts.fleet import Fleet
    from kernel.watch.watch import Watch
    from probes.command import Armable
    from probes.plans.graph_plan import GraphPlan
    from probes.verdict import Verdict
    from tui.dialogs.preset_screen import Picked
    from tui.hosts.control import Hosting
    from tui.live.screen import LiveScreen
    from tui.preview import Preview, PreviewReader

TRACING = "tracing"
"""Operation that keys typed ahead wait for."""
_GOES_ON = "the tracer is being taken away meanwhile; quitting waits for that, and says so"
_PATIENCE = 2
"""Seconds after which it is said how long a thing takes, and how to end it."""


def _commands_by_name() -> type[Provider]:
    from tui.app.palette import CommandsByName

    return CommandsByName


class Probewright(LineApp):
    """See the module."""

    TITLE = "probewright"
    CSS = "Screen { layers: base; & VerticalScroll { scrollbar-size-vertical: 1; } }"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("app"), *excuses()]
    DEFAULT_MODE = "compose"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_commands_by_name}

    def __init__(self, opening: Opening, preview: PreviewReader | None = None, fleet: Fleet | None = None) -> None:
        """Take the target that is being opened, a preview of it, and the hosts where there are several."""
        super().__init__(opening, preview)
        if self.console.color_system not in ("256", "truecolor"):
            self.register_theme(SIXTEEN)
            self.theme = SIXTEEN.name
        self.counts: Counts | None = None
        """What was lost, as of the last second."""
        self.compose_place = ComposeScreen()
        self.live_place: LiveScreen | None = None
        """Made when first gone to."""
        self._led_to_events = False
        """Whether the live place was gone to for a recording that was not open yet."""
        self.add_mode("compose", lambda: self.compose_place)
        self.add_mode("live", self._make_live_place)
        self._feed = Feed(self, self._ticked, self.refresh_places)
        self.graphing = Graphing(self, self._ticked, self.refresh_places)
        self.face = Face.KERNEL
        """Clock by which times are shown."""
        self.hosting: Hosting | None = None
        if fleet is not None:
            from tui.hosts.control import Hosting

            self.hosting = Hosting(self, fleet)
            self.add_mode("hosts", self.hosting.place)

    # -- several hosts ---------------------------------------------------------------------------------------------

    def on_ready(self) -> None:
        if self.hosting is not None:
            self.hosting.start()
            self.switch_mode("hosts")

    @on(HostsChanged)
    def _hosts_changed(self) -> None:
        if self.hosting is not None:
            self.hosting.changed()

    def action_hosts(self) -> None:
        self.switch_mode("hosts")

    # -- the target ------------------------------------------------------------------------------------------------

    def previewed(self, preview: Preview) -> None:
        self.compose_place.preview(preview)
        if preview.events is not None:
            self._make_live_place().preview(preview, preview.events)
            if not self._led_to_events:
                self.events_expected()

    def events_expected(self) -> None:
        if self.compose_place.untouched and not isinstance(self.screen, ModalScreen):
            self._led_to_events = True
            self.switch_mode("live")

    @property
    def stays(self) -> bool:
        return self.current_mode == "compose" or (self._led_to_events and not self.opening.by_hand)

    def open_target(self, spec: str) -> None:
        self.compose_place.begin_search()
        super().open_target(spec)

    def connected(self) -> None:
        self.counts = None
        if self.opening.by_hand or (self.hosting is None and not self._led_to_events):
            self.switch_mode("compose")
        self.compose_place.connected()

    def leave_graph(self) -> Watch | None:
        self.line.leave()
        return self.graphing.leave()

    def watched(self) -> None:
        self._feed.follow(self.watching)
        if self.live_place is not None:
            self.live_place.connected()

    def replayed(self) -> None:
        self._feed.count()
        if getattr(self.screen, "WAITS_FOR_TARGET", False):  # nobody takes it from who chooses
            return
        if self.opening.by_hand or (self.compose_place.untouched and not self._led_to_events):
            self.switch_mode("live")

    def look(self) -> None:
        self._feed.count()

    def not_elsewhere(self, probe: Armable) -> str:
        here = self.connection.target.name if self.connection is not None else ""
        built = probe == self.compose_place.current
        return self.hosting.not_elsewhere(here, built=built) if self.hosting is not None else ""

    def show_newest_of(self, events: Collection[str]) -> None:
        place = self._make_live_place()
        self.switch_mode("live")
        self.call_after_refresh(place.show_newest_of, events)

    def show_armed(self, probe: Armable) -> None:
        place = self._make_live_place()
        self.switch_mode("live")
        self.call_after_refresh(place.show_armed, probe)

    def triggers_of(self, probe: Armable) -> tuple[str, ...]:
        return self.compose_place.triggers_of(probe)

    def edit_filter(self, probe: Armable) -> None:
        """Go where the filter of a probe is written."""
        self.in_compose(partial(self.compose_place.edit_filter, probe))

    def refused(self, probe: Armable, verdict: Verdict) -> str:
        return self.compose_place.refused(probe, verdict)

    def arm_preset(self, picked: Picked) -> None:
        """Arm all probes of a preset, and open the view it asks for; from the hosts' place on all of them."""
        if self.hosting is not None and self.current_mode == "hosts":
            self.hosting.arm_preset(picked)
            return
        live = self._make_live_place()
        self.switch_mode("live")
        self.arm_all(picked.probes)
        self.call_after_refresh(live.show_preset, picked)

    # -- the call graph --------------------------------------------------------------------------------------------

    def trace(self, plan: GraphPlan) -> None:
        """Begin the function_graph tracer, and go where the calls come."""
        connection = self.connection
        if connection is None:
            return
        if not connection.target.is_kernel:
            self.say_not_armed(f"{connection.target.name} is a recording: {RUNNING_KERNEL}")
        else:
            self.forget("arming")
            first = "" if connection.symbols_read else "reading the kernel's symbols, then "
            self._say_under_way(f"{first}beginning to trace {plan} …", lambda: self.graphing.begins, str(GIVE_UP))
            self.keyboard.begins(TRACING)
            self.graphing.start(connection, plan)
            self.refresh_bindings()

    def end_graph(self) -> None:
        """End the function_graph tracer; what it saw stays."""
        self.graphing.stop()
        self._say_under_way(
            "taking the call graph's tracer away …", lambda: self.graphing.end_is_told, str(LEAVE_END)
        )
        self.refresh_places()

    def _say_under_way(self, doing: str, goes_on: Callable[[], bool], way_out: str = "") -> None:
        """Say what a worker of the call graph does, and for how long, until it is over."""
        since = time.monotonic()

        def say() -> None:
            if not goes_on():
                timer.stop()
                self.forget(TRACING)
                return
            took = int(time.monotonic() - since)
            rest = f" {took} s{f'; {way_out}' if way_out else ''}" if took >= _PATIENCE else ""
            self._say_until(f"{doing}{rest}", TRACING)

        timer = self.set_interval(1.0, say, name=TRACING)
        self._say_until(doing, TRACING)

    @on(GraphStarted)
    def _graph_started(self, event: GraphStarted) -> None:
        # Another target was chosen meanwhile, or nobody waits any more.
        if event.watching.connection is not self.connection or self.graphing.given_up:
            self.run_worker(event.watching.close, thread=True)
            return
        self.keyboard.ends(TRACING)
        self.forget("arming")
        self.forget(TRACING)
        for failure in event.failures:
            self.notify(failure, title="left behind", severity="error", markup=False)
        self.graphing.started(event.watching)
        place = self._make_live_place()
        self.switch_mode("live")
        self.call_after_refresh(place.action_view, "graph")

    @on(GraphFailed)
    def _graph_failed(self, event: GraphFailed) -> None:
        self.keyboard.ends(TRACING)
        self.graphing.begins = False
        self.forget(TRACING)
        self.refresh_bindings()
        self.say_not_armed(f"{event.plan}: {event.why}\n{event.remedy}".strip())

    # -- data ------------------------------------------------------------------------------------------------------

    @on(DataArrived)
    def _data_arrived(self) -> None:
        self._feed.data_came()
        self.graphing.data_came()

    def _ticked(self) -> None:
        if self.live_place is not None and self.live_place.is_current:
            self.live_place.tick()
        if self.watching is not None and (error := self.watching.take_error()):
            self.tell_error(self.watching, error)
        if self.graphing.watching is not None and (error := self.graphing.watching.take_error()):
            text = f"{error}; {OPEN_ANEW}"
            self.notify(text, title="the call graph has ended", severity="error", markup=False, topic="graph")

    def line_changed(self) -> None:
        self.refresh_bindings()
        self._feed.count()
        self.refresh_places()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What is about a line needs one that is cut, what is about hosts several of them; else keys say why not."""
        if action == "why_not":
            return not self.check_action(str(parameters[0]), ())
        if action == "hosts":
            return self.hosting is not None
        of_hosts = self.hosting is not None and self.hosting.trying
        if action == "reconnect":
            return self.line.can_try or self.line_is_silent or (self.hosting is not None and self.hosting.can_try)
        of_graph = self.graphing.begins or self.graphing.end_is_told
        return self.line.trying or of_graph or of_hosts if action == "give_up" else True

    def action_reconnect(self) -> None:
        super().action_reconnect()
        if self.hosting is not None:
            self.hosting.fleet.try_now()

    def action_give_up(self) -> None:
        if self.graphing.begins:
            self.graphing.give_up()
            self.keyboard.ends(TRACING)
            self.forget(TRACING)
            self.notify("given up: the kernel puts back what it has begun", markup=False, topic="graph")
            self.refresh_bindings()
            return
        if self.graphing.end_is_told:
            self.graphing.leave_end()
            self.forget(TRACING)
            self.notify(_GOES_ON, markup=False, topic="graph")
            self.refresh_bindings()
            return
        super().action_give_up()
        if self.hosting is not None:
            self.hosting.fleet.give_up()

    @on(Counted)
    def _counted(self, event: Counted) -> None:
        if not self.graphing.counted(event):
            if event.watching is not self.watching:
                return
            self.counts = event.counts
            for stopped in event.watching.guard.take():
                self.notify(f"{stopped.text}; {WHAT_HELPS}", title="stopped", severity="error", markup=False)
            event.watching.know_names(event.names)
        if self.live_place is not None:
            self.live_place.names_changed()
        self.refresh_places()

    def refresh_places(self) -> None:
        """What is armed or lost has changed."""
        self.show_line_keys()
        if self.compose_place.is_current:
            self.compose_place.refresh_state()
        if self.live_place is not None and self.live_place.is_current:
            self.live_place.refresh_state()

    # -- commands --------------------------------------------------------------------------------------------------

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """What the palette offers: the commands that have keys here, and can be done."""
        for command in COMMANDS:
            if command.place in ("app", self.current_mode) and command.action != "command_palette":
                node = self if command.place == "app" else screen
                _, name, parameters = actions.parse(command.action)
                if node.check_action(name, parameters):
                    yield SystemCommand(command.label, command.help, partial(self.run_action, command.action, node))

    def action_command_palette(self) -> None:
        from tui.app.palette import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette())

    def _make_live_place(self) -> LiveScreen:
        from tui.live.screen import LiveScreen

        if self.live_place is None:
            self.live_place = LiveScreen()
        return self.live_place

    def action_compose(self) -> None:
        self.switch_mode("compose")
        if self.compose_place.is_mounted:  # else it begins there
            self.compose_place.action_search()

    def action_live(self) -> None:
        self.switch_mode("live")

    def action_edit(self) -> None:
        self.in_compose(self.compose_place.action_edit)

    def in_compose(self, act: Callable[[], object]) -> None:
        """Go where probes are built, and do something there as soon as it is there: first there are the hosts."""
        switched = self.switch_mode("compose")

        async def when_shown() -> None:
            await switched
            act()

        if self.compose_place.is_mounted:
            act()
        else:
            self.call_next(when_shown)

    def action_why_not(self, action: str) -> None:
        self.notify(WHY_NOT[action], markup=False, topic="why not")

    def action_targets(self) -> None:
        dialogs.choose_target(self, self.opened, self._target_chosen)

    def _target_chosen(self, spec: str) -> None:
        """Open it; one that is open, with probes on it, is not left by mistake: the cursor begins on it."""
        from tui.dialogs.target_list import word_of

        stands = self.watching is not None and self.watching.live and not self.line.can_try
        if stands and word_of(spec) == word_of(self.opened):
            self.notify(f"{spec} stays open; to open it anew, disarm all first: {DISARM_ALL}", markup=False)
        else:
            self.open_target(spec)

    def action_presets(self) -> None:
        def now_open() -> Connection | None:
            hosts = self.hosting.connection if self.hosting is not None and self.current_mode == "hosts" else None
            return hosts or self.connection

        dialogs.choose_preset(self, now_open, self.arm_preset)

    def action_help(self) -> None:
        dialogs.show_help(self)
