"""Pane with the tables of hist triggers; a worker reads them from the kernel while the pane is visible."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from textual import on, work
from textual.message import Message

from kernel.errors import KernelError
from widgets.lists.text_list import TableLines, TableList

if TYPE_CHECKING:
    from kernel.watch.watch import Watch

_EVERY: Final = 1.0
"""Seconds between two readings; each waits for the end of the one before."""


class HistogramsPane(TableList):
    """Pane that reads tables from the kernel each second while it is visible."""

    class Read(Message):
        """Result of a reading; `error`: why the tables could not be read."""

        def __init__(self, watch: Watch, rows: TableLines, error: str = "") -> None:
            super().__init__()
            self.watch = watch
            self.rows = rows
            self.error = error

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.current_watch: Watch | None = None
        """Watch of the probes whose tables are read; None: there are none."""
        self.reading = False
        """True while a worker reads."""
        self.on_reading: Callable[[HistogramsPane.Read], None] = lambda _: None
        """Handler of a reading's result."""

    def on_mount(self) -> None:
        """Start periodic readings."""
        super().on_mount()
        self.set_interval(_EVERY, self.look)

    def look(self) -> None:
        """Start a reading, unless one is under way."""
        if self.current_watch is not None and self.display and not self.reading:
            self.reading = True
            self._read(self.current_watch)

    @work(thread=True, group="hist tables")
    def _read(self, watch: Watch) -> None:
        from kernel.watch.hist_tables import read_tables
        from tui.present.hist_tables import lines_of_watch

        try:
            lines = tuple(lines_of_watch(tuple(read_tables(watch.armed)), len(watch.outages)))
            self.post_message(self.Read(watch, TableLines(lines)))
        except KernelError as error:
            self.post_message(self.Read(watch, TableLines(), error.with_remedy))

    @on(Read)
    def _came(self, event: Read) -> None:
        event.stop()
        self.reading = False
        self.on_reading(event)
