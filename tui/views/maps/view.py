"""View of the maps of compiled BPF objects, one at a time, as they are in the kernel now."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from foreign.count_text import counted
from tui.filter.filter import Filter
from tui.present.status import note_of
from tui.views.maps.model import MapsModel
from tui.views.maps.pane import MapsPane
from tui.views.view import WholeTableView
from tui.views.watch_reading import WatchReading
from widgets.aggregates.group_table import GroupCells, GroupRows
from widgets.dialogs.pick_list import PickList
from widgets.safe_text import safe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from events.store.store import Store
    from kernel.watch.object_maps import ObjectMaps
    from kernel.watch.watch import Watch
    from probes.objects.shown_maps import ShownMap
    from probes.plans.plan import Plan

_NONE = "no compiled object is armed: type the path of a FILE.bpf.o into the search of functions"
_NONE_RECORDED = "maps are read from a running kernel: a recording has events alone"


class MapsView(WholeTableView):
    """View that reads the maps each second while it is visible."""

    name: ClassVar[str] = "maps"
    pane: MapsPane

    def __init__(self, chosen: Filter) -> None:
        super().__init__(chosen)
        self.pane = MapsPane(self.name)
        self.pane.choose, self.pane.order.changed = self.choose, self._show
        self._reading = WatchReading(self.pane, _maps_of, self.came, self._failed)
        self._model = MapsModel()
        self._number: int | None = None
        """Map that a person chose; None: the first that has elements."""
        self._error = ""

    def tick(self, watch: Watch, store: Store, fields: tuple[str, ...]) -> bool:  # noqa: ARG002 - of every view
        """Start a reading for a new watch."""
        if self._reading.follow(watch):
            self._model = MapsModel()
        return False

    def came(self, maps: Sequence[ObjectMaps]) -> None:
        """Show what was read."""
        self._error = ""
        self._model.take(maps, time.monotonic())
        self._show()

    def _failed(self, error: str) -> None:
        self._error = error  # the maps of the last reading stay

    def _current(self) -> int | None:
        """Return the number of the map that is shown; None: there is none."""
        maps = self._model.maps
        if self._number is not None and self._number < len(maps):
            return self._number
        full = [number for number, (_, one) in enumerate(maps) if one.histograms or one.rows]
        return next(iter(full), 0 if maps else None)

    def _show(self) -> None:
        number = self._current()
        if number is None:
            self.pane.groups.fill(GroupRows())
            self.pane.show_head("")
            return
        order = self.pane.order
        table = self._model.table(number, order.column, ascending=order.ascending)
        groups = [GroupCells(tuple(map(safe, table.texts(row))), table.share(row)) for row in table.rows]
        rows = GroupRows(tuple(map(safe, table.titles)), table.keys, groups)
        rows.current = table.order
        name, shown = self._model.maps[number]
        if order.column is not None or not shown.histograms:  # else slots are in their own order
            rows.columns.order = table.order, not order.ascending
        self.pane.groups.fill(rows)
        self.pane.show_head(f"{_title(name, shown)}, map {number + 1} of {len(self._model.maps)}")

    # -- keys ------------------------------------------------------------------------------------------------------

    def choose(self) -> None:
        """Ask for the map that is shown."""
        if not self._model.maps:
            self.pane.notify("no map was read yet", markup=False)
            return
        titles = [_title(name, one) for name, one in self._model.maps]
        self.pane.app.push_screen(PickList("which map?", titles), self._chosen)

    def _chosen(self, number: int | None) -> None:
        if number is not None:
            self._number = number
            self.pane.order.forget()
            self._show()

    # -- of every view ---------------------------------------------------------------------------------------------

    def forget(self) -> None:
        """Clear the table: the maps are read again."""
        self._reading.follow(None)
        self._model, self._error = MapsModel(), ""
        self.pane.groups.fill(GroupRows())
        self.pane.show_head("")

    def names_changed(self) -> None:
        """Skip: names of maps do not change."""

    def shows(self, plan: Plan) -> bool:
        """Return True for compiled objects: only these have such maps."""
        return plan.object is not None

    @property
    def filtered(self) -> str:
        """Note that the filter does not apply: programs in the kernel fill the maps."""
        return "not filtered: the object's programs fill the maps"

    def empty_reason(self, watch: Watch) -> str:
        """Return the text for a watch without an object."""
        if self._error or any(armed.plan.object is not None for armed in watch.armed.probes):
            return ""
        return _NONE if watch.info.target.is_kernel else _NONE_RECORDED

    def note(self, watch: Watch) -> str:
        """Return the error, or the note on the events."""
        return self._error or note_of(watch)


def _maps_of(watch: Watch) -> Sequence[ObjectMaps]:
    """Return the maps of all compiled objects, read from the kernel."""
    from kernel.watch.object_maps import read_maps

    return read_maps(watch.armed)


def _title(name: str, shown: ShownMap) -> str:
    sums = ", sums of all CPUs" if shown.map.is_by_cpu else ""
    return f"{name}: {shown.map.name} ({shown.map.type_name}{sums}), {counted(len(shown.rows), 'element')}"
