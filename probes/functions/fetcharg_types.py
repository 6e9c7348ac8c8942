"""Map BTF types to fetcharg types: the kernel's default for a type, and the type that shows a value best."""

from __future__ import annotations

from btf.btf import Btf
from btf.kinds import Kind
from btf.types import Array, Enum, Enum64, Int, Ptr, Struct, TypeTag
from btf.walk import size_of, strip
from probes.facts.dialect import MAX_ARRAY
from probes.fetcharg import FetchArg, ReturnValue, Variable

_WIDTHS = (1, 2, 4, 8)
_TEXT_NAMES = frozenset({"char", "unsigned char", "signed char"})
_MAX_WRAP = 8
"""Nesting depth of one-member structs that are looked through: kuid_t, pte_t, atomic_t in refcount_t, ..."""


def default_type(btf: Btf, type_id: int) -> str | None:
    """Return the type the kernel assumes where none is written (fetch_type_from_btf_type); None: a raw long."""
    kind = btf.type(strip(btf, type_id))
    if isinstance(kind, Enum):
        return "s32"
    if isinstance(kind, Enum64):
        return "s64"
    if isinstance(kind, Ptr):
        return _pointer_type(btf)
    if isinstance(kind, Int) and kind.bits in (8, 16, 32, 64):
        return f"{'s' if kind.is_signed else 'u'}{kind.bits}"
    return None


def own_type(btf: Btf, type_id: int) -> str | None:
    """Return a fetcharg type with the value's own width.

    The kernel assumes 32 bits for every enum, and a long for a struct around a single number (`kuid_t`, `atomic_t`).
    """
    kind, inner = btf.type(strip(btf, type_id)), btf.type(unwrap(btf, type_id))
    wrapped = isinstance(kind, Struct) and isinstance(inner, Int | Enum | Enum64)
    small = isinstance(kind, Enum) and kind.size != 4
    return best_type(btf, inner.id) if wrapped or small else default_type(btf, type_id)


def best_type(btf: Btf, type_id: int) -> str | None:
    """Return the type that shows a value best; None where the type has no single value (a struct, a float, void).

    Pointers to text are strings: to `char`, and to `unsigned char` by that name (a typedef such as `u8` means bytes);
    `ustring` where the pointer carries BTF's `user` tag. Arrays are cut at the kernel's 64 elements; they and strings
    need memory. `%pd` and `%pD` name a dentry and a file.
    """
    kind = btf.type(strip(btf, type_id))
    if isinstance(kind, Ptr):
        return _type_of_pointer(btf, kind)
    if isinstance(kind, Array):
        return _type_of_array(btf, kind)
    if isinstance(kind, Enum | Enum64) and kind.size in _WIDTHS:
        large = any(value.value >= 1 << (kind.size * 8 - 1) for value in kind.values)
        return f"{'u' if large else 's'}{kind.size * 8}"
    if isinstance(kind, Int) and kind.size in _WIDTHS:
        return f"{'s' if kind.is_signed else 'u'}{kind.size * 8}"
    if isinstance(kind, Struct):
        inner = unwrap(btf, kind.id)
        return best_type(btf, inner) if inner != kind.id else None
    return None


def unwrap(btf: Btf, type_id: int) -> int:
    """Return the type id inside structs that hold a single value at their start (`kuid_t`, `pte_t`)."""
    current = strip(btf, type_id)
    for _ in range(_MAX_WRAP):
        kind = btf.type(current)
        if not isinstance(kind, Struct) or kind.is_union or len(kind.members) != 1:
            return current
        member = kind.members[0]
        if member.bit_size or member.bit_offset:
            return strip(btf, type_id)
        current = strip(btf, member.type_id)
    return strip(btf, type_id)


def is_text(btf: Btf, type_id: int) -> bool:
    """Return whether a type is a character of text: `char`, or `unsigned char` by that name."""
    current = type_id
    for _ in range(32):
        kind = btf.type(current)
        if isinstance(kind, Int):
            return kind.size == 1 and kind.name in _TEXT_NAMES
        if kind.kind not in (Kind.CONST, Kind.VOLATILE, Kind.RESTRICT, Kind.TYPE_TAG):
            return False
        current = kind.type_id  # type: ignore[union-attr]
    return False


def is_byte(btf: Btf, type_id: int) -> bool:
    """Return whether a type is an integer of one byte, whatever its name."""
    kind = btf.type(strip(btf, type_id))
    return isinstance(kind, Int) and kind.size == 1


def is_user(btf: Btf, type_id: int) -> bool:
    """Return whether BTF's `user` type tag is on a pointer's target (clang and newer gcc write the tag)."""
    kind = btf.type(strip(btf, type_id))
    current = kind.type_id if isinstance(kind, Ptr) else 0
    while isinstance(tag := btf.type(current), TypeTag):
        if tag.name == "user":
            return True
        current = tag.type_id
    return False


def _pointer_type(btf: Btf) -> str:
    """Return the fetcharg type of a pointer."""
    return f"x{btf.pointer_size * 8}"


def _type_of_pointer(btf: Btf, kind: Ptr) -> str:
    target = btf.type(strip(btf, kind.type_id))
    if target.kind is Kind.FUNC_PROTO:
        return "symbol"
    if is_text(btf, kind.type_id):
        return "ustring" if is_user(btf, kind.id) else "string"
    if isinstance(target, Struct) and not target.is_union:
        if target.name == "dentry":
            return "%pd"
        if target.name == "file":
            return "%pD"
    return _pointer_type(btf)


def _type_of_array(btf: Btf, kind: Array) -> str | None:
    if is_text(btf, kind.type_id):
        return "string"
    if not kind.nelems:
        return None
    element = btf.type(strip(btf, kind.type_id))
    if isinstance(element, Array) or size_of(btf, kind.type_id) not in _WIDTHS:
        return None
    scalar = best_type(btf, kind.type_id)
    if scalar is None:
        return None
    if scalar in ("string", "ustring", "%pd", "%pD"):
        scalar = _pointer_type(btf)  # an array of pointers: the kernel's `string[N]` is something else
    return f"{scalar}[{min(kind.nelems, MAX_ARRAY)}]"


def fetcharg_for(btf: Btf, expression: Variable | ReturnValue, type_id: int) -> FetchArg:
    """Return the fetcharg for a value of this type; the type is written only where the kernel's default differs."""
    best = best_type(btf, type_id)
    return FetchArg(expression, None, None if best == default_type(btf, type_id) else best)
