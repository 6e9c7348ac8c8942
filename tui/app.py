"""The application: opens and closes the target, arms, and moves between the two places."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import App
from textual.binding import BindingType
from textual.screen import ModalScreen

from kernel.connection import Connection
from kernel.counts import Counts
from kernel.errors import KernelError
from kernel.recording import RecordingTarget
from kernel.session import Armed
from kernel.undo import UndoFailure
from kernel.watch import Watch
from probes.probe import Probe
from tui import arming
from tui.commands import bindings
from tui.feed import Feed
from tui.help import help_of
from tui.messages import (
    Connected,
    ConnectFailed,
    Counted,
    DataArrived,
    Disarmed,
    ProbeArmed,
    ProbeRejected,
)
from tui.screens.compose import ComposeScreen
from tui.screens.live import LiveScreen
from tui.screens.targets import TargetScreen
from tui.shown import losses_of
from tui.startup import Opening
from widgets.help import HelpScreen
from widgets.progress import ProgressDialog
from widgets.status_bar import Status
from widgets.trouble import TroubleDialog

PATIENCE = 0.5
"""Seconds after which a target that is being opened shows its progress."""


class Probewright(App[None]):
    """See the module."""

    TITLE = "probewright"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")

    def __init__(self, opening: Opening) -> None:
        super().__init__()
        self.opening = opening
        self.connection: Connection | None = None
        self.watching: Watch | None = None
        """What is armed on the connection."""
        self.counts: Counts | None = None
        """What was lost, as of the last second."""
        self.compose_place = ComposeScreen()
        self.live_place = LiveScreen()
        self.add_mode("compose", lambda: self.compose_place)
        self.add_mode("live", lambda: self.live_place)
        self._feed = Feed(self, self._ticked)

    # -- opening and closing a target ---------------------------------------------------------------------------

    async def on_mount(self) -> None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            with contextlib.suppress(ValueError, RuntimeError):  # only the main thread takes signals: a test's is not
                asyncio.get_running_loop().add_signal_handler(number, self.exit)
        await self.switch_mode("compose")
        self._follow_opening()

    def _follow_opening(self) -> None:
        self._wait_for_opening(self.opening)
        self.set_timer(PATIENCE, self._show_progress)

    @work(thread=True, group="open", exit_on_error=False)
    def _wait_for_opening(self, opening: Opening) -> None:
        try:
            connection = opening.wait()
        except KernelError as error:
            self.post_message(ConnectFailed(opening.spec, error))
            return
        if connection is None:
            self.post_message(ConnectFailed(opening.spec, KernelError("given up", "choose a target with F4")))
        else:
            self.post_message(Connected(connection, opening.fallback))

    def _show_progress(self) -> None:
        if not self.opening.is_alive():
            return
        dialog = ProgressDialog(f"opening {self.opening.spec}")
        self.push_screen(dialog)
        dialog.set_interval(0.1, lambda: dialog.report(*self.opening.state))

    @on(ProgressDialog.CancelRequested)
    def _give_up(self) -> None:
        self.opening.cancel.set()

    @on(Connected)
    def _connected(self, event: Connected) -> None:
        self.connection = event.connection
        self.watching = Watch(event.connection)
        self.counts = None
        self._feed.follow(self.watching)
        self._close_dialogs()
        self.compose_place.connected()
        self.live_place.connected()
        if event.fallback:
            self.notify(event.fallback, title="not this machine", timeout=10, markup=False)
        if isinstance(event.connection.target, RecordingTarget):
            self._open_recording(self.watching)

    def _open_recording(self, watching: Watch) -> None:
        try:
            watching.begin()
        except KernelError as error:
            self.post_message(ConnectFailed(watching.connection.target.name, error))
            return
        self._feed.count()
        self.switch_mode("live")

    @on(ConnectFailed)
    def _connect_failed(self, event: ConnectFailed) -> None:
        self._close_dialogs()
        remedy = event.error.remedy if isinstance(event.error, KernelError) else ""
        self.trouble(f"{event.spec} can't be opened", str(event.error), remedy)

    def trouble(self, what: str, why: str, remedy: str) -> None:
        """Say what went wrong; from there one gets to another target."""
        self.push_screen(TroubleDialog(what, why, remedy))

    def _close_dialogs(self) -> None:
        while isinstance(self.screen, ModalScreen):
            self.pop_screen()

    @work(exclusive=True, group="target")
    async def open_target(self, spec: str) -> None:
        """Leave the target, and open another one."""
        self.opening.cancel.set()
        failures = await self.run_worker(self.let_go, thread=True, exit_on_error=False).wait()
        for failure in failures:
            self.notify(str(failure.error), title="left behind", severity="error", markup=False)
        self.opening = Opening(spec)
        self.opening.start()
        if spec.startswith("ssh://"):
            with self.suspend():  # ssh may ask for a password
                self.opening.join()
        self._follow_opening()

    def let_go(self) -> Sequence[UndoFailure]:
        """Take everything away and close the target; gives what could not be taken away."""
        self._feed.follow(None)
        watching, self.watching = self.watching, None
        connection, self.connection = self.connection, None
        failures = watching.close() if watching else []
        if connection:
            connection.close()
        return failures

    # -- arming -------------------------------------------------------------------------------------------------

    def arm(self, probe: Probe) -> None:
        """Arm a probe, and go where its events come."""
        if self.watching is not None:
            self._arm(self.watching, probe)

    @work(thread=True, group="arm")
    def _arm(self, watching: Watch, probe: Probe) -> None:
        self.post_message(arming.arm(watching, probe))

    @on(ProbeArmed)
    def _armed(self, event: ProbeArmed) -> None:
        for loss in event.losses:
            self.notify(loss, timeout=8, markup=False)
        self._feed.count()
        self.switch_mode("live")

    @on(ProbeRejected)
    def _rejected(self, event: ProbeRejected) -> None:
        if event.verdict is not None:
            self.compose_place.refused(event.probe, event.verdict)
        text = f"{event.text}\n{event.remedy}".strip()
        self.notify(text, title="not armed", severity="error", timeout=10, markup=False)

    def disarm(self, probes: Sequence[Armed]) -> None:
        """Take probes away; their events stay on the screen."""
        if self.watching is not None and probes:
            self._disarm(self.watching, probes)

    @work(thread=True, group="arm")
    def _disarm(self, watching: Watch, probes: Sequence[Armed]) -> None:
        self.post_message(arming.disarm(watching, probes))

    @on(Disarmed)
    def _disarmed(self, event: Disarmed) -> None:
        for failure in event.failures:
            self.notify(failure, title="left behind", severity="error", markup=False)
        self._feed.count()
        self._refresh_places()

    # -- data ---------------------------------------------------------------------------------------------------

    @on(DataArrived)
    def _data_arrived(self) -> None:
        self._feed.data_came()

    def _ticked(self) -> None:
        if self.live_place.is_current:
            self.live_place.tick()
        if self.watching is not None and self.watching.error is not None:
            error, self.watching.on_data = self.watching.error, lambda: None
            self.trouble("no more events will come", str(error), getattr(error, "remedy", ""))

    @on(Counted)
    def _counted(self, event: Counted) -> None:
        self.counts = event.counts
        if self.watching is not None:
            self.watching.know_names(event.names)
            self.live_place.names_changed()
        self._refresh_places()

    def _refresh_places(self) -> None:
        for place in (self.compose_place, self.live_place):
            if place.is_current:
                place.refresh_state()

    # -- commands -----------------------------------------------------------------------------------------------

    def action_compose(self) -> None:
        self.switch_mode("compose")

    def action_live(self) -> None:
        self.switch_mode("live")

    def action_targets(self) -> None:
        self.push_screen(TargetScreen(), self._target_chosen)

    def _target_chosen(self, spec: str | None) -> None:
        if spec:
            self.open_target(spec)

    def action_help(self) -> None:
        self.push_screen(HelpScreen("help", help_of(self.screen)))

    def record(self, path: Path) -> None:
        """Write events to a recording from now on."""
        if self.watching is not None:
            self._record(self.watching, path)

    @work(thread=True, group="arm")
    def _record(self, watching: Watch, path: Path) -> None:
        try:
            watching.record_to(path)
        except (OSError, KernelError) as error:
            self.notify(str(error), title="not recorded", severity="error", markup=False)
        else:
            self.notify(f"recording to {path}", markup=False)
        self.call_later(self._refresh_places)

    # -- what the places show -----------------------------------------------------------------------------------

    def status(self) -> Status:
        """For the top line."""
        if self.connection is None:
            return Status(self.opening.spec, "opening")
        watching = self.watching
        return Status(
            self.connection.target.name,
            self.connection.facts.title,
            len(self.connection.catalog),
            len(watching.armed) if watching else 0,
            losses_of(watching, self.counts),
            recording=bool(watching and watching.recorder),
        )
