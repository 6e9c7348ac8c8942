"""The application: arms on its target, and moves between the two places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import SystemCommand
from textual.binding import BindingType
from textual.notifications import SeverityLevel
from textual.screen import Screen

from tui import dialogs
from tui.commands import COMMANDS, bindings
from tui.feed import Feed
from tui.graphing import Graphing
from tui.messages import (
    Counted,
    DataArrived,
    Disarmed,
    FoundTooFast,
    GraphFailed,
    GraphStarted,
    ProbeArmed,
    ProbeRejected,
    Recorded,
    Remedied,
)
from tui.screens.compose import ComposeScreen
from tui.startup import Opening
from tui.target_app import TargetApp
from tui.theme import SIXTEEN

# The first paint must not wait for what is needed later: the kernel's side and the other places are imported when
# they are asked for.
if TYPE_CHECKING:
    from kernel.counts import Counts
    from kernel.session import Armed
    from kernel.watch import Watch
    from probes.command import Armable
    from probes.graph_plan import GraphPlan
    from tui.preview import Preview, PreviewReader
    from tui.screens.live import LiveScreen
    from tui.screens.presets import Picked


class Probewright(TargetApp):
    """See the module."""

    TITLE = "probewright"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")
    DEFAULT_MODE = "compose"

    def __init__(self, opening: Opening, preview: PreviewReader | None = None) -> None:
        super().__init__(opening, preview)
        if self.console.color_system not in ("256", "truecolor"):
            self.register_theme(SIXTEEN)
            self.theme = SIXTEEN.name
        self.counts: Counts | None = None
        """What was lost, as of the last second."""
        self.compose_place = ComposeScreen()
        self.live_place: LiveScreen | None = None
        """Made when first gone to."""
        self.add_mode("compose", lambda: self.compose_place)
        self.add_mode("live", self._make_live_place)
        self._feed = Feed(self, self._ticked)
        self.graphing = Graphing(self, self._ticked)

    # -- the target ------------------------------------------------------------------------------------------------

    def previewed(self, preview: Preview) -> None:
        self.compose_place.preview(preview)

    def connected(self) -> None:
        self.counts = None
        self.switch_mode("compose")
        self.compose_place.connected()

    def leave_graph(self) -> Watch | None:
        return self.graphing.leave()

    def watched(self) -> None:
        self._feed.follow(self.watching)
        if self.live_place is not None:
            self.live_place.connected()

    def replayed(self) -> None:
        self._feed.count()
        self.switch_mode("live")

    # -- arming ----------------------------------------------------------------------------------------------------

    @work(thread=True, group="arm")
    def arm(self, probe: Armable, *, at_any_rate: bool = False, count_only: bool = False) -> None:
        """Arm a probe, and go where its events come; one that is too fast is asked about first."""
        from tui import arming

        if self.watching is not None:
            self.post_message(arming.arm(self.watching, probe, at_any_rate=at_any_rate, count_only=count_only))

    def arm_preset(self, picked: Picked) -> None:
        """Arm all probes of a preset, and open the view it asks for."""
        for probe in picked.probes:
            self.arm(probe)
        live = self._make_live_place()
        self.switch_mode("live")
        self.call_after_refresh(live.action_view, str(picked.preset.view))

    @on(ProbeArmed)
    def _armed(self, event: ProbeArmed) -> None:
        self.forget("arming")
        for loss in event.losses:
            self.notify(loss, markup=False)
        if event.rate:
            self.notify(event.rate, title=event.probe.subject, markup=False, topic="rate")
        self._feed.count()
        self.switch_mode("live")

    @on(FoundTooFast)
    def _found_too_fast(self, event: FoundTooFast) -> None:
        def chosen(answer: str) -> None:
            if answer == "filter":
                self.edit_filter(event.probe)
            else:
                self.arm(event.probe, at_any_rate=True, count_only=answer == "count")

        dialogs.ask_too_fast(self, event.probe.subject, event.rate, event.cost_of_counting, chosen)

    def edit_filter(self, probe: Armable) -> None:
        """Go where the filter of a probe is written."""
        self.switch_mode("compose")
        self.compose_place.edit_filter(probe)

    @work(thread=True, group="arm")
    def remedy(self, action: Callable[[Watch], Remedied]) -> None:
        """Do something about what is armed, in a worker; see `tui.arming`."""
        if self.watching is not None:
            self.post_message(action(self.watching))

    @on(Remedied)
    def _remedied(self, event: Remedied) -> None:
        severity: SeverityLevel = "error" if event.failed else "information"
        self.notify(event.text, severity=severity, markup=False, topic="remedy")
        self._feed.count()
        self.refresh_places()

    @on(ProbeRejected)
    def _rejected(self, event: ProbeRejected) -> None:
        if event.verdict is not None:
            self.compose_place.refused(event.probe, event.verdict)
        text = f"{event.text}\n{event.remedy}".strip()
        self.say_not_armed(text)

    def say_not_armed(self, why: str) -> None:
        """Until something is."""
        self.notify(why, title="not armed", severity="error", markup=False, topic="arming")

    @work(thread=True, group="arm")
    def disarm(self, probes: Sequence[Armed]) -> None:
        """Take probes away; their events stay on the screen."""
        from tui import arming

        if self.watching is not None:
            self.post_message(arming.disarm(self.watching, probes))

    @on(Disarmed)
    def _disarmed(self, event: Disarmed) -> None:
        for failure in event.failures:
            self.notify(failure, title="left behind", severity="error", markup=False)
        self._feed.count()
        self.refresh_places()

    @work(thread=True, group="arm")
    def record(self, path: Path, watching: Watch) -> None:
        """Write events to a recording from now on."""
        from tui import arming

        self.post_message(arming.record(watching, path))

    @work(thread=True, group="arm")
    def stop_recording(self, watching: Watch) -> None:
        """Finish the recording."""
        from tui import arming

        self.post_message(arming.stop_recording(watching))

    @on(Recorded)
    def _recorded(self, event: Recorded) -> None:
        severity: SeverityLevel = "error" if event.failed else "information"
        self.notify(event.text, severity=severity, markup=False, topic="recording")
        self.refresh_places()

    # -- the call graph --------------------------------------------------------------------------------------------

    def trace(self, plan: GraphPlan) -> None:
        """Begin the function_graph tracer, and go where the calls come."""
        connection = self.connection
        if connection is None:
            return
        if not connection.target.owner:
            self.say_not_armed(f"{connection.target.name} is a recording: F4 chooses a kernel that runs")
        else:
            self.notify(f"tracing {plan} ...", markup=False, topic="arming")
            self.graphing.start(connection, plan)

    @on(GraphStarted)
    def _graph_started(self, event: GraphStarted) -> None:
        if event.watching.connection is not self.connection:  # another target was chosen meanwhile
            self.run_worker(event.watching.close, thread=True)
            return
        self.forget("arming")
        for failure in event.failures:
            self.notify(failure, title="left behind", severity="error", markup=False)
        self.graphing.started(event.watching)
        place = self._make_live_place()
        self.switch_mode("live")
        self.call_after_refresh(place.action_view, "graph")

    @on(GraphFailed)
    def _graph_failed(self, event: GraphFailed) -> None:
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
            dialogs.show_trouble(self, "no more events will come", str(error), error.remedy)

    @on(Counted)
    def _counted(self, event: Counted) -> None:
        if not self.graphing.counted(event):
            if event.watching is not self.watching:
                return
            self.counts = event.counts
            for stopped in event.watching.guard.take():
                self.notify(f"{stopped.text}; L says what helps", title="stopped", severity="error", markup=False)
            event.watching.know_names(event.names)
        if self.live_place is not None:
            self.live_place.names_changed()
        self.refresh_places()

    def refresh_places(self) -> None:
        """What is armed or lost has changed."""
        if self.compose_place.is_current:
            self.compose_place.refresh_state()
        if self.live_place is not None and self.live_place.is_current:
            self.live_place.refresh_state()

    # -- commands --------------------------------------------------------------------------------------------------

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """What the palette offers: the commands that have keys here."""
        for command in COMMANDS:
            if command.place in ("app", self.current_mode) and command.action != "command_palette":
                node = self if command.place == "app" else screen
                yield SystemCommand(command.label, command.help, partial(self.run_action, command.action, node))

    def _make_live_place(self) -> LiveScreen:
        from tui.screens.live import LiveScreen

        if self.live_place is None:
            self.live_place = LiveScreen()
        return self.live_place

    def action_compose(self) -> None:
        if self.current_mode == "compose":
            self.compose_place.action_search()
        else:
            self.switch_mode("compose")

    def action_live(self) -> None:
        self.switch_mode("live")

    def action_edit(self) -> None:
        self.switch_mode("compose")
        self.compose_place.action_edit()

    def action_targets(self) -> None:
        dialogs.choose_target(self, self.open_target)

    def action_presets(self) -> None:
        dialogs.choose_preset(self, self.connection, self.arm_preset)

    def action_help(self) -> None:
        dialogs.show_help(self)
