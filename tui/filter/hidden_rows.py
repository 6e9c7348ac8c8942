"""Whether the filter hides all events that came of a probe since it was armed; no screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tui.app.ways_out import NO_FILTER

if TYPE_CHECKING:
    from events.search.filtered_rows import FilteredRows
    from events.store.store import Store
    from probes.plans.plan import Plan

_MOST: Final = 256
"""Events that are looked at in one tick; each is decoded."""
_BUDGET: Final = 0.005
"""Seconds that the filter may look for in one tick, where the view on the screen does not have it look."""


class HiddenRows:
    """The events of the probe that was armed last, until one of them passes the filter."""

    def __init__(self) -> None:
        self._paths: frozenset[str] = frozenset()
        """`group/name` of its events; empty: nobody waits for any."""
        self._subject = ""
        self._next = 0
        self._came = False

    def begin(self, plan: Plan, seq: int) -> None:
        """Wait for the first event of a probe, from a sequence number on."""
        self._paths = frozenset(event.path for event in plan.events)
        self._subject, self._next, self._came = plan.probe.subject, seq, False

    def end(self) -> None:
        """Wait no more."""
        self._paths, self._came = frozenset(), False

    def look(self, store: Store, selected: FilteredRows | None) -> bool:
        """Look at what came for a moment; True: there is more to look at.

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
                self._came = True
                if selected.passes(seq):
                    self.end()
                    return False
        return self._next < store.next_seq

    @property
    def told(self) -> str:
        """Return, as words behind the filter, that none of what came passes, with the way out; empty: one does."""
        return f"hides {self._subject}: {NO_FILTER}" if self._came else ""
