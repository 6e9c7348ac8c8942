"""Lower a probe that tracks objects (`f FUNCTION%track`): programs on the function that finds an object, on every
function of the kernel that takes one of its type, and on those that free memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from btf.btf import Btf
from btf.types import Param, Ptr, Struct
from btf.walk import strip
from events.names.function_choice import FunctionChoice
from foreign.count_text import counted
from probes.bpf.program import ObjectRole
from probes.bpf.track import TrackedPlans, with_tracking
from probes.facts.facts import TargetFacts
from probes.fetcharg import (
    Cast,
    Comm,
    CurrentTask,
    Dereference,
    Expression,
    FetchArg,
    PerCpu,
    ReturnValue,
    Variable,
    innermost,
)
from probes.functions.chosen_functions import uses_of
from probes.functions.convention import convention_of
from probes.functions.function_index import index_of
from probes.functions.function_shapes import FunctionShape, function_shapes, parameter_name
from probes.functions.signature import Signature, certain_signature_of
from probes.functions.value import ValueUnavailable, locate
from probes.lowering.arguments.capture import field_name
from probes.names import event_name, unique_field
from probes.plans.plan import Plan
from probes.probe import Probe, ProbeEnds, ProbePlace
from probes.refusal import CannotLower, own_refusal

FREES: Final[Mapping[str, int]] = {"kfree": 0, "kfree_sensitive": 0, "kvfree": 0, "vfree": 0, "kmem_cache_free": 1}
"""Functions after which an object is no more, with the number of the parameter that is its address (mm/slub.c)."""
Lowerer = Callable[[Probe, str, "Signature | None"], Plan]
"""Lowers a function probe to lines, with the name of its event, and by a signature where it is on several."""


def lower_track(probe: Probe, btf: Btf | None, facts: TargetFacts, event: str | None, lowered: Lowerer) -> Plan:
    """Return the plan of a probe that tracks objects, with programs in place of lines.

    Args:
        probe: the probe, which finds the object.
        btf: types of the kernel; None: unknown.
        facts: what the target can do, for programs.
        event: name of the event; None: the probe's own, else made of the function's name.
        lowered: see `Lowerer`.

    Raises:
        CannotLower: the probe finds no object, or no program does it; the refusal names the word.
    """
    signature = certain_signature_of(btf, probe.place.symbol) if btf is not None else None
    if btf is None or signature is None:
        # Where there is no such function this says so.
        lowered(replace(probe, when=ProbeEnds.ENTRY, fetchargs=()), "", None)
        raise _refused(probe, probe.place.symbol, "BTF does not know the types of this function")
    found = _TrackedObject.of(probe, signature, facts.machine)
    name = event or probe.event or event_name(probe.place.symbol, "__track")
    finding = lowered(replace(probe, when=found.when, fetchargs=found.fetchargs(found.own)), name, None)
    text = f"{found.type_name} *"
    called = parameter_name(FunctionChoice.parse(f"[{text}]"))
    touching = Probe(
        ProbePlace(f"[{text}]"), fetchargs=found.fetchargs(Variable(called)), group=probe.group, event=name
    )
    shapes = _touching_shapes(btf, text, called, facts)
    if found.when is ProbeEnds.ENTRY:  # its own call is recorded where the object is found
        rest = [(shape, [one for one in shape.functions if one != probe.place.symbol]) for shape in shapes]
        shapes = [replace(shape, functions=tuple(names)) for shape, names in rest if names]
    if not shapes:
        raise _refused(probe, probe.place.symbol, f"No other function of this kernel takes {text}")
    touches = [(lowered(touching, name, shape.signature), shape.functions) for shape in shapes]
    ends = [
        (lowered(touching, name, shape.signature), shape.functions)
        for shape in _freeing_shapes(btf, called, found.type_id)
    ]
    plan = with_tracking(TrackedPlans(finding, touches, ends), facts, btf)
    count = sum(len(program.functions) for program in plan.programs if program.role is ObjectRole.TOUCH)
    note = f"{found.own}: tracked through {counted(count, 'function')} that take {text}, until it is freed"
    return replace(plan, probe=probe, losses=(plan.losses[0], note, *plan.losses[1:]))


@dataclass(frozen=True, slots=True)
class _TrackedObject:
    """Object that a probe finds, and the fetchargs that are recorded of it."""

    own: Variable | ReturnValue
    """Expression of its address at the function that finds it."""
    type_id: int
    """Type id of the pointer."""
    type_name: str
    """`struct file`."""
    recorded: tuple[FetchArg, ...]
    """Fetcharg as written, without the one of the address."""
    name: str
    """Name of the field with the address."""

    @property
    def when(self) -> ProbeEnds:
        """End of the call at which it is found."""
        return ProbeEnds.EXIT if isinstance(self.own, ReturnValue) else ProbeEnds.ENTRY

    @classmethod
    def of(cls, probe: Probe, signature: Signature, machine: str) -> _TrackedObject:
        """Return the object of a probe: its first fetcharg, else what that is read from, else the first argument
        that points to a structure. Raises CannotLower.
        """
        own, type_id, kind = _object(probe, signature, machine)
        recorded = tuple(arg for arg in probe.fetchargs if arg.expression != own)
        for arg in recorded:
            inner = innermost(arg.expression)
            if not isinstance(inner, Comm | CurrentTask) and not _is_inside(inner, own):
                hint = f"Where {own} is tracked only what is read from it is there, and $comm"
                raise _refused(probe, str(arg), hint)
        written = next((arg.name for arg in probe.fetchargs if arg.expression == own and arg.name), None)
        name = written or field_name(FetchArg(own), [arg.name for arg in recorded if arg.name])
        return cls(own, type_id, f"{kind.keyword} {kind.name}", recorded, name)

    def fetchargs(self, root: Variable | ReturnValue) -> tuple[FetchArg, ...]:
        """Return what is recorded where the object's address is `root`, under the same names everywhere."""
        names = {self.name, *(arg.name for arg in self.recorded if arg.name)}
        result = [FetchArg(root, self.name)]
        for arg in self.recorded:
            name = arg.name or unique_field(field_name(arg, tuple(names)), names)
            names.add(name)
            result.append(replace(arg, name=name, expression=_moved(arg.expression, self.own, root)))
        return tuple(result)


