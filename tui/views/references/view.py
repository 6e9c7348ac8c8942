"""View of objects whose references were taken and not put."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Final

from tui.filter.filter import Filter, PassCount
from tui.messages import SymbolsWanted
from tui.present.hist_tables import TableLine
from tui.present.status import note_of_gap, note_of_recording
from tui.views.late_picture import LatePicture
from tui.views.references.model import ReferenceModel
from tui.views.references.text import TITLES, event_lines, object_name, object_text, summary_line
from tui.views.view import WholeTableView
from widgets.lists.sortable_pane import SortablePane
from widgets.lists.text_rows import TextRows, text_pane
from widgets.safe_text import safe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from events.references.tracked_object import TrackedObject
    from events.references.tracker import Judgement
    from events.store.store import Store
    from kernel.watch.watch import Watch

_BUDGET: Final = 0.01
"""Seconds for processing new events at once."""
_EVERY: Final = 0.5
"""Seconds between two judgements on all objects, at least; an eighth of the time is spent on them at most."""
_SHARE: Final = 8
_LOOKS: Final = {7: "name"}
_LEAST: Final = {7: 24, 8: 18}
_RIGHT: Final = range(1, 7)
_MOST: Final = 500
"""Rows on the screen."""


class ReferencesView(WholeTableView):
    """View with a table of objects, those with a fault first."""

    name: ClassVar[str] = "references"
    pane: SortablePane

    def __init__(self, chosen: Filter) -> None:
        super().__init__(chosen)
        self.pane = text_pane(TextRows(TITLES, _LOOKS, _LEAST, _RIGHT), id=self.name)
        self._model: ReferenceModel | None = None
        self._rows: list[tuple[TrackedObject, Judgement]] = []
        """Objects of the rows on the screen."""
        self._summary = ""
        self._next_judgement = 0.0
        self._next_picture = LatePicture(self.pane, self._show)

    def tick(self, watch: Watch, store: Store, fields: tuple[str, ...]) -> bool:  # noqa: ARG002 - of every view
        """Process new events; work that takes longer goes on in later ticks."""
        model = self._model
        if model is None or model.store is not store:
            model = self._model = ReferenceModel(watch, store)
            self._next_judgement = 0.0
        if model.has_events and not self._has_symbols(watch):
            return True  # stacks get their names when their event is read
        more = model.tick(_BUDGET)
        if time.monotonic() >= self._next_judgement:
            self._show()
        elif not more:
            self._next_picture.due(self._next_judgement - time.monotonic())
        return more

    def _has_symbols(self, watch: Watch) -> bool:
        """Return whether symbols were read, or can't be; else have them read."""
        if not watch.info.symbols.are_read:
            self.pane.app.post_message(SymbolsWanted())
        return watch.info.symbols.are_read

    def _show(self) -> None:
        self._next_picture.drop()
        began, model = time.monotonic(), self._model
        if model is None:
            return
        self._rows = list(model.judged())[:_MOST]
        self._summary = summary_line(model)
        self.pane.ordered.take([tuple(object_text(*pair)) for pair in self._rows])
        ended = time.monotonic()
        self._next_judgement = ended + max(_EVERY, _SHARE * (ended - began))

    def forget(self) -> None:
        """Clear the table."""
        self._model, self._rows, self._summary = None, [], ""
        self.pane.ordered.take(())

    def names_changed(self) -> None:
        """Skip: rows have no names of tasks."""

    @property
    def filtered(self) -> PassCount | str:
        """Text: a part of the gets and puts proves nothing."""
        return "the filter does not apply to references: they are judged by all gets and puts"

    def empty_reason(self, watch: Watch) -> str:  # noqa: ARG002 - of every view
        """Return the text for a watch without events of references."""
        if self._model is None or self._model.has_events:
            return ""
        return "no events of reference counts: probewright refs KIND -o FILE.pwr records them"

    def note(self, watch: Watch) -> str:
        """Return the numbers of objects, and the progress."""
        if state := note_of_recording(watch):
            return state
        return ", ".join(filter(None, (self._summary, note_of_gap(watch))))

    def chain(self, row: int) -> tuple[str, Sequence[TableLine]] | None:
        """Return the gets and puts of an object with their stacks; None: there is no such row."""
        if self._model is None or not 0 <= row < len(self._rows):
            return None
        tracked, judgement = self._rows[row]
        lines = event_lines(self._model, tracked, judgement)
        title = f"{object_name(tracked)}: {judgement.state.value}, balance {tracked.balance:+}"
        return title, [TableLine(safe(text), look) for text, look in lines]

    def function_under_cursor(self) -> str:
        """Return the function that took the reference under the cursor."""
        at = self.pane.ordered.number(self.table.cursor)
        unmatched = self._rows[at][1].unmatched if 0 <= at < len(self._rows) else ()
        return unmatched[0].function if unmatched else ""
