"""A session on a recording: what was armed then can be armed again, nothing else; it never pretends."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from events.batch import Batch
from events.format import EventFormat
from events.recording.reader import Recording, RecordingError
from kernel.cleanup.undo import UndoFailure
from kernel.errors import KernelError, ProbeRefused, TargetUnusable
from kernel.guards.limits import Limits
from kernel.guards.loss_counts import LossCounts
from kernel.recording.plans import readable_plans, recorded_plans
from kernel.recording.target import RecordingTarget
from kernel.session.arm_steps import Mode
from kernel.session.session import UNLIMITED, Armed
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe
from probes.verdict import Refusal, Verdict


class ReplayPump:
    """Gives what was recorded, as fast as it is asked for."""

    def __init__(self, timeline: Iterator[Batch | Mapping[int, EventFormat]]) -> None:
        self._timeline = timeline
        self.on_data: Callable[[], None] = lambda: None
        self.error: KernelError | None = None
        self.done = False
        """Everything was given."""

    def settle(self) -> bool:
        """Nothing is under way."""
        return True

    def close(self) -> None:
        """Give no more: nothing is queued."""
        self.done = True

    def drain(self, most_bytes: float = math.inf) -> list[Batch | Mapping[int, EventFormat]]:
        """The next part, about so many bytes; empty at the end."""
        taken: list[Batch | Mapping[int, EventFormat]] = []
        size = 0
        try:
            while size < most_bytes and not self.done:
                entry = next(self._timeline, None)
                if entry is None:
                    self.done = True
                    break
                taken.append(entry)
                if isinstance(entry, Batch):
                    size += sum(len(chunk.data) for chunk in entry.chunks)
        except RecordingError as error:
            self.done = True
            self.error = TargetUnusable(str(error), "what came before the damage is shown")
        if not self.done or taken:
            self.on_data()
        return taken


class ReplaySession:
    """See the module; the methods are those of `kernel.session.session.Session`."""

    def __init__(self, target: RecordingTarget) -> None:
        self._recording = target.recording
        self.group = "recorded"
        self.pump = ReplayPump(self._recording.timeline())
        self._armed = list(self.recorded)
        try:
            self.header = self._recording.header
            """Layout of the sub-buffers."""
            self._cmdlines = self._recording.cmdlines
        except RecordingError as error:
            raise TargetUnusable(str(error)) from error

    @cached_property
    def recorded(self) -> tuple[Armed, ...]:
        """What was armed when the recording was made. Raises TargetUnusable."""
        try:
            return tuple(Armed(plan, self._formats(plan)) for plan in recorded_plans(self._recording))
        except RecordingError as error:
            raise TargetUnusable(f"{self._recording.name}: the probes of this recording are damaged") from error

    @property
    def armed(self) -> tuple[Armed, ...]:
        return tuple(self._armed)

    def arm(
        self,
        plan: Plan,
        limits: Limits = UNLIMITED,  # noqa: ARG002 - of what was recorded nothing can change
        mode: Mode = Mode.RECORD,  # noqa: ARG002
        key: object | None = None,  # noqa: ARG002
    ) -> Armed:
        """Show a recorded probe again. Raises ProbeRefused where the recording does not hold it."""
        same = [armed for armed in self.recorded if armed.plan.probe.subject == plan.probe.subject]
        for armed in same:
            if _covers(armed.plan, plan):
                if armed not in self._armed:
                    self._armed.append(armed)
                return armed
        raise ProbeRefused(Verdict(str(plan.probe), self._refusal(plan, same)))

    def disarm(self, armed: Armed) -> list[UndoFailure]:
        """Forget it; its events stay."""
        if armed in self._armed:
            self._armed.remove(armed)
        return []

    def switch(self, armed: Armed, mode: Mode) -> list[UndoFailure]:  # noqa: ARG002 - nothing happens any more
        """Raises TargetUnusable."""
        raise TargetUnusable("a recording has no probe that could be switched")

    def mode(self, armed: Armed) -> Mode:  # noqa: ARG002 - of all the same
        return Mode.RECORD

    def add_trigger(self, armed: Armed, event: PlannedEvent, text: str) -> Mapping[int, EventFormat]:  # noqa: ARG002
        """Raises TargetUnusable."""
        raise TargetUnusable("a recording takes no triggers")

    def remove_trigger(self, armed: Armed, event: PlannedEvent, text: str) -> None:
        """Nothing: there is none that is at work."""

    def triggers(self, armed: Armed) -> tuple[tuple[PlannedEvent, str], ...]:
        """Those it was recorded with."""
        return tuple((event, text) for event in armed.plan.events for text in event.triggers)

    def by_hand(self, armed: Armed) -> tuple[tuple[PlannedEvent, str], ...]:  # noqa: ARG002
        """None: what a probe was recorded with is its plan's."""
        return ()

    def change_filters(self, armed: Armed, plan: Plan) -> Armed:  # noqa: ARG002
        """Raises TargetUnusable."""
        raise TargetUnusable("what was recorded has the filter that it was recorded with")

    def resize(self, kb: int) -> int:  # noqa: ARG002 - there is none
        """Raises TargetUnusable."""
        raise TargetUnusable("a recording has no buffer")

    @property
    def buffer_kb(self) -> int:
        return 0

    def cmdlines(self) -> dict[int, str]:
        return self._cmdlines

    def counts(self) -> LossCounts:
        """What was lost while it was recorded. Raises TargetUnusable."""
        plain = self._recording.meta.get("counts", {})
        try:
            return LossCounts(
                overrun={int(cpu): int(n) for cpu, n in dict(plain.get("overrun", {})).items()},
                full={int(cpu): int(n) for cpu, n in dict(plain.get("full", {})).items()},
                nmissed={str(path): n and int(n) for path, n in dict(plain.get("nmissed", {})).items()},
                dropped=int(plain.get("dropped", 0)),
                dropped_bytes=int(plain.get("dropped_bytes", 0)),
                read_errors=int(plain.get("read_errors", 0)),
            )
        except (AttributeError, TypeError, ValueError) as error:
            raise TargetUnusable(f"{self._recording.name}: the counts of this recording are damaged") from error

    def close(self) -> list[UndoFailure]:
        return []

    def _formats(self, plan: Plan) -> Mapping[int, EventFormat]:
        paths = {event.path for event in plan.events}
        return {number: fmt for number, fmt in self._recording.formats.items() if fmt.path in paths}

    def _refusal(self, plan: Plan, same: list[Armed]) -> Refusal:
        if same:
            hint = f"It holds {'; '.join(str(armed.plan.probe) for armed in same)}"
        else:
            names = sorted({armed.plan.probe.subject for armed in self.recorded})
            hint = f"It holds {', '.join(names) or 'no events'}; choose a live target to probe something else"
        return Refusal("not_recorded", "This recording does not hold that.", 0, plan.probe.subject, hint)