def _object(probe: Probe, signature: Signature, machine: str) -> tuple[Variable | ReturnValue, int, Struct]:
    """Return the expression of the object's address, the type id of that pointer, and the structure that it points
    to. Raises CannotLower.
    """
    first = innermost(probe.fetchargs[0].expression) if probe.fetchargs else None
    candidates: list[Variable | ReturnValue] = [Variable(param.name) for param in signature.params if param.name]
    if isinstance(first, Variable | ReturnValue):
        candidates = (
            [first, replace(first, path=())] if probe.fetchargs[0].expression == first else [replace(first, path=())]
        )
    convention = convention_of(signature.btf, signature.params, machine, signature.returns)
    for expression in candidates:
        try:
            value = locate(signature, convention, expression)
        except ValueUnavailable as error:
            if probe.fetchargs:
                raise _refused(probe, str(expression), error.reason or str(error)) from None
            continue
        kind = _pointed_to(signature.btf, value.type_id)
        if kind is not None:
            return expression, value.type_id, kind
    token = str(probe.fetchargs[0]) if probe.fetchargs else probe.place.symbol
    raise _refused(probe, token, "Tracked is an object to which an argument or a field points: a struct or a union")


def _pointed_to(btf: Btf, type_id: int) -> Struct | None:
    """Return the structure with a name that a pointer points to; None: it is no such pointer."""
    pointer = btf.type(strip(btf, type_id))
    kind = btf.type(strip(btf, pointer.type_id)) if isinstance(pointer, Ptr) else None
    return kind if isinstance(kind, Struct) and kind.name else None


def _is_inside(expression: Expression, own: Variable | ReturnValue) -> bool:
    """Return whether an expression is read from an object."""
    if isinstance(expression, Variable) and isinstance(own, Variable) and expression.name != own.name:
        return False
    if not isinstance(expression, Variable | ReturnValue) or type(expression) is not type(own):
        return False
    return expression.path[: len(own.path)] == own.path


def _moved(expression: Expression, own: Variable | ReturnValue, root: Variable | ReturnValue) -> Expression:
    """Return an expression with the address of the object replaced."""
    if isinstance(expression, Dereference | Cast | PerCpu):
        return replace(expression, inner=_moved(expression.inner, own, root))
    if isinstance(expression, Variable | ReturnValue) and _is_inside(expression, own):
        return replace(root, path=(*root.path, *expression.path[len(own.path) :]))
    return expression


def _touching_shapes(btf: Btf, text: str, called: str, facts: TargetFacts) -> list[FunctionShape]:
    """Return the functions of the kernel that take a type, by the place of each argument of that type."""
    kernel = btf.base or btf
    traceable = index_of(facts).modules
    taking = [
        name for name in uses_of(kernel, text).takes if traceable.get(name) == "" and not kernel.is_ambiguous(name)
    ]
    shapes, number = [], 0
    places = {name: _places_of(kernel, name, text) for name in taking}
    while rest := {name: found[number] for name, found in places.items() if len(found) > number}:
        found, _ = function_shapes(tuple(rest), frozenset({called}), kernel, facts.machine, rest, called)
        shapes += found
        number += 1
    return shapes


def _places_of(btf: Btf, function: str, text: str) -> list[int]:
    """Return the numbers of the parameters that have a type, from 0."""
    signature = certain_signature_of(btf, function)
    params = signature.params if signature is not None else ()
    kinds = [_pointed_to(btf, param.type_id) for param in params]
    return [n for n, kind in enumerate(kinds) if kind is not None and f"{kind.keyword} {kind.name} *" == text]


def _freeing_shapes(btf: Btf, called: str, type_id: int) -> list[FunctionShape]:
    """Return the functions that free memory, each with the object's type for its argument."""
    shapes = []
    for name, number in FREES.items():
        signature = certain_signature_of(btf, name)
        if signature is not None and number < len(signature.params):
            params = list(signature.params)
            params[number] = Param(called, type_id)
            shapes.append(FunctionShape((name,), replace(signature, params=tuple(params))))
    return shapes


def _refused(probe: Probe, part: str, hint: str) -> CannotLower:
    """Return the error of a probe that tracks nothing, at a part of its text."""
    text = str(probe)
    column = text.find(part, text.index(" ") + 1)
    return CannotLower(own_refusal("no_object", part, column if column >= 0 else None, hint))
