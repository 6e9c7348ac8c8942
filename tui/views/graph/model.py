"""Rows of the call graph: which are in the list, and the text of each."""

from __future__ import annotations

import contextlib
from functools import cache, partial
from typing import TYPE_CHECKING, Final

import numpy as np

from events.graph.begin_end_columns import RowKind
from events.graph.live_tree import LiveTree, has_graph
from events.graph.record_ends import NO_RETURNS, lacks_returns
from events.graph.tree import LIMIT, CallRow, CallRowFlag, CallTree
from events.graph.visible_rows import VisibleOptions, VisibleRows
from events.search.search import SearchStep
from foreign.count_text import counted
from tui.present.call_ends import ends_of
from tui.views.graph.names import GraphNames
from tui.views.graph.row_text import GraphRowText
from tui.views.graph.search import (
    NO_RESULT,
    Wanting,
    by_boot,
    either,
    named,
    passing_rows,
    reading,
    returning,
    scan,
    slower,
)
from widgets.events.graph_rows import GraphText
from widgets.number_format import duration, grouped

if TYPE_CHECKING:
    from collections.abc import Hashable

    from events.search.filtered_rows import FilteredRows
    from events.store.store import Store
    from kernel.watch.watch import Watch
    from tui.views.calls.call_text import CallTexts

_EVERY: Final = 1 << 16
_PIECE: Final = 1 << 9
"""Rows of a search until the first check of the clock: the text of one takes some 30 us."""
_SAMPLE: Final = 1 << 18
"""Newest calls whose durations define a slow call."""
_INTERRUPTS: Final = {RowKind.IRQ: "interrupts", RowKind.SOFTIRQ: "softirqs"}
_COUNTED: Final = {
    CallRowFlag.NO_ENTRY: "without entry",
    CallRowFlag.NO_EXIT: "without exit",
    CallRowFlag.LOST: "cut by losses",
}