def _covers(recorded: Plan, wanted: Plan) -> bool:
    """Whether every event and value that is wanted is in what was recorded, under the same filter."""
    if not isinstance(recorded.probe, Probe) or not isinstance(wanted.probe, Probe):
        return recorded.probe == wanted.probe
    if recorded.probe.filter != wanted.probe.filter:
        return False
    ends = {event.at_exit: event for event in recorded.events}
    return all(event.at_exit in ends and _labels(event) <= _labels(ends[event.at_exit]) for event in wanted.events)


def holds(recording: Recording, wanted: Plan) -> bool:
    """Whether what a plan would show was recorded, as far as its plans can be read."""
    plans = readable_plans(recording)
    return any(one.probe.subject == wanted.probe.subject and _covers(one, wanted) for one in plans)


def left_out(recorded: Plan, wanted: Plan) -> dict[str, frozenset[str]]:
    """Of a recorded plan that covers another: paths of the events that come, each with its fields nobody wants.

    Only a probe of a function can be covered by more than itself.
    """
    if not isinstance(recorded.probe, Probe):
        return {event.path: frozenset() for event in recorded.events if event.recorded}
    wants = {event.at_exit: _labels(event) for event in wanted.events}
    return {
        event.path: frozenset(column.name for column in event.columns if column.label not in wants[event.at_exit])
        for event in recorded.events
        if event.at_exit in wants
    }


def _labels(event: PlannedEvent) -> set[str]:
    return {column.label for column in event.columns}
