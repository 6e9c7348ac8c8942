"""Print events one by one in their order, each with the name of its task if the kernel knows it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from events.export.filtered import ExportFilter
from events.record import Record
from events.stacks.stack import is_stack
from events.store.outage_mark import is_mark
from events.text import UNNAMED
from kernel.errors import TargetLost
from kernel.watch.watch import Watch
from tui.cli.follow.signals import signals_deferred

if TYPE_CHECKING:
    from events.store.store import Store
    from tui.cli.follow.command_run import CommandRun
    from tui.filter.filter import Filter

_NAMES_AFTER = 0.25
"""Seconds that events of unnamed tasks wait before the kernel is asked for names.

It learns a name when the task leaves the CPU (trace_taskinfo_save of kernel/trace/trace_sched_switch.c), soon after
the event.
"""
_MOST_WAITING = 1 << 14
"""Events that may wait for names; more are printed without, as waiting ones may be dropped for later events."""
_MOST_NAMELESS = 1 << 12


class EventPrinter:
    """Progress of printing, or counting, the events of a watch."""

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
        command: CommandRun | None = None,
    ) -> None:
        """Set what to print.

        Args:
            watch: source of the events.
            most: number of events to print; 0: all.
            events: paths of the wanted events.
            show: prints one event.
            count: counts new events instead of printing them; returns the number of events counted in all.
            passing: filter, which counts the events that pass; None: there is no filter.
            number: returns the number that `most` limits; None: the events that passed.
            chosen: condition of the filter, which may need names or cgroups.
            command: command whose output is printed between the events; None: there is none.
        """
        self.command = command
        self.awaits_output = False
        """True while events wait for older output of the command, which may be on its way."""
        self.number = 0
        self._passing = passing or ExportFilter()
        self._number = number or (lambda: self._passing.number)
        self._needs_cgroups = chosen is not None and chosen.of_cgroups
        self._needs_names = self._needs_cgroups or (chosen is not None and chosen.of_tasks)
        self._watch = watch
        self._most = most
        self._events = events
        self._show = show
        self._count = count
        self._next_seq = 0
        self._checked_until = 0
        """First sequence number not yet checked for a name."""
        self._since: float | None = None
        """Time at which the first unnamed event came, by time.monotonic(); None: none did since names were read."""
        self._looked_at = 0.0
        """Time at which counted events were looked at for names, by time.monotonic()."""
        self._nameless: set[int] = set()
        """Tasks whose names the kernel did not know when asked: their events wait no more."""

    @property
    def _limited(self) -> bool:
        """True if one command is recorded alone: stacks without an event are of other tasks."""
        return self.command is not None and self.command.limits_tasks

    @property
    def has_reached_count(self) -> bool:
        return bool(self._most) and self.number >= self._most

    @property
    def waiting(self) -> bool:
        """True while events wait for the names of their tasks."""
        return self._since is not None and not self._counts_unnamed

    @property
    def is_held_back(self) -> bool:
        """True while names are awaited, or older output of a command: then tick again soon."""
        return self._since is not None or self.awaits_output

    @property
    def wants_names(self) -> bool:
        """True if events have waited long enough: the kernel is to be asked for names."""
        return self._since is not None and time.monotonic() - self._since >= _NAMES_AFTER

    def learn_names(self) -> None:
        """Ask the kernel for names, and print all events that have their row by now."""
        self._ask()
        with signals_deferred():
            self._give_up_waiting()
            self._print_new()

    def tick(self) -> None:
        """Print new events, of a part of those received."""
        with signals_deferred():
            self._watch.tick(0.0)  # new events are printed before later ones could displace them
            if not self._has_to_wait():
                self._print_new()

    def learn_last_names(self) -> None:
        """Ask the kernel for the names of all events that were counted."""
        if self._count is not None and self._can_learn_names:
            self._ask()

    def finish(self) -> None:
        """Print all events that were read, including those in a queue or waiting for other CPUs; nothing may
        follow.
        """
        with signals_deferred():
            self._watch.end_reading()
            if self._can_learn_names:
                self._ask()
        while True:
            with signals_deferred():
                self._watch.tick(0.0)
                self._print_new(is_last=True)
            if self.has_reached_count or not self._watch.intake.has_backlog:
                break
        with signals_deferred():
            if self._watch.store is not None:
                self._watch.store.flush()
            self._print_new(is_last=True)

    @property
    def _can_learn_names(self) -> bool:
        """True while a live kernel may learn names; a recording already has all it will have."""
        return not self._watch.info.holds_events and self._watch.error is None

    @property
    def _counts_unnamed(self) -> bool:
        """True if events are counted whether their tasks have names or not: a table looks for names at its end."""
        return self._count is not None and not self._needs_names

    def _ask(self) -> None:
        with contextlib.suppress(TargetLost):  # the pump reports a lost connection
            self._watch.intake.know_names(self._watch.names(cgroups=self._needs_cgroups))

    def _has_to_wait(self) -> bool:
        """Tell whether a new event lacks a name that may still be learned; then all events wait, to keep their
        order, unless they are counted.
        """
        store = self._watch.store
        if self._counts_unnamed:
            self._look_for_unnamed()
            return False
        if store is None or not self._can_learn_names or self._are_too_many(store):
            self._since = None
            return False
        if self._since is None and any(self._lacks_name(store, seq) for seq in self._unchecked(store)):
            self._since = time.monotonic()
        self._checked_until = store.next_seq
        return self.waiting

    def _look_for_unnamed(self) -> None:
        """Look whether counted events lack names, now and then: to look at each takes half as long as to count it."""
        now = time.monotonic()
        if self._since is None and self._can_learn_names and now - self._looked_at >= _NAMES_AFTER:
            self._looked_at = now
            if self._watch.intake.lacks_names():
                self._since = now

    def _are_too_many(self, store: Store) -> bool:
        """Tell whether so many events wait that later ones could displace them from the store."""
        new = store.next_seq - self._next_seq
        return new > _MOST_WAITING or new * store.bytes > len(store) * store.limit_bytes // 2

    def _unchecked(self, store: Store) -> range:
        return range(max(self._checked_until, store.first_seq), store.next_seq)

    def _lacks_name(self, store: Store, seq: int) -> bool:
        record = store.record(seq)
        return record.event in self._events and record.pid not in self._nameless and self._is_unknown(store, record)

    def _is_unknown(self, store: Store, record: Record) -> bool:
        """Tell whether an event's task has no name yet, or no known cgroup where the filter needs one."""
        if record.comm == UNNAMED:
            return True
        return self._needs_cgroups and store.cgroups.path_of(record.pid, record.ts, record.seq) is None

    def _give_up_waiting(self) -> None:
        """Mark tasks that are still unnamed: their names will not come any more."""
        self._since, store = None, self._watch.store
        if store is None or self._counts_unnamed:
            return
        if len(self._nameless) > _MOST_NAMELESS:
            self._nameless.clear()
        records = map(store.record, range(max(self._next_seq, store.first_seq), store.next_seq))
        self._nameless.update(record.pid for record in records if self._is_unknown(store, record))

    def _print_new(self, *, is_last: bool = False) -> None:
        """Print events that have their row; `is_last`: those, too, before which output of a command may come."""
        store = self._watch.store
        if store is None:
            return
        if self._count is not None:
            self.number = self._count()
            self._next_seq = store.next_seq
            return
        if self._next_seq < store.first_seq:
            self._watch.evicted += store.first_seq - self._next_seq
            self._next_seq = store.first_seq
        self.awaits_output, many = False, self.command is not None and self._are_too_many(store)
        for seq in range(self._next_seq, store.next_seq):
            if self.has_reached_count:
                break
            record = store.record(seq)
            if self.command is not None:
                self.awaits_output = self.command.holds_back(record.ts) and not (is_last or many)
                if self.awaits_output:
                    break
                self.command.print_before(record.ts)
            self._next_seq = seq + 1
            # A mark for missing events is printed whatever was requested; a stack may come without its event.
            if record.event in self._events or is_mark(record):
                if self._passing.gives(record):
                    self._show(record)
                self.number = self._number()
            elif is_stack(record) and self._passing.shows(record) and not self._limited:
                self._show(record)
