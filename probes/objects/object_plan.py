"""Represent a compiled BPF object with its programs that are attached, as a part of a plan."""

from __future__ import annotations

from dataclasses import dataclass, field

from probes.objects.object_file import BpfObject, ObjectMap, ObjectProgram
from probes.objects.record_fields import RecordChoice


@dataclass(frozen=True)
class ObjectPlan:
    """Object with the programs of it that are attached, and the form of the records of its buffers."""

    object: BpfObject
    programs: tuple[ObjectProgram, ...]
    records: tuple[tuple[ObjectMap, RecordChoice], ...] = field(compare=False)
    """Ring and perf buffers, in the order of the events of the plan."""
    name: str = field(default="", compare=False)
    """Name of the file."""

    @property
    def lines(self) -> tuple[str, ...]:
        """Lines for a person: where each program is attached, and the fields of each buffer."""
        attached = [f"{one.name}: {attaches_to(one)}" for one in self.programs]
        fields = [
            f"{one.name} ({one.type_name}): {' '.join(field.name for field in choice.layout.fields)}"
            for one, choice in self.records
        ]
        return (*attached, *fields)


def attaches_to(one: ObjectProgram) -> str:
    """Return where a program is attached, in words: `fentry do_unlinkat`."""
    kind = one.place.kind
    return f"{kind.value} {one.place.target}" if kind is not None else one.section
