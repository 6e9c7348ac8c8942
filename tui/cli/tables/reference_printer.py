"""Print the objects whose references were not put, with the places that took them."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Final

from foreign.count_text import counted
from tui.cli.console.output import emit, line
from tui.cli.console.waiting import print_line
from widgets.number_format import grouped

if TYPE_CHECKING:
    from events.references.tracked_object import TrackedObject
    from events.references.tracker import Judgement
    from kernel.watch.watch import Watch
    from tui.views.references.model import ReferenceModel

_MOST_ROWS: Final = 20
"""Objects that are printed of each state, unless another number is requested."""
_MOST_PLACES: Final = 10
_EVERY: Final = 1.0
"""Seconds between two texts of progress."""


class ReferencePrinter:
    """Model of the references of a watch, made with its first event, and its printer."""

    def __init__(self, watch: Watch, arguments: argparse.Namespace) -> None:
        self._watch = watch
        self._keepers = frozenset(arguments.keepers)
        self._json = arguments.json
        self._most = _MOST_ROWS if arguments.limit is None else arguments.limit
        self._model: ReferenceModel | None = None
        self._progress, self._progress_at = "", 0.0

    @property
    def dropped(self) -> int:
        """Number of events that were dropped before they were looked at."""
        return self._model.skipped if self._model is not None else 0

    @property
    def faults(self) -> int:
        """Number of objects with a fault."""
        return self._model.faults() if self._model is not None else 0

    @property
    def nothing_message(self) -> str:
        """Message for a run without events; empty: there were some."""
        if self._model is not None and self._model.events:
            return ""
        if self._watch.info.holds_events:
            return "it holds no events of reference counts: probewright refs KIND -o FILE.pwr records them"
        return "no reference was taken or dropped"

    @property
    def progress(self) -> str:
        """Numbers of objects, counted anew once a second."""
        from tui.views.references.text import summary_line

        if self._model is not None and time.monotonic() - self._progress_at >= _EVERY:
            self._progress, self._progress_at = summary_line(self._model), time.monotonic()
        return self._progress

    def take(self) -> int:
        """Process new events; return the number of all."""
        store = self._watch.store
        if self._model is None and store is not None:
            from tui.views.references.model import ReferenceModel

            self._model = ReferenceModel(self._watch, store, self._keepers)
        if self._model is None:
            return 0
        self._model.tick(0.0)
        return self._model.events

    def finish(self) -> None:
        """Print all objects that are not balanced, and the places that took their references."""
        from tui.views.references.text import object_of, summary_line, summary_of

        self.take()
        model = self._model
        if model is None or not model.events:
            return
        judged = list(model.judged())
        if self._json:
            for tracked, judgement in judged:
                emit(object_of(model, tracked, judgement))
            emit(summary_of(model))
            return
        self._print_objects(model, judged)
        self._print_places(judged)
        print_line(summary_line(model))

    def _print_objects(self, model: ReferenceModel, judged: list[tuple[TrackedObject, Judgement]]) -> None:
        from tui.views.references.text import TITLES, object_text, proof_lines

        if not judged:
            return
        rows = [object_text(*pair) for pair in judged]
        sizes = [max(map(len, column)) for column in zip(TITLES[:-1], *(row[:-1] for row in rows), strict=True)]
        print(line("  ".join(f"{title:<{size}}" for title, size in zip(TITLES, (*sizes, 0), strict=True)).upper()))
        for state, group in groupby(zip(judged, rows, strict=True), key=lambda pair: pair[0][1].state):
            found = list(group)
            shown = found[: self._most] if self._most else found
            for (tracked, judgement), row in shown:
                print(line("  ".join(f"{text:<{size}}" for text, size in zip(row, (*sizes, 0), strict=True))))
                if judgement.leaked or tracked.uses_after_end or tracked.freed is not None:
                    for text in proof_lines(model, tracked, judgement):
                        print(line(f"    {text}"))
            if len(shown) < len(found):
                print(
                    line(f"… {counted(len(found) - len(shown), 'object')} more {state.value}: --limit 0 prints all")
                )

    def _print_places(self, judged: list[tuple[TrackedObject, Judgement]]) -> None:
        """Print how many references each place took that were not put."""
        from tui.views.references.text import place_text

        places: Counter[str] = Counter()
        leaked: Counter[str] = Counter()
        for _, judgement in judged:
            places.update(place_text(one) for one in judgement.unmatched)
            leaked.update(place_text(one) for one in judgement.unmatched[: judgement.leaked])
        if not places:
            return
        print(line(f"{'HELD':>8}  {'LEAKED':>8}  TAKEN BY"))
        for place, number in places.most_common(_MOST_PLACES):
            print(line(f"{grouped(number):>8}  {grouped(leaked[place]) if leaked[place] else '':>8}  {place}"))
