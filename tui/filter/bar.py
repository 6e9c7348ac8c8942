"""Filter bar: count the events that pass while a condition is typed, then show how many rows of the view pass."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from textual import on
from textual.message import Message
from textual.timer import Timer

from tui.filter.filter import Filter, PassCount, condition_error_text
from widgets.call_after import call_after
from widgets.events.filter_line import FilterLine

if TYPE_CHECKING:
    from events.search.filtered_rows import FilteredRows
    from kernel.watch.watch import Watch
    from probes.completion.choice import Completions
    from tui.filter.completion import CandidateValue
    from tui.filter.hidden_rows import HiddenRows

_BUDGET: Final = 0.01
"""Seconds for counting between two keys."""
_PAUSE: Final = 0.005
_HINT: Final = "count > 4096 && (comm == cat || ret < 0), latency > 10us; Enter: only these in all views, empty: all"


class PassingEvents(Protocol):
    """Events that pass a condition, as far as they were checked."""

    @property
    def first(self) -> int:
        """Oldest row in memory."""

    @property
    def next(self) -> int:
        """Number of the next row."""

    @property
    def backlog(self) -> int:
        """Number of events not yet checked."""

    @property
    def of(self) -> int:
        """Number of all events."""

    def tick(self, budget: float) -> None:
        """Check new events, for at most `budget` seconds."""


class FilterBar(FilterLine):
    """Text line for a condition; a subclass knows the events that it applies to."""

    class Done(Message):
        """Sent when the views get the keyboard back; `changed`: other rows pass now."""

        def __init__(self, changed: bool) -> None:
            super().__init__()
            self.changed = changed

    def __init__(self, chosen: Filter) -> None:
        super().__init__(_HINT, self._completions)
        self._filter = chosen
        self._preview: PassingEvents | None = None
        """Events that would pass the typed condition."""
        self._error = ""
        """Error in the typed condition."""
        self._is_rejected = False
        """True after Enter was pressed on that error."""
        self._timer: Timer | None = None
        self._values: dict[str, Sequence[CandidateValue]] = {}
        """Values of fields that were completed since the line got the keyboard."""

    @abstractmethod
    def begin(self, text: str) -> PassingEvents | None:
        """Start to search for events that would pass; None: there are no events. Raises ConditionError."""

    @abstractmethod
    def choose(self, text: str, found: PassingEvents | None) -> None:
        """Set the filter; `found`: result of `begin` for that text. Raises ConditionError."""

    def remark(self, found: PassingEvents) -> str:  # noqa: ARG002 - by the subclass
        """Return a remark on the typed condition; empty: none."""
        return ""

    @abstractmethod
    def watches(self) -> Sequence[Watch]:
        """Return the watches whose events are on the screen."""

    def show(self, found: PassCount | str) -> None:
        """Show how many rows of the view pass, or how many events would pass the typed condition.

        `found`: a text where the filter does not apply to the view, with the reason.
        """
        if self.typing:
            self._count()
            return
        chosen = self._filter
        if self.text != chosen.text:
            self.text = chosen.text
        if not chosen.text:
            self.say("")
        elif chosen.error:
            self.say(f"{chosen.error}: all are shown", refused=True)
        else:
            count_text = found.text if isinstance(found, PassCount) else found
            self.say(self._urgent or ", ".join(filter(None, (count_text, *self._remarks()))))

    @property
    def _urgent(self) -> str:
        """Text in place of the number of passing rows; empty: none."""
        return ""

    def ask(self) -> None:
        """Take the keyboard; values and events may have changed since the last time."""
        self._values.clear()
        self._reset()
        super().ask()

    def _reset(self) -> None:
        self._preview, self._error, self._is_rejected = None, "", False
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _remarks(self) -> list[str]:
        found = [self._filter.remark(one, one.store) for one in self.watches() if one.store is not None]
        return list(dict.fromkeys(found))

    @on(FilterLine.Changed)
    def _line_changed(self, event: FilterLine.Changed) -> None:
        event.stop()
        if not self.typing:
            return
        self._reset()
        if event.text.strip():
            from events.conditions.condition_parser import ConditionError

            try:
                self._preview = self.begin(event.text)
            except ConditionError as error:
                self._error = condition_error_text(error)
        self._count()

    def _count(self) -> None:
        """Check events for a moment, and go on after the next key; another text ends that."""
        found = self._preview
        if found is None:
            self.say(self._error, refused=self._is_rejected)
            return
        found.tick(_BUDGET)
        count_text = PassCount(found.next - found.first, found.of, "event", found.backlog).text
        self.say(", ".join(filter(None, (count_text, self.remark(found)))))
        if self._timer is not None:
            self._timer.stop()
        self._timer = call_after(self, _PAUSE, self._count) if found.backlog else None

    @on(FilterLine.Submitted)
    def _line_submitted(self, event: FilterLine.Submitted) -> None:
        event.stop()
        from events.conditions.condition_parser import ConditionError

        try:
            self.choose(event.text, self._preview)
        except ConditionError as error:
            self._error, self._is_rejected = condition_error_text(error), True
            self._count()
            return
        self._finish(changed=True)

    @on(FilterLine.Left)
    def _line_left(self, event: FilterLine.Left) -> None:
        event.stop()
        self.text = self._filter.text
        self._finish(changed=False)

    def _finish(self, *, changed: bool) -> None:
        self._reset()
        self.done()
        self.post_message(self.Done(changed))

    # -- completions ----------------------------------------------------------------------------------------------

    def _completions(self, text: str, cursor: int) -> Completions:
        from tui.filter.completion import complete_filter

        sorts = {name: sort for watch in self.watches() for name, sort in self._filter.sorts(watch).items()}
        return complete_filter(text, cursor, sorts, self._values_of)

    def _values_of(self, field: str) -> Sequence[CandidateValue]:
        from tui.filter.completion import values_seen

        if field not in self._values:
            stores = [(one, one.store) for one in self.watches() if one.store is not None]
            found = [value for watch, store in stores for value in values_seen(watch, store, field)]
            self._values[field] = tuple(dict.fromkeys(found))
        return self._values[field]


class LiveFilterBar(FilterBar):
    """Filter of all views of the events of one kernel."""

    def __init__(self, chosen: Filter, watch_on_screen: Callable[[], Watch | None], hidden: HiddenRows) -> None:
        """Set the filter, a function that returns the watch on the screen, and the rows that the filter may hide."""
        super().__init__(chosen)
        self._watch_on_screen = watch_on_screen
        self._hidden = hidden

    @property
    def _urgent(self) -> str:
        return self._hidden.note

    def watches(self) -> Sequence[Watch]:
        watch = self._watch_on_screen()
        return () if watch is None else (watch,)

    def begin(self, text: str) -> FilteredRows | None:
        watch = self._watch_on_screen()
        if watch is None or watch.store is None:
            return None
        return self._filter.preview(text, watch, watch.store)

    def remark(self, found: PassingEvents) -> str:
        from events.search.filtered_rows import FilteredRows
        from tui.filter.filter import remark_on

        watch = self._watch_on_screen()
        return remark_on(found, watch) if watch is not None and isinstance(found, FilteredRows) else ""

    def choose(self, text: str, found: PassingEvents | None) -> None:
        from events.search.filtered_rows import FilteredRows

        self._filter.choose(text, self._watch_on_screen(), found if isinstance(found, FilteredRows) else None)
