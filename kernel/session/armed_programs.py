"""The armed probes of one session whose events BPF programs record."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from events.loss_counts import LossCounts
from kernel.bpf.call_tracer import LoadedTracer
from kernel.bpf.calls import BpfRefused
from kernel.bpf.event_formats import formats_of
from kernel.bpf.loaded import LoadedPrograms, ProgramCounts, ProgramGroups
from kernel.bpf.loaded_monitor import LoadedMonitor
from kernel.bpf.objects.loaded import LoadedObject
from kernel.bpf.objects.tables import MapTable
from kernel.bpf.refusals import refusal_of
from kernel.bpf.ring_stream import ConvertedStream
from kernel.bpf.rings import Cpus, read_cpus
from kernel.bpf.task_set import TaskSet
from kernel.bpf.watchpoints import slots_obstacle
from kernel.errors import FileRefused, KernelError, TargetUnusable
from kernel.guards.arm_progress import ArmProgress
from kernel.guards.limits import UNLIMITED, Limits
from kernel.guards.program_rates import measure_programs
from kernel.session.armed import Armed
from kernel.session.probe_steps import Mode
from kernel.target import RecordForm, RingMap, Target
from probes.bpf.program import ProgramMode
from probes.plans.plan import Plan
from probes.remedies import BY_TRACEFS

FIRST_ID = 0x8000
"""First id of our own events: the kernel numbers its events from below (kernel/trace/trace_output.c)."""
_LAST_ID = 0xFFFF
_MODES = {Mode.RECORD: ProgramMode.RECORD, Mode.COUNT: ProgramMode.COUNT, Mode.OFF: ProgramMode.OFF}
_NO_PYTHON = f"the remote host needs python3 for BPF programs; {BY_TRACEFS}"

_OBJECT_OF_ALL = "programs that were compiled elsewhere record all tasks: they can't be limited to a command"


@dataclass(slots=True)
class _Entry:
    loaded: LoadedPrograms | LoadedTracer | LoadedObject | LoadedMonitor
    rings: tuple[int, ...]
    mode: Mode


class ArmedPrograms:
    """Armed probes with programs, and all changes to them; the session's lock is held around each."""

    def __init__(self, target: Target, stream: ConvertedStream, settle: Callable[[], object]) -> None:
        """Take the kernel, the reader of its ring buffers, and what waits until they are read."""
        self._target = target
        self._stream = stream
        self._settle = settle
        self._entries: dict[Armed, _Entry] = {}
        self._ids = itertools.cycle(range(FIRST_ID, _LAST_ID + 1))
        self._rings = itertools.count(1)
        self._cpus: Cpus | None = None
        self._held = False
        self._make_tasks: Callable[[], TaskSet] | None = None
        self._tasks: TaskSet | None = None
        """Tasks that are recorded; None: all are, or no program needs them yet."""
        self._tracer: _Entry | None = None
        """Programs that trace calls; None: there are none."""
        self._removed: dict[str, ProgramCounts] = {}
        """Counts of disarmed probes, of which losses and missed calls stay in the sum."""

    @property
    def armed(self) -> tuple[Armed, ...]:
        """Oldest first."""
        return tuple(self._entries)

    def arm(
        self,
        plan: Plan,
        limits: Limits = UNLIMITED,
        mode: Mode = Mode.RECORD,
        key: object | None = None,
        progress: ArmProgress | None = None,
    ) -> Armed:
        """Load the programs of a plan, attach them and switch them on.

        Raises:
            ProbeRefused: the kernel said no; nothing is left of it.
            TooFast: its events come faster than the limits allow; nothing is left of it.
            ArmingCancelled: `progress` was cancelled; nothing is left of it.
            TargetUnusable: no program can be loaded there at all.
            TargetLost: the connection was lost; the remote host drops the programs.
        """
        progress = progress or ArmProgress()
        if reason := slots_obstacle(plan, [one.plan for one in self._entries], self._target.facts().machine):
            raise TargetUnusable(f"{plan.probe.subject}: {reason}")
        if self._make_tasks is not None and plan.object is not None:
            raise TargetUnusable(f"{plan.probe.subject}: {_OBJECT_OF_ALL}")
        ids = [next(self._ids) for _ in plan.events]
        has_stacks = any(program.has_stack for program in plan.programs)
        stacks = next(self._ids) if has_stacks else 0
        loaded, measured = self._load(plan, ids, progress), None
        rings = list(loaded.rings) if isinstance(loaded, LoadedMonitor) else []
        try:
            for form, maps in _buffers(loaded):
                rings.append(next(self._rings))
                if has_stacks:
                    self._stream.expect_stacks(rings[-1], plan.programs[0].fields_size, stacks)
                self._stream.add_rings(rings[-1], form, maps)
            if isinstance(loaded, LoadedPrograms):
                measured = measure_programs(self._target, plan, loaded, limits, progress)
            # To attach the programs of an object may fail, which is told here.
            progress.check()
            held = self._held and mode is Mode.RECORD and plan.object is None
            loaded.switch(ProgramMode.OFF if held else _MODES[mode])
        except BaseException as error:
            self._forget_rings(rings)
            loaded.close()
            if isinstance(error, BpfRefused):
                raise refusal_of(plan, error) from None
            raise
        armed = Armed(plan, MappingProxyType(formats_of(plan, ids, stacks)), measured, key or object())
        self._entries[armed] = _Entry(loaded, tuple(rings), mode)
        return armed

    def _load(
        self, plan: Plan, ids: list[int], progress: ArmProgress
    ) -> LoadedPrograms | LoadedObject | LoadedMonitor:
        """Load what records a plan, whose events have some ids. Raises ProbeRefused, TargetUnusable, TargetLost."""
        cpus = self._present_cpus()
        try:
            if plan.sampled is not None:
                return LoadedMonitor(self._stream, plan, ids[0], self._rings)
            if plan.object is not None:
                return LoadedObject(self._target, plan, ids, cpus)
            return LoadedPrograms(self._target, plan, ids, cpus, progress.begin, self._task_file())
        except BpfRefused as error:
            raise refusal_of(plan, error) from None
        except FileRefused as error:
            raise TargetUnusable(f"{self._target.name}: {error}", _NO_PYTHON) from None

    def limit_tasks(self, make: Callable[[], TaskSet] | None) -> None:
        """Record of all probes a set of tasks alone, which is made when it is needed; None: all tasks.

        Those that are armed get other programs, under the same keys. Raises TargetUnusable, ProbeRefused, BpfRefused,
        TargetLost; with a set they record all tasks again then.
        """
        if make is None and self._make_tasks is None:
            return
        entries = list(self._entries.items())
        for armed, entry in entries if make is not None else ():
            if isinstance(entry.loaded, LoadedObject):
                raise TargetUnusable(f"{armed.plan.probe.subject}: {_OBJECT_OF_ALL}")
        former, self._tasks, self._make_tasks = self._tasks, None, make
        try:
            for armed, entry in entries:
                if isinstance(entry.loaded, LoadedPrograms):
                    self.change_filters(armed, armed.plan)
        except BaseException:
            if make is not None:
                with contextlib.suppress(KernelError):
                    self.limit_tasks(None)
            raise
        finally:
            if former is not None:
                former.close()

    def _task_file(self) -> int:
        """Return the file of the map of the recorded tasks; 0: all are. Raises TargetUnusable, BpfRefused."""
        if self._make_tasks is not None and self._tasks is None:
            self._tasks = self._make_tasks()
        return self._tasks.file if self._tasks is not None else 0

    def hold(self) -> None:
        """Let what is armed from now on record nothing until `release`."""
        self._held = True

    def release(self) -> None:
        """Switch on what was armed since `hold`. Raises BpfRefused, TargetLost."""
        self._held = False
        for entry in self._entries.values():
            entry.loaded.switch(_MODES[entry.mode])

    def disarm(self, armed: Armed) -> None:
        """Switch the programs off, let what they recorded be read, and drop them.

        A lost connection is no error: over there they go with the process that held them.
        """
        entry = self._entries.pop(armed, None)
        if entry is not None:
            self._drop(entry)

    def add_tracer(self, load: Callable[[Cpus], LoadedTracer]) -> LoadedTracer:
        """Read what programs record that trace calls. Raises BpfRefused, FileRefused, TargetLost: none is left."""
        loaded = load(self._present_cpus())
        ring = next(self._rings)
        try:
            self._stream.add_rings(ring, loaded.record_bytes, loaded.rings)
            loaded.switch(ProgramMode.RECORD)
        except BaseException:
            with contextlib.suppress(KernelError):
                self._stream.remove_rings(ring)
            loaded.close()
            raise
        self._tracer = _Entry(loaded, (ring,), Mode.RECORD)
        return loaded

    def pause_tracer(self) -> None:
        """Begin no more traces. Raises BpfRefused, TargetLost."""
        if self._tracer is not None:
            self._tracer.loaded.switch(ProgramMode.OFF)

    def limit_tracer(self, tasks: Sequence[int]) -> None:
        """Trace calls of some tasks and those that they make alone; empty: of all. Raises BpfRefused, TargetLost."""
        if self._tracer is not None and isinstance(self._tracer.loaded, LoadedTracer):
            self._tracer.loaded.limit_tasks(tasks)

    def hold_tracer(self) -> None:
        """Begin no more traces until `limit_tracer`. Raises BpfRefused, TargetLost."""
        if self._tracer is not None and isinstance(self._tracer.loaded, LoadedTracer):
            self._tracer.loaded.hold()

    def _drop(self, entry: _Entry) -> None:
        """Switch programs off, let what they recorded be read, and close them."""
        with contextlib.suppress(KernelError):
            entry.loaded.switch(ProgramMode.OFF)
            for path, counts in self._counts(entry):
                self._removed[path] = _sum(self._removed.get(path), counts)
        self._settle()
        self._forget_rings(entry.rings)
        with contextlib.suppress(KernelError):
            entry.loaded.close()

    def _forget_rings(self, rings: Iterable[int]) -> None:
        """Read ring buffers no more; a lost connection reads none."""
        with contextlib.suppress(KernelError):
            for ring in rings:
                self._stream.remove_rings(ring)

    def tables(self, armed: Armed) -> list[MapTable]:
        """Return the contents of the maps of an object; empty: the probe is none, or not armed any more.

        Raises BpfRefused, FileRefused, TargetLost.
        """
        loaded = self._entries[armed].loaded if armed in self._entries else None
        return loaded.tables() if isinstance(loaded, LoadedObject) else []

    def switch(self, armed: Armed, mode: Mode) -> None:
        """Let the programs record, count or do nothing. Raises TargetLost."""
        entry = self._entries[armed]
        entry.loaded.switch(_MODES[mode])
        entry.mode = mode

    def mode(self, armed: Armed) -> Mode:
        """Return the mode of a probe; OFF: it is not armed any more."""
        return self._entries[armed].mode if armed in self._entries else Mode.OFF

    def groups(self, armed: Armed) -> dict[str, list[ProgramGroups]]:
        """Return the groups that the programs of a probe have put calls into, by `group/event`.

        Raises BpfRefused, TargetLost.
        """
        loaded = self._entries[armed].loaded if armed in self._entries else None
        return loaded.groups() if isinstance(loaded, LoadedPrograms) else {}

    def change_filters(self, armed: Armed, plan: Plan) -> Armed:
        """Give an armed probe other filters, by other programs in its place. Raises as `arm` does: it is as it was.

        Between the two no call is recorded twice, and those of a moment are not recorded.
        """
        if armed not in self._entries:
            raise TargetUnusable("this probe is not armed any more")
        mode = self._entries[armed].mode
        self.switch(armed, Mode.OFF)
        try:
            fresh = self.arm(plan, UNLIMITED, mode, armed.key)
        except BaseException:
            self.switch(armed, mode)
            raise
        changed = replace(fresh, measured=armed.measured)
        self._entries[changed] = self._entries.pop(fresh)
        self.disarm(armed)
        return changed

    def add_counts(self, counts: LossCounts) -> LossCounts:
        """Return the losses of a session with those of its programs. Raises TargetLost."""
        full, missed = dict(counts.full), dict(counts.nmissed)
        hits, passed, written = dict(counts.hits), dict(counts.passed), counts.written
        present = [(path, one, entry.mode) for entry in self._entries.values() for path, one in self._counts(entry)]
        if self._tracer is not None:
            present += [(path, one, Mode.RECORD) for path, one in self._tracer.loaded.counts().items()]
        removed = [(path, one, Mode.OFF) for path, one in self._removed.items()]
        for path, one, _ in [*present, *removed]:
            for cpu, number in one.lost.items():
                full[cpu] = full.get(cpu, 0) + number
            missed[path] = (missed.get(path) or 0) + one.missed
            written += one.recorded + sum(one.lost.values())
        for path, one, mode in present:
            hits[path] = one.hits
            if mode is Mode.COUNT:
                passed[path] = one.passed
        return replace(counts, full=full, nmissed=missed, hits=hits, passed=passed, written=written)

    def _counts(self, entry: _Entry) -> list[tuple[str, ProgramCounts]]:
        """Return the counts of programs by path, with the losses that buffers of objects and monitors tell of."""
        found = list(entry.loaded.counts().items())
        if not isinstance(entry.loaded, LoadedObject | LoadedMonitor):
            return found
        lost = [self._stream.lost(ring) for ring in entry.rings]
        total = {cpu: sum(one.get(cpu, 0) for one in lost) for cpu in {cpu for one in lost for cpu in one}}
        if isinstance(entry.loaded, LoadedMonitor):
            return [(path, one._replace(missed=sum(total.values()))) for path, one in found]
        return [(path, one._replace(lost=total) if lost else one) for path, one in found]

    def close(self) -> None:
        """Drop all programs, as `disarm`."""
        for armed in self.armed:
            self.disarm(armed)
        tracer, self._tracer = self._tracer, None
        if tracer is not None:
            self._drop(tracer)
        tasks, self._tasks = self._tasks, None
        if tasks is not None:
            with contextlib.suppress(KernelError):
                tasks.close()

    def _present_cpus(self) -> Cpus:
        """Return the CPUs of the target, as read once. Raises FileRefused, TargetLost."""
        if self._cpus is None:
            self._cpus = read_cpus(self._target)
        return self._cpus


def _buffers(
    loaded: LoadedPrograms | LoadedObject | LoadedMonitor,
) -> list[tuple[int | RecordForm, Sequence[RingMap]]]:
    """Return the ring buffers that are read, with the length or the form of their records."""
    if isinstance(loaded, LoadedMonitor):
        return []  # they are there while it is switched on
    if isinstance(loaded, LoadedObject):
        return [(one.form, one.rings) for one in loaded.buffers]
    return [(loaded.record_bytes, loaded.rings)]


def _sum(earlier: ProgramCounts | None, later: ProgramCounts) -> ProgramCounts:
    if earlier is None:
        return later
    lost = {cpu: earlier.lost.get(cpu, 0) + later.lost.get(cpu, 0) for cpu in {**earlier.lost, **later.lost}}
    sums = [getattr(earlier, name) + getattr(later, name) for name in ("hits", "passed", "recorded", "missed")]
    return ProgramCounts(sums[0], sums[1], lost, *sums[2:])
