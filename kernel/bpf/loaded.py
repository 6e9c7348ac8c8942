"""Load the BPF programs of one plan, with their maps and links; all of it is there or nothing."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from foreign.count_text import counted
from kernel.bpf import calls
from kernel.bpf.calls import BpfRefused, MapType
from kernel.bpf.rings import Cpus, make_rings
from kernel.bpf.watchpoints import SetWatchpoint, missed_accesses, set_watchpoint
from kernel.target import RingMap, Target
from probes.bpf.groups.call_begins import FRAME_BYTES
from probes.bpf.groups.grouping import Grouping, GroupReading
from probes.bpf.instructions import MapRole, encode
from probes.bpf.kernel_loads import NO_LOADS
from probes.bpf.program import (
    CONTROL_BYTES,
    COUNTER_NAMES,
    LOST_BYTES,
    PROGRAM_BYTES,
    BpfProgram,
    ProgramMode,
    counter_stride,
)
from probes.bpf.program_writer import assembled
from probes.bpf.watchpoints.watch_writer import WATCHED_BYTES
from probes.plans.plan import Plan, PlannedEvent

_MOST_OBJECTS = 1 << 14
"""Objects that a probe tracks at a time."""
_MOST_GROUPS, _FEWEST_GROUPS = 1 << 14, 1 << 8
"""Groups of each program."""
_MOST_BEGINS = 1 << 16
"""Calls that run at a time."""
_GROUPS_MEMORY = 64 << 20
"""Bytes that the groups of a program take on all CPUs, unless that is fewer than the fewest groups."""
COUNTERS = struct.Struct(f"<{len(COUNTER_NAMES)}Q")


class ProgramCounts(NamedTuple):
    """Counts of the program of one event since it was attached."""

    hits: int
    passed: int
    """Hits that the filter let pass."""
    lost: dict[int, int]
    """Records without room by CPU."""
    recorded: int
    missed: int
    """Calls at which the program did not run."""

    @classmethod
    def of(cls, rows: Sequence[tuple[int, Sequence[int]]], missed: int) -> ProgramCounts:
        """Return the sums of counters, each with their CPU."""
        lost = dict[int, int]()
        for cpu, row in rows:
            if row[2]:
                lost[cpu] = lost.get(cpu, 0) + row[2]
        hits, passed, recorded = (sum(row[column] for _, row in rows) for column in (0, 1, 3))
        return cls(hits, passed, lost, recorded, missed)


class ProgramGroups(NamedTuple):
    """Groups that a program has put calls into since it was switched on."""

    program: BpfProgram
    groups: tuple[GroupReading, ...]
    counts: ProgramCounts
    """Counts of the program, read before the groups; `recorded`: calls to be grouped, `lost`: those without room."""


class _LoadedProgram(NamedTuple):
    program: BpfProgram
    file: int
    link: int
    """File of its link; 0: it is of a watchpoint."""
    watchpoint: SetWatchpoint | None = None
    """Perf events that it is attached to; None: it is on functions."""
    groups: int = 0
    """File of the map of its groups; 0: it has none."""

    @property
    def holders(self) -> tuple[int, ...]:
        """Files that hold it attached, in the order in which they are closed."""
        return self.watchpoint.files if self.watchpoint is not None else (self.link,)


class _LoadedEvent(NamedTuple):
    event: PlannedEvent
    id: int
    control: int
    programs: tuple[_LoadedProgram, ...]


class LoadedPrograms:
    """Programs of one plan, attached and switched off at first. Its files are open on the target."""

    def __init__(
        self,
        target: Target,
        plan: Plan,
        ids: Sequence[int],
        cpus: Cpus,
        begin: Callable[[str], object] = lambda _: None,
        tasks: int = 0,
    ) -> None:
        """Load and attach the programs.

        Args:
            target: the kernel.
            plan: a plan whose events are recorded by programs.
            ids: id for each of its events.
            cpus: of the target.
            begin: gets each step in words, and may raise what ends it.
            tasks: file of the map of the tasks that are recorded (`kernel.bpf.task_set`); 0: all are.

        Raises BpfRefused, FileRefused, TargetLost: nothing is left of it.
        """
        self.rings: tuple[RingMap, ...] = ()
        """Ring buffers, one a CPU."""
        self._target = target
        self._cpus = cpus
        self._begin = begin
        self._files: list[int] = []
        """All files but links, the newest last."""
        self._events: list[_LoadedEvent] = []
        # Programs keep their numbers where others of their plan are left out.
        self._stride = counter_stride(max((program.number for program in plan.programs), default=0) + 1)
        self._counters = 0
        """File of the map of counters."""
        self._shared: dict[MapRole, int] = {}
        """Files of other maps that all programs share."""
        if tasks:
            self._shared[MapRole.TASKS] = tasks
        try:
            self._load(plan, ids)
        except BaseException:
            self.close()
            raise

    @property
    def record_bytes(self) -> int:
        """Bytes of each record."""
        return next(program.size for one in self._events for program in one.event.programs)

    def switch(self, mode: ProgramMode) -> None:
        """Switch all programs; at any time there is no exit without its entry. Raises BpfRefused, TargetLost."""
        exits_first = mode is not ProgramMode.OFF
        for loaded in sorted(self._events, key=lambda one: one.event.at_exit is not exits_first):
            calls.write_element(self._target, loaded.control, 0, control_value(mode, loaded.id))

    def counts(self) -> dict[str, ProgramCounts]:
        """Return the counts by `group/event`. Raises BpfRefused, TargetLost."""
        found = {}
        data = calls.read_element(self._target, self._counters, 0, self._stride * self._cpus.possible)
        for loaded in self._events:
            rows = [row for one in loaded.programs for row in self._rows(data, one)]
            missed = sum(map(self._missed, loaded.programs))
            counts = ProgramCounts.of(rows, missed)
            grouped = any(one.groups for one in loaded.programs)  # no record is lost where none is made
            found[loaded.event.path] = counts._replace(lost={}, recorded=0) if grouped else counts
        return found

    def groups(self) -> dict[str, list[ProgramGroups]]:
        """Return the groups of each program, by `group/event`. Raises BpfRefused, TargetLost."""
        found: dict[str, list[ProgramGroups]] = {}
        for loaded in self._events:
            for one in loaded.programs:
                if (grouping := one.program.grouping) is None:
                    continue
                size = grouping.group_bytes * self._cpus.possible
                data = calls.read_element(self._target, self._counters, 0, self._stride * self._cpus.possible)
                counts = ProgramCounts.of(self._rows(data, one), self._missed(one))
                elements = calls.read_elements(self._target, one.groups, grouping.key_bytes, size)
                groups = tuple(grouping.reading(key, element) for key, element in elements)
                found.setdefault(loaded.event.path, []).append(ProgramGroups(one.program, groups, counts))
        return found

    def rates_by_function(self, seconds: float) -> dict[str, float]:
        """Return the calls a second of each of several functions with programs of their own, the most frequent first.

        Empty: they share programs. Raises BpfRefused, TargetLost.

        Args:
            seconds: since the programs were switched on.
        """
        programs = self._events[0].programs
        if len(programs) < 2 or any(len(one.program.functions) > 1 for one in programs):
            return {}
        data = calls.read_element(self._target, self._counters, 0, self._stride * self._cpus.possible)
        hits = {one.program.functions[0]: sum(row[0] for _, row in self._rows(data, one)) for one in programs}
        rates = {name: number / seconds for name, number in hits.items() if number}
        return dict(sorted(rates.items(), key=lambda one: -one[1]))

    def _rows(self, data: bytes, one: _LoadedProgram) -> list[tuple[int, Sequence[int]]]:
        """Return the counters of a program by CPU."""
        first = LOST_BYTES + one.program.number * PROGRAM_BYTES
        return [(cpu, COUNTERS.unpack_from(data, cpu * self._stride + first)) for cpu in range(self._cpus.possible)]

    def _missed(self, one: _LoadedProgram) -> int:
        if one.watchpoint is not None:
            return missed_accesses(self._target, one.watchpoint)
        return calls.missed_calls(self._target, one.file, one.link, one.program.point)

    def close(self) -> None:
        """Detach the programs, entries first, and close all files. Raises TargetLost."""
        events = sorted(self._events, key=lambda one: one.event.at_exit)
        links = [file for event in events for one in event.programs for file in one.holders]
        files, self._files = self._files, []
        self._events = []
        if links or files:
            self._target.close_bpf([*links, *reversed(files)])

    def _load(self, plan: Plan, ids: Sequence[int]) -> None:
        rings, self.rings = make_rings(self._target, self._cpus, self._files)
        self._counters = self._map(MapType.ARRAY, 4, self._stride * self._cpus.possible, 1, "pw_counters")
        begin_bytes = max((one.begins.begin_bytes for one in plan.programs if one.begins is not None), default=0)
        if begin_bytes:
            # Calls whose exits are not seen leave their begins behind, which make room when it is wanted.
            begins = self._map(MapType.LRU_HASH, FRAME_BYTES, begin_bytes, _MOST_BEGINS, "pw_begins")
            self._shared[MapRole.BEGINS] = begins
        own = self._target.our_pids()
        # The exit first: an exit without an entry can be recognised, an entry without an exit cannot.
        for event, number in sorted(zip(plan.events, ids, strict=True), key=lambda one: not one[0].at_exit):
            if event.programs:
                self._load_event(event, number, rings, own)

    def _load_event(self, event: PlannedEvent, number: int, rings: int, own: Sequence[int]) -> None:
        """Load and attach the programs of an event, which share its switch."""
        control = self._map(MapType.ARRAY, 4, CONTROL_BYTES, 1, "pw_control")
        calls.write_element(self._target, control, 0, control_value(ProgramMode.OFF, number))
        maps = {MapRole.CONTROL: control, MapRole.COUNTERS: self._counters, MapRole.RINGS: rings, **self._shared}
        if any(program.role is not None for program in event.programs):
            maps[MapRole.OBJECTS] = self._map(MapType.HASH, 8, 8, _MOST_OBJECTS, "pw_objects")
        loaded = _LoadedEvent(event, number, control, ())
        self._events.append(loaded)
        for at, program in enumerate(event.programs, 1):
            functions = f" to {counted(len(program.functions), 'function')}" if len(program.functions) > 1 else ""
            self._begin(f"attaching program {at:,} of {len(event.programs):,}{functions}")
            groups = self._add_groups(program.grouping, maps) if program.grouping is not None else 0
            try:
                if program.memory is not None:
                    maps[MapRole.WATCHED] = self._map(MapType.ARRAY, 4, WATCHED_BYTES, 1, "pw_watched")
                # An interrupt in our own processes writes, too: without it `old` would not be the `new` before.
                fd = self._load_program(program, own if program.memory is None else (), maps)
                one = self._attached(program, fd, groups, maps)
            except BpfRefused as error:
                error.functions = program.functions if program.point.on_one else ()
                raise
            loaded = loaded._replace(programs=(*loaded.programs, one))
            self._events[-1] = loaded

    def _add_groups(self, grouping: Grouping, maps: dict[MapRole, int]) -> int:
        """Make the maps for the groups of one program: another one on the same CPU may interrupt it."""
        # Whoever makes a group copies this element: it may be larger than the stack of a program.
        maps[MapRole.NEW_GROUP] = self._map(MapType.ARRAY, 4, grouping.group_bytes, 1, "pw_new_group")
        room = _GROUPS_MEMORY // (grouping.group_bytes * self._cpus.possible)
        most = min(max(room, _FEWEST_GROUPS), _MOST_GROUPS)
        if grouping.has_stack:
            maps[MapRole.KEY] = self._map(MapType.PERCPU_ARRAY, 4, grouping.key_bytes, 1, "pw_key")
        groups = self._map(MapType.PERCPU_HASH, grouping.key_bytes, grouping.group_bytes, most, "pw_groups")
        maps[MapRole.GROUPS] = groups
        return groups

    def _load_program(self, program: BpfProgram, own: Sequence[int], maps: Mapping[MapRole, int]) -> int:
        """Load a program; return its file."""
        limited = MapRole.TASKS in maps
        code = encode(assembled(program, own, self._cpus.possible, self._stride, limited=limited), maps)
        try:
            fd = calls.load_program(self._target, code, "pw_probe", program.point, program.target)
        except BpfRefused:
            if program.loads == NO_LOADS:
                raise
            return self._load_program(replace(program, loads=NO_LOADS), own, maps)
        self._files.append(fd)
        return fd

    def _attached(self, program: BpfProgram, fd: int, groups: int, maps: Mapping[MapRole, int]) -> _LoadedProgram:
        """Attach a loaded program."""
        if program.memory is not None:
            value, cpus = maps[MapRole.WATCHED], self._cpus.online
            watchpoint = set_watchpoint(self._target, program.memory, fd, value, cpus)
            return _LoadedProgram(program, fd, 0, watchpoint, groups)
        if program.point.on_one:
            return _LoadedProgram(program, fd, calls.attach_to_function(self._target, fd), None, groups)
        functions, numbered = program.functions, program.numbered
        link = calls.attach(self._target, fd, functions, program.point, numbered=numbered)
        return _LoadedProgram(program, fd, link, None, groups)

    def _map(self, kind: MapType, key: int, value: int, entries: int, name: str) -> int:
        fd = calls.create_map(self._target, kind, key, value, entries, name)
        self._files.append(fd)
        return fd


def control_value(mode: ProgramMode, number: int) -> bytes:
    return struct.pack("<II", mode, number)
