"""Open the target, watch it, and leave it for another one."""

from __future__ import annotations

import contextlib
import gc
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import App

from kernel.errors import KernelError
from tui.app.keyboard import Keyboard
from tui.dialogs import dialogs
from tui.messages import (
    Connected,
    ConnectFailed,
    Disarmed,
    EventsExpected,
    Previewed,
    SymbolsRead,
    SymbolsWanted,
    TypesDamaged,
)
from tui.notifications import Notices
from tui.opening import OPENING, Opening
from widgets.call_after import call_after

# The first paint must not wait for what is needed later: the kernel's side is imported when it is asked for.
if TYPE_CHECKING:
    from kernel.cleanup.leftovers import Leftover
    from kernel.connection.kernel_info import KernelInfo
    from kernel.connection.planner import Planner
    from kernel.watch.watch import Watch
    from tui.preview import PreviewReader

AFTER_PREVIEW = 0.03
"""Seconds from the preview to the opening of its target: two pictures."""
PATIENCE = 0.5
"""Seconds after which a target that is being opened shows its progress."""
PATIENCE_WITH_FUNCTIONS = 3.0
"""Seconds until then where the target's functions are listed already: a person may be typing the name of one."""
_SILENT = 2.0
"""Seconds after which a notification says that symbols are being read."""
_READING = "reading the kernel's symbols, until then addresses have no names"


