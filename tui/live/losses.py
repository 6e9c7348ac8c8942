"""The dialog with the losses and their remedies, over the live place."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from kernel.session.armed import Armed
from kernel.session.probe_steps import Mode
from tui import kernel_jobs
from tui.present.losses_model import maxactive_of, sheet_of
from widgets.events.loss_panel import LossPanel
from widgets.events.values import LossSheet
from widgets.footer import KeyFooter

if TYPE_CHECKING:
    from kernel.watch.watch import Watch
    from tui.workbench import Workbench

_EVERY = 1.0
"""Seconds between two looks: the kernel is asked as often."""


class LossScreen(ModalScreen[None]):
    """Follows the counts as long as it is open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1,question_mark", "app.help", "Help", show=True, id="losses.help", tooltip="Explain this"),
        Binding("u", "take_back", "Take back", show=False, id="losses.undo", tooltip="Undo the last remedy"),
        Binding("ctrl+q", "app.quit", "Quit", show=False, id="losses.quit", tooltip="Leave probewright"),
    ]

    def __init__(self, bench: Workbench) -> None:
        super().__init__()
        self.bench = bench
        self._panel = LossPanel()
        self._armed: tuple[Armed, ...] = ()
        self._buffer_kb = 0

    def compose(self) -> ComposeResult:
        yield self._panel
        yield KeyFooter("app.help")

    def on_mount(self) -> None:
        self.look()
        self._panel.focus_list()
        self.set_interval(_EVERY, self.look)

    def action_take_back(self) -> None:
        """Take back what was done last."""
        self.bench.undo.take_back()

    def look(self) -> None:
        """Show what is known now, and ask for the size of the buffer."""
        watching = self.bench.current_watch
        if watching is None:
            self._panel.show(LossSheet())
            return
        self._show(watching)
        self._ask(watching)

    def _show(self, watching: Watch) -> None:
        self._armed = watching.armed.probes
        usual = watching.queue.usual_kb or self._buffer_kb
        self._panel.show(sheet_of(watching, self.bench.counts, self._buffer_kb, usual))

    @work(thread=True, group="buffer", exclusive=True)
    def _ask(self, watching: Watch) -> None:
        self.app.call_from_thread(self._known, watching, kernel_jobs.buffer_of(watching))

    def _known(self, watching: Watch, kb: int) -> None:
        if self.is_attached and watching is self.bench.current_watch and kb != self._buffer_kb:
            self._buffer_kb = kb
            self._show(watching)

    @on(LossPanel.Closed)
    def _leave(self) -> None:
        self.dismiss()

    @on(LossPanel.Remedy)
    def _remedy(self, event: LossPanel.Remedy) -> None:
        """Apply the remedy, or notify of why it can't be."""
        event.stop()
        if not self._buffer_kb:
            self.notify("nothing is armed on a kernel that runs", markup=False)
        elif event.name in ("bigger", "smaller"):
            self._resize(event.name)
        elif not 0 <= event.row < len(self._armed):
            self.notify("no probe is armed", markup=False)
        else:
            self._help(event.name, self._armed[event.row])

    def _resize(self, name: str) -> None:
        watching, kb = self.bench.current_watch, self._buffer_kb * 2
        if watching is None:
            return
        if name == "smaller":
            if not watching.queue.usual_kb or watching.queue.usual_kb == self._buffer_kb:
                self.notify("the buffer is as it was made", markup=False)
                return
            kb = watching.queue.usual_kb
        self.bench.arming.remedy(lambda watching: kernel_jobs.resize(watching, kb))

    def _help(self, name: str, armed: Armed) -> None:
        if name == "filter":
            self.dismiss()
            self.bench.places.edit_filter(armed.plan.probe)
        elif name in ("count", "record"):
            mode = Mode.COUNT if name == "count" else Mode.RECORD
            self.bench.arming.remedy(lambda watching: kernel_jobs.switch(watching, armed, mode))
        elif (active := maxactive_of(armed.plan)) is not None:
            self.bench.arming.remedy(lambda watching: kernel_jobs.raise_maxactive(watching, armed, active * 4))
        else:
            self.notify("only a kretprobe has a maxactive", markup=False)