class GraphModel:
    """Calls of a store as a tree whose rows can be folded; a `widgets.events.graph_rows.GraphTree`."""

    def __init__(
        self,
        watch: Watch,
        store: Store,
        names: GraphNames,
        call_text: CallTexts | None = None,
        limit: int = LIMIT,
        chosen: FilteredRows | None = None,
    ) -> None:
        """Set the source of the calls.

        Args:
            watch: watch of the calls.
            store: store of their events.
            names: names of functions.
            call_text: texts of the values that our own probes recorded.
            limit: greatest number of calls in memory.
            chosen: events that pass the filter; None: all do.
        """
        self.store = store
        self.chosen = chosen
        self.live_tree = LiveTree(store, ends_of(watch.event_fields.plans), limit)
        self.lines = GraphRowText(watch, store, names, call_text, traced=self.live_tree.traced)
        self.visible = self._visible(VisibleOptions())
        self.slow = 0
        self._slow_limit = 0
        self._searching: tuple[str, int, int] | None = None
        self._waits = chosen is not None
        """True while the filter still has to check events."""

    @property
    def tree(self) -> CallTree:
        """All calls."""
        return self.live_tree.tree

    @property
    def first(self) -> int:
        return self.visible.dropped

    @property
    def next(self) -> int:
        return self.visible.dropped + len(self.visible)

    @property
    def all_tasks(self) -> bool:
        return self.visible.options.task is None

    @property
    def knows_errors(self) -> bool:
        """True if the result of any call is known: not every kernel records results, nor do our own pairs."""
        return bool((self.tree.columns.column("flags") & CallRowFlag.RETVAL).any())

    @property
    def lacks_returns(self) -> bool:
        """True if the tracer records no return values."""
        return self.live_tree.traced and lacks_returns(self.store.decoder.formats.values())

    def tick(self, budget: float, following: bool) -> tuple[bool, bool]:
        """Add new events; return whether more remain, and whether rows have changed."""
        before, size = self.tree.ended.total(), self.tree.next
        more = self.live_tree.tick(budget)
        changed = (before, size) != (self.tree.ended.total(), self.tree.next)
        if self.chosen is not None:
            self.chosen.tick(budget)
            if self.chosen.backlog:
                self._waits = True
                return True, False
            if self._waits:
                self._waits, changed = False, True
                self.visible.filter(passing_rows(self.tree, self.chosen))
        if changed:
            self.visible.tick(settled=following)
        return more, changed

    def choose(self, chosen: FilteredRows | None) -> None:
        """Show the calls of which an event passes; None: all. With names that came, rows stay until it is known."""
        before, self.chosen, self._waits = self.chosen, chosen, True
        if chosen is None or before is None or chosen.condition.text != before.condition.text:
            self.visible = self._visible(self.visible.options)

    def _visible(self, wanted: VisibleOptions) -> VisibleRows:
        passing = passing_rows(self.tree, self.chosen) if self.chosen is not None else None
        return VisibleRows(self.tree, wanted, passing)

    @property
    def backlog(self) -> int:
        """Number of events not yet checked by the filter; 1 also until the rows are chosen by the last of them."""
        return max(1, self.chosen.backlog) if self.chosen is not None and self._waits else 0

    def place(self, row: int) -> int | None:
        """Return the number of a row's call; None: there is no such row."""
        with contextlib.suppress(IndexError):
            return self.row(row).row
        return None

    def row_from(self, number: int) -> int:
        """Return the first row whose call has at least a number."""
        return self.visible.dropped + int(np.searchsorted(self.visible.rows, number))

    def outdated(self, watch: Watch) -> bool:
        """Tell whether a new tree would differ: the tracer runs now, or another probe has both ends."""
        if self.live_tree.traced:
            return False
        return has_graph(self.store) or ends_of(watch.event_fields.plans) != self.live_tree.ends

    # -- rows -------------------------------------------------------------------------------------------------------

    def row(self, place: int) -> CallRow:
        """Return the row of the tree at a place. Raises IndexError if it was dropped."""
        at = place - self.visible.dropped
        if not 0 <= at < len(self.visible):
            raise IndexError(place)
        return self.tree.row(int(self.visible.rows[at]))

    def text(self, place: int) -> GraphText:
        """Return the line at a place. Raises IndexError if it was dropped."""
        return self.line(self.row(place))

    def line(self, row: CallRow) -> GraphText:
        """Return the line of a row."""
        inside = self.visible.has_inside(row.row)
        return self.lines.line(row, self.visible.folded(row.row) if inside else None)

    def function(self, place: int) -> str:
        """Return the function at a place, without its module; empty: the row is no call."""
        with contextlib.suppress(IndexError):
            row = self.row(place)
            return self.lines.name(row).split(" ")[0] if row.kind == RowKind.CALL else ""
        return ""

    # -- rows of the list -----------------------------------------------------------------------------------------

    def fold(self, place: int, folded: bool) -> int:
        """Fold or unfold a row; return the place of the cursor: if already folded the parent, if unfolded the first
        child.
        """
        row, visible = self.row(place), self.visible
        inside = visible.has_inside(row.row)
        if folded and (not inside or visible.folded(row.row)):
            return self._place_of(row.parent) if row.parent >= 0 else place
        if not folded and (not inside or not visible.folded(row.row)):
            return self._first_inside(place, row) if inside else place
        visible.fold(row.row, folded)
        return self._place_of(row.row)

    def _first_inside(self, place: int, row: CallRow) -> int:
        following = range(place + 1, min(place + _EVERY, self.next))
        return next((n for n in following if self.row(n).parent == row.row), place)

    def unfold_to(self, place: int, levels: int) -> int:
        """Show `levels` levels; 0: all."""
        row = self.row(place).row if self.first <= place < self.next else self.tree.first
        self.visible.set_options(self.visible.options._replace(levels=levels or VisibleOptions().levels))
        return self._place_of(row)

    def only_task(self, place: int) -> int:
        """Show one task, or all."""
        row = self.row(place)
        self.visible.set_options(self.visible.options._replace(task=row.task if self.all_tasks else None))
        return self._place_of(row.row)

    def hide_short(self, place: int, least: int) -> int:
        """Hide calls that took less than `least` nanoseconds."""
        row = self.row(place).row if self.first <= place < self.next else self.tree.first
        self.visible.set_options(self.visible.options._replace(min_duration=least))
        return self._place_of(row)

    def say_slow(self, least: int) -> None:
        """Set the nanoseconds from which on a call is slow; 0: the slowest hundredth."""
        self._slow_limit = self.slow = least

    def next_slow(self, place: int, direction: int) -> int | None:
        """Return the next slow call, folded or not; None: there is none."""
        if not self._slow_limit:
            self.slow = self._usual_slow()
        start = self.row(place).row + direction
        least, task = self.slow, self.visible.options.task

        found, _ = scan(self.tree, self._passing(slower(self.tree, max(least, 1), task)), start, direction)
        return None if found is None else self._reveal(found)

    def _usual_slow(self) -> int:
        took, what = (self.tree.columns.column(name)[-_SAMPLE:] for name in ("duration", "kind"))
        took = took[(took >= 0) & (what == RowKind.CALL)]  # a task may be off its CPU for ever
        return int(np.percentile(took, 99)) if len(took) else 0

    def _place_of(self, row: int) -> int:
        return self.visible.dropped + self.visible.place(max(row, self.tree.first))

    def _reveal(self, row: int) -> int:
        self.visible.reveal(row)
        return self._place_of(row)

    # -- search -----------------------------------------------------------------------------------------------------

    def find(self, text: str, start: int, direction: int, budget: float) -> SearchStep:
        """Search for part of a call's text, its function, arguments or result, for at most `budget` seconds.

        Folded rows are searched, too; a hit is unfolded.
        """
        search = text, direction, start
        # An unfinished step returned a row to go on at, not a place.
        at = start if search == self._searching else self._row_from(start, direction)
        found, at = scan(self.tree, self._matching_text(text.lower()), at, direction, budget, _PIECE)
        done = found is not None or not self.tree.first <= at < self.tree.next
        self._searching = None if done else (text, direction, at)
        return SearchStep(None if found is None else self._reveal(found), at, done)

    def _row_from(self, place: int, direction: int) -> int:
        """Return the row at a place, which may be outside of the list; folded rows between two places count."""
        before, after = place - 1, place + 1
        if direction > 0:
            return self.row(before).row + 1 if self.first <= before < self.next else self.tree.first
        return self.row(after).row - 1 if self.first <= after < self.next else self.tree.next - 1

    def _matching_text(self, text: str) -> Wanting:
        """Match calls whose text contains `text`: values are read only for functions whose names and types may
        match.
        """
        return self._passing(by_boot(self.tree, self.store.boots, lambda boot: self._matching_in(text, boot)))

    def _matching_in(self, text: str, boot: int) -> Wanting:
        """Match calls of one boot, by the names that functions have in it."""
        tree, lines, names = self.tree, self.lines, self.lines.names(boot)
        name = partial(lines.name_of, boot=boot)
        in_name = named(tree, lambda function: text in name(function).lower())
        if not self.live_tree.traced:
            return either(in_name, reading(tree, lambda _: True, lambda row: lines.has(tree.row(row), text)))

        def returns(function: int, result: int) -> bool:
            return text in names.result(name(function), result)[0].lower()

        @cache
        def type_of(function: int) -> Hashable:
            return names.return_key(name(function)) if names.may_return(name(function), text) else NO_RESULT

        def gives(function: int) -> bool:
            return names.may_give(name(function), text)

        given = reading(tree, gives, lambda row: text in lines.arguments_text(tree.row(row)).lower())
        return either(in_name, returning(tree, type_of, returns), given)

    def _passing(self, wanted: Wanting) -> Wanting:
        """Restrict a match to rows that pass the filter."""
        if self.chosen is None:
            return wanted
        passing = passing_rows(self.tree, self.chosen)
        return lambda part: wanted(part) & passing(part)

    # -- status ---------------------------------------------------------------------------------------------------

    def note(self, *, counting: bool = True) -> str:
        """Return the note above the graph; `counting`: with the number of calls, which grows while the display is
        paused.
        """
        if self.live_tree.backlog > _EVERY:
            return f"reading, {counted(self.live_tree.backlog, 'event')} to go"
        tree, wanted = self.tree, self.visible.options
        words = [counted(tree.closed, "call"), f"{grouped(tree.open)} open" if tree.open else ""]
        words += [f"{grouped(tree.ended[what])} {name}" for what, name in _INTERRUPTS.items() if tree.ended[what]]
        words += [f"{grouped(count)} {_COUNTED[flag]}" for flag, count in sorted(tree.counts.items()) if count]
        words += [f"{counted(unseen, 'event')} dropped before" if (unseen := self.live_tree.skipped_events) else ""]
        words *= counting
        words += [self.lines.task(wanted.task, self.store.boots.latest) if wanted.task is not None else ""]
        words += [f"from {duration(wanted.min_duration)} on" if wanted.min_duration else ""]
        words += [f"{counted(wanted.levels, 'level')}" if wanted.levels < VisibleOptions().levels else ""]
        words += [f"slow: {duration(self.slow)}" if self.slow else ""]
        words += [NO_RETURNS if self.lacks_returns else ""]
        return ", ".join(word for word in words if word)
