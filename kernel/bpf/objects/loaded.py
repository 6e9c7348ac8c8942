"""Load one compiled BPF object, attach its programs, and give its buffers to a reader; all of it or nothing."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from events.bpf_layout import RECORD_DATA
from kernel.bpf import calls
from kernel.bpf.calls import BpfRefused
from kernel.bpf.loaded import ProgramCounts, ProgramGroups
from kernel.bpf.objects.attach_object import attach_program, open_perf_buffer
from kernel.bpf.objects.run_loader import LoadedFiles, run_loader
from kernel.bpf.objects.tables import MapTable, read_table
from kernel.bpf.rings import Cpus
from kernel.errors import TargetUnusable
from kernel.local.object_loader import LoaderProgram, LoaderRefused, make_loader
from kernel.target import RecordForm, RingMap, Target
from probes.bpf.program import AttachPoint, ProgramMode
from probes.facts.facts import TargetFacts
from probes.objects.elf_object import without_programs
from probes.objects.object_file import RINGBUF, ObjectMap
from probes.objects.object_plan import MOST_PROGRAMS, ObjectPlan
from probes.objects.record_fields import RecordChoice
from probes.plans.plan import Plan

_PERF_BYTES: Final = 64 << 12
"""Bytes of the perf buffer of a CPU: as many as libbpf-tools take."""
_STAMPS = frozenset(("ts", "ts_ns", "time_ns", "timestamp", "timestamp_ns", "ktime_ns"))
_THREADS, _NAMES = ("tid", "pid", "tgid"), ("comm", "task", "task_comm")
_MOST_TRIALS = 16


class ObjectRings(NamedTuple):
    """Buffers of one map, with the form of their records."""

    form: RecordForm
    rings: tuple[RingMap, ...]


class LoadedObject:
    """An object of one plan, loaded and not attached at first. Its files are open on the target."""

    def __init__(self, target: Target, plan: Plan, ids: Sequence[int], cpus: Cpus) -> None:
        """Load the object.

        Args:
            target: the kernel.
            plan: a plan of an object.
            ids: id for each of its events.
            cpus: of the target.

        Raises BpfRefused, FileRefused, TargetUnusable, TargetLost: nothing is left of it.
        """
        assert plan.object is not None  # noqa: S101
        self.plan: ObjectPlan = plan.object
        self.buffers: tuple[ObjectRings, ...] = ()
        self._path = plan.events[0].path
        self._target = target
        self._facts: TargetFacts = target.facts()
        self._cpus = cpus
        self._files: list[int] = []
        """All files but links, the newest last."""
        self._links: list[list[int]] = []
        """Files that hold each program attached, in the order in which they are closed."""
        try:
            self._loader = self._made([one.name for one in self.plan.programs])
            self._loaded = self._load()
            self.buffers = tuple(
                self._buffer(one, choice, number)
                for (one, choice), number in zip(self.plan.records, ids, strict=False)
            )
        except BaseException:
            self.close()
            raise

    def switch(self, mode: ProgramMode) -> None:
        """Attach the programs, or detach them; there is nothing that only counts.

        Raises BpfRefused, FileRefused, TargetLost: none is attached.
        """
        if mode is ProgramMode.OFF or self._links:
            if mode is ProgramMode.OFF:
                self._detach()
            return
        try:
            for one in self.plan.programs:
                file = self._loaded.programs[self._loader.programs.index(one.name)]
                self._links.append(attach_program(self._target, self._facts, one, file))
        except BaseException:
            self._detach()
            raise

    def counts(self) -> dict[str, ProgramCounts]:
        """Return the calls that programs missed, by the path of the first event. Raises BpfRefused, TargetLost.

        Hits are not counted: the kernel counts the runs of programs only where all of them pay for it.
        """
        missed = sum(calls.missed_calls(self._target, file, 0, AttachPoint.FENTRY) for file in self._loaded.programs)
        return {self._path: ProgramCounts(0, 0, {}, 0, missed)}

    def groups(self) -> dict[str, list[ProgramGroups]]:
        """Return nothing: what programs of an object count is in its maps."""
        return {}

    def tables(self) -> list[MapTable]:
        """Return the contents of the maps with keys and values. Raises BpfRefused, FileRefused, TargetLost."""
        found = []
        for made, file in zip(self._loader.maps, self._loaded.maps, strict=True):
            one = self.plan.object.map(made.name)
            if one is not None and one.is_table:
                found.append(read_table(self._target, one, made, file, self._cpus.possible))
        return found

    def close(self) -> None:
        """Detach the programs and close all files. Raises TargetLost."""
        self._detach()
        files, self._files = self._files, []
        if files:
            self._target.close_bpf([*reversed(files)])

    def _detach(self) -> None:
        links, self._links = [file for one in reversed(self._links) for file in one], []
        if links:
            self._target.close_bpf(links)

    def _made(self, programs: Sequence[str]) -> LoaderProgram:
        found = self.plan.object
        data = found.data
        if len(found.programs) > MOST_PROGRAMS:
            data = without_programs(data, {one.section for one in found.programs if one.name in programs})
        try:
            return make_loader(data, "object", programs, self._cpus.possible)
        except LoaderRefused as error:
            raise TargetUnusable(f"{self.plan.name}: {error}") from None

    def _load(self) -> LoadedFiles:
        try:
            found = run_loader(self._target, self._loader, self.plan.kconfig)
        except BpfRefused as error:
            raise self._refusal_of_one(error) from None
        self._files += found.all
        return found

    def _refusal_of_one(self, error: BpfRefused) -> BpfRefused:
        """Return the refusal of the program that can't be loaded by itself; the given one where none is found."""
        names = self._loader.programs if 1 < len(self._loader.programs) <= _MOST_TRIALS else ()
        for name in names:
            try:
                self._target.close_bpf(run_loader(self._target, self._made([name]), self.plan.kconfig).all)
            except BpfRefused as own:
                return BpfRefused(f"loading {name}", own.number, own.log)
        return error

    def _buffer(self, one: ObjectMap, choice: RecordChoice, number: int) -> ObjectRings:
        """Open the buffers of a map for reading."""
        at = next(at for at, made in enumerate(self._loader.maps) if made.name == one.name)
        made, file = self._loader.maps[at], self._loaded.maps[at]
        form = _form(choice, number, is_perf=one.type != RINGBUF)
        if not form.is_perf:
            return ObjectRings(form, (RingMap(0, file, made.max_entries),))
        rings = []
        for cpu in self._cpus.online:
            event = open_perf_buffer(self._target, cpu)
            self._files.append(event)
            calls.write_element(self._target, file, cpu, struct.pack("<i", event))
            rings.append(RingMap(cpu, event, _PERF_BYTES))
        return ObjectRings(form, tuple(rings))


def _form(choice: RecordChoice, number: int, *, is_perf: bool) -> RecordForm:
    """Return the form of the records of a map: fields that tell thread, its name and the time are found by name."""
    places = {one.name: one for one in choice.layout.fields}

    def ends(word: str) -> list[str]:
        """Return the one field of an inner struct with a word; none where there are several."""
        found = [name for name in places if name.endswith(f"_{word}")]
        return found if len(found) == 1 else []

    def offset(names: Sequence[str] | frozenset[str], size: int, text: bool = False) -> int:
        for name in names:
            one = places.get(name)
            if one is not None and one.type.declared.startswith("char[") is text and one.type.size == size:
                return one.offset - RECORD_DATA
        return -1

    return RecordForm(
        choice.payload,
        number,
        offset([*_THREADS, *(name for word in _THREADS for name in ends(word))], 4),
        offset(_NAMES, 16, True),
        offset(sorted(_STAMPS), 8),
        is_perf,
    )
