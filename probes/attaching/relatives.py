"""Find functions that take a struct of the same type as an unprobeable function; they may not be callers."""

from __future__ import annotations

from collections.abc import Callable

from btf.btf import Btf
from btf.errors import BtfError
from btf.functions.functions_of_type import functions_using
from btf.kinds import MAX_DEPTH
from btf.types import Fwd, Modifier, Ptr, Struct
from probes.attaching.values import Alternative, Relation
from probes.probe import ProbeKind, ProbePlace

_MAX_RELATIVES = 8


def relatives(name: str, btf: Btf, kinds_of: Callable[[str], frozenset[ProbeKind]]) -> tuple[Alternative, ...]:
    """Return functions that take a pointer to the same struct as `name`, the most similar names first (50 ms).

    Args:
        name: name of the function.
        btf: types that may have the function.
        kinds_of: returns the probes that can attach to a function.
    """
    try:
        function = btf.function(name)
        parameters = btf.prototype(function).params if function is not None else ()
        structs = [struct for parameter in parameters if (struct := _struct_behind(btf, parameter.type_id))]
        users = functions_using(btf, f"struct {structs[0]}").takes if structs else ()
    except BtfError:
        return ()
    by_similarity = sorted(
        (user for user in users if user != name), key=lambda user: (-_common_prefix(user, name), user)
    )
    with_kinds = ((user, kinds_of(user)) for user in by_similarity)
    alternatives = (
        Alternative(ProbePlace(user), Relation.SAME_TYPE, f"takes struct {structs[0]}", kinds)
        for user, kinds in with_kinds
        if kinds
    )
    return tuple(alternative for alternative, _ in zip(alternatives, range(_MAX_RELATIVES), strict=False))


def _common_prefix(first: str, second: str) -> int:
    """Return the length of the common prefix."""
    return next(
        (at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )


def _struct_behind(btf: Btf, type_id: int) -> str:
    """Return the name of the struct that a type points to; empty where it is no such pointer."""
    pointers = 0
    for _ in range(MAX_DEPTH):
        kind = btf.type(type_id)
        if isinstance(kind, Ptr):
            pointers += 1
        elif not isinstance(kind, Modifier):
            return kind.name if pointers == 1 and isinstance(kind, Struct | Fwd) else ""
        type_id = kind.type_id
    return ""