class TargetControl:
    """The one target at a time: being opened (`opening`), open (`connection`), watched (`current_watch`)."""

    def __init__(
        self, app: App[None], notices: Notices, keyboard: Keyboard, opening: Opening, preview: PreviewReader | None
    ) -> None:
        """Take the target that is being opened; with a preview of it, opening begins after the first paint."""
        self._app = app
        self._notices = notices
        self._keyboard = keyboard
        self._preview = preview
        self.opening = opening
        self.planner: Planner | None = None
        self.opened = ""
        """The word for `--target` that the connection was opened by; empty: nothing is open yet."""
        self.current_watch: Watch | None = None
        """The watch of the connection."""
        self._named_soon: KernelInfo | None = None
        """The connection whose symbols are being read."""
        self.asked_limits: dict[str, float] = {}
        """Fields of `kernel.guards.limits.Limits` that the command line gave."""

    # -- opening ---------------------------------------------------------------------------------------------------

    def begin(self) -> PreviewReader | None:
        """Begin to open the target. Return the reader of a preview that is there already: it is to be shown first."""
        if self._preview is not None and not self._preview.is_alive():
            return self._preview
        if (reader := self._preview) is None:
            self._follow_opening()
        else:
            self._app.run_worker(lambda: self._wait_for_preview(reader), thread=True, group="open")
        return None

    def _wait_for_preview(self, reader: PreviewReader) -> None:
        if reader.holds_events():
            self._app.post_message(EventsExpected())
        reader.join()
        self._app.post_message(Previewed(reader))

    def open_after_preview(self) -> None:
        """Open the target after the next picture: until it is open, it takes all the time that Python has."""
        opening = self.opening
        self._app.call_after_refresh(self._app.set_timer, AFTER_PREVIEW, lambda: self._open(opening))

    def _open(self, opening: Opening) -> None:
        if opening is self.opening:  # else another target was chosen meanwhile
            opening.start()
            self._follow_opening()

    def open(self, spec: str) -> None:
        """Open another target; the one that is open is left when the other is open."""
        self._notices.forget("arming")  # why nothing could be armed on the other
        self.opening.cancel.set()
        self.opening = Opening(spec, by_hand=True)
        self._keyboard.begins(OPENING)
        self.opening.start()
        if spec.startswith("ssh://"):
            with self._app.suspend():  # ssh may ask for a password
                self.opening.join()
        self._follow_opening()

    def _follow_opening(self) -> None:
        gc.enable()
        opening = self.opening
        self._app.run_worker(lambda: self._wait_for_opening(opening), thread=True, group="open")
        if not opening.is_on_screen:
            listed = self._preview is not None and self._preview.preview is not None
            patience = PATIENCE_WITH_FUNCTIONS if listed and not opening.by_hand else PATIENCE
            call_after(self._app, patience, lambda: self.show_progress(opening))

    def show_progress(self, opening: Opening) -> None:
        """Show how far the opening is, where the target is still wanted and not open."""
        if opening is self.opening and opening.is_alive():  # else another one was chosen meanwhile
            self._keyboard.begins(OPENING)  # letters over the dialog are for the search that comes, or are told
            dialogs.show_progress(self._app, opening)

    def _wait_for_opening(self, opening: Opening) -> None:
        try:
            self._app.post_message(Connected(opening, opening.wait()))
        except KernelError as error:
            self._app.post_message(ConnectFailed(opening, error))

    def failed(self, event: ConnectFailed) -> None:
        """Show why the target can't be opened."""
        if event.opening is not self.opening:
            return
        self._keyboard.ends(OPENING)
        if event.opening.is_on_screen:
            return
        dialogs.close_all(self._app)
        dialogs.show_trouble(self._app, f"{event.opening.spec} can't be opened", str(event.error), event.error.remedy)

    # -- open ------------------------------------------------------------------------------------------------------

    def admits(self, event: Connected, *, stays: bool) -> bool:
        """Return whether the target that was opened takes the place of the one before; close the connection if not.

        Args:
            event: the opened target.
            stays: the place on the screen is kept, so dialogs that wait for a target stay open.
        """
        if event.opening is not self.opening:  # another one was chosen meanwhile
            self._app.run_worker(event.info.close, thread=True)
            return False
        self._keyboard.ends(OPENING)
        if not event.opening.is_on_screen:
            dialogs.close_all(self._app, waiting=not stays)  # else its place is left now
        fatal = [trouble for trouble in event.info.facts.troubles if trouble.fatal]
        if self.planner is not None and fatal and event.info.target.is_kernel:
            self._app.run_worker(event.info.close, thread=True)
            title = f"{event.opening.spec} can't be probed"
            dialogs.show_trouble(self._app, title, fatal[0].what, fatal[0].remedy)
            return False
        return True

    def take(self, event: Connected) -> None:
        """Set the target that was opened, in place of none."""
        from kernel.connection.planner import Planner

        self.planner = Planner(event.info)
        self.opened = event.opening.spec
        event.info.damage.listen(lambda error: self._app.post_message(TypesDamaged(event.info, error)))

    def damaged(self, event: TypesDamaged) -> None:
        """Notify of types that can't be read."""
        if self.planner is not None and event.info is self.planner.info:
            text = f"{event.error}; what it is about is shown without its types"
            self._notices.notify(text, title="damaged types", severity="error", topic="types")

    def watch(self, planner: Planner) -> Watch:
        """Make the watch of a target; `replay` or `find_leftovers` is called next."""
        from kernel.guards.limits import Limits
        from kernel.watch.watch import Watch

        # Names and offsets stay as long as the target does: to walk through them at each collection takes 40 ms.
        gc.freeze()
        self.current_watch = Watch(planner, limits=Limits.of(self.asked_limits, asks_about_several=True))
        self.current_watch.armed.want_symbols = lambda: self._app.post_message(SymbolsWanted())
        return self.current_watch

    def replay(self, watching: Watch) -> bool:
        """Begin to read the events of a recording; show why not and return False where that fails."""
        name = watching.info.target.name
        try:
            watching.begin()
        except KernelError as error:
            dialogs.show_trouble(self._app, f"{name} can't be shown", str(error), error.remedy)
            return False
        return True

    def read_symbols(self) -> None:
        """Read the symbols of the target in a thread, unless they are read, or being read; say how long that takes.

        `SymbolsRead` reports them. The application's end does not wait: a slow kernel takes half a minute for them.
        """
        info = self.planner.info if self.planner is not None else None
        if info is None or info.symbols.are_read or info is self._named_soon:
            return
        self._named_soon, since = info, time.monotonic()

        def read() -> None:
            info.symbols.load()
            with contextlib.suppress(RuntimeError):  # the application has ended meanwhile
                self._app.post_message(SymbolsRead(info))

        def notify() -> None:
            if self._named_soon is not info:
                timer.stop()
            elif (took := time.monotonic() - since) >= _SILENT:
                self._notices.notify_until_forgotten(f"{_READING}: {took:.0f} s", _READING)

        timer = self._app.set_interval(1.0, notify, name="symbols")
        threading.Thread(target=read, name="symbols", daemon=True).start()

    def symbols_read(self, info: KernelInfo | None) -> None:
        """Stop saying that the symbols of a target are being read."""
        if info is self._named_soon:
            self._named_soon = None
            self._notices.forget(_READING)

    def leave(self, graph: Watch | None) -> None:
        """Leave the target that is open; disarm its probes, and end its call graph, in a worker."""
        self.symbols_read(self._named_soon)
        watching, self.current_watch = self.current_watch, None
        planner, self.planner = self.planner, None
        if planner is not None:
            gc.unfreeze()
            watches = [one for one in (graph, watching) if one]
            self._app.run_worker(lambda: self._take_away(watches, planner.info), thread=True, group="leave")

    def _take_away(self, watches: Sequence[Watch], info: KernelInfo) -> None:
        from kernel.cleanup.undo import failure_lines

        for watching in watches:
            watching.set_deadline(time.monotonic())
        failures = [failure for watching in watches for failure in watching.close()]
        info.close()
        self._app.post_message(Disarmed(failure_lines(failures)))

    # -- leftovers -------------------------------------------------------------------------------------------------

    def find_leftovers(self, info: KernelInfo) -> None:
        """Look for what dead sessions left in the kernel, in a worker, and offer to remove it."""
        self._app.run_worker(lambda: self._find_leftovers(info), thread=True, group="leftovers")

    def _find_leftovers(self, info: KernelInfo) -> None:
        from kernel.cleanup import leftovers

        def remove() -> None:
            self._app.run_worker(lambda: self._remove(info, found), thread=True, group="leftovers")

        with contextlib.suppress(KernelError):
            if found := leftovers.find(info.target):
                self._app.call_from_thread(dialogs.offer_to_remove, self._app, found, remove)

    def _remove(self, info: KernelInfo, found: Sequence[Leftover]) -> None:
        from kernel.cleanup import leftovers

        failures: list[str] = []
        left_alone: list[KernelError] = []
        for leftover in found:
            try:
                failures += leftovers.remove(info.target, leftover, left_alone.append)
            except KernelError as error:
                failures.append(f"{leftover.group}: {error}")
        self._app.post_message(Disarmed((*failures, *map(str, left_alone))))
