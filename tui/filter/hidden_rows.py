"""Detect that the filter hides all rows of a view, or all events of a newly armed probe. Imports no screen code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foreign.count_text import counted
from tui.present.ways_out import NO_FILTER

if TYPE_CHECKING:
    from events.search.filtered_rows import FilteredRows
    from events.store.store import Store
    from probes.plans.plan import Plan
    from tui.filter.filter import PassCount

_MOST: Final = 256
"""Events checked in one tick; each is decoded."""
_BUDGET: Final = 0.005
"""Seconds per tick for the filter, if the view on the screen does not run it."""


def hidden_by_filter(text: str, filtered: PassCount | str) -> str:
    """Return the sentence for a view of which the filter hides every row, with a remedy; empty: it shows some, or is
    not done yet.

    Args:
        text: of the filter; empty: there is none.
        filtered: rows of the view, or why the filter does not apply to it.
    """
    if not text or isinstance(filtered, str) or filtered.backlog or not filtered.of:
        return ""
    if filtered.passing or filtered.left_out:
        return ""
    whole = "" if filtered.of == 1 else "all "
    return f"the filter hides {whole}{counted(filtered.of, filtered.unit)}: {NO_FILTER}"


class HiddenRows:
    """Events of the probe armed last, until one of them passes the filter."""

    def __init__(self) -> None:
        self._paths: frozenset[str] = frozenset()
        """Paths `group/name` of its events; empty: no probe is observed."""
        self._subject = ""
        self._next = 0
        self._has_received = False

    def begin(self, plan: Plan, seq: int) -> None:
        """Observe a probe's events, from a sequence number on."""
        self._paths = frozenset(event.path for event in plan.events)
        self._subject, self._next, self._has_received = plan.probe.subject, seq, False

    def end(self) -> None:
        """Stop observing."""
        self._paths, self._has_received = frozenset(), False

    def look(self, store: Store, selected: FilteredRows | None) -> bool:
        """Check new events for a moment; True: more remain.

        `selected`: the events that pass the filter, None: there is none.
        """
        if not self._paths or selected is None:
            self.end()
            return False
        selected.tick(_BUDGET)
        start = max(self._next, store.first_seq)
        self._next = max(start, min(start + _MOST, selected.looked))
        for seq in range(start, self._next):
            if store.record(seq).event in self._paths:
                self._has_received = True
                if selected.passes(seq):
                    self.end()
                    return False
        return self._next < store.next_seq

    @property
    def note(self) -> str:
        """Words after the filter if none of the received events passes, with a remedy; empty: one passes."""
        return f"hides {self._subject}: {NO_FILTER}" if self._has_received else ""
