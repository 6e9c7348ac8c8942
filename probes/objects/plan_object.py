"""Plan the events of a compiled BPF object: one for each ring and perf buffer, in the formats of its records."""

from __future__ import annotations

from collections.abc import Callable, Container

from probes.names import check_name
from probes.objects.elf_object import ObjectError
from probes.objects.object_file import BpfObject, ObjectProgram
from probes.objects.object_plan import ObjectPlan
from probes.objects.record_fields import RecordChoice, choose_record
from probes.objects.request import ObjectProbe
from probes.plans.plan import Plan, PlanColumn, PlannedEvent

_RESULTS = frozenset(("ret", "retval", "err", "error"))
"""Names of fields whose negative numbers are errors."""


def plan_object(
    probe: ObjectProbe, found: BpfObject, group: str, taken: Container[str], has_function: Callable[[str], bool]
) -> Plan:
    """Return the plan of an object. Raises ObjectError: what of it can't be done.

    Args:
        probe: the object as a person means it.
        found: what its file holds.
        group: group of its events.
        taken: paths of events that are others'.
        has_function: whether the kernel has a function that a program can be attached to.
    """
    programs, losses = _chosen(probe, found, has_function)
    wanted = dict(probe.records)
    if unknown := [name for name in wanted if (one := found.map(name)) is None or not one.has_records]:
        buffers = ", ".join(one.name for one in found.maps if one.has_records) or "none"
        raise ObjectError(f"{unknown[0]}: no ring or perf buffer of this object (it has {buffers})")
    records = tuple(
        (one, choose_record(found, one, wanted.get(one.name, ""))) for one in found.maps if one.has_records
    )
    losses += [choice.note for _, choice in records if choice.note]
    stem = _free_stem(probe.stem, group, taken, [one.name for one, _ in records])
    events = [
        PlannedEvent(group, _event_name(stem, one.name, len(records)), "", "", columns=_columns(choice))
        for one, choice in records
    ]
    # A plan has an event in any case: of an object whose programs only count, one that nothing records.
    events = events or [PlannedEvent(group, stem, "", "", recorded=False)]
    return Plan(probe, tuple(events), tuple(losses), object=ObjectPlan(found, programs, records, probe.subject))


def _chosen(
    probe: ObjectProbe, found: BpfObject, has_function: Callable[[str], bool]
) -> tuple[tuple[ObjectProgram, ...], list[str]]:
    """Return the programs to attach, and what is left out. Raises ObjectError."""
    losses: list[str] = []
    chosen = []
    for name in probe.programs:
        one = found.program(name)
        if one is None:
            names = ", ".join(program.name for program in found.programs[:8])
            raise ObjectError(f"{name}: no program of this object (it has {names})")
        if reason := obstacle(one, has_function):
            raise ObjectError(f"{name}: {reason}")
        chosen.append(one)
    for one in found.programs if not probe.programs else ():
        if one.place.is_optional:
            losses.append(f"{one.name} is left out: its author marked it as optional")
        elif reason := obstacle(one, has_function):
            losses.append(f"{one.name} is left out: {reason}")
        else:
            chosen.append(one)
    if not chosen:
        raise ObjectError(f"no program of it can be attached: {losses[0] if losses else 'it has none'}")
    return tuple(chosen), losses


def obstacle(one: ObjectProgram, has_function: Callable[[str], bool]) -> str:
    """Return why a program can't be attached; empty: it may be."""
    if one.place.kind is None:
        return one.place.reason
    function = one.place.target.partition("+")[0]
    if one.place.kind.is_on_function and not has_function(function):
        return f"this kernel has no function {function} to attach to"
    return ""


def _columns(choice: RecordChoice) -> tuple[PlanColumn, ...]:
    return tuple(
        PlanColumn(
            one.name,
            one.name,
            is_retval=one.type.signed and one.name in _RESULTS,
            names=choice.names.get(one.name, ""),
        )
        for one in choice.layout.fields
    )


def _free_stem(stem: str, group: str, taken: Container[str], maps: list[str]) -> str:
    """Return a name whose events are nobody else's."""
    name, number = stem, 2
    while any(f"{group}/{_event_name(name, one, len(maps))}" in taken for one in maps or [""]):
        name, number = f"{stem}_{number}", number + 1
    return name


def _event_name(stem: str, name: str, count: int) -> str:
    text = f"{stem}_{name}" if count > 1 else stem
    return text if check_name(text) is None else stem
