"""Pane with a map of a compiled BPF object; a worker reads all maps from the kernel while the pane is visible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on, work
from textual.binding import Binding, BindingType
from textual.message import Message

from kernel.errors import KernelError
from widgets.aggregates.group_pane import GroupPane
from widgets.lists.sortable_pane import SORT

if TYPE_CHECKING:
    from kernel.watch.object_maps import ObjectMaps
    from kernel.watch.watch import Watch

_EVERY: Final = 1.0
"""Seconds between two readings; each waits for the end of the one before."""


class MapsPane(GroupPane):
    """Pane of a `GroupTable` that reads maps each second while it is visible."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("Y", "choose", "Map", id="maps.choose", tooltip="Choose the map that is shown"),
        SORT,
    ]

    class Read(Message):
        """Result of a reading; `error`: why the maps could not be read."""

        def __init__(self, watch: Watch, maps: Sequence[ObjectMaps], error: str = "") -> None:
            super().__init__()
            self.watch = watch
            self.maps = maps
            self.error = error

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id, has_events=False)
        self.current_watch: Watch | None = None
        """Watch of the objects whose maps are read; None: there are none."""
        self.reading = False
        """True while a worker reads."""
        self.on_reading: Callable[[MapsPane.Read], None] = lambda _: None
        """Handler of a reading's result."""

    def on_mount(self) -> None:
        """Start periodic readings."""
        self.set_interval(_EVERY, self.look)

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
