"""The panel of the summary with what waits for the kernel: its histograms are written and read by workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from textual import on, work
from textual.message import Message

from kernel.errors import KernelError
from widgets.safe_text import safe
from widgets.summary_panel import SummaryPanel

if TYPE_CHECKING:
    from kernel.histogram import Histograms, Read
    from kernel.watch import Watch

_EVERY: Final = 1.0
"""Seconds between two looks at the kernel's histograms."""


class SummaryPane(SummaryPanel):
    """Shows what its view gives it; see the module."""

    class Came(Message):
        """The kernel's histograms as they are; None: they are kept no more, `error` says why where it failed."""

        def __init__(self, histograms: Histograms, reads: tuple[Read, ...] | None, error: str = "") -> None:
            super().__init__()
            self.histograms = histograms
            self.reads = reads
            self.error = error

    class EventsWanted(Message):
        """The events that a condition holds of are wanted."""

        def __init__(self, condition: str) -> None:
            super().__init__()
            self.condition = condition

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id)
        self.histograms: Histograms | None = None
        """Those that are read; None: events are counted."""
        self.turn: Callable[[int], None] = lambda _: None
        """Counts another field."""
        self.other_source: Callable[[], str] = lambda: ""
        """Counts in the kernel, or events again; gives why that can't be."""
        self.came: Callable[[SummaryPane.Came], None] = lambda _: None
        """Takes what the kernel counted."""
        self.condition: Callable[[bool, int], str] = lambda *_: ""
        """Of the events behind a row of the processes, or of the values."""

    def on_mount(self) -> None:
        """Look now and then, while somebody does."""
        self.set_interval(_EVERY, self._look)

    def _look(self) -> None:
        if self.histograms is not None and self.display:
            self.read(self.histograms)

    @on(SummaryPanel.FieldAsked)
    def _field_asked(self, event: SummaryPanel.FieldAsked) -> None:
        event.stop()
        self.turn(event.step)

    @on(SummaryPanel.SourceAsked)
    def _source_asked(self, event: SummaryPanel.SourceAsked) -> None:
        event.stop()
        if why := self.other_source():
            self.notify(why, markup=False)

    @on(SummaryPanel.Wanted)
    def _wanted(self, event: SummaryPanel.Wanted) -> None:
        event.stop()
        if condition := self.condition(event.of_tasks, event.row):
            self.post_message(self.EventsWanted(condition))
        else:
            why = "the kernel keeps counts, no events" if self.histograms else "no condition can be made of this"
            self.notify(why, markup=False)

    @on(Came)
    def _came(self, event: Came) -> None:
        event.stop()
        self.came(event)
        if event.error:
            self.notify(safe(event.error), markup=False, severity="warning")

    @work(thread=True, group="histograms")
    def begin(self, histograms: Histograms, watching: Watch, fields: tuple[tuple[str, str], ...]) -> None:
        """Let the kernel count all that is armed."""
        try:
            histograms.begin(watching.armed, fields)
            self.post_message(self.Came(histograms, histograms.read()))
        except KernelError as error:
            self.post_message(self.Came(histograms, None, f"the kernel can't count this: {error}"))

    @work(thread=True, group="histograms", exclusive=True)
    def read(self, histograms: Histograms) -> None:
        """Look once."""
        try:
            self.post_message(self.Came(histograms, histograms.read()))
        except KernelError as error:
            self.post_message(self.Came(histograms, None, str(error)))

    @work(thread=True, group="histograms")
    def end(self, histograms: Histograms) -> None:
        """Record again."""
        try:
            histograms.end(record=True)
            self.post_message(self.Came(histograms, None))
        except KernelError as error:
            self.post_message(self.Came(histograms, None, str(error)))
