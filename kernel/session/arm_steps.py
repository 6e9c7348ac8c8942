"""The steps that bring one probe's events into the kernel, each with its way back; which of them is on, and how."""

from __future__ import annotations

import contextlib
import enum
import errno
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from events.format import EventFormat, FormatError, parse_format
from kernel.agent.journal import outlives
from kernel.cleanup.owner import GROUP_PREFIX, INSTANCE_PREFIX
from kernel.cleanup.undo import UndoFailure, UndoList
from kernel.errors import FileRefused, KernelError
from kernel.guards.rate_meter import RateMeter
from kernel.session.rejection import refused
from kernel.session.stack_triggers import REMOVAL, records_stacks, within_filter
from kernel.session.trampoline_guard import refuse_second_start, started
from kernel.target import Step, Target
from kernel.tracefs import Instance, LogEntry, Tracefs
from probes.hist.trigger import is_of_another
from probes.plans.plan import Plan, PlannedEvent

_STACK_EVENTS = ("ftrace/kernel_stack", "ftrace/user_stack")
"""What triggers such as `stacktrace` put into the buffer beside the event."""


class Mode(enum.Enum):
    """What an armed probe does."""

    RECORD = "record"
    COUNT = "count only"
    """The kernel counts its hits; nothing is recorded."""
    OFF = "stopped"
    """It is defined and does nothing."""


@dataclass(slots=True, eq=False)
class ProbeSteps:
    """What one armed probe does, and the ways back from it."""

    defined: UndoList
    counted: UndoList
    """The triggers of our own that count hits: they keep an event busy."""
    enabled: UndoList
    name: str = ""
    """Begin of the names of its own histograms; no other probe of any session has it."""
    mode: Mode = Mode.OFF
    triggers: list[tuple[PlannedEvent, str]] = field(default_factory=list)
    """Triggers of its events, the oldest first."""
    by_hand: list[tuple[PlannedEvent, str]] = field(default_factory=list)
    """Those of them that are not its plan's and are to stay: where it is armed anew it gets them again."""
    made: list[PlannedEvent] = field(default_factory=list)
    """Events beside its plan's, which its triggers fire."""

    @property
    def stuck(self) -> bool:
        """Whether something could not be taken away."""
        return bool(self.enabled or self.counted or self.defined)

    def stack_triggers(self, event: PlannedEvent) -> list[str]:
        """Return those of its triggers that record stacks of an event."""
        return [text for one, text in self.triggers if one.path == event.path and records_stacks(text)]

    def know(self, events: Sequence[PlannedEvent]) -> None:
        """Take its events as they are now, with other filters."""
        now = {event.path: event for event in events}
        for triggers in (self.triggers, self.by_hand):
            triggers[:] = [(now.get(event.path, event), text) for event, text in triggers]

    def switch_off(self) -> list[UndoFailure]:
        """Events off, counts off; what is defined stays."""
        return self.enabled.run() + self.counted.run()

    def only(self, mode: Mode) -> list[UndoFailure]:
        """Take back what a mode does not need, half of it or all."""
        failures = self.enabled.run() if mode is not Mode.RECORD else []
        return failures + (self.counted.run() if mode is not Mode.COUNT else [])


