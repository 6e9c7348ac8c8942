"""Pane of the summary; workers write and read its histograms in the kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from kernel.errors import KernelError
from kernel.watch.counting_states import Phase
from tui.messages import EventsWanted, UndoOffered
from widgets.events.summary_panel import SummaryPanel
from widgets.safe_text import safe

if TYPE_CHECKING:
    from kernel.watch.histogram import HistogramReading, Histograms

_EVERY: Final = 1.0
"""Seconds between two readings of the kernel's histograms."""


class SummaryPane(Vertical):
    """Panel with the content of its view; reads and changes the kernel's histograms in workers."""

    class Came(Message):
        """Histograms read from the kernel, or the end of counting; `error`: what failed."""

        def __init__(
            self,
            histograms: Histograms,
            reads: tuple[HistogramReading, ...] = (),
            error: str = "",
            *,
            changed: bool = False,
        ) -> None:
            super().__init__()
            self.changed = changed
            """True after a requested change of what is counted."""
            self.histograms = histograms
            self.reads = reads
            self.error = error

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.panel = SummaryPanel()
        self.histograms: Histograms | None = None
        """Histograms that are read while the kernel counts; None: never requested."""
        self.changing = 0
        """Number of changes under way in workers."""
        self.turn: Callable[[int], None] = lambda _: None
        """Selects another field to count."""
        self.other_source: Callable[[], UndoOffered | str] = lambda: ""
        """Switches between counting in the kernel and counting events; returns the undo, or an error text."""
        self.on_counts: Callable[[SummaryPane.Came], None] = lambda _: None
        """Handler of the kernel's counts."""
        self.condition: Callable[[bool, int], str] = lambda *_: ""
        """Returns the condition for the events of a row, of the processes or of the values."""

    def compose(self) -> ComposeResult:
        """Yield the panel."""
        yield self.panel

    def on_mount(self) -> None:
        """Start periodic readings."""
        self.set_interval(_EVERY, self._look)

    def _look(self) -> None:
        histograms = self.histograms
        if histograms is not None and self.display and not self.changing and histograms.phase is not Phase.OFF:
            self.read(histograms)

    @on(SummaryPanel.FieldAsked)
    def _field_asked(self, event: SummaryPanel.FieldAsked) -> None:
        event.stop()
        self.turn(event.step)

    @on(SummaryPanel.SourceAsked)
    def _source_asked(self, event: SummaryPanel.SourceAsked) -> None:
        event.stop()
        answer = self.other_source()
        if isinstance(answer, str):
            self.notify(answer, markup=False)
        else:
            self.post_message(answer)

    @on(SummaryPanel.Wanted)
    def _wanted(self, event: SummaryPanel.Wanted) -> None:
        event.stop()
        if condition := self.condition(event.of_tasks, event.row):
            self.post_message(EventsWanted(condition))
        else:
            counting = self.histograms is not None and self.histograms.phase is not Phase.OFF
            why = "the kernel keeps counts, no events" if counting else "no condition can be made of this"
            self.notify(why, markup=False)

    @on(Came)
    def _came(self, event: Came) -> None:
        self.changing -= event.changed  # not stopped: the screen's status line needs the message, too
        self.on_counts(event)
        if event.error:
            self.notify(safe(event.error), markup=False, severity="warning")

    def change(self, histograms: Histograms, action: Callable[[], None], failed: str = "") -> None:
        """Change what the kernel counts in a worker, then show the counts; `failed`: prefix of an error."""
        self.changing += 1
        self._change(histograms, action, failed)

    @work(thread=True, group="histograms")
    def _change(self, histograms: Histograms, action: Callable[[], None], failed: str) -> None:
        found: tuple[HistogramReading, ...] = ()
        error = ""
        try:
            action()
            found = histograms.read()
        except KernelError as refused:
            error = f"{failed}{refused.with_remedy}"
        self.post_message(self.Came(histograms, found, error, changed=True))

    @work(thread=True, group="histograms", exclusive=True)
    def read(self, histograms: Histograms) -> None:
        """Read the histograms once."""
        try:
            self.post_message(self.Came(histograms, histograms.read()))
        except KernelError as error:
            self.post_message(self.Came(histograms, error=error.with_remedy))
