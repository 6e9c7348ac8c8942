"""Calls, a row each: what each changed, returned and took."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, ClassVar, Final

from tui.calls import ShownCalls, detail_of_call, note_of_calls
from tui.ends import ends_of
from tui.shown import note_of
from tui.views.view import TableView
from widgets.call_rows import CallRows
from widgets.event_detail import DetailField

if TYPE_CHECKING:
    from events.record import Record
    from events.store import Store
    from kernel.watch import Watch

_PAIRING: Final = 0.01
"""Seconds that pairing may take at once."""


class CallsView(TableView):
    """A table over the calls that the events are ends of."""

    name: ClassVar[str] = "calls"
    label: ClassVar[str] = "entry→exit"

    def __init__(self) -> None:
        super().__init__()
        self._calls: ShownCalls | None = None

    def tick(self, watching: Watch, store: Store, fields: tuple[str, ...]) -> bool:  # noqa: ARG002 - of every view
        """Pair what came; what takes longer than a moment goes on in the next ones."""
        if self._calls is None:
            self._calls = ShownCalls(watching, store)
            self.table.show(CallRows(self._calls))
        self._calls.tick(_PAIRING)
        self.table.tick()
        return self._calls.calls.behind > 0

    def forget(self) -> None:
        """Show nothing."""
        self._calls = None
        super().forget()

    def note(self, watching: Watch) -> str:
        """How far pairing is, and what has no partner."""
        if self._calls is None:
            return note_of(watching)
        if not ends_of(watching.known.plans):
            return "no probe has both ends of a call: F2, b, Enter"
        return note_of_calls(self._calls.calls)

    def detail(self, watching: Watch, row: int) -> tuple[str, tuple[DetailField, ...]]:
        """Both ends of the call. Raises IndexError where they were dropped."""
        if self._calls is None:
            raise IndexError(row)
        return detail_of_call(watching, *self._calls.records(row))

    def record_under_cursor(self, store: Store) -> Record | None:  # noqa: ARG002
        """Its entry, else its exit."""
        if self._calls is not None and not self.table.following:
            with contextlib.suppress(IndexError):
                return next(filter(None, self._calls.records(self.table.cursor)), None)
        return None
