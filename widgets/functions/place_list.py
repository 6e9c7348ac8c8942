"""List what a search found: functions and other places, or the programs of a compiled object."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from widgets.functions.function_rows import FunctionRows
from widgets.functions.object_rows import ObjectRows
from widgets.lists.line_list import LineList


class PlaceList(LineList):
    """Rows with marks, the rates of armed places among them."""

    @property
    def places(self) -> FunctionRows | None:
        """Rows of functions and other places; None: there are none, or the rows are of an object."""
        return self.rows if isinstance(self.rows, FunctionRows) else None

    @property
    def programs(self) -> ObjectRows | None:
        """Rows of a compiled object; None: the rows are no such."""
        return self.rows if isinstance(self.rows, ObjectRows) else None

    @property
    def current(self) -> str | None:
        """Place under the cursor."""
        return places.name(self.cursor) if (places := self.places) and self.cursor < places.next else None

    @property
    def on_screen(self) -> list[str]:
        """Visible places, from the current one on."""
        if (places := self.places) is None:
            return []
        return [places.name(row) for row in sorted(self.window.on_screen, key=lambda row: (row < self.cursor, row))]

    def show_armed(self, old: Mapping[str, float | None], new: Mapping[str, float | None]) -> None:
        """Repaint visible rows that are, or were, armed."""
        if (places := self.places) is None:
            return
        places.armed = new
        for row in self.window.on_screen:
            name = places.name(row)
            if (name in old) != (name in new) or old.get(name) != new.get(name):
                self.repaint_row(row)

    def show_marks(self, names: Collection[str]) -> None:
        """Draw the marks of places."""
        if (places := self.places) is not None:
            places.marked = names
            self.rows_changed()
