"""Load the BPF programs that trace the calls inside some functions; all of it is there or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from kernel.bpf import calls
from kernel.bpf.calls import BpfRefused, MapType
from kernel.bpf.loaded import COUNTERS, ProgramCounts, control_value
from kernel.bpf.rings import Cpus, make_rings
from kernel.bpf.task_set import TaskSet
from kernel.target import RingMap, Target
from probes.bpf.instructions import BpfInstruction, MapRole, encode
from probes.bpf.program import CONTROL_BYTES, AttachPoint, ProgramMode
from probes.bpf.registers import SavedRegisters
from probes.bpf.tracing.call_tracer import SIZE, SessionFunctions, trace_calls

PATH: Final = "ftrace/funcgraph_exit"
"""Name of the counts of all programs."""
_MOST_TRACES: Final = 1 << 13
"""Tasks that are in a root at one time."""
_MOST_REFUSALS: Final = 64
"""Attempts to attach that may fail before the functions that are refused are not looked for any more."""


class TracerPlan(NamedTuple):
    """Functions that programs trace, and what is needed of the kernel's types."""

    registers: SavedRegisters
    roots: tuple[str, ...]
    inside: tuple[str, ...]
    """Functions whose calls inside a root are recorded."""
    kfuncs: SessionFunctions
    """Functions of the kernel that the programs call."""
    pid_offset: int
    """Bytes of `pid` in struct task_struct."""
    levels: int = 0
    """Levels of calls that are recorded, the root's included; 0: all."""
    tasks: tuple[int, ...] = ()
    """Threads to which tracing is limited, with those that they make; empty: all but ours."""


class LoadedTracer:
    """Programs that trace calls, attached and switched off at first. Their files are open on the target."""

    record_bytes = SIZE

    def __init__(self, target: Target, plan: TracerPlan, cpus: Cpus) -> None:
        """Load and attach the programs. Raises BpfRefused, FileRefused, TargetLost: nothing is left of it."""
        self.rings: tuple[RingMap, ...] = ()
        """Ring buffers, one a CPU."""
        self.refused: list[str] = []
        """Functions to which the kernel did not attach a program."""
        self._target = target
        self._cpus = cpus
        self._files: list[int] = []
        """All files but links, the newest last."""
        self._links: list[tuple[int, int]] = []
        """Program and link, the roots last."""
        self._control = self._counters = -1
        self._tasks: TaskSet | None = None
        """Tasks to which tracing was limited so far, each with the number of the limit; None: not loaded."""
        self._limits = 0
        """Number of limits so far."""
        self._limit = 0
        """Limit that holds now; 0: all tasks are traced."""
        self._mode = ProgramMode.OFF
        try:
            self._load(plan)
        except BaseException:
            self.close()
            raise

    def switch(self, mode: ProgramMode) -> None:
        """Begin traces, or begin no more; one that has begun goes on. Raises BpfRefused, TargetLost."""
        calls.write_element(self._target, self._control, 0, control_value(mode, self._limit))
        self._mode = mode

    def hold(self) -> None:
        """Begin no traces until `limit_tasks`; those that have begun go on. Raises BpfRefused, TargetLost."""
        self._limits += 1  # no task has this number
        self._limit = self._limits
        self.switch(self._mode)

    def limit_tasks(self, tasks: Sequence[int]) -> None:
        """Begin traces in some tasks (thread ids) and those that they make alone; empty: in all but ours.

        A trace that has begun goes on. Raises BpfRefused: nothing has changed; TargetLost.
        """
        if tasks and self._tasks is not None:
            self._limits += 1
            self._tasks.add(tasks, self._limits)
        self._limit = self._limits if tasks else 0
        self.switch(self._mode)

    def counts(self) -> dict[str, ProgramCounts]:
        """Return the counts of all programs, by `PATH`. Raises BpfRefused, TargetLost."""
        data = calls.read_element(self._target, self._counters, 0, COUNTERS.size * self._cpus.possible)
        # The kernel counts as missed what programs call themselves, and interrupts of programs: none is in a root.
        return {PATH: ProgramCounts.of(list(enumerate(COUNTERS.iter_unpack(data))), 0)}

    def close(self) -> None:
        """Detach the programs, roots first, and close all files. Raises TargetLost."""
        links, self._links = [link for _, link in reversed(self._links)], []
        files, self._files = self._files, []
        if links or files:
            self._target.close_bpf([*links, *reversed(files)])
        if self._tasks is not None:
            self._tasks.close()

    def _load(self, plan: TracerPlan) -> None:
        rings, self.rings = make_rings(self._target, self._cpus, self._files)
        self._control = self._map(MapType.ARRAY, CONTROL_BYTES, 1, "pw_control")
        self._counters = self._map(MapType.PERCPU_ARRAY, COUNTERS.size, 1, "pw_counters")
        self.switch(ProgramMode.OFF)
        maps = {
            MapRole.RINGS: rings,
            MapRole.CONTROL: self._control,
            MapRole.COUNTERS: self._counters,
            MapRole.DEPTHS: self._map(MapType.HASH, 8, _MOST_TRACES, "pw_depths"),
        }
        self._tasks = TaskSet(self._target, plan.registers, plan.pid_offset, ())
        maps[MapRole.TASKS] = self._tasks.file
        self.limit_tasks(plan.tasks)
        own = tuple(self._target.our_pids())
        inside, roots = (
            self._program(
                trace_calls(plan.registers, plan.kfuncs, own, is_root=is_root, levels=plan.levels),
                maps,
                "pw_calls",
                AttachPoint.SESSION,
            )
            for is_root in (False, True)
        )
        self._attach(inside, plan.inside)
        self._links.append((roots, calls.attach(self._target, roots, plan.roots, AttachPoint.SESSION)))

    def _attach(self, program: int, functions: Sequence[str]) -> None:
        """Attach a program to as many functions as the kernel lets, which takes all of a list or none."""
        waiting = [tuple(functions)] if functions else []
        refusals = 0
        while waiting:
            names = waiting.pop()
            try:
                self._links.append((program, calls.attach(self._target, program, names, AttachPoint.SESSION)))
            except BpfRefused:
                refusals += 1
                if refusals > _MOST_REFUSALS:
                    raise
                half = len(names) // 2
                if half:
                    waiting += [names[:half], names[half:]]
                else:
                    self.refused += names

    def _program(
        self, code: tuple[BpfInstruction, ...], maps: dict[MapRole, int], name: str, point: AttachPoint
    ) -> int:
        fd = calls.load_program(self._target, encode(code, maps), name, point)
        self._files.append(fd)
        return fd

    def _map(self, kind: MapType, value: int, entries: int, name: str) -> int:
        fd = calls.create_map(self._target, kind, 4, value, entries, name)
        self._files.append(fd)
        return fd
