"""Plan the events of a compiled BPF object: one for each ring and perf buffer, in the formats of its records."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Final

from probes.names import check_name
from probes.objects.attach_kinds import ObjectAttach
from probes.objects.elf_object import ObjectError
from probes.objects.object_file import BpfObject, ObjectProgram
from probes.objects.object_plan import MOST_PROGRAMS, ObjectPlan
from probes.objects.record_fields import RecordChoice, choose_record
from probes.objects.request import ObjectProbe
from probes.plans.plan import Plan, PlanColumn, PlannedEvent

_PLAIN: Final[dict[ObjectAttach | None, ObjectAttach | None]] = {
    ObjectAttach.FENTRY: ObjectAttach.KPROBE,
    ObjectAttach.FEXIT: ObjectAttach.KRETPROBE,
    ObjectAttach.TP_BTF: ObjectAttach.RAW_TRACEPOINT,
}
"""Ways to attach by the types of BTF, each with that to the same place without them."""
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
    if len(programs) > MOST_PROGRAMS:
        raise ObjectError(
            f"{len(programs)} programs are more than the {MOST_PROGRAMS} that are loaded together: name some of them"
        )
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
    return Plan(probe, tuple(events), tuple(losses), object=ObjectPlan(found, programs, records, name=probe.subject))


def _chosen(
    probe: ObjectProbe, found: BpfObject, has_function: Callable[[str], bool]
) -> tuple[tuple[ObjectProgram, ...], list[str]]:
    """Return the programs to attach, and what is left out. Raises ObjectError."""
    if not probe.programs:
        return _default(found, has_function)
    chosen = []
    for name in probe.programs:
        one = found.program(name)
        if one is None:
            names = ", ".join(program.name for program in found.programs[:8])
            raise ObjectError(f"{name}: no program of this object (it has {names})")
        if reason := obstacle(one, has_function):
            raise ObjectError(f"{name}: {reason}")
        chosen.append(one)
    return tuple(chosen), []


def _default(found: BpfObject, has_function: Callable[[str], bool]) -> tuple[tuple[ObjectProgram, ...], list[str]]:
    """Return the programs that are attached where none are named, and what is left out. Raises ObjectError."""
    reasons = reasons_to_leave_out(found, has_function)
    chosen = tuple(one for one in found.programs if one.name not in reasons)
    losses = [f"{name} is left out: {reason}" for name, reason in reasons.items()]
    if not chosen:
        raise ObjectError(f"no program of it can be attached: {losses[0] if losses else 'it has none'}")
    return chosen, losses


def reasons_to_leave_out(found: BpfObject, has_function: Callable[[str], bool]) -> dict[str, str]:
    """Return the programs that are not attached unless they are named, each with the reason.

    Of two programs at one place, one of them by the types of BTF, its loader would choose one: libbpf-tools have an
    `fentry` and a `kprobe` for kernels with and without BTF, and both together would count everything twice.
    """
    reasons: dict[str, str] = {}
    for one in found.programs:
        if one.place.is_optional:
            reasons[one.name] = "its author marked it as optional"
        elif reason := obstacle(one, has_function):
            reasons[one.name] = reason
    by_types = {
        (_PLAIN[one.place.kind], one.place.target): one.name
        for one in found.programs
        if one.name not in reasons and one.place.kind in _PLAIN
    }
    for one in found.programs:
        other = by_types.get((one.place.kind, one.place.target))
        if other is not None and one.name not in reasons:
            reasons[one.name] = f"{other} is at the same place"
    return reasons


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
