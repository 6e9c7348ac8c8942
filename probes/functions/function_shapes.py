"""Group the functions of a probe by the places of the values that it records, so that each group has one program."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from btf.btf import Btf
from events.names.function_choice import ChoiceError, FunctionChoice
from probes.fetcharg import FetchArg, ReturnValue, Variable, innermost
from probes.functions.chosen_functions import uses_of
from probes.functions.convention import convention_of
from probes.functions.signature import Signature, certain_signature_of, signature_of

NO_RESULT = "they return nothing"
"""Reason for which functions are left out where `$retval` is recorded."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class FunctionShape:
    """Functions that have the recorded values in the same places, of the same types."""

    functions: tuple[str, ...]
    signature: Signature | None = None
    """Signature of one of them; None: the probe records nothing by name."""


def parameter_name(choice: FunctionChoice) -> str:
    """Return the name by which a probe on `[struct file *]` calls the parameter: `file`; empty: it is no type."""
    words = _WORD.findall(choice.type)
    return words[-1] if words and not choice.returns else ""


def names_wanted(fetchargs: Sequence[FetchArg]) -> frozenset[str]:
    """Return the names of parameters that fetchargs read, with `$retval` for a path behind the return value."""
    inner = [innermost(arg.expression) for arg in fetchargs]
    names = {one.name for one in inner if isinstance(one, Variable)}
    return frozenset(names | {"$retval" for one in inner if isinstance(one, ReturnValue) and one.path})


def without_void(
    functions: Sequence[str], fetchargs: Sequence[FetchArg], btf: Btf | None
) -> tuple[Sequence[str], list[str]]:
    """Return the functions that may return a value where a probe records it, and those that certainly return none.

    A register would be recorded of these, which looks like a result.
    """
    if btf is None or not any(isinstance(innermost(arg.expression), ReturnValue) for arg in fetchargs):
        return functions, []
    signatures = {name: certain_signature_of(btf, name) for name in functions}
    void = [name for name, found in signatures.items() if found is not None and not found.strip(found.returns)]
    return [name for name in functions if name not in set(void)], void


def function_shapes(
    functions: Sequence[str],
    wanted: frozenset[str],
    btf: Btf | None,
    machine: str,
    parameters: Mapping[str, int],
    name: str,
) -> tuple[list[FunctionShape], list[str]]:
    """Return the shapes of functions, the one with most functions first, and the functions that lack a value.

    Args:
        functions: names of the functions.
        wanted: `names_wanted` of the probe.
        btf: types of the kernel; None: unknown.
        machine: as `uname -m` says it.
        parameters: number of the parameter that is called `name`, by function; others have their own names.
        name: see `parameters`.
    """
    if not wanted:
        return [FunctionShape(tuple(functions))], []
    groups: dict[tuple[object, ...], list[str]] = {}
    signatures: dict[tuple[object, ...], Signature] = {}
    lacking = []
    for function in functions:
        signature = certain_signature_of(btf, function) if btf is not None else None
        if signature is not None and function in parameters:
            signature = _renamed(signature, parameters[function], name)
        key = None if signature is None else _key(signature, wanted, machine)
        if signature is None or key is None:
            lacking.append(function)
            continue
        groups.setdefault(key, []).append(function)
        signatures.setdefault(key, signature)
    shapes = [FunctionShape(tuple(names), signatures[key]) for key, names in groups.items()]
    return sorted(shapes, key=lambda shape: -len(shape.functions)), lacking


def type_signature(btf: Btf, text: str) -> Signature | None:
    """Return what the functions of a type have in common: the parameter, or the return value; None: none has it."""
    try:
        choice = FunctionChoice.parse(text)
    except ChoiceError:
        return None
    uses = uses_of(btf, choice.type)
    function = next(iter(uses.returns if choice.returns else uses.takes), "")
    signature = signature_of(btf, function) if function else None
    if signature is None:
        return None
    if choice.returns:
        return replace(signature, name=text, params=())
    param = signature.params[uses.takes[function]]
    return replace(signature, name=text, params=(param._replace(name=parameter_name(choice)),), returns=0)


def _renamed(signature: Signature, number: int, name: str) -> Signature:
    """Return a signature in which one parameter has a name that no other has."""
    params = tuple(
        param._replace(name=name if at == number else "" if param.name == name else param.name)
        for at, param in enumerate(signature.params)
    )
    return replace(signature, params=params)


def _key(signature: Signature, wanted: frozenset[str], machine: str) -> tuple[object, ...] | None:
    """Return what decides how the wanted values are read; None: the function lacks one of them."""
    convention = convention_of(signature.btf, signature.params, machine, signature.returns)
    key: list[object] = []
    for name in sorted(wanted):
        if name == "$retval":
            key.append(signature.returns)
            if not signature.strip(signature.returns):
                return None
            continue
        number = signature.number_of(name)
        if number is None or number >= len(convention.params) or convention.params[number].reason:
            return None
        key.append((convention.params[number], signature.params[number].type_id))
    return tuple(key)