class ArmSteps:
    """Makes events on one target, and switches them in one instance."""

    def __init__(self, target: Target, tracefs: Tracefs, instance: Instance, long_size: int) -> None:
        self._target = target
        self._tracefs = tracefs
        self._instance = instance
        self._long_size = long_size
        self._group = GROUP_PREFIX + instance.path.rpartition(INSTANCE_PREFIX)[2]
        self._numbers = itertools.count()

    def holding(self) -> ProbeSteps:
        """For a probe of which nothing is there yet."""
        name = f"{self._group}__{next(self._numbers)}"
        return ProbeSteps(UndoList(self._target), UndoList(self._target), UndoList(self._target), name)

    def define(self, plan: Plan, undo: UndoList) -> None:
        """Make the events, with all their probes. Raises ProbeRefused, TargetLost."""
        for event in plan.events:
            line = event.line
            if not line:
                continue  # an event of the kernel's own
            try:
                remove = self._tracefs.define(event.remove)
                self._refuse_taken(event, remove)
                undo.do(self._tracefs.define(line), remove)
                self._tell_apart(event, remove, undo)
                for line in event.more:  # what removes the event removes them too
                    self._target.perform(self._tracefs.define(line))
            except FileRefused as error:
                raise refused(line, error, _log(self._tracefs)) from None

    def _refuse_taken(self, event: PlannedEvent, remove: Step) -> None:
        """Raise ProbeRefused for a synthetic event whose name a person chose and someone has taken.

        The kernel refuses it too, but until we hear of it the way back stands on the far side, and would take theirs.
        """
        if event.line.startswith("s:") and outlives(remove.path.encode(), remove.data) and self._listed(event):
            raise refused(event.line, FileRefused(remove.path, errno.EEXIST), ())

    def _listed(self, event: PlannedEvent) -> str:
        """Its line in the list of the kernel, of several the newest; empty: there is none."""
        head = f"{event.line.partition(':')[0]}:{event.path}"
        lines = self._tracefs.read("dynamic_events").splitlines()
        return next((line for line in reversed(lines) if line.split()[:1] == [head]), "")

    def _tell_apart(self, event: PlannedEvent, remove: Step, undo: UndoList) -> None:
        """An event whose name is not ours alone is taken away only as long as it is the one that was made here."""
        if not outlives(remove.path.encode(), remove.data):
            return
        if line := self._listed(event):
            undo.amend(remove, remove._replace(expects=line.encode()))

    def set_filters(self, plan: Plan, undo: UndoList) -> None:
        """A filter goes with our event; on one of the kernel's own it would stay. Raises ProbeRefused, TargetLost."""
        for event in plan.events:
            if not event.filter:
                continue
            effect = self._instance.filter(event.path, event.filter)
            try:
                if event.line:
                    self._target.perform(effect)
                else:
                    undo.do(effect, self._instance.filter(event.path, "0"))
            except FileRefused as error:
                raise refused(event.filter, error, _log(self._instance)) from None

    def change_filters(self, before: Plan, after: Plan, holding: ProbeSteps) -> None:
        """Give events that are on other filters, one after the other; where one is refused all are as before.

        Triggers that record stacks get them as well. What is only counted is counted from 0 on.

        Raises ProbeRefused, TargetLost.
        """
        begun: list[PlannedEvent] = []
        for old, new in zip(before.events, after.events, strict=True):
            if old.filter == new.filter:
                continue
            # Also the one that is refused: a kernel that can't read a filter has dropped the one there was
            # (apply_event_filter).
            begun.append(old)
            try:
                self._change_filter(new, holding)
            except FileRefused as error:
                said = refused(new.filter, error, _log(self._instance))
                for back in reversed(begun):
                    with contextlib.suppress(KernelError):  # why the filter was refused is what is to be told
                        self._change_filter(back, holding)
                raise said from None
        if begun and holding.counted:  # a trigger keeps the filter that it was written with
            self._count_anew(before.events, after.events, holding)
        holding.know(after.events)

    def _count_anew(self, before: Sequence[PlannedEvent], after: Sequence[PlannedEvent], holding: ProbeSteps) -> None:
        """Count what passes other filters; where that is refused nothing changes. Raises ProbeRefused, TargetLost."""
        holding.counted.run()
        try:
            self._count(after, holding)
        except FileRefused as error:
            said = refused(next(event.filter for event in after if event.filter), error, _log(self._instance))
            for event in before:
                with contextlib.suppress(KernelError):
                    self._change_filter(event, holding)
            with contextlib.suppress(KernelError):
                holding.counted.run()
                self._count(before, holding)
            raise said from None

    def _change_filter(self, event: PlannedEvent, holding: ProbeSteps) -> None:
        texts = holding.stack_triggers(event) if holding.mode is Mode.RECORD else []
        for _ in texts:  # what takes them back stays in its list
            with contextlib.suppress(FileRefused):  # it went when the other filter was refused
                self._target.perform(self._instance.trigger(event.path, REMOVAL))
        try:
            self._target.perform(self._instance.filter(event.path, event.filter or "0"))
        except FileRefused:
            texts.clear()  # the filter that is set again brings them back
            raise
        finally:
            for text in texts:
                self._target.perform(self._instance.trigger(event.path, within_filter(text, event.filter)))

    def add_trigger(self, event: PlannedEvent, text: str, holding: ProbeSteps) -> None:
        """A trigger keeps its event busy and has to be taken away; one that clears another is not there afterwards.

        One that records stacks is written when its event is recorded, see `kernel.session.stack_triggers`.
        Raises ProbeRefused, TargetLost.
        """
        if records_stacks(text):
            if holding.mode is Mode.RECORD:
                self._record_stacks(event, text, holding)
            holding.triggers.append((event, text))
            return
        effect, undo = self._instance.trigger(event.path, text), self._instance.trigger(event.path, f"!{text}")
        changes = is_of_another(text)  # and its way back would take that histogram away
        try:
            if changes:
                self._target.perform(effect)
            else:
                holding.defined.do(effect, undo)
        except FileRefused as error:
            raise refused(text, error, _log(self._instance)) from None
        if not changes:
            holding.triggers.append((event, text))

    def _record_stacks(self, event: PlannedEvent, text: str, holding: ProbeSteps) -> None:
        own = within_filter(text, event.filter)
        try:
            effect = self._instance.trigger(event.path, own)
            holding.enabled.do(effect, self._instance.trigger(event.path, REMOVAL))
        except FileRefused as error:
            raise refused(own, error, _log(self._instance)) from None

    def remove_trigger(self, event: PlannedEvent, text: str, holding: ProbeSteps) -> None:
        """Take one away; what is not there is no error. Raises FileRefused, TargetLost."""
        # By its path: the event may have another filter by now.
        there = next((one for one in holding.triggers if (one[0].path, one[1]) == (event.path, text)), None)
        if there is not None:
            step = self._instance.trigger(event.path, REMOVAL if records_stacks(text) else f"!{text}")
            try:
                self._target.perform(step)
            except FileRefused as error:
                if error.errno != errno.ENOENT:
                    raise
            holding.triggers.remove(there)
            if there in holding.by_hand:
                holding.by_hand.remove(there)
            holding.defined.forget(step)
            holding.enabled.forget(step)

    def enable(self, plan: Plan, undo: UndoList) -> None:
        """Switch its events on, in our instance only. Raises ProbeRefused, TargetUnusable, TargetLost."""
        # The exit first: an exit without an entry is seen to be one, an entry without an exit is not.
        for event in reversed([event for event in plan.events if event.recorded]):
            follows = event.at_exit and event.line.startswith("f")
            if follows:
                refuse_second_start(self._target, self._tracefs)
            try:
                undo.do(self._instance.enable(event.path, True), self._instance.enable(event.path, False))
            except FileRefused as error:
                # Since Linux 6.17 an fprobe is registered only here, and error_log says nothing.
                raise refused(event.line, error, ()) from None
            if follows:
                started(self._target)

    def switch(self, plan: Plan, holding: ProbeSteps, mode: Mode) -> list[UndoFailure]:
        """From any mode to another; what is defined stays, so that nothing in the buffer is lost.

        Where it is refused, a part of it may be done: see `ProbeSteps.only`.

        Raises:
            ProbeRefused: it could not be switched on.
            FileRefused: this kernel can't count.
            TargetUnusable: this kernel may not outlive it (`kernel.session.trampoline_guard`).
            TargetLost: the line is gone.
        """
        # The new way before the old one ends: an event that is in use all the time is not patched out and in again.
        # By the mode, not by what is to be undone: one of its events may be on that could not be switched off.
        if mode is Mode.RECORD and holding.mode is not Mode.RECORD:
            self.enable(plan, holding.enabled)
            for event, text in holding.triggers:
                if records_stacks(text):
                    self._record_stacks(event, text, holding)
        if mode is Mode.COUNT and not holding.counted:
            self._count(plan.events, holding)
        failures = holding.only(mode)
        holding.mode = mode
        return failures

    def _count(self, events: Sequence[PlannedEvent], holding: ProbeSteps) -> None:
        """Have the kernel count hits, and those that pass a filter. Raises FileRefused, TargetLost."""
        meter = RateMeter(self._instance, holding.counted, holding.name)
        meter.start([event for event in events if event.recorded])

    def read_formats(self, plan: Plan, *, stacks: bool = False) -> dict[int, EventFormat]:
        """Of its events, by id; `stacks`: and of what triggers put beside them. Raises FileRefused, TargetLost."""
        events = [event for event in plan.events if event.recorded]
        texts = {event.path: self._instance.read(f"events/{event.path}/format") for event in events}
        if stacks or any(records_stacks(text) for event in plan.events for text in event.triggers):
            for path in _STACK_EVENTS:
                with contextlib.suppress(FileRefused):
                    texts[path] = self._tracefs.read(f"events/{path}/format")
        found: dict[int, EventFormat] = {}
        for path, text in texts.items():
            with contextlib.suppress(FormatError):  # the store counts its records as undecodable
                parsed = parse_format(text, path.split("/")[0], self._long_size)
                found[parsed.id] = parsed
        return found


def _log(place: Instance) -> list[LogEntry]:
    try:
        return place.error_log()
    except FileRefused:
        return []
