"""A session: probes armed in a trace instance of its own, and the way back from each step.

Group `pw_<owner>` and instance `probewright-<owner>` carry the owner's name, so that what a dead session left can be
told from what a living one holds (`kernel.leftovers`).
"""

from __future__ import annotations

import contextlib
import errno
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType
from typing import NamedTuple

from events.format import EventFormat, FormatError, HeaderPage, parse_format
from events.subbuffer import events_in
from kernel.counts import Counts, LossCounter
from kernel.errors import FileRefused, KernelError, TargetUnusable
from kernel.owner import GROUP_PREFIX, INSTANCE_PREFIX
from kernel.pump import Pump
from kernel.refusal import refused
from kernel.settings import configure, leave_out
from kernel.sharing import refuse_joining, removals, shared
from kernel.target import Effect, Step, Target
from kernel.tracefs import Instance, LogEntry, Tracefs
from kernel.undo import UndoFailure, UndoList
from probes.plan import Plan, PlannedEvent

_MOST_SESSIONS = 64
"""Of one process on one target."""

_STACK_EVENTS = ("ftrace/kernel_stack", "ftrace/user_stack")
"""What triggers such as `stacktrace` put into the buffer beside the event."""


@dataclass(frozen=True, slots=True, eq=False)
class Armed:
    """One armed probe; equal only to itself."""

    plan: Plan
    formats: Mapping[int, EventFormat] = field(repr=False)
    """Of its events, by id. A kernel may give the id of a removed event to the next one that is made."""


class _Holding(NamedTuple):
    """The ways back from one armed probe."""

    defined: UndoList
    enabled: UndoList


class Session:
    """Made by `open_session`; close it, or use it in a with block. Calls may come from any thread."""

    def __init__(
        self, target: Target, tracefs: Tracefs, instance: Instance, undo: UndoList, pump: Pump, header: HeaderPage
    ) -> None:
        self.target = target
        self.instance = instance
        self.group = GROUP_PREFIX + instance.path.rpartition(INSTANCE_PREFIX)[2]
        """For `probes.lowering.lower`."""
        self.header = header
        """Layout of the sub-buffers."""
        self.pump = pump
        """Bytes of all CPUs; runs from the start."""
        self.follows_forks = False
        """Whether threads and children of our processes are kept out of the instance by themselves."""
        self._tracefs = tracefs
        self._undo = undo
        self._lock = threading.RLock()
        self._armed: dict[Armed, _Holding] = {}
        self._stuck: list[_Holding] = []
        self._formats: dict[int, EventFormat] = {}
        self._losses = LossCounter(tracefs, instance)
        self._closed = False

    @property
    def armed(self) -> tuple[Armed, ...]:
        """Oldest first."""
        return tuple(self._armed)

    def arm(self, plan: Plan) -> Armed:
        """Define the events of a plan, set filters and triggers, and switch them on, in our instance only.

        Raises:
            ProbeRefused: the kernel said no; everything of this plan is undone.
            FileRefused: a file of the new events could not be read; undone as well.
            TargetLost: the far side undoes what it was told to guard.
        """
        with self._lock:
            if self._closed:
                raise TargetUnusable("the session is closed")
            refuse_joining(plan, [armed.plan for armed in self._armed])
            holding = _Holding(UndoList(self.target), UndoList(self.target))
            try:
                leave_out(self.target, self.instance, append=self.follows_forks)
                for event in plan.events:
                    self._define(event, holding.defined)
                armed = Armed(plan, MappingProxyType(self._read_formats(plan)))
                for event in plan.events:
                    self._condition(event, holding.defined)
                # The exit first: an exit without an entry is seen to be one, an entry without an exit is not.
                for event in reversed(plan.events):
                    self._enable(event, holding.enabled)
            except BaseException:
                # The way every probe goes: removing an event empties the buffer, and others have events in it.
                self._remove([holding])
                raise
            self._armed[armed] = holding
            self._formats |= armed.formats
            return armed

    def disarm(self, armed: Armed) -> list[UndoFailure]:
        """Switch off, let the pump read what is in the buffers, then remove the events.

        Returns the steps that failed; close() tries them again. A probe that is not armed any more is no error.
        """
        with self._lock:
            if armed not in self._armed:
                return []
            missed: dict[str, int | None] = {}
            with contextlib.suppress(KernelError):
                missed = self._losses.missed(armed.plan.events)
            failures = self._leave_shared(armed)
            failures += self._remove([self._armed.pop(armed)])
            with contextlib.suppress(KernelError):
                self._losses.remember(armed.plan.events, missed)
            return failures

    def formats(self) -> Mapping[int, EventFormat]:
        """Formats of all events that were ever armed, by id; a later event replaces an earlier one of the same id."""
        return MappingProxyType(dict(self._formats))

    def cmdlines(self) -> dict[int, str]:
        """Names of tasks, as far as the kernel remembers them: pid -> comm. Raises FileRefused, TargetLost."""
        return self._tracefs.saved_cmdlines()

    def counts(self) -> Counts:
        """What was lost since the session began. Raises TargetLost."""
        with self._lock:
            events = [event for armed in self._armed for event in armed.plan.events]
            return self._losses.counts(events, self.pump)

    def close(self) -> list[UndoFailure]:
        """Disarm everything and remove the instance; every step is tried. Empty: nothing is left.

        Safe to call twice: a second call tries what failed in the first.
        """
        with self._lock:
            self._closed = True
            holdings = list(self._armed.values()) + self._stuck
            self._armed.clear()
            self._stuck.clear()
            failures = self._remove(holdings)
            # An open trace_pipe_raw keeps the instance as a held file does.
            self.pump.close()
            return failures + self._undo.run()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _leave_shared(self, armed: Armed) -> list[UndoFailure]:
        """Take a probe's part of events that others have too; the events stay for those, and so does what fails."""
        failures: list[UndoFailure] = []
        holding = self._armed[armed]
        for one in shared([other.plan for other in self._armed], list(self._armed).index(armed)):
            step = self._tracefs.define(one.event.remove)
            try:
                for step in removals(self._tracefs, one):
                    self.target.perform(step)
            except KernelError as error:
                failures.append(UndoFailure(step, error))
            with contextlib.suppress(KernelError):  # the far side then does it twice, which does no harm
                holding.enabled.forget(self.instance.enable(one.event.path, False))
                holding.defined.forget(self._tracefs.define(one.event.remove))
        return failures

    def _define(self, event: PlannedEvent, undo: UndoList) -> None:
        line = event.line
        try:
            undo.do(self._tracefs.define(line), self._tracefs.define(event.remove))
            for line in event.more:  # what removes the event removes them too
                self.target.perform(self._tracefs.define(line))
        except FileRefused as error:
            raise refused(line, error, _log(self._tracefs)) from None

    def _condition(self, event: PlannedEvent, undo: UndoList) -> None:
        """Filter and triggers. A filter goes with its event; a trigger keeps it busy and has to be taken away."""
        text = event.filter
        try:
            if text:
                self.target.perform(self.instance.filter(event.path, text))
            for text in event.triggers:
                undo.do(self.instance.trigger(event.path, text), self.instance.trigger(event.path, f"!{text}"))
        except FileRefused as error:
            raise refused(text, error, _log(self.instance)) from None

    def _enable(self, event: PlannedEvent, undo: UndoList) -> None:
        try:
            undo.do(self.instance.enable(event.path, True), self.instance.enable(event.path, False))
        except FileRefused as error:
            # Since Linux 6.17 an fprobe is registered only here, and error_log says nothing.
            raise refused(event.line, error, ()) from None

    def _read_formats(self, plan: Plan) -> dict[int, EventFormat]:
        texts = {event.path: self.instance.read(f"events/{event.path}/format") for event in plan.events}
        if any(event.triggers for event in plan.events):
            for path in _STACK_EVENTS:
                with contextlib.suppress(FileRefused):
                    texts[path] = self._tracefs.read(f"events/{path}/format")
        found: dict[int, EventFormat] = {}
        for path, text in texts.items():
            with contextlib.suppress(FormatError):  # the store counts its records as undecodable
                parsed = parse_format(text, path.split("/")[0], self.header.long_size)
                found[parsed.id] = parsed
        return found

    def _remove(self, holdings: list[_Holding]) -> list[UndoFailure]:
        """Switch off first, all of them; then let the pump read on, for removing an event empties our buffer."""
        if not holdings:
            return []
        failures = [failure for holding in reversed(holdings) for failure in holding.enabled.run()]
        self.pump.settle()
        with contextlib.suppress(KernelError):
            self._losses.look()
        failures += [failure for holding in reversed(holdings) for failure in holding.defined.run()]
        self._stuck += [holding for holding in holdings if holding.enabled or holding.defined]
        return failures


