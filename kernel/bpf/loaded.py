"""Load the BPF programs of one plan, with their maps and links; all of it is there or nothing."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from kernel.bpf import calls
from kernel.bpf.calls import MapType
from kernel.target import RingMap, Target
from probes.bpf.instructions import MapRole, encode
from probes.bpf.program import CONTROL_BYTES, COUNTER_NAMES, AttachPoint, ProgramMode
from probes.plans.plan import Plan, PlannedEvent

_MOST_RING_BYTES = 64 << 20
"""Bytes of all ring buffers of a probe."""
_RING_BYTES = 4 << 20
"""Bytes of the ring buffer of a CPU, where there are few CPUs: no fewer records than tracefs holds by default."""
_MOST_OBJECTS = 1 << 14
"""Objects that a probe tracks at a time."""
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
    def of(cls, data: bytes, missed: int) -> ProgramCounts:
        """Return the sum of the counters of all CPUs."""
        rows = list(COUNTERS.iter_unpack(data))
        lost = {cpu: row[2] for cpu, row in enumerate(rows) if row[2]}
        hits, passed, recorded = (sum(row[column] for row in rows) for column in (0, 1, 3))
        return cls(hits, passed, lost, recorded, missed)


class _LoadedEvent(NamedTuple):
    event: PlannedEvent
    id: int
    control: int
    counters: int
    programs: tuple[int, ...]
    links: tuple[int, ...]
    """Link of each program."""


class Cpus(NamedTuple):
    """CPUs of a target, as numbers."""

    online: tuple[int, ...]
    possible: int
    """Number of CPUs that a map by CPU has elements for."""


def ring_bytes(cpus: Cpus) -> int:
    """Return the bytes of the ring buffer of each CPU: a power of two, and whole pages of any machine."""
    size = _RING_BYTES
    while size > 1 << 16 and size * len(cpus.online) > _MOST_RING_BYTES:
        size >>= 1
    return size


def make_rings(target: Target, cpus: Cpus, files: list[int]) -> tuple[int, tuple[RingMap, ...]]:
    """Make a ring buffer for each CPU; return the file of the array of them, and the ring buffers.

    Each file is added to `files` when it is made. Raises BpfRefused, FileRefused, TargetLost.
    """
    size = ring_bytes(cpus)
    fds = {}
    for cpu in cpus.online:
        fds[cpu] = calls.create_map(target, MapType.RINGBUF, 0, 0, size, "pw_ring")
        files.append(fds[cpu])
    inner = fds[cpus.online[0]]
    rings = calls.create_map(target, MapType.ARRAY_OF_MAPS, 4, 4, cpus.possible, "pw_rings", inner=inner)
    files.append(rings)
    for cpu, fd in fds.items():
        calls.write_element(target, rings, cpu, struct.pack("<I", fd))
    return rings, tuple(RingMap(cpu, fd, size) for cpu, fd in fds.items())


class LoadedPrograms:
    """Programs of one plan, attached and switched off at first. Its files are open on the target."""

    def __init__(self, target: Target, plan: Plan, ids: Sequence[int], cpus: Cpus) -> None:
        """Load and attach the programs.

        Args:
            target: the kernel.
            plan: a plan whose events are recorded by programs.
            ids: id for each of its events.
            cpus: of the target.

        Raises BpfRefused, FileRefused, TargetLost: nothing is left of it.
        """
        self.rings: tuple[RingMap, ...] = ()
        """Ring buffers, one a CPU."""
        self._target = target
        self._cpus = cpus
        self._files: list[int] = []
        """All files but links, the newest last."""
        self._events: list[_LoadedEvent] = []
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
        for loaded in self._events:
            size = COUNTERS.size * self._cpus.possible
            data = calls.read_element(self._target, loaded.counters, 0, size)
            pairs = zip(loaded.programs, loaded.links, strict=True)
            missed = sum(calls.missed_calls(self._target, program, link) for program, link in pairs)
            found[loaded.event.path] = ProgramCounts.of(data, missed)
        return found

    def close(self) -> None:
        """Detach the programs, entries first, and close all files. Raises TargetLost."""
        links = [link for one in sorted(self._events, key=lambda one: one.event.at_exit) for link in one.links]
        files, self._files = self._files, []
        self._events = []
        if links or files:
            self._target.close_bpf([*links, *reversed(files)])

    def _load(self, plan: Plan, ids: Sequence[int]) -> None:
        rings, self.rings = make_rings(self._target, self._cpus, self._files)
        own = self._target.our_pids()
        # The exit first: an exit without an entry can be recognised, an entry without an exit cannot.
        for event, number in sorted(zip(plan.events, ids, strict=True), key=lambda one: not one[0].at_exit):
            if event.programs:
                self._load_event(event, number, rings, own)

    def _load_event(self, event: PlannedEvent, number: int, rings: int, own: Sequence[int]) -> None:
        """Load and attach the programs of an event, which share its switch and its counters."""
        control = self._map(MapType.ARRAY, 4, CONTROL_BYTES, 1, "pw_control")
        counters = self._map(MapType.PERCPU_ARRAY, 4, COUNTERS.size, 1, "pw_counters")
        calls.write_element(self._target, control, 0, control_value(ProgramMode.OFF, number))
        maps = {MapRole.CONTROL: control, MapRole.COUNTERS: counters, MapRole.RINGS: rings}
        if any(program.role is not None for program in event.programs):
            maps[MapRole.OBJECTS] = self._map(MapType.HASH, 8, 8, _MOST_OBJECTS, "pw_objects")
        loaded = _LoadedEvent(event, number, control, counters, (), ())
        self._events.append(loaded)
        for program in event.programs:
            fd = calls.load_program(self._target, encode(program.instructions(own), maps), "pw_probe")
            self._files.append(fd)
            at_exit = program.point is AttachPoint.EXIT
            link = calls.attach(self._target, fd, program.functions, at_exit=at_exit)
            loaded = loaded._replace(programs=(*loaded.programs, fd), links=(*loaded.links, link))
            self._events[-1] = loaded

    def _map(self, kind: MapType, key: int, value: int, entries: int, name: str) -> int:
        fd = calls.create_map(self._target, kind, key, value, entries, name)
        self._files.append(fd)
        return fd


def control_value(mode: ProgramMode, number: int) -> bytes:
    return struct.pack("<II", mode, number)
