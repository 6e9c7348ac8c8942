"""Find the functions that take or return a type."""

from __future__ import annotations

from typing import NamedTuple

from btf.btf import Btf
from btf.kinds import MAX_DEPTH, MODIFIERS, Kind
from btf.types import Array, FuncProto, Modifier, Ptr

_TYPES = frozenset({Kind.STRUCT, Kind.UNION, Kind.FWD, Kind.ENUM, Kind.ENUM64, Kind.TYPEDEF, Kind.INT, Kind.FLOAT})
_KEYWORDS = {
    "struct": frozenset({Kind.STRUCT, Kind.FWD}),
    "union": frozenset({Kind.UNION, Kind.FWD}),
    "enum": frozenset({Kind.ENUM, Kind.ENUM64}),
}


class Uses(NamedTuple):
    """Names of functions, in file order."""

    takes: tuple[str, ...]
    """Functions that have a parameter of the type, or of a pointer to it."""
    returns: tuple[str, ...]


def functions_using(b: Btf, name: str) -> Uses:
    """Return the functions of `b` (not of its base) that take or return a type, also through pointers and typedefs.

    Args:
        b: the types.
        name: `file`, `struct file`, `loff_t`, ...
    """
    keyword, _, rest = name.strip().partition(" ")
    kinds = _KEYWORDS.get(keyword, _TYPES) if rest else _TYPES
    plain = rest.strip() if keyword in _KEYWORDS and rest else name.strip()
    reach = dict.fromkeys((i for i in b.find_all(plain) if b.kind(i) in kinds), True)
    if not reach:
        return Uses((), ())
    words = b.index.words
    takes, returns = [], []
    protos: dict[int, tuple[bool, bool]] = {}
    for function, at in zip(b.functions, b.index.functions, strict=True):
        proto_id = words[at + 2]
        if proto_id not in protos:
            protos[proto_id] = _proto(b, proto_id, reach)
        does_return, does_take = protos[proto_id]
        if does_take:
            takes.append(function)
        if does_return:
            returns.append(function)
    return Uses(tuple(takes), tuple(returns))


def _proto(b: Btf, proto_id: int, reach: dict[int, bool]) -> tuple[bool, bool]:
    """Return whether a prototype returns, and whether it takes, a wanted type."""
    if b.kind(proto_id) != Kind.FUNC_PROTO:
        return False, False
    words, positions = b.index.words, b.index.positions
    if proto_id < b.start_id:
        proto = b.type(proto_id)
        if not isinstance(proto, FuncProto):
            return False, False
        returned, parameters = proto.type_id, [p.type_id for p in proto.params]
    else:
        # Read the words directly: decoding all prototypes with their names would take three times as long.
        at = positions[proto_id - b.start_id]
        returned, parameters = words[at + 2], words[at + 4 : at + 3 + 2 * (words[at + 1] & 0xFFFF) : 2].tolist()
    return _reaches(b, returned, reach), any(_reaches(b, p, reach) for p in parameters)


def _reaches(b: Btf, type_id: int, reach: dict[int, bool]) -> bool:
    """Return whether a chain of pointers and modifiers reaches a wanted type; the result is cached in `reach` for
    each link.
    """
    chain = []
    for _ in range(MAX_DEPTH):
        cached = reach.get(type_id)
        if cached is not None:
            break
        chain.append(type_id)
        if b.kind(type_id) not in MODIFIERS and b.kind(type_id) not in (Kind.PTR, Kind.ARRAY):
            break
        found = b.type(type_id)
        type_id = found.type_id if isinstance(found, Ptr | Array | Modifier) else 0
    result = reach.get(type_id, False)
    reach.update(dict.fromkeys(chain, result))
    return result
