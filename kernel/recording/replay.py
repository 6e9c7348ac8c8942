"""Replay a recording as a session: only recorded probes can be armed again, with no effect on a kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from events.batch import Batch
from events.format import EventFormat
from events.loss_counts import LossCounts
from events.recording.lines_in_time import timeline_with_lines
from events.recording.reader import Recording, RecordingError
from kernel.cleanup.undo import UndoFailure
from kernel.errors import KernelError, ProbeRefused, TargetUnusable
from kernel.guards.arm_progress import ArmProgress
from kernel.guards.limits import UNLIMITED, Limits
from kernel.recording.plans import readable_plans, recorded_plans
from kernel.session.armed import Armed
from kernel.session.probe_steps import Mode
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe
from probes.verdict import Refusal, Verdict


class ReplayPump:
    """Reader of the recorded batches, as fast as they are drained."""

    def __init__(self, timeline: Iterator[Batch | Mapping[int, EventFormat]]) -> None:
        self._timeline = timeline
        self.on_data: Callable[[], None] = lambda: None
        self.error: KernelError | None = None
        self.done = False
        """True once all batches are read."""
        self.is_quiet = True
        """True: no data is in transit."""

    def settle(self, *, patience: float = 0.0) -> bool:  # noqa: ARG002 - as of a kernel
        """Return at once, as no data is in transit."""
        return True

    def close(self) -> None:
        """Stop reading; no batch is queued."""
        self.done = True

    def drain(self, most_bytes: float = math.inf) -> list[Batch | Mapping[int, EventFormat]]:
        """Return the next batches and formats, about `most_bytes` of them; empty at the end."""
        entries: list[Batch | Mapping[int, EventFormat]] = []
        size = 0
        try:
            while size < most_bytes and not self.done:
                entry = next(self._timeline, None)
                if entry is None:
                    self.done = True
                    break
                entries.append(entry)
                if isinstance(entry, Batch):
                    size += sum(len(chunk.data) for chunk in entry.chunks)
        except RecordingError as error:
            self.done = True
            self.error = TargetUnusable(str(error), "what came before the damage is shown")
        if not self.done or entries:
            self.on_data()
        return entries


class ReplayProbes:
    """Probes of a recording; methods as in `kernel.session.armed_probes.ArmedProbes`."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._armed = list(self.recorded)

    @cached_property
    def recorded(self) -> tuple[Armed, ...]:
        """Probes armed during the recording. Raises TargetUnusable."""
        try:
            plans = recorded_plans(self._recording)
            by_path: dict[str, dict[int, EventFormat]] = {}
            for number, fmt in self._recording.formats.items():
                by_path.setdefault(fmt.path, {})[number] = fmt
            return tuple(Armed(plan, _formats(plan, by_path)) for plan in plans)
        except RecordingError as error:
            reason = f"{self._recording.name}: the probes of this recording are damaged ({error.reason})"
            raise TargetUnusable(reason) from error

    @property
    def armed(self) -> tuple[Armed, ...]:
        return tuple(self._armed)

    def arm(
        self,
        plan: Plan,
        limits: Limits = UNLIMITED,  # noqa: ARG002 - recorded probes can't change
        mode: Mode = Mode.RECORD,  # noqa: ARG002
        key: object | None = None,  # noqa: ARG002
        progress: ArmProgress | None = None,  # noqa: ARG002
    ) -> Armed:
        """Show a recorded probe again. Raises ProbeRefused if the recording does not contain it."""
        candidates = [armed for armed in self.recorded if armed.plan.probe.subject == plan.probe.subject]
        for armed in candidates:
            if _covers(armed.plan, plan):
                if armed not in self._armed:
                    self._armed.append(armed)
                return armed
        raise ProbeRefused(Verdict(str(plan.probe), self._refusal(plan, candidates)))

    def disarm(self, armed: Armed) -> list[UndoFailure]:
        """Remove a probe; its events stay."""
        if armed in self._armed:
            self._armed.remove(armed)
        return []

    def switch(self, armed: Armed, mode: Mode) -> list[UndoFailure]:  # noqa: ARG002 - no probe runs
        """Raise TargetUnusable."""
        raise TargetUnusable("a recording has no probe that could be switched")

    def mode(self, armed: Armed) -> Mode:  # noqa: ARG002 - equal for all
        return Mode.RECORD

    def add_trigger(self, armed: Armed, event: PlannedEvent, text: str) -> Mapping[int, EventFormat]:  # noqa: ARG002
        """Raise TargetUnusable."""
        raise TargetUnusable("a recording takes no triggers")

    def remove_trigger(self, armed: Armed, event: PlannedEvent, text: str) -> None:
        """Return without effect, as no trigger is active."""

    def triggers(self, armed: Armed) -> tuple[tuple[PlannedEvent, str], ...]:
        """Return the triggers of the recorded plan."""
        return tuple((event, text) for event in armed.plan.events for text in event.triggers)

    def by_hand(self, armed: Armed) -> tuple[tuple[PlannedEvent, str], ...]:  # noqa: ARG002
        """Return no triggers: those of the recording count as the plan's."""
        return ()

    def change_filters(self, armed: Armed, plan: Plan) -> Armed:  # noqa: ARG002
        """Raise TargetUnusable."""
        raise TargetUnusable("what was recorded has the filter that it was recorded with")

    def _refusal(self, plan: Plan, candidates: list[Armed]) -> Refusal:
        if candidates:
            hint = f"It holds {'; '.join(str(armed.plan.probe) for armed in candidates)}"
        else:
            names = sorted({armed.plan.probe.subject for armed in self.recorded})
            hint = f"It holds {', '.join(names) or 'no events'}; choose a live target to probe something else"
        return Refusal("not_recorded", "This recording does not hold that.", 0, plan.probe.subject, hint)


