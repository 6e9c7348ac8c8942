"""`--filter` of the events of several hosts: decide about each event when it gets its row."""

from __future__ import annotations

import time
from collections import Counter
from typing import Final

from events.conditions.condition_parser import ConditionError
from events.stacks.stack import is_stack
from events.text import UNNAMED
from foreign.count_text import counted
from kernel.hosts.fleet import Fleet
from kernel.hosts.merged_events import MergedEvent
from tui.cli.follow.filter import refusal

_STORES: Final = 1 << 10
"""Stores of hosts for which the result of the filter is cached."""
_NAMES_AFTER: Final = 2.5
"""Seconds that an event waits for the name of its task if the condition needs it: names are read each second."""
_MOST_NAMELESS: Final = 1 << 12


class HostsFilter:
    """Filter on the merged events of all hosts; used only by the thread that reads the events."""

    def __init__(self, fleet: Fleet, text: str) -> None:
        """Set the condition; empty: every event passes."""
        self.passed: Counter[str] = Counter()
        """Number of events that passed, by host."""
        self.of: Counter[str] = Counter()
        """Number of events, by host."""
        self._fleet = fleet
        self._text = text
        from tui.filter.filter import Filter  # imports code that measures text for a screen

        self._filter = Filter(stores=_STORES)
        self._of_tasks = self._of_cgroups = False
        self.of_calls = False
        """True if the condition compares both ends of a call, so that rows of entries are still needed."""
        self._since: float | None = None
        """Time at which an unnamed event began to wait, by time.monotonic(); None: none waits."""
        self._nameless: set[tuple[int, int]] = set()
        """Session and thread of each task that remained unnamed."""

    @property
    def is_set(self) -> bool:
        """True if there is a condition."""
        return bool(self._text)

    def begin(self) -> bool:
        """Tell whether events can be tested: an armed host has the fields that the condition compares.

        Raises OptionRefused if all hosts are settled, and none has the fields.
        """
        if not self._text or self._filter.text:
            return True
        settled = self._fleet.settled
        watches = [
            host.watch for host in self._fleet.hosts if host.watch is not None and host.watch.event_fields.plans
        ]
        if not watches:
            return settled
        try:
            self._filter.check(self._text, watches)
        except ConditionError as error:
            if not settled:
                return False
            raise refusal(self._text, error) from None
        self._filter.choose(self._text, None)
        self._of_tasks, self._of_cgroups = self._filter.of_tasks, self._filter.of_cgroups
        self.of_calls = self._filter.of_calls
        return True

    def must_wait(self, event: MergedEvent) -> bool:
        """Tell whether an event can't be decided yet: the name or cgroup of its task is unknown, and may become
        known.
        """
        is_unknown = self._of_tasks and event.comm == UNNAMED
        if not is_unknown and self._of_cgroups:
            store = self._fleet.events.watch(event.source).store
            record = event.record
            is_unknown = store is not None and store.cgroups.path_of(record.pid, record.ts, record.seq) is None
        if not is_unknown or (event.source, event.pid) in self._nameless:
            self._since = None
            return False
        now = time.monotonic()
        self._since = self._since or now
        if now - self._since < _NAMES_AFTER:
            return True
        if len(self._nameless) > _MOST_NAMELESS:
            self._nameless.clear()
        self._nameless.add((event.source, event.pid))
        self._since = None
        return False

    def passes(self, event: MergedEvent) -> bool:
        """Return True if a row passes; count it if it is an event, not a stack of its own."""
        watch = self._fleet.events.watch(event.source)
        selected = self._filter.of(watch, watch.store) if self._text and watch.store is not None else None
        passes = selected is None or selected.passes(event.record.seq)
        if not is_stack(event.record):
            self.of[event.host] += 1
            self.passed[event.host] += passes
        return passes

    @property
    def text(self) -> str:
        """Text like `155 of 790 events pass the filter`."""
        return f"{self.passed.total():,} of {counted(self.of.total(), 'event')} pass the filter"
