"""Pane with a map of a compiled BPF object; a worker reads all maps from the kernel while the pane is visible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Label

from kernel.errors import KernelError
from widgets.aggregates.group_table import GroupTable
from widgets.lists.sortable_pane import SORT
from widgets.lists.table_pane import TablePane
from widgets.safe_content import safe_content
from widgets.safe_text import cut_parts, safe

if TYPE_CHECKING:
    from kernel.watch.object_maps import ObjectMaps
    from kernel.watch.watch import Watch

_EVERY: Final = 1.0
"""Seconds between two readings; each waits for the end of the one before."""


class MapsPane(TablePane):
    """Pane of a `GroupTable` that reads maps each second while it is visible."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("Y", "choose", "Map", id="maps.choose", tooltip="Choose the map that is shown"),
        SORT,
    ]

    DEFAULT_CSS = """
    MapsPane {
        & .head { height: 1; width: 1fr; color: $text-muted; padding: 0 1; }
    }
    """

    class Read(Message):
        """Result of a reading; `error`: why the maps could not be read."""

        def __init__(self, watch: Watch, maps: Sequence[ObjectMaps], error: str = "") -> None:
            super().__init__()
            self.watch = watch
            self.maps = maps
            self.error = error

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.groups = GroupTable(has_events=False)
        self.table = self.groups
        self.current_watch: Watch | None = None
        """Watch of the objects whose maps are read; None: there are none."""
        self.reading = False
        """True while a worker reads."""
        self.on_reading: Callable[[MapsPane.Read], None] = lambda _: None
        """Handler of a reading's result."""
        self.choose: Callable[[], None] = lambda: None
        """Asks for the map that is shown."""
        self.sort: Callable[[], None] = lambda: None
        """Reverses the order."""
        self.sort_by: Callable[[int], None] = lambda _: None
        """Sorts by a column; by the same again: reverses the order."""
        self._head = Label("", classes="head", markup=False)
        self._text = ""

    def compose(self) -> ComposeResult:
        """Yield the head, the table, and the search line."""
        yield self._head
        yield from super().compose()

    def on_mount(self) -> None:
        """Start periodic readings."""
        self.set_interval(_EVERY, self.look)

    def show_head(self, text: str) -> None:
        """Show which map it is, foreign text."""
        self._text = text
        self._head.update(safe_content(cut_parts(safe(text), max(0, self.size.width - 2))))

    def on_resize(self) -> None:
        """Fit the head to the screen."""
        self.show_head(self._text)

    def look(self) -> None:
        """Start a reading, unless one is under way."""
        if self.current_watch is not None and self.display and not self.reading:
            self.reading = True
            self._read(self.current_watch)

    @work(thread=True, group="maps")
    def _read(self, watch: Watch) -> None:
        from kernel.watch.object_maps import read_maps

        try:
            self.post_message(self.Read(watch, read_maps(watch.armed)))
        except KernelError as error:
            self.post_message(self.Read(watch, (), error.with_remedy))

    @on(Read)
    def _came(self, event: Read) -> None:
        event.stop()
        self.reading = False
        self.on_reading(event)

    def action_choose(self) -> None:
        """Ask for the map that is shown."""
        self.choose()

    @on(GroupTable.HeadingClicked)
    def _heading_clicked(self, event: GroupTable.HeadingClicked) -> None:
        event.stop()
        self.sort_by(event.column)

    def action_sort(self) -> None:
        """Reverse the order."""
        self.sort()