def open_session(target: Target, *, buffer_kb: int | None = None, limit_bytes: int = 64 << 20) -> Session:
    """Make our trace instance and start to read it.

    Args:
        target: a kernel.
        buffer_kb: size of the ring buffer of each CPU in KB; None: as the kernel makes it.
        limit_bytes: of sub-buffers that wait in our own queue.

    Raises:
        TargetUnusable: nothing can be armed there; carries the troubles of its facts.
        TargetLost: it went away meanwhile.
    """
    _require_usable(target)
    tracefs = Tracefs(target, target.facts().tracefs)
    undo = UndoList(target)
    pump: Pump | None = None
    try:
        instance = _make_instance(target, tracefs, undo)
        target.hold(instance.file("tracing_on"))
        follows_forks = configure(target, instance, buffer_kb)
        pump = Pump(target.stream(instance.path), limit_bytes)
        # Behind the stream, which may have set the size of the sub-buffers.
        header = HeaderPage.parse(instance.header_page(), target.facts().byteorder)
        pump.events_in = lambda chunk: events_in(chunk, header)
        session = Session(target, tracefs, instance, undo, pump, header)
        session.follows_forks = follows_forks
        pump.start()
        leave_out(target, instance, append=False)
        return session
    except BaseException as error:
        if pump:
            pump.close()
        undo.run()
        if isinstance(error, FileRefused | FormatError):
            raise TargetUnusable(f"{target.name}: {error}", troubles=target.facts().troubles) from error
        raise


def _require_usable(target: Target) -> None:
    facts = target.facts()
    if not facts.usable or not target.owner:
        fatal = [trouble for trouble in facts.troubles if trouble.fatal]
        why = "; ".join(trouble.what for trouble in fatal) or "it is not a living kernel"
        raise TargetUnusable(f"{target.name}: {why}", fatal[0].remedy if fatal else "", facts.troubles)


def _make_instance(target: Target, tracefs: Tracefs, undo: UndoList) -> Instance:
    """Make it under the first name of this owner that is free."""
    for number in range(1, _MOST_SESSIONS + 1):
        suffix = f"_{number}" if number > 1 else ""
        instance = tracefs.instance(f"{INSTANCE_PREFIX}{target.owner}{suffix}")
        try:
            undo.do(Step(Effect.MKDIR, instance.path), Step(Effect.RMDIR, instance.path))
            return instance
        except FileRefused as error:
            if error.errno != errno.EEXIST:
                raise
    raise TargetUnusable(f"{target.name}: this process has {_MOST_SESSIONS} sessions there")


def _log(place: Instance) -> list[LogEntry]:
    try:
        return place.error_log()
    except FileRefused:
        return []
