"""The part of the application that opens a target, and leaves it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import time
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import on, work

from kernel.errors import KernelError
from tui.app.typing_control import TypingApp
from tui.dialogs import dialogs
from tui.messages import Connected, ConnectFailed, Disarmed, EventsExpected, Previewed, TypesDamaged
from tui.opening import Opening

# The first paint must not wait for what is needed later: the kernel's side is imported when it is asked for.
if TYPE_CHECKING:
    from kernel.cleanup.leftovers import Leftover
    from kernel.connection.planner import Connection
    from kernel.watch.watch import Watch
    from tui.preview import Preview, PreviewReader

OPENING = "opening"
"""Operation that keys typed ahead wait for."""
AFTER_PREVIEW = 0.03
"""Seconds from the preview to the opening of its target: two pictures."""
PATIENCE = 0.5
"""Seconds after which a target that is being opened shows its progress."""
PATIENCE_WITH_FUNCTIONS = 3.0
"""The same where its functions are listed already: one may be typing the name of one."""


class TargetApp(TypingApp):
    """Has one target at a time: being opened (`opening`), open (`connection`), watched (`watching`)."""

    def __init__(self, opening: Opening, preview: PreviewReader | None = None) -> None:
        """Take the target that is being opened; with a preview of it, opening begins after the first paint."""
        super().__init__()
        self.opening = opening
        self._preview = preview
        self.connection: Connection | None = None
        self.opened = ""
        """The word for `--target` that the connection came of; empty: nothing is open yet."""
        self.watching: Watch | None = None
        """What is armed on the connection."""
        self.asked_limits: dict[str, float] = {}
        """Fields of `kernel.guards.limits.Limits`, where they were asked for."""

    @abstractmethod
    def previewed(self, preview: Preview) -> None:
        """The functions are known; the target is not open yet."""

    @abstractmethod
    def events_expected(self) -> None:
        """Make ready for the events of a recording: its preview is about to come."""

    @property
    @abstractmethod
    def stays(self) -> bool:
        """Whether the place on the screen is kept when the target is open."""

    @abstractmethod
    def connected(self) -> None:
        """`connection` is another one."""

    @abstractmethod
    def leave_graph(self) -> Watch | None:
        """Forget the call graph of the target that is left; gives what has to be closed."""

    @abstractmethod
    def watched(self) -> None:
        """`watching` is another one, or None."""

    @abstractmethod
    def replayed(self) -> None:
        """The target is a recording, and its events come."""

    async def on_mount(self) -> None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            with contextlib.suppress(ValueError, RuntimeError):  # only the main thread takes signals: a test's is not
                asyncio.get_running_loop().add_signal_handler(number, self.exit)
        if self._preview is None:
            self._follow_opening()
        elif self._preview.is_alive():
            self._wait_for_preview(self._preview)
        else:
            self._show_preview(self._preview)  # before the first picture

    def on_unmount(self) -> None:
        self.opening.cancel.set()  # the end waits for its thread
        gc.unfreeze()

    @work(thread=True, group="open")
    def _wait_for_preview(self, reader: PreviewReader) -> None:
        if reader.holds_events():
            self.post_message(EventsExpected())
        reader.join()
        self.post_message(Previewed(reader))

    @on(EventsExpected)
    def _events_expected(self) -> None:
        self.events_expected()

    @on(Previewed)
    def _previewed(self, event: Previewed) -> None:
        self._show_preview(event.reader)

    def _show_preview(self, reader: PreviewReader) -> None:
        if reader.preview is not None:
            self.previewed(reader.preview)
        # After the picture: until it is open, a target takes all the time that Python has.
        opening = self.opening
        self.call_after_refresh(self.set_timer, AFTER_PREVIEW, lambda: self._open(opening))

    def _open(self, opening: Opening) -> None:
        if opening is self.opening:  # else another target was chosen meanwhile
            opening.start()
            self._follow_opening()

    def _follow_opening(self) -> None:
        gc.enable()
        opening = self.opening
        self._wait_for_opening(opening)
        if not opening.seen:
            listed = self._preview is not None and self._preview.preview is not None
            patience = PATIENCE_WITH_FUNCTIONS if listed and not opening.by_hand else PATIENCE
            self.set_timer(patience, lambda: self._show_progress(opening))

    def _show_progress(self, opening: Opening) -> None:
        if opening is self.opening and opening.is_alive():  # else another one was chosen meanwhile
            self.keyboard.begins(OPENING)  # letters over the dialog are for the search that comes, or are told
            dialogs.show_progress(self, opening)

    @work(thread=True, group="open")
    def _wait_for_opening(self, opening: Opening) -> None:
        try:
            self.post_message(Connected(opening, opening.wait()))
        except KernelError as error:
            self.post_message(ConnectFailed(opening, error))

    @on(Connected)
    def _connected(self, event: Connected) -> None:
        if event.opening is not self.opening:  # another one was chosen meanwhile
            self.run_worker(event.connection.close, thread=True)
            return
        self.keyboard.ends(OPENING)
        if not event.opening.seen:
            dialogs.close_all(self, waiting=not self.stays)  # else its place is left now
        fatal = [trouble for trouble in event.connection.facts.troubles if trouble.fatal]
        if self.connection is not None and fatal and event.connection.target.is_kernel:
            self.run_worker(event.connection.close, thread=True)
            dialogs.show_trouble(self, f"{event.opening.spec} can't be probed", fatal[0].what, fatal[0].remedy)
            return
        self._leave()
        self.connection = event.connection
        self.opened = event.opening.spec
        self.connected()
        event.connection.damage.listen(lambda error: self.post_message(TypesDamaged(event.connection, error)))
        if event.opening.fallback:
            self.notify(event.opening.fallback, title="not this machine", markup=False)
        self.call_after_refresh(self._begin_to_watch, event.connection)

    @on(TypesDamaged)
    def _types_damaged(self, event: TypesDamaged) -> None:
        if event.connection is self.connection:
            text = f"{event.error}; what it is about is shown without its types"
            self.notify(text, title="damaged types", severity="error", markup=False, topic="types")

    def _begin_to_watch(self, connection: Connection) -> None:
        from kernel.guards.limits import Limits
        from kernel.watch.watch import Watch

        # Names and offsets stay as long as the target does: to walk through them at each collection takes 40 ms.
        gc.freeze()
        self.watching = Watch(connection, limits=Limits(**self.asked_limits))
        self.watched()
        if connection.holds_events:
            try:
                self.watching.begin()
            except KernelError as error:
                dialogs.show_trouble(self, f"{connection.target.name} can't be shown", str(error), error.remedy)
            else:
                self.replayed()
                self.run_worker(connection.load_symbols, thread=True, group="symbols")
        elif connection.target.is_kernel:
            self._look_for_leftovers(connection)

    @on(ConnectFailed)
    def _connect_failed(self, event: ConnectFailed) -> None:
        if event.opening is not self.opening:
            return
        self.keyboard.ends(OPENING)
        if event.opening.seen:
            return
        dialogs.close_all(self)
        dialogs.show_trouble(self, f"{event.opening.spec} can't be opened", str(event.error), event.error.remedy)

    def open_target(self, spec: str) -> None:
        """Open another target; the one that is open is left when that has come to something."""
        self.forget("arming")  # why nothing could be armed on the other
        self.opening.cancel.set()
        self.opening = Opening(spec, by_hand=True)
        self.keyboard.begins(OPENING)
        self.opening.start()
        if spec.startswith("ssh://"):
            with self.suspend():  # ssh may ask for a password
                self.opening.join()
        self._follow_opening()

    def _leave(self) -> None:
        """Let go of the target that is open; takes its probes away in a worker."""
        watching, self.watching = self.watching, None
        connection, self.connection = self.connection, None
        self.undo.clear()
        if connection is not None:
            graph = self.leave_graph()
            self.watched()
            gc.unfreeze()
            self._take_away([one for one in (graph, watching) if one], connection)

    @work(thread=True, group="leave")
    def _take_away(self, watches: Sequence[Watch], connection: Connection) -> None:
        from kernel.cleanup.undo import words_of

        for watching in watches:
            watching.hurry(time.monotonic())
        failures = [failure for watching in watches for failure in watching.close()]
        connection.close()
        self.post_message(Disarmed(words_of(failures)))

    @work(thread=True, group="leftovers")
    def _look_for_leftovers(self, connection: Connection) -> None:
        from kernel.cleanup import leftovers

        with contextlib.suppress(KernelError):
            if found := leftovers.find(connection.target):
                self.call_from_thread(dialogs.offer_to_remove, self, found, lambda: self._remove(connection, found))

    @work(thread=True, group="leftovers")
    def _remove(self, connection: Connection, found: Sequence[Leftover]) -> None:
        from kernel.cleanup import leftovers

        failures: list[str] = []
        left_alone: list[KernelError] = []
        for leftover in found:
            try:
                failures += leftovers.remove(connection.target, leftover, left_alone.append)
            except KernelError as error:
                failures.append(f"{leftover.group}: {error}")
        self.post_message(Disarmed((*failures, *map(str, left_alone))))