class ReplaySession:
    """Session on a recording (see the module); methods as in `kernel.session.session.Session`."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.group = "recorded"
        self.pump = ReplayPump(timeline_with_lines(self._recording))
        self.probes = ReplayProbes(self._recording)
        try:
            self.header = self._recording.header
            """Layout of the sub-buffers."""
            self._cmdlines = self._recording.cmdlines
        except RecordingError as error:
            raise TargetUnusable(str(error)) from error

    def resize(self, kb: int) -> int:  # noqa: ARG002 - there is no buffer
        """Raise TargetUnusable."""
        raise TargetUnusable("a recording has no buffer")

    @property
    def buffer_kb(self) -> int:
        return 0

    def cmdlines(self) -> dict[int, str]:
        return self._cmdlines

    def counts(self) -> LossCounts:
        """Return the losses during the recording. Raises TargetUnusable."""
        plain = self._recording.meta.get("counts", {})
        uncounted = {event.path: None for armed in self.probes.armed for event in armed.plan.events}
        try:
            return LossCounts(
                overrun={int(cpu): int(n) for cpu, n in dict(plain.get("overrun", {})).items()},
                full={int(cpu): int(n) for cpu, n in dict(plain.get("full", {})).items()},
                nmissed=uncounted | {str(path): n and int(n) for path, n in dict(plain.get("nmissed", {})).items()},
                dropped=int(plain.get("dropped", 0)),
                dropped_bytes=int(plain.get("dropped_bytes", 0)),
                read_errors=int(plain.get("read_errors", 0)),
            )
        except (AttributeError, TypeError, ValueError) as error:
            raise TargetUnusable(f"{self._recording.name}: the counts of this recording are damaged") from error

    def close(self) -> list[UndoFailure]:
        return []


def _formats(plan: Plan, by_path: Mapping[str, Mapping[int, EventFormat]]) -> Mapping[int, EventFormat]:
    """Return the formats of a plan's events by their ids."""
    found: dict[int, EventFormat] = {}
    for event in plan.events:
        found.update(by_path.get(event.path, {}))
    return found


def _covers(recorded: Plan, wanted: Plan) -> bool:
    """Return whether the recorded plan contains every requested event and value, with an equal filter."""
    if not isinstance(recorded.probe, Probe) or not isinstance(wanted.probe, Probe):
        return recorded.probe == wanted.probe
    one, other = recorded.probe, wanted.probe
    if one.needs_code or other.needs_code:
        return one == other
    if one.filter != other.filter or one.place.offset != other.place.offset:
        return False
    ends = {event.at_exit: event for event in recorded.events}
    return all(event.at_exit in ends and _labels(event) <= _labels(ends[event.at_exit]) for event in wanted.events)


def is_recorded(recording: Recording, wanted: Plan) -> bool:
    """Return whether the events of a plan were recorded, as far as the recording's plans are readable."""
    return _delivering(recording, wanted) is not None


def recorded_events(recording: Recording, wanted: Plan) -> tuple[str, ...]:
    """Return the paths of the events that deliver a plan in a recording; empty: none do."""
    plan = _delivering(recording, wanted)
    return tuple(event.path for event in plan.events if event.recorded) if plan is not None else ()


def _delivering(recording: Recording, wanted: Plan) -> Plan | None:
    """Return the recorded plan that has all events and values of a plan; None: there is none."""
    alike = (one for one in readable_plans(recording) if one.probe.subject == wanted.probe.subject)
    return next((one for one in alike if _covers(one, wanted)), None)


def recorded_otherwise(recording: Recording, wanted: Plan) -> Plan | None:
    """Return a recorded plan that has the events of a plan but for its filter; None: there is none."""
    alike = (one for one in readable_plans(recording) if one.probe.subject == wanted.probe.subject)
    return next((one for one in alike if _covers(_without_filter(one), _without_filter(wanted))), None)


def _without_filter(plan: Plan) -> Plan:
    probe: Any = plan.probe
    return replace(plan, probe=replace(probe, filter="")) if hasattr(probe, "filter") else plan


def unwanted_fields(recorded: Plan, wanted: Plan) -> dict[str, frozenset[str]]:
    """Return the unwanted fields of a recorded plan that covers another: by the paths of the events that both have.

    Only a probe of a function can be covered by a larger plan.
    """
    if not isinstance(recorded.probe, Probe):
        return {event.path: frozenset() for event in recorded.events if event.recorded}
    wanted_labels = {event.at_exit: _labels(event) for event in wanted.events}
    return {
        event.path: frozenset(
            column.name
            for column in event.columns
            if not column.functions and column.label not in wanted_labels[event.at_exit]
        )
        for event in recorded.events
        if event.at_exit in wanted_labels
    }


def _labels(event: PlannedEvent) -> set[str]:
    return {column.label for column in event.columns if not column.functions}
