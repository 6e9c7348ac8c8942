"""Expand `$$args` and `$arg*` to a fetcharg for each argument, with the best type or the kernel's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from btf.layout import fields
from btf.types import Param, Struct
from btf.walk import size_of, strip
from foreign.count_text import counted
from probes.fetcharg import AllArguments, Argument, FetchArg, Hop, Variable
from probes.functions.convention import FunctionConvention, PassedValue
from probes.functions.fetcharg_types import best_type, fetcharg_for, unwrap
from probes.functions.signature import Signature

_MAX_PARTS = 8
"""Largest number of members captured of a struct passed by value."""


class CaptureRequest(NamedTuple):
    """A value to capture."""

    arg: FetchArg
    at: int
    """Position among the probe's fetchargs."""
    is_explicit: bool = True
    """True if a person named the value; False: it comes from `$$args` and may be left out if no probe can read it."""


class CaptureSelection(NamedTuple):
    """Values to capture, and notes on those left out."""

    requests: tuple[CaptureRequest, ...]
    losses: tuple[str, ...] = ()


UNKNOWN_ARGUMENTS = "BTF does not know this function's arguments"


def expand_all_arguments(
    fetchargs: Sequence[FetchArg],
    signature: Signature | None,
    convention: FunctionConvention,
    reason: str = UNKNOWN_ARGUMENTS,
) -> CaptureSelection:
    """Replace `$$args` and `$arg*` by single arguments, without those that another fetcharg has already.

    Args:
        fetchargs: the fetchargs as written.
        signature: the function's signature; None: unknown.
        convention: places of the arguments.
        reason: why the signature is unknown.
    """
    wanted: list[CaptureRequest] = []
    losses: list[str] = []
    named = {arg.expression for arg in fetchargs}
    for index, arg in enumerate(fetchargs):
        if not isinstance(arg.expression, AllArguments):
            wanted.append(CaptureRequest(arg, index))
            continue
        if signature is None:
            losses.append(f"{arg.expression}: {reason}")
            continue
        for param, passed in zip(signature.params, convention.params, strict=False):
            if Variable(param.name) in named:
                continue
            captured, notes = _argument(signature, param, passed, arg.expression.best)
            wanted += [CaptureRequest(arg, index, is_explicit=False) for arg in captured]
            losses += notes
        if signature.params and not signature.params[-1].type_id:
            losses.append("...: a variable number of arguments can't be captured")
    return CaptureSelection(tuple(wanted), tuple(losses))


def _argument(
    signature: Signature, param: Param, passed: PassedValue, best: bool
) -> tuple[list[FetchArg], list[str]]:
    if passed.reason:
        return [], [f"{param.name}: {passed.reason}"]
    variable = Variable(param.name)
    kind = signature.btf.type(strip(signature.btf, param.type_id))
    if not isinstance(kind, Struct) and passed.longs > 1:
        return _halves(signature, param.name, passed)
    if not isinstance(kind, Struct):
        return [fetcharg_for(signature.btf, variable, param.type_id) if best else FetchArg(variable)], []
    if unwrap(signature.btf, kind.id) != kind.id and not passed.by_reference:
        kind_of_all = best_type(signature.btf, kind.id)
        if kind_of_all is not None and not kind_of_all.endswith(("]", "string")):
            return [FetchArg(variable, None, kind_of_all)], []
        if passed.longs > 1:  # an array can't be taken out of registers
            return _halves(signature, param.name, passed)
    return _parts(signature, param, kind)


def _halves(signature: Signature, name: str, passed: PassedValue) -> tuple[list[FetchArg], list[str]]:
    """Capture a value in several registers by register: `name_0` is the register with the lowest number."""
    if passed.stack:
        return [], [f"{name}: a part of it is on the stack"]
    kind = f"x{signature.btf.pointer_size * 8}"
    slots = enumerate(passed.slots[:_MAX_PARTS])
    captured = [FetchArg(Argument(slot), f"{name}_{number}", kind) for number, slot in slots]
    return captured, [f"{name}: it takes {passed.longs} registers, each is shown by itself"]


def _parts(signature: Signature, param: Param, kind: Struct) -> tuple[list[FetchArg], list[str]]:
    """Capture the leading plain members of a struct passed by value."""
    captured: list[FetchArg] = []
    losses: list[str] = []
    members = fields(signature.btf, kind.id)
    for member in members:
        inner = unwrap(signature.btf, member.type_id)
        best = best_type(signature.btf, member.type_id)
        if best is None or "[" in best or size_of(signature.btf, inner) > 8 or len(captured) == _MAX_PARTS:
            continue
        variable = Variable(param.name, (Hop(".", member.name),))
        captured.append(
            FetchArg(variable) if member.bit_size else fetcharg_for(signature.btf, variable, member.type_id)
        )
    count = len(members) - len(captured)
    if count:
        members_text = counted(
            count, "member of a struct passed by value is", "members of a struct passed by value are"
        )
        losses.append(f"{param.name}: {members_text} left out")
    return captured, losses
