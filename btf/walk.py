"""Follow types through modifiers and typedefs, and compute their sizes in memory."""

from __future__ import annotations

from btf.btf import Btf
from btf.damage import empty_on_error
from btf.errors import BtfError
from btf.kinds import MAX_DEPTH, MODIFIERS
from btf.types import Array, Datasec, DeclTag, Enum, Enum64, Float, Int, Ptr, Struct, Type, Var

_MAX_SIZE = (1 << 32) - 1
"""Maximum size in bytes, as in libbpf."""


def strip(b: Btf, type_id: int) -> int:
    """Return the id without typedef, const, volatile, restrict and type tags (the kernel's btf_type_skip_modifiers).

    Raises:
        BtfError: there is no such type, or the chain does not end.
    """
    at = type_id
    for _ in range(MAX_DEPTH):
        if b.kind(at) not in MODIFIERS:
            return at
        at = _target(b.type(at))
    b.damage.met(BtfError(f"type {type_id} doesn't end within {MAX_DEPTH} links", b.offset(type_id)))
    return 0


def stripped(b: Btf, type_id: int) -> Type:
    """Return the type without typedefs and modifiers.

    Raises:
        BtfError: as `strip`.
    """
    return b.type(strip(b, type_id))


@empty_on_error(int)
def size_of(b: Btf, type_id: int) -> int:
    """Return the size in bytes of a value of this type (libbpf's btf__resolve_size).

    Raises:
        BtfError: the type has no size (void, a function, a forward declaration), the size exceeds 32 bits, or the
            chain does not end.
    """
    return _size(b, type_id)


def _size(b: Btf, type_id: int) -> int:
    elements = 1
    at = type_id
    for _ in range(MAX_DEPTH):
        at = strip(b, at)
        found = b.type(at)
        match found:
            case Array():
                elements *= found.nelems
                at = found.type_id
            case Var() | DeclTag():
                at = found.type_id
            case Ptr() | Int() | Float() | Struct() | Enum() | Enum64() | Datasec():
                size = elements * (b.pointer_size if isinstance(found, Ptr) else found.size)
                if size > _MAX_SIZE:
                    raise BtfError(f"type {type_id} has {size} bytes", b.offset(type_id))
                return size
            case _:
                raise BtfError(f"a {found.kind.name} has no size", b.offset(type_id))
    raise BtfError(f"type {type_id} doesn't end within {MAX_DEPTH} links", b.offset(type_id))


def is_complete(b: Btf, type_id: int) -> bool:
    """Return whether a value of this type has a size."""
    try:
        return _size(b, type_id) >= 0
    except BtfError:
        return False


def _target(modifier: Type) -> int:
    return int(getattr(modifier, "type_id", 0))
