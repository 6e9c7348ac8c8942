"""Histograms that the kernel keeps of armed probes while nothing of them is recorded.

Where events come too fast to be read, the kernel can count what they hold. The probe is switched to counting
(`Mode.COUNT`), then its events get `hist` triggers (`probes.hist.kept`); each has its undo with the probe. When that
is done and taken back is decided by `kernel.watch.counting_states`; this module performs its steps.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from events.summary.hist_text import Histogram
from kernel.errors import FileRefused, KernelError, TargetLost, TargetUnusable
from kernel.session.armed import Armed
from kernel.session.probe_steps import Mode
from kernel.session.session import Session
from kernel.watch.armed_set import ArmedSet
from kernel.watch.counting_states import (
    CountingState,
    Phase,
    RemoveTriggers,
    SessionProbe,
    Step,
    SwitchMode,
    WriteTriggers,
    ZeroCounts,
    next_step,
)
from kernel.watch.hist_tables import histograms_of
from probes.bpf.lower import no_tracefs_note
from probes.hist.kept import HistogramTriggers, WatchedHistogram, is_listed_as, plan_histograms
from probes.plans.plan import PlannedEvent
from probes.remedies import BY_TRACEFS, COUNT_RECORDED

_CLOCK = re.compile(r"\[([\w-]+)\]")


class HistogramReading(NamedTuple):
    """Current content of a histogram."""

    watched: WatchedHistogram
    histogram: Histogram


class _CountedField(NamedTuple):
    """A field whose values are counted, under whatever name its event has."""

    key: object
    """Key of the armed probe (`Armed.key`)."""
    event: int
    """Number in its plan."""
    name: str


class CountedSet(NamedTuple):
    """Probes to be counted, and the fields whose values are."""

    keys: frozenset[object]
    """`Armed.key` of the probes."""
    fields: tuple[_CountedField, ...]
    recording: bool
    """True: the probes go on with what they do beside."""


def counted_set(
    probes: Iterable[Armed], fields: Iterable[tuple[str, str]] = (), *, recording: bool = False
) -> CountedSet:
    """Return a request to count armed probes; `fields`: paths of events, each with the name of a field."""
    probes = tuple(probes)
    wanted = tuple(
        _CountedField(armed.key, number, name)
        for path, name in fields
        for armed in probes
        for number, event in enumerate(armed.plan.events)
        if event.path == path
    )
    return CountedSet(frozenset(armed.key for armed in probes), wanted, recording)


class Histograms:
    """Histograms of the probes of one watch (`Watch.histograms`).

    Every method waits for the kernel, and belongs into a worker; `phase` does not wait.
    """

    def __init__(self, armed: ArmedSet) -> None:
        self._armed = armed
        self.state = CountingState()
        """Replaced as a whole; any thread may look at it."""
        self._keeping: dict[object, HistogramTriggers] = {}
        """Triggers written for each `Armed.key`; a probe may get another filter, or another session."""
        self._fields: tuple[_CountedField, ...] = ()
        self._last: tuple[HistogramReading, ...] = ()
        self._failed: KernelError | None = None
        """Why they could not go on after the connection was back, or probes were armed again."""
        self._seen: Session | None = None
        """Session that the state is about."""
        self._changing = threading.RLock()
        armed.on_comeback = self._came_back

    @property
    def phase(self) -> Phase:
        """State of counting of what is armed now. Never waits."""
        return self.state.armed({armed.key for armed in self._armed.probes}).phase

    @property
    def counting(self) -> tuple[Armed, ...]:
        """Probes that only count, by our doing, and are still armed."""
        counted = self.state.counted
        return tuple(armed for armed in self._armed.probes if armed.key in counted)

    @property
    def wanted(self) -> CountedSet | None:
        """Probes that are to be counted, also those that are disarmed; None: counting is off. Never waits."""
        session, state = self._armed.session, self.state
        if isinstance(session, Session) and session is self._seen:
            state = state.seen(self._armed_now(session))
        request = state.request
        return CountedSet(request.keys, self._fields, request.recording) if request is not None else None

    @property
    def own_modes(self) -> tuple[Mode, ...]:
        """Modes that the counted probes have again when counting ends, the oldest first. Never waits."""
        armed = {armed.key for armed in self._armed.probes}
        return tuple(one.previous_mode or one.mode for one in self.state.armed(armed).requested)

    def is_counted(self, armed: Armed) -> bool:
        """Return whether a probe is to be counted. Never waits."""
        return (wanted := self.wanted) is not None and armed.key in wanted.keys

    def own_mode(self, armed: Armed, mode: Mode) -> Mode:
        """Return the mode that a probe has when it is no longer counted: by us, or else this one. Never waits."""
        kept = [probe.previous_mode for probe in self.state.probes if probe.key is armed.key and probe.mode is mode]
        return next((one for one in kept if one is not None), mode)

    def begin(
        self, probes: Sequence[Armed], fields: Sequence[tuple[str, str]] = (), *, recording: bool = False
    ) -> None:
        """Let the kernel count what some probes see, and record it no more; what is counted already starts anew.

        Where the connection is lost they begin anew by themselves when it is back.

        Args:
            probes: armed ones.
            fields: paths of events, each with the name of a field: count its values too.
            recording: the probes go on with what they do beside.

        Raises:
            ProbeRefused, FileRefused: this kernel does not take the triggers; the probes do what they did.
            TargetUnusable: it is a recording.
            TargetLost: the connection is lost.
        """
        self.count(counted_set(probes, fields, recording=recording))

    def count(self, wanted: CountedSet | None) -> None:
        """Count what was counted before (`wanted`), from 0 on; None: end. Raises as `begin`."""
        if wanted is None:
            self.end()
            return
        with self._changing:
            session = self._session()
            self._last, self._failed = (), None
            self._fields = wanted.fields
            self._look(session)
            self.state = self.state.count(wanted.keys, recording=wanted.recording)
            self._settle(session)

    def include(self, armed: Armed) -> None:
        """Count one probe more, while the counts of the others go on. Raises as `begin`."""
        with self._changing:
            session = self._session()
            self._look(session)
            self._settle(session)  # of one that was switched meanwhile the old counts go first
            self.state = self.state.include(armed.key)
            self._settle(session)

    def read(self) -> tuple[HistogramReading, ...]:
        """Read all histograms; those of a probe whose filter changed begin anew, with the new filter.

        While the connection is lost, return them as they were last read: the reader of events reports the loss.
        Raises ProbeRefused, FileRefused.
        """
        with self._changing:
            session = self._session()
            if (failed := self.take_failure()) is not None:
                raise failed
            try:
                self._look(session)
                self._settle(session)
                self._last = tuple(self._read(session))
            except TargetLost:
                self.state = self.state.disconnect()
            return self._last

    def take_failure(self) -> KernelError | None:
        """Return once why counting did not go on after probes were armed again; None: it did."""
        failed, self._failed = self._failed, None
        return failed

    def clear(self) -> None:
        """Count from 0 on. Raises ProbeRefused, FileRefused, TargetLost."""
        with self._changing:
            session = self._session()
            self._look(session)
            self.state = self.state.clear()
            self._settle(session)

    def end(self) -> None:
        """Keep them no more, and let the probes do what they did before.

        Raises ProbeRefused, FileRefused, TargetLost: it is done when the connection is back.
        """
        with self._changing:
            session = self._session()
            self._look(session)
            self.state = self.state.stop()
            self._settle(session)

    def _came_back(self) -> None:
        """Count again the probes that were armed again: in another session, or in this one."""
        with self._changing:
            try:
                session = self._session()
                self._look(session)
                self._settle(session)
            except TargetLost:
                pass  # once more, when that one is back
            except KernelError as error:
                self._failed = error

    def _look(self, session: Session) -> None:
        if self._seen is not session:
            # By the session, not by a call: whoever reads may meet the new one before `on_comeback` is called.
            self.state, self._seen = self.state.reconnect(), session
        self.state = self.state.seen(self._armed_now(session))

    def _armed_now(self, session: Session) -> list[SessionProbe]:
        """Return the armed probes, all as they are at one time."""
        while True:
            armed = session.probes.armed
            found = [
                SessionProbe(one.key, one.plan, session.probes.mode(one), self._has_triggers(session, one))
                for one in armed
            ]
            if session.probes.armed == armed:  # one that is disarmed meanwhile would seem to be switched off
                return found

    def _has_triggers(self, session: Session, armed: Armed) -> bool:
        """Return whether triggers that count a probe are there: who disarms a probe, for whatever reason, takes them
        away, and has not to know of counting.
        """
        keeping = self._keeping.get(armed.key)
        ours = {(event.path, text) for event, text in _triggers(keeping)} if keeping is not None else set()
        return any((event.path, text) in ours for event, text in session.probes.triggers(armed))

    def _settle(self, session: Session) -> None:
        """Perform steps until there is none. Raises TargetLost, or the first refusal when all is given back."""
        first: KernelError | None = None
        if not self.state.connected:
            raise TargetLost("the connection is lost; the request is done after reconnecting")
        while (step := next_step(self.state)) is not None:
            try:
                self._perform(session, step)
            except TargetLost:
                self.state = self.state.disconnect()
                raise
            except KernelError as error:
                first = first or error
                self.state = self.state.fail(step)
            else:
                self.state = self.state.done(step)
        if first is not None:
            raise first

    def _perform(self, session: Session, step: Step) -> None:
        armed = {one.key: one for one in session.probes.armed}
        if isinstance(step, SwitchMode):
            if step.key in armed:
                self._armed.switch(armed[step.key], step.mode)
        elif isinstance(step, WriteTriggers):
            self._write(session, [armed[key] for key in step.keys if key in armed])
        elif isinstance(step, ZeroCounts):
            self._zero(session, step.keys)
        elif isinstance(step, RemoveTriggers) and step.key in armed:
            written = self._keeping.get(step.key)
            for event, text in reversed(_triggers(written)) if written is not None else ():
                session.probes.remove_trigger(armed[step.key], event, text)

    def _write(self, session: Session, probes: Sequence[Armed]) -> None:
        """Write the triggers, in a pause of the instance (`kernel.session.pause_tracing`) with a gap in what is
        recorded.

        To write a trigger takes the kernel its time (it waits until no CPU is in one), and each counts from there on,
        also while nothing is recorded: all are set to 0 at the end, one right after the other.
        """
        for armed in probes:
            if armed.plan.by_programs:
                reason = self._armed.tracefs_refusal(armed)
                what = "the histograms of the kernel are of tracefs events"
                if reason:
                    raise TargetUnusable(no_tracefs_note(what, reason), COUNT_RECORDED)
                raise TargetUnusable(what, BY_TRACEFS)
        for armed in probes:
            self._keeping.pop(armed.key, None)  # a refusal before this one's triggers takes no others away
        clock = _CLOCK.search(session.instance.read("trace_clock"))
        with self._armed.pause(session):
            for armed in probes:
                mine = [one for one in self._fields if one.key is armed.key]
                fields = _of(armed, [(armed.plan.events[one.event].path, one.name) for one in mine])
                wanted = plan_histograms(
                    armed.plan, session.probes.events.name(armed), clock[1] if clock else "global", fields
                )
                self._keeping[armed.key] = wanted
                if wanted.synthetic is not None:
                    session.probes.events.add_event(armed, wanted.synthetic)
                for event, text in _triggers(wanted):
                    session.probes.add_trigger(armed, event, text, by_hand=False)
        with contextlib.suppress(FileRefused):  # then their beginnings are apart
            self._zero(session, [armed.key for armed in probes])

    def _zero(self, session: Session, keys: Iterable[object]) -> None:
        """Set the counts of probes to 0. Raises FileRefused, TargetLost."""
        for event, text in (kept for key in keys for kept in _triggers(self._keeping[key], timing=False)):
            session.probes.events.zero_histogram(event, text)

    def _read(self, session: Session) -> Iterator[HistogramReading]:
        texts: dict[str, tuple[Histogram, ...]] = {}
        taken: set[tuple[str, str]] = set()
        for armed in self.counting:
            for kept in self._keeping[armed.key].watched:
                path = kept.event.path
                if (path, kept.value) in taken:
                    continue  # an event that two probes share has the same counts twice
                taken.add((path, kept.value))
                if path not in texts:
                    try:
                        told = session.instance.read(f"events/{path}/hist")
                    except FileRefused:
                        if armed in session.probes.armed:
                            raise
                        break  # it was disarmed just now
                    texts[path] = histograms_of(session, path, told)
                yield from [
                    HistogramReading(kept, one) for one in texts[path] if is_listed_as(one.trigger, kept.trigger)
                ][:1]

    def _session(self) -> Session:
        session = self._armed.session
        if not isinstance(session, Session):
            raise TargetUnusable("there is no kernel here that could count")
        return session


def _triggers(wanted: HistogramTriggers, *, timing: bool = True) -> list[tuple[PlannedEvent, str]]:
    return [*((kept.event, kept.trigger) for kept in wanted.watched), *(wanted.timing if timing else ())]


def _of(armed: Armed, fields: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return the fields of events that the kernel can count: numbers and texts, no arrays."""
    formats = armed.formats.values()
    there = {(fmt.path, field.name) for fmt in formats for field in fmt.fields if field.count is None}
    return tuple(field for field in fields if field in there)
