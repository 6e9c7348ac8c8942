"""The filter's line of a place: counts what passes while it is typed, then says what is shown."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from textual import on
from textual.message import Message
from textual.timer import Timer

from tui.filter.filter import Filter, PassCount, told
from widgets.events.filter_line import FilterLine

if TYPE_CHECKING:
    from events.search.filtered_rows import FilteredRows
    from kernel.watch.watch import Watch
    from probes.completion.choice import Completions
    from tui.filter.completion import CandidateValue
    from tui.filter.hidden_rows import HiddenRows
    from tui.hosts.filtered_rows import FilteredHostRows
    from tui.hosts.rows import HostRows

_BUDGET: Final = 0.01
"""Seconds that counting may take between two keys."""
_PAUSE: Final = 0.005
_HINT: Final = "count > 4096 && (comm == cat || ret < 0), latency > 10us; Enter: only these in all views, empty: all"


class PassingEvents(Protocol):
    """Events that pass a condition, as far as they were looked at."""

    @property
    def first(self) -> int:
        """Oldest row that is kept."""

    @property
    def next(self) -> int:
        """Row that comes next."""

    @property
    def behind(self) -> int:
        """Events that were not looked at yet."""

    @property
    def of(self) -> int:
        """Events that there are."""

    def tick(self, budget: float) -> None:
        """Look at what came, for so many seconds at most."""


class FilterBar(FilterLine):
    """Takes a condition; whoever inherits knows what it is of."""

    class Done(Message):
        """The views have the keyboard again; `changed`: they show other rows."""

        def __init__(self, changed: bool) -> None:
            super().__init__()
            self.changed = changed

    def __init__(self, chosen: Filter) -> None:
        super().__init__(_HINT, self._completions)
        self._filter = chosen
        self._preview: PassingEvents | None = None
        """The events that would pass what is typed."""
        self._why = ""
        """What is wrong with what is typed."""
        self._refused = False
        """Enter was pressed on it."""
        self._timer: Timer | None = None
        self._values: dict[str, Sequence[CandidateValue]] = {}
        """Values of fields that were completed since the line has the keyboard."""

    @abstractmethod
    def begin(self, text: str) -> PassingEvents | None:
        """Begin to look for events that would pass; None: there is none. Raises ConditionError."""

    @abstractmethod
    def choose(self, text: str, found: PassingEvents | None) -> None:
        """Set the filter; `found`: what `begin` gave for it. Raises ConditionError."""

    @abstractmethod
    def watches(self) -> Sequence[Watch]:
        """Return whose events are on the screen."""

    def show(self, found: PassCount | str) -> None:
        """Say how many of what is on the screen pass, or of what is typed how many events would.

        `found`: a text where the filter does not reach what is on the screen, and why.
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
            said = found.text if isinstance(found, PassCount) else found
            self.say(self._urgent or ", ".join(filter(None, (said, *self._remarks()))))

    @property
    def _urgent(self) -> str:
        """Text in place of the number of rows that pass; empty: none."""
        return ""

    def ask(self) -> None:
        """Have the keys; what is there already may have changed."""
        self._values.clear()
        self._reset()
        super().ask()

    def _reset(self) -> None:
        self._preview, self._why, self._refused = None, "", False
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _remarks(self) -> list[str]:
        found = [self._filter.remark(one, one.store) for one in self.watches() if one.store is not None]
        return list(dict.fromkeys(found))

    @on(FilterLine.Changed)
    def _line_changed(self, event: FilterLine.Changed) -> None:
        event.stop()
        if isinstance(event, FilterLine.Typed) or not self.typing:
            return
        self._reset()
        if event.text.strip():
            from events.search.condition_parser import ConditionError

            try:
                self._preview = self.begin(event.text)
            except ConditionError as error:
                self._why = told(error)
        self._count()

    def _count(self) -> None:
        """Look at events for a moment, and go on after the next key; another text ends that."""
        found = self._preview
        if found is None:
            self.say(self._why, refused=self._refused)
            return
        found.tick(_BUDGET)
        self.say(PassCount(found.next - found.first, found.of, "events", found.behind).text)
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_PAUSE, self._count) if found.behind else None

    @on(FilterLine.Typed)
    def _line_typed(self, event: FilterLine.Typed) -> None:
        event.stop()
        from events.search.condition_parser import ConditionError

        try:
            self.choose(event.text, self._preview)
        except ConditionError as error:
            self._why, self._refused = told(error), True
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

        sorts = {name: sort for watching in self.watches() for name, sort in self._filter.sorts(watching).items()}
        return complete_filter(text, cursor, sorts, self._values_of)

    def _values_of(self, field: str) -> Sequence[CandidateValue]:
        from tui.filter.completion import values_seen

        if field not in self._values:
            stores = [(one, one.store) for one in self.watches() if one.store is not None]
            found = [value for watching, store in stores for value in values_seen(watching, store, field)]
            self._values[field] = tuple(dict.fromkeys(found))
        return self._values[field]


class LiveFilterBar(FilterBar):
    """The filter of all views of one kernel's events."""

    def __init__(self, chosen: Filter, seen: Callable[[], Watch | None], hidden: HiddenRows) -> None:
        """Take the filter, what gives the watch whose events are on the screen, and the rows that it may hide."""
        super().__init__(chosen)
        self._seen = seen
        self._hidden = hidden

    @property
    def _urgent(self) -> str:
        return self._hidden.told

    def watches(self) -> Sequence[Watch]:
        watching = self._seen()
        return () if watching is None else (watching,)

    def begin(self, text: str) -> FilteredRows | None:
        watching = self._seen()
        if watching is None or watching.store is None:
            return None
        return self._filter.preview(text, watching, watching.store)

    def choose(self, text: str, found: PassingEvents | None) -> None:
        from events.search.filtered_rows import FilteredRows

        self._filter.choose(text, self._seen(), found if isinstance(found, FilteredRows) else None)


class HostsFilterBar(FilterBar):
    """The filter of the events of several hosts."""

    def __init__(self, shown: HostRows) -> None:
        super().__init__(shown.filter)
        self._shown = shown

    def watches(self) -> Sequence[Watch]:
        return self._shown.watches

    def begin(self, text: str) -> FilteredHostRows:
        return self._shown.preview(text)

    def choose(self, text: str, found: PassingEvents | None) -> None:  # noqa: ARG002 - it is looked for anew
        self._shown.choose(text)
