"""The part of the application that a cut line concerns: it is tried again, until someone gives it up."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from textual import on

from tui.app.arming_control import ArmingApp
from tui.app.reconnect_attempts import ReconnectControl
from tui.app.ways_out import GIVE_UP, RECONNECT
from tui.dialogs import dialogs
from tui.messages import ConnectionLost, ConnectionRestored
from tui.opening import Opening

if TYPE_CHECKING:
    from kernel.errors import KernelError
    from kernel.watch.watch import Watch
    from tui.preview import PreviewReader


class LineApp(ArmingApp):
    """Says what becomes of the line; `line` tries."""

    def __init__(self, opening: Opening, preview: PreviewReader | None = None) -> None:
        """Take the target that is being opened, and a preview of it."""
        super().__init__(opening, preview)
        self.line = ReconnectControl(self)
        self._is_silent = False
        """As the keys are shown."""

    @abstractmethod
    def line_changed(self) -> None:
        """The line is back, or gone for good."""

    @property
    def line_is_silent(self) -> bool:
        """Whether the line owes an answer, and another one can be made in its place."""
        if self.watching is None or self.watching.silent is None:
            return False
        from kernel.watch.reconnect import can_be_cut  # of a line that stands nobody needs it

        return can_be_cut(self.watching)

    def show_line_keys(self) -> None:
        """Show F7 where the line has fallen silent, and hide it where it is heard again."""
        if self._is_silent != self.line_is_silent:
            self._is_silent = not self._is_silent
            self.refresh_bindings()

    def on_unmount(self) -> None:
        self.line.leave()  # the end waits for its thread

    def tell_error(self, watching: Watch, error: KernelError) -> None:
        """No more events come: because of a line that was cut, or for good."""
        if self.line.begin(watching):
            self.notify(f"{error}; {RECONNECT}, {GIVE_UP}", severity="error", markup=False, topic="line")
            self.refresh_bindings()
        else:
            dialogs.show_trouble(self, "no more events will come", str(error), error.remedy)

    @on(ConnectionRestored)
    def _came_back(self, event: ConnectionRestored) -> None:
        if event.watching is not self.watching:
            return
        self.line.over(event.watching)
        self.notify(event.back.text, title="back again", markup=False, topic="line")
        for refused in event.back.refused:
            self.notify(refused, title="not armed again", severity="error", markup=False)
        if event.back.cut.booted:
            self.run_worker(event.watching.connection.load_symbols, thread=True, group="symbols")
        self.line_changed()

    @on(ConnectionLost)
    def _line_gone(self, event: ConnectionLost) -> None:
        if event.watching is not self.watching:
            return
        self.line.over(event.watching, for_good=True)
        self.forget("line")
        dialogs.show_trouble(self, "no more events will come", str(event.error), event.error.remedy)
        self.line_changed()

    def action_reconnect(self) -> None:
        if self.line_is_silent and self.watching is not None:
            from kernel.watch.reconnect import cut_silent

            cut_silent(self.watching)  # what becomes of a line that is cut is begun where that is told
            return
        self.line.try_now()

    def action_give_up(self) -> None:
        self.line.give_up()
