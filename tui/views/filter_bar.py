"""The filter's line of the live place: counts what passes while it is typed, then what the view shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from textual import on
from textual.message import Message
from textual.timer import Timer

from tui.filter import Counted, Filter, told
from widgets.filter_line import FilterLine

if TYPE_CHECKING:
    from events.selected import Selected
    from events.store import Store
    from kernel.watch import Watch
    from probes.completion.choice import Completions
    from tui.filter_completion import Value
    from tui.views.view import View

_BUDGET: Final = 0.01
"""Seconds that counting may take between two keys."""
_PAUSE: Final = 0.005
_HINT: Final = "count > 4096 && (comm == cat || ret < 0), latency > 10us; Enter: only these in all views, empty: all"


class FilterBar(FilterLine):
    """Sets the filter that it is given."""

    class Done(Message):
        """The views have the keyboard again; `changed`: they show other rows."""

        def __init__(self, changed: bool) -> None:
            super().__init__()
            self.changed = changed

    def __init__(self, chosen: Filter, seen: Callable[[], Watch | None]) -> None:
        """Take the filter, and what gives the watch whose events are on the screen."""
        super().__init__(_HINT, self._completions)
        self._filter = chosen
        self._seen = seen
        self._preview: Selected | None = None
        """The events that would pass what is typed."""
        self._why = ""
        """What is wrong with what is typed."""
        self._refused = False
        """Enter was pressed on it."""
        self._timer: Timer | None = None
        self._values: dict[str, Sequence[Value]] = {}
        """Values of fields that were completed since the line has the keyboard."""

    def show(self, view: View) -> None:
        """Say how many of a view's rows pass, or of what is typed how many events would."""
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
            found = view.filtered
            remark = self._remark()
            said = found.text if isinstance(found, Counted) else found
            self.say(", ".join(filter(None, (said, remark))))

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

    def _remark(self) -> str:
        watching, store = self._where()
        return self._filter.remark(watching, store) if watching is not None and store is not None else ""

    def _where(self) -> tuple[Watch | None, Store | None]:
        watching = self._seen()
        return watching, watching.store if watching is not None else None

    @on(FilterLine.Changed)
    def _line_changed(self, event: FilterLine.Changed) -> None:
        event.stop()
        if isinstance(event, FilterLine.Typed) or not self.typing:
            return
        self._reset()
        watching, store = self._where()
        if event.text.strip() and watching is not None and store is not None:
            from events.condition_text import ConditionError

            try:
                self._preview = self._filter.preview(event.text, watching, store)
            except ConditionError as error:
                self._why = told(error)
        self._count()

    def _count(self) -> None:
        """Look at events for a moment, and go on after the next key; another text ends that."""
        selected = self._preview
        if selected is None:
            self.say(self._why, refused=self._refused)
            return
        selected.tick(_BUDGET)
        self.say(Counted(selected.next - selected.first, len(selected.store), "events", selected.behind).text)
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_PAUSE, self._count) if selected.behind else None

    @on(FilterLine.Typed)
    def _line_typed(self, event: FilterLine.Typed) -> None:
        event.stop()
        from events.condition_text import ConditionError

        try:
            self._filter.choose(event.text, self._seen(), self._preview)
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

    def _completions(self, text: str, cursor: int) -> Completions | None:
        from tui.filter_completion import complete_filter

        watching = self._seen()
        return complete_filter(text, cursor, self._filter.sorts(watching), self._values_of) if watching else None

    def _values_of(self, field: str) -> Sequence[Value]:
        from tui.filter_completion import values_seen

        watching, store = self._where()
        if watching is None or store is None:
            return ()
        if field not in self._values:
            self._values[field] = values_seen(watching, store, field)
        return self._values[field]
