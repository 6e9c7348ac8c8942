"""Functions that take a structure of the same type as one that can't be probed: relatives perhaps, no callers."""

from __future__ import annotations

from collections.abc import Callable

from btf.btf import Btf
from btf.errors import BtfError
from btf.kinds import MAX_DEPTH
from btf.types import Fwd, Modifier, Ptr, Struct
from btf.uses import functions_using
from probes.attaching.values import Alternative, Relation
from probes.probe import ProbeKind, ProbePlace

_MOST = 8


def relatives(name: str, btf: Btf, kinds_of: Callable[[str], frozenset[ProbeKind]]) -> tuple[Alternative, ...]:
    """The functions that take what `name` takes by pointer, those with names most like its own first (50 ms).

    Args:
        name: of the function.
        btf: types that may know it.
        kinds_of: what can attach to a function.
    """
    try:
        function = btf.function(name)
        parameters = btf.prototype(function).params if function is not None else ()
        structs = [struct for parameter in parameters if (struct := _struct_behind(btf, parameter.type_id))]
        taken = functions_using(btf, f"struct {structs[0]}").takes if structs else ()
    except BtfError:
        return ()
    like = sorted((one for one in taken if one != name), key=lambda one: (-_alike(one, name), one))
    found = ((one, kinds_of(one)) for one in like)
    ways = (
        Alternative(ProbePlace(one), Relation.SAME_TYPE, f"takes struct {structs[0]}", kinds)
        for one, kinds in found
        if kinds
    )
    return tuple(way for way, _ in zip(ways, range(_MOST), strict=False))


def _alike(one: str, other: str) -> int:
    """Letters with which both begin."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _struct_behind(btf: Btf, type_id: int) -> str:
    """Name of the struct that a type points to; empty where it is no such pointer."""
    pointers = 0
    for _ in range(MAX_DEPTH):
        found = btf.type(type_id)
        if isinstance(found, Ptr):
            pointers += 1
        elif not isinstance(found, Modifier):
            return found.name if pointers == 1 and isinstance(found, Struct | Fwd) else ""
        type_id = found.type_id
    return ""
