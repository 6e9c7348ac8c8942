"""Find the names of the numbers of a recorded value of a function."""

from __future__ import annotations

from btf.btf import Btf
from btf.errors import BtfError
from btf.layout import PathError, resolve
from btf.types import Ptr
from btf.walk import stripped
from probes.facts.lookups import Environment
from probes.fetcharg import Hop, ReturnValue, Variable
from probes.functions import known_numbers
from probes.functions.signature import Signature


def naming_of(
    signature: Signature, expression: Variable | ReturnValue, type_id: int, environment: Environment
) -> str:
    """Return the naming of a value (`PlanColumn.naming`); empty: its numbers have no names, or those of an enum.

    Args:
        signature: of the probed function.
        expression: the value.
        type_id: type of the value.
        environment: source of events, whose print formats name the numbers of some types.
    """
    btf, path = signature.btf, expression.path
    try:
        if not path and isinstance(expression, Variable):
            found = known_numbers.function_parameter(btf, signature.name, expression.name, type_id)
        elif path and path[-1].op != "[]":
            struct = _struct_name(btf, _base_type(signature, expression), path[:-1])
            found = known_numbers.member(btf, struct, path[-1].name, type_id)
        else:
            found = known_numbers.typedef(btf, type_id)
        return found or _of_event(btf, type_id, environment)
    except (BtfError, PathError):
        return ""


def _base_type(signature: Signature, expression: Variable | ReturnValue) -> int:
    if isinstance(expression, ReturnValue):
        return signature.returns
    number = signature.number_of(expression.name)
    return signature.params[number].type_id if number is not None else 0


def _struct_name(btf: Btf, type_id: int, path: tuple[Hop, ...]) -> str:
    """Return the name of the structure that a path leads to, also through a pointer; empty: it has none."""
    found = stripped(btf, resolve(btf, type_id, [(hop.op, hop.name) for hop in path]).type_id)
    target = stripped(btf, found.type_id) if isinstance(found, Ptr) else found
    return str(getattr(target, "name", ""))


def _of_event(btf: Btf, type_id: int, environment: Environment) -> str:
    """Return how an event prints the numbers of a type that only the kernel itself knows (`gfp_t`)."""
    for name in known_numbers.typedef_names(btf, type_id):
        if name in known_numbers.EVENT_TYPEDEFS and environment.event is not None:
            group, event, field = known_numbers.EVENT_TYPEDEFS[name]
            return next((one.naming for one in environment.event(group, event) or () if one.name == field), "")
    return ""
