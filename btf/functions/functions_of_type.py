"""Find the functions that take or return a type, by any number of pointers to it or exactly as written."""

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


_SPELLINGS = {
    "unsigned": "unsigned int",
    "long": "long int",
    "unsigned long": "long unsigned int",
    "long long": "long long int",
    "unsigned long long": "long long unsigned int",
    "short": "short int",
    "unsigned short": "short unsigned int",
    "bool": "_Bool",
}
"""Names of types as C sources have them, with those of BTF."""


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
    reach = dict.fromkeys(_ids(b, name), True)
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


class ExactUses(NamedTuple):
    """Functions that take or return a type exactly as written."""

    takes: dict[str, int]
    """Names with the number of the first parameter of the type, from 0."""
    returns: frozenset[str]


def functions_with(b: Btf, written: str) -> ExactUses:
    """Return the functions of `b` (not of its base) that take or return a type; qualifiers do not count.

    Args:
        b: the types.
        written: `struct file *`, `const char *`, `loff_t`, ...
    """
    pointers = written.count("*")
    name = " ".join(word for word in written.replace("*", " ").split() if word not in ("const", "volatile"))
    known = dict.fromkeys(_ids(b, name), 0)
    takes: dict[str, int] = {}
    returns: set[str] = set()
    if not known:
        return ExactUses(takes, frozenset())
    words = b.index.words
    protos: dict[int, tuple[bool, int]] = {}
    for function, at in zip(b.functions, b.index.functions, strict=True):
        proto_id = words[at + 2]
        if proto_id not in protos:
            returned, parameters = _parts(b, proto_id)
            place = next((n for n, p in enumerate(parameters) if _distance(b, p, known) == pointers), -1)
            protos[proto_id] = _distance(b, returned, known) == pointers, place
        does_return, place = protos[proto_id]
        if place >= 0:
            takes.setdefault(function, place)
        if does_return:
            returns.add(function)
    return ExactUses(takes, frozenset(returns))


def _ids(b: Btf, name: str) -> list[int]:
    """Return the ids of the types of a name, with or without `struct`, `union` or `enum`."""
    name = _SPELLINGS.get(name, name)
    if name == "void":
        return [0]
    keyword, _, rest = name.strip().partition(" ")
    kinds = _KEYWORDS.get(keyword, _TYPES) if rest else _TYPES
    plain = rest.strip() if keyword in _KEYWORDS and rest else name.strip()
    return [type_id for type_id in b.find_all(plain) if b.kind(type_id) in kinds]


def _distance(b: Btf, type_id: int, known: dict[int, int]) -> int:
    """Return the number of pointers from a type to a wanted one; -1: it leads to none. `known` keeps the results."""
    chain: list[tuple[int, int]] = []
    pointers, result = 0, -1
    for _ in range(MAX_DEPTH):
        if type_id in known:
            result = known[type_id] + pointers if known[type_id] >= 0 else -1
            break
        chain.append((type_id, pointers))
        kind = b.kind(type_id)
        if kind not in MODIFIERS and kind != Kind.PTR:
            break
        pointers += kind == Kind.PTR
        found = b.type(type_id)
        type_id = found.type_id if isinstance(found, Ptr | Modifier) else 0
    known.update({each: result - before if result >= 0 else -1 for each, before in chain})
    return result


def _proto(b: Btf, proto_id: int, reach: dict[int, bool]) -> tuple[bool, bool]:
    """Return whether a prototype returns, and whether it takes, a wanted type."""
    returned, parameters = _parts(b, proto_id)
    return _reaches(b, returned, reach), any(_reaches(b, p, reach) for p in parameters)


def _parts(b: Btf, proto_id: int) -> tuple[int, list[int]]:
    """Return the type ids of what a prototype returns and of its parameters; void and none for another type."""
    if b.kind(proto_id) != Kind.FUNC_PROTO:
        return 0, []
    if proto_id < b.start_id:
        proto = b.type(proto_id)
        return (proto.type_id, [p.type_id for p in proto.params]) if isinstance(proto, FuncProto) else (0, [])
    # Read the words directly: decoding all prototypes with their names would take three times as long.
    words, at = b.index.words, b.index.positions[proto_id - b.start_id]
    return words[at + 2], words[at + 4 : at + 3 + 2 * (words[at + 1] & 0xFFFF) : 2].tolist()


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
