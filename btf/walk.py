"""From one type to the next: through modifiers and typedefs, and what a type takes up in memory."""

from __future__ import annotations

from btf.btf import Btf
from btf.errors import BtfError
from btf.kinds import MAX_DEPTH, MODIFIERS
from btf.types import Array, Datasec, DeclTag, Enum, Enum64, Float, Int, Ptr, Struct, Type, TypeTag, Var


def strip(b: Btf, type_id: int) -> int:
    """The id without typedef, const, volatile, restrict and type tags (the kernel's btf_type_skip_modifiers).

    Raises:
        BtfError: no such type, or the chain doesn't end.
    """
    at = type_id
    for _ in range(MAX_DEPTH):
        if b.kind(at) not in MODIFIERS:
            return at
        at = _target(b.type(at))
    raise BtfError(f"type {type_id} doesn't end within {MAX_DEPTH} links", b.offset(type_id))


def stripped(b: Btf, type_id: int) -> Type:
    """The type without typedefs and modifiers; raises BtfError."""
    return b.type(strip(b, type_id))


def pointee(b: Btf, type_id: int) -> int | None:
    """Id of what a pointer points at, as declared (0: void); None for anything else."""
    found = stripped(b, type_id)
    return found.type_id if isinstance(found, Ptr) else None


def tags(b: Btf, type_id: int) -> tuple[str, ...]:
    """The type tags on a type, outermost first, looking through typedefs and modifiers."""
    found: list[str] = []
    at = type_id
    for _ in range(MAX_DEPTH):
        if b.kind(at) not in MODIFIERS:
            return tuple(found)
        modifier = b.type(at)
        if isinstance(modifier, TypeTag):
            found.append(modifier.name)
        at = _target(modifier)
    raise BtfError(f"type {type_id} doesn't end within {MAX_DEPTH} links", b.offset(type_id))


def has_tag(b: Btf, pointer_id: int, tag: str) -> bool:
    """Whether what a pointer points at has a type tag: `has_tag(b, id, "user")` for `char __user *`."""
    target = pointee(b, pointer_id)
    return target is not None and tag in tags(b, target)


def size_of(b: Btf, type_id: int) -> int:
    """Bytes of a value of this type (libbpf's btf__resolve_size).

    Raises:
        BtfError: it has none (void, a function, a forward declaration), or the chain doesn't end.
    """
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
            case Ptr():
                return elements * b.pointer_size
            case Int() | Float() | Struct() | Enum() | Enum64() | Datasec():
                return elements * found.size
            case _:
                raise BtfError(f"a {found.kind.name} has no size", b.offset(type_id))
    raise BtfError(f"type {type_id} doesn't end within {MAX_DEPTH} links", b.offset(type_id))


def is_complete(b: Btf, type_id: int) -> bool:
    """Whether a value of this type has a size."""
    try:
        return size_of(b, type_id) >= 0
    except BtfError:
        return False


def align_of(b: Btf, type_id: int) -> int:
    """Alignment in bytes as the members tell it (libbpf's btf__align_of): 1 for what must be packed.

    Raises:
        BtfError: it has none, or the members don't end.
    """
    return _align(b, type_id, {}, 0)


def _align(b: Btf, type_id: int, known: dict[int, int], depth: int) -> int:
    if depth > MAX_DEPTH:
        raise BtfError(f"type {type_id} is nested more than {MAX_DEPTH} deep", b.offset(type_id))
    at = strip(b, type_id)
    if at in known:
        return known[at]
    found = b.type(at)
    match found:
        case Int() | Float() | Enum() | Enum64():
            align = max(1, min(b.pointer_size, found.size))
        case Ptr():
            align = b.pointer_size
        case Array():
            align = _align(b, found.type_id, known, depth + 1)
        case Struct():
            align = _struct_align(b, found, known, depth)
        case _:
            raise BtfError(f"a {found.kind.name} has no alignment", b.offset(type_id))
    known[at] = align
    return align


def _struct_align(b: Btf, found: Struct, known: dict[int, int], depth: int) -> int:
    largest = 1
    for member in found.members:
        align = _align(b, member.type_id, known, depth + 1)
        largest = max(largest, align)
        if not member.bit_size and member.bit_offset % (8 * align):
            return 1
    return 1 if found.size % largest else largest


def _target(modifier: Type) -> int:
    return int(getattr(modifier, "type_id", 0))
