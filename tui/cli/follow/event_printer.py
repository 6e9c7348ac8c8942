"""Events that came, shown one by one in their order, each with the name of its task where the kernel knows it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from events.export.filtered import ExportFilter
from events.export.source import UNNAMED
from events.record import Record
from events.stacks.stack import is_stack
from events.store.outage_mark import is_mark
from kernel.errors import TargetLost
from kernel.watch.watch import Watch
from tui.cli.follow.signals import whole

if TYPE_CHECKING:
    from events.store.store import Store
    from tui.filter.filter import Filter

_NAMES_AFTER = 0.25
"""Seconds that events of tasks without a name wait before the kernel is asked.

It learns one when the task leaves the CPU (trace_taskinfo_save of kernel/trace/trace_sched_switch.c), soon after the
event.
"""
_MOST_WAITING = 1 << 14
"""Events: more of them are shown without names, as what waits may be dropped for what comes next."""
_MOST_NAMELESS = 1 << 12


class EventPrinter:
    """How far the events were shown, or counted."""

    def __init__(
        self,
        watch: Watch,
        most: int,
        events: Collection[str],
        show: Callable[[Record], None],
        count: Callable[[], int] | None,
        passing: ExportFilter | None = None,
        chosen: Filter | None = None,
        number: Callable[[], int] | None = None,
    ) -> None:
        """Take what is shown.

        Args:
            watch: with the events.
            most: events that are shown; 0: all.
            events: paths of those that are wanted.
            show: shows one.
            count: counts what is new in place of that; gives how many events were counted in all.
            passing: the filter, which counts what passes; None: there is none.
            number: says how many of those that `most` counts were shown; None: the events that passed.
            chosen: the condition of that, which may ask for names or cgroups.
        """
        self.number = 0
        self._passing = passing or ExportFilter()
        self._number = number or (lambda: self._passing.number)
        self._needs_homes = chosen is not None and chosen.of_cgroups
        self._needs_names = self._needs_homes or (chosen is not None and chosen.of_tasks)
        self._watch = watch
        self._most = most
        self._events = events
        self._show = show
        self._count = count
        self._next_seq = 0
        self._looked = 0
        """Rows before this one have names, or none can be had."""
        self._since: float | None = None
        """When the first event without a name began to wait."""
        self._nameless: set[int] = set()
        """Tasks whose names the kernel did not know when it was asked: their events wait no more."""

    @property
    def enough(self) -> bool:
        return bool(self._most) and self.number >= self._most

    @property
    def waiting(self) -> bool:
        """Events wait for the names of their tasks."""
        return self._since is not None

    @property
    def wants_names(self) -> bool:
        """They have waited long enough: the kernel is to be asked."""
        return self._since is not None and time.monotonic() - self._since >= _NAMES_AFTER

    def learn_names(self) -> None:
        """Ask the kernel for names, and show all that has its row by now."""
        self._ask()
        with whole():
            self._give_up_waiting()
            self._new()

    def tick(self) -> None:
        """Show what is new, of what came by now a part."""
        with whole():
            self._watch.tick(0.0)  # what is new is shown before it could be dropped for what comes next
            if not self._has_to_wait():
                self._new()

    def finish(self) -> None:
        """Show all that was read, also what waits in a queue or for events of other CPUs; nothing comes after it."""
        with whole():
            self._watch.end_reading()
            if self._names_come:
                self._ask()
        while True:
            with whole():
                self._watch.tick(0.0)
                self._new()
            if self.enough or not self._watch.behind:
                break
        with whole():
            if self._watch.store is not None:
                self._watch.store.flush()
            self._new()

    @property
    def _names_come(self) -> bool:
        """Events are shown while a kernel that runs may learn names; a recording has all that there are."""
        wanted = self._count is None or self._needs_names
        return wanted and not self._watch.connection.holds_events and self._watch.error is None

    def _ask(self) -> None:
        with contextlib.suppress(TargetLost):  # the pump tells
            self._watch.know_names(self._watch.names(homes=self._needs_homes))

    def _has_to_wait(self) -> bool:
        """Whether one of the new events lacks a name that may be had; then all do, so that their order stays."""
        store = self._watch.store
        if store is None or not self._names_come or self._have_no_room(store):
            self._since = None
            return False
        if self._since is None and any(self._lacks_name(store, seq) for seq in self._unlooked(store)):
            self._since = time.monotonic()
        self._looked = store.next_seq
        return self.waiting

    def _have_no_room(self, store: Store) -> bool:
        """Whether so many wait that what comes next could put them out of the store."""
        new = store.next_seq - self._next_seq
        return new > _MOST_WAITING or new * store.bytes > len(store) * store.limit_bytes // 2

    def _unlooked(self, store: Store) -> range:
        return range(max(self._looked, store.first_seq), store.next_seq)

    def _lacks_name(self, store: Store, seq: int) -> bool:
        record = store.record(seq)
        return record.event in self._events and record.pid not in self._nameless and self._is_unknown(store, record)

    def _is_unknown(self, store: Store, record: Record) -> bool:
        """Whether the task of an event has no name yet, or is in no known cgroup where the filter asks for that."""
        if record.comm == UNNAMED:
            return True
        return self._needs_homes and store.cgroups.path_of(record.pid, record.ts, record.seq) is None

    def _give_up_waiting(self) -> None:
        """Whoever has no name now has none later."""
        self._since, store = None, self._watch.store
        if store is None:
            return
        if len(self._nameless) > _MOST_NAMELESS:
            self._nameless.clear()
        records = map(store.record, range(max(self._next_seq, store.first_seq), store.next_seq))
        self._nameless.update(record.pid for record in records if self._is_unknown(store, record))

    def _new(self) -> None:
        store = self._watch.store
        if store is None:
            return
        if self._count is not None:
            self.number = self._count()
            return
        if self._next_seq < store.first_seq:
            self._watch.unshown += store.first_seq - self._next_seq
            self._next_seq = store.first_seq
        for seq in range(self._next_seq, store.next_seq):
            if self.enough:
                break
            record = store.record(seq)
            self._next_seq = seq + 1
            # Where events are missing is said whatever was asked for, by a stack without its event too.
            if record.event in self._events or is_mark(record):
                if self._passing.gives(record):
                    self._show(record)
                self.number = self._number()
            elif is_stack(record) and self._passing.shows(record):
                self._show(record)
