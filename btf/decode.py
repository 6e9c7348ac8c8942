"""Decode the words of one type. Names are resolved here, so a decoded type is self-contained."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from btf.kinds import Kind
from btf.types import (
    Array,
    Const,
    Datasec,
    DeclTag,
    Enum,
    Enum64,
    Enumerator,
    Float,
    Func,
    FuncProto,
    Fwd,
    Int,
    Member,
    Param,
    Ptr,
    Restrict,
    SectionVar,
    Struct,
    Type,
    Typedef,
    TypeTag,
    Var,
    Volatile,
)

Names = Callable[[int], str]
Words: TypeAlias = memoryview
"""32-bit items."""


def decode(words: Words, at: int, type_id: int, names: Names) -> Type:
    """Decode the type at word `at`, which `index.walk` found to be complete.

    Raises:
        BtfError: by `names`, for a name outside the strings.
    """
    info, last = words[at + 1], words[at + 2]
    kind, vlen, flag = info >> 24 & 0x1F, info & 0xFFFF, bool(info >> 31)
    name = names(words[at])
    plain = _PLAIN.get(kind)
    if plain is not None:
        return plain(type_id, name, last)
    match kind:
        case Kind.INT:
            detail = words[at + 3]
            return Int(type_id, name, last, detail >> 24 & 0xF, detail >> 16 & 0xFF, detail & 0xFF)
        case Kind.ARRAY:
            return Array(type_id, name, words[at + 3], words[at + 4], words[at + 5])
        case Kind.STRUCT | Kind.UNION:
            return Struct(type_id, name, kind == Kind.UNION, last, _members(words, at, vlen, flag, names), flag)
        case Kind.ENUM:
            values = tuple(
                Enumerator(names(n), v - (1 << 32) if flag and v >> 31 else v) for n, v in _rows2(words, at, vlen)
            )
            return Enum(type_id, name, last, flag, values)
        case Kind.ENUM64:
            return Enum64(type_id, name, last, flag, _values64(words, at, vlen, flag, names))
        case Kind.FWD:
            return Fwd(type_id, name, flag)
        case Kind.FUNC:
            return Func(type_id, name, last, vlen)
        case Kind.FUNC_PROTO:
            params = tuple(Param(names(n), t) for n, t in _rows2(words, at, vlen))
            return FuncProto(type_id, name, last, params)
        case Kind.VAR:
            return Var(type_id, name, last, words[at + 3])
        case Kind.DATASEC:
            return Datasec(type_id, name, last, tuple(map(SectionVar._make, _rows3(words, at, vlen))))
        case Kind.DECL_TAG:
            index = words[at + 3]
            return DeclTag(type_id, name, last, index - (1 << 32) if index >> 31 else index)
    return TypeTag(type_id, name, last, flag)


_PLAIN: dict[int, Callable[[int, str, int], Type]] = {
    Kind.PTR: Ptr,
    Kind.TYPEDEF: Typedef,
    Kind.VOLATILE: Volatile,
    Kind.CONST: Const,
    Kind.RESTRICT: Restrict,
    Kind.FLOAT: Float,
}


def _rows2(words: Words, at: int, vlen: int) -> Iterator[tuple[int, int]]:
    end = at + 3 + 2 * vlen
    return zip(words[at + 3 : end : 2], words[at + 4 : end : 2], strict=True)


def _rows3(words: Words, at: int, vlen: int) -> Iterator[tuple[int, int, int]]:
    end = at + 3 + 3 * vlen
    return zip(words[at + 3 : end : 3], words[at + 4 : end : 3], words[at + 5 : end : 3], strict=True)


def _members(words: Words, at: int, vlen: int, flag: bool, names: Names) -> tuple[Member, ...]:
    if flag:
        return tuple(Member(names(n), t, o & 0xFFFFFF, o >> 24) for n, t, o in _rows3(words, at, vlen))
    return tuple(Member(names(n), t, o, 0) for n, t, o in _rows3(words, at, vlen))


def _values64(words: Words, at: int, vlen: int, signed: bool, names: Names) -> tuple[Enumerator, ...]:
    values = []
    for name, low, high in _rows3(words, at, vlen):
        value = high << 32 | low
        values.append(Enumerator(names(name), value - (1 << 64) if signed and high >> 31 else value))
    return tuple(values)
