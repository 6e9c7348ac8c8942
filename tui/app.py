"""The application: opens and closes the target, arms, and moves between the two places."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import App
from textual.binding import BindingType

from kernel.errors import KernelError
from tui import dialogs
from tui.commands import bindings
from tui.feed import Feed
from tui.messages import (
    Connected,
    ConnectFailed,
    Counted,
    DataArrived,
    Disarmed,
    Previewed,
    ProbeArmed,
    ProbeRejected,
)
from tui.screens.compose import ComposeScreen
from tui.startup import Opening

# The first paint must not wait for what is needed later: the kernel's side and the other places are imported when
# they are asked for.
if TYPE_CHECKING:
    from kernel.connection import Connection
    from kernel.counts import Counts
    from kernel.leftovers import Leftover
    from kernel.session import Armed
    from kernel.undo import UndoFailure
    from kernel.watch import Watch
    from probes.probe import Probe
    from tui.preview import PreviewReader
    from tui.screens.live import LiveScreen

AFTER_PREVIEW = 0.03
"""Seconds from the preview to the opening of its target: two pictures."""
PATIENCE = 0.5
"""Seconds after which a target that is being opened shows its progress."""


class Probewright(App[None]):
    """See the module."""

    TITLE = "probewright"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")
    DEFAULT_MODE = "compose"

    def __init__(self, opening: Opening, preview: PreviewReader | None = None) -> None:
        """Take the target that is being opened; with a preview of it, opening begins after the first paint."""
        super().__init__()
        self.opening = opening
        self._preview = preview
        self.connection: Connection | None = None
        self.watching: Watch | None = None
        """What is armed on the connection."""
        self.counts: Counts | None = None
        """What was lost, as of the last second."""
        self.compose_place = ComposeScreen()
        self.live_place: LiveScreen | None = None
        """Made when first gone to."""
        self.add_mode("compose", lambda: self.compose_place)
        self.add_mode("live", self._make_live_place)
        self._feed = Feed(self, self._ticked)

    # -- opening and closing a target ------------------------------------------------------------------------------

    async def on_mount(self) -> None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            with contextlib.suppress(ValueError, RuntimeError):  # only the main thread takes signals: a test's is not
                asyncio.get_running_loop().add_signal_handler(number, self.exit)
        if self._preview is None:
            self._follow_opening()
        else:
            self._wait_for_preview(self._preview)

    @work(thread=True, group="open")
    def _wait_for_preview(self, reader: PreviewReader) -> None:
        reader.join()
        self.post_message(Previewed(reader.preview))

    @on(Previewed)
    def _previewed(self, event: Previewed) -> None:
        if event.preview is not None:
            self.compose_place.preview(event.preview)
        # After the picture: until it is open, a target takes all the time that Python has.
        self.set_timer(AFTER_PREVIEW, self._open)

    def _open(self) -> None:
        self.opening.start()
        self._follow_opening()

    def _follow_opening(self) -> None:
        opening = self.opening
        self._wait_for_opening(opening)
        self.set_timer(PATIENCE, lambda: dialogs.show_progress(self, opening) if opening.is_alive() else None)

    @work(thread=True, group="open")
    def _wait_for_opening(self, opening: Opening) -> None:
        try:
            self.post_message(Connected(opening.wait(), opening.fallback))
        except KernelError as error:
            self.post_message(ConnectFailed(opening.spec, error))

    @on(Connected)
    def _connected(self, event: Connected) -> None:
        self.connection = event.connection
        self.counts = None
        dialogs.close_all(self)
        self.compose_place.connected()
        if event.fallback:
            self.notify(event.fallback, title="not this machine", timeout=10, markup=False)
        self.call_after_refresh(self._begin_to_watch, event.connection)

    def _begin_to_watch(self, connection: Connection) -> None:
        from kernel.watch import Watch

        # Names and offsets stay as long as the target does: to walk through them at each collection takes 40 ms.
        gc.freeze()
        self.watching = Watch(connection)
        self._feed.follow(self.watching)
        if self.live_place is not None:
            self.live_place.connected()
        if connection.holds_events:
            try:
                self.watching.begin()
            except KernelError as error:
                dialogs.show_trouble(self, f"{connection.target.name} can't be shown", str(error), error.remedy)
            else:
                self._feed.count()
                self.switch_mode("live")
                self.run_worker(connection.load_symbols, thread=True, group="symbols")
        elif connection.target.owner:
            self._look_for_leftovers(connection)

    @on(ConnectFailed)
    def _connect_failed(self, event: ConnectFailed) -> None:
        dialogs.close_all(self)
        dialogs.show_trouble(self, f"{event.spec} can't be opened", str(event.error), event.error.remedy)

    @work(exclusive=True, group="target")
    async def open_target(self, spec: str) -> None:
        """Leave the target, and open another one."""
        self.opening.cancel.set()
        for failure in await self.run_worker(self._let_go, thread=True).wait():
            self.notify(str(failure.error), title="left behind", severity="error", markup=False)
        self.opening = Opening(spec)
        self.opening.start()
        if spec.startswith("ssh://"):
            with self.suspend():  # ssh may ask for a password
                self.opening.join()
        self._follow_opening()

    def _let_go(self) -> Sequence[UndoFailure]:
        gc.unfreeze()
        self._feed.follow(None)
        watching, self.watching = self.watching, None
        connection, self.connection = self.connection, None
        failures = watching.close() if watching else []
        if connection:
            connection.close()
        return failures

    @work(thread=True, group="leftovers")
    def _look_for_leftovers(self, connection: Connection) -> None:
        from kernel import leftovers

        with contextlib.suppress(KernelError):
            if found := leftovers.find(connection.target):
                self.call_from_thread(dialogs.offer_to_remove, self, found, lambda: self._remove(connection, found))

    @work(thread=True, group="leftovers")
    def _remove(self, connection: Connection, found: Sequence[Leftover]) -> None:
        from kernel import leftovers

        failures = [line for leftover in found for line in leftovers.remove(connection.target, leftover)]
        self.post_message(Disarmed(tuple(failures)))

    # -- arming ----------------------------------------------------------------------------------------------------

    @work(thread=True, group="arm")
    def arm(self, probe: Probe) -> None:
        """Arm a probe, and go where its events come."""
        from tui import arming

        if self.watching is not None:
            self.post_message(arming.arm(self.watching, probe))

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
    def record(self, path: Path) -> None:
        """Write events to a recording from now on."""
        from tui import arming

        if self.watching is not None:
            failure = arming.record(self.watching, path)
            self.notify(
                failure or f"recording to {path}", severity="error" if failure else "information", markup=False
            )
            self.call_from_thread(self.refresh_places)

    # -- data ------------------------------------------------------------------------------------------------------

    @on(DataArrived)
    def _data_arrived(self) -> None:
        self._feed.data_came()

    def _ticked(self) -> None:
        if self.live_place is not None and self.live_place.is_current:
            self.live_place.tick()
        if self.watching is not None and (error := self.watching.take_error()):
            dialogs.show_trouble(self, "no more events will come", str(error), error.remedy)

    @on(Counted)
    def _counted(self, event: Counted) -> None:
        self.counts = event.counts
        if self.watching is not None:
            self.watching.know_names(event.names)
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

    def action_targets(self) -> None:
        dialogs.choose_target(self, self.open_target)

    def action_help(self) -> None:
        dialogs.show_help(self)
