"""Pane with the tables of hist triggers; a worker reads them from the kernel while the pane is visible."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from textual import on, work
from textual.message import Message

from kernel.errors import KernelError
from widgets.lists.line_list import LineList
from widgets.rows import Piece
from widgets.safe_text import fit, width

if TYPE_CHECKING:
    from kernel.watch.watch import Watch
    from tui.present.hist_tables import TableLine

_EVERY: Final = 1.0
"""Seconds between two readings; each waits for the end of the one before."""


class TableLines:
    """Rows of a `LineList`."""

    first = 0

    def __init__(self, lines: tuple[TableLine, ...] = ()) -> None:
        self.lines = lines
        self.columns = max((width(one.text) for one in lines), default=0)
        """Columns of the widest line."""

    @property
    def next(self) -> int:
        """Number of the next row."""
        return len(self.lines)

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return a line as a single piece."""
        return (Piece(fit(self.lines[row].text, columns), self.lines[row].look),)


class TableList(LineList):
    """List of the lines of tables."""

    def show(self, rows: TableLines) -> None:
        """Show other lines; the cursor stays at its row."""
        self.window.rows = rows
        self.rows_changed()

    def wanted_columns(self) -> int:
        """Return the columns of the widest line: the list scrolls sideways."""
        return self.rows.columns if isinstance(self.rows, TableLines) else 0


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
