"""Compute the layout of fields in structs and unions, and resolve paths like `->f_path.dentry`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from btf.btf import Btf
from btf.damage import empty_on_error
from btf.errors import BtfError
from btf.kinds import MAX_DEPTH
from btf.types import Array, Member, Ptr, Struct
from btf.walk import is_complete, size_of, strip, stripped

MAX_FIELDS = 1 << 14
"""Maximum number of fields of a flattened struct (a kernel's have up to 300); invalid BTF could nest exponentially
many."""
ANON_STACK = 16
"""Limit BTF_ANON_STACK_MAX of kernel/trace/trace_btf.c."""


class StructField(NamedTuple):
    """Named field, relative to the outermost struct."""

    name: str
    type_id: int
    bit_offset: int
    """Offset in bits from the start of the outermost struct."""
    bit_size: int
    """Size in bits; 0: no bit-field."""
    anonymous: tuple[int, ...] = ()
    """Ids of the enclosing anonymous structs and unions, outermost first."""

    @property
    def byte_offset(self) -> int:
        """Index of the byte in which the field begins."""
        return self.bit_offset // 8


class Children(NamedTuple):
    """Values one step below a value."""

    op: str
    """C operator of the step: `->`, `.`, `[]`; empty if there is nothing below."""
    fields: tuple[StructField, ...]
    """Fields, with offsets from the struct, or (for `[]`) from the first element; elements are named by their
    indices."""


class ResolvedPath(NamedTuple):
    """Result of following a path."""

    type_id: int
    """Type id of the last field, as declared."""
    derefs: tuple[int, ...]
    """Byte offset of each load, innermost first, the last being that of the field: `p->a.b->c` gives (offset of a.b,
    offset of c), which is `+C(+AB(p))`. Empty for an empty path: the value itself."""
    bit_offset: int
    """Bits from `derefs[-1]` to the field: 0 to 7."""
    bit_size: int
    """Size in bits; 0: no bit-field."""
    kernel_agrees: bool = True
    """False if the kernel's own field access reads this field wrongly or does not find it. The kernel uses the kind
    flag of the outer struct for a bit-field of an anonymous inner one (parse_btf_field), and searches at most 16
    anonymous members at a time (btf_find_struct_member). Also False if the path has a `[]`, which the kernel does not
    support."""


class PathError(Exception):
    """Error for a path that cannot be followed.

    Attributes:
        code: the kernel's name (ERRORS in kernel/trace/trace_probe.h): NO_PTR_STRCT, NOSUP_DAT_ARG, NO_BTF_FIELD or
            BAD_BTF_TID; or our own `no_such_element`, for an index beyond an array's last.
        hop_index: index of the step in the path.
        struct_id: searched struct, for NO_BTF_FIELD; else None.
    """

    def __init__(self, code: str, hop_index: int, struct_id: int | None = None) -> None:
        super().__init__(f"{code} at step {hop_index}")
        self.code = code
        self.hop_index = hop_index
        self.struct_id = struct_id


def members(b: Btf, struct_id: int) -> tuple[Member, ...]:
    """Return the members as declared; anonymous members have no name. Empty if the type is no struct or union."""
    found = stripped(b, struct_id)
    return found.members if isinstance(found, Struct) else ()


@empty_on_error(tuple[StructField, ...])
def fields(b: Btf, struct_id: int) -> tuple[StructField, ...]:
    """Return all fields that C code accesses by one name, in order, with those of anonymous structs and unions in
    place.

    Empty if the type is no struct or union.

    Raises:
        BtfError: the struct contains itself.
    """
    outer = stripped(b, struct_id)
    found: list[StructField] = []
    if not isinstance(outer, Struct):
        return ()
    open_structs = [_OpenStruct(iter(outer.members), 0, ())]
    budget = MAX_FIELDS
    while open_structs:
        rest, base, enclosing = open_structs[-1]
        for member in rest:
            budget -= 1
            if budget < 0 or len(open_structs) > MAX_DEPTH:
                raise BtfError(f"{outer.keyword} {outer.name} has no end", b.offset(outer.id))
            at = base + member.bit_offset
            inner = None if member.name else stripped(b, member.type_id)
            if isinstance(inner, Struct):
                open_structs.append(_OpenStruct(iter(inner.members), at, (*enclosing, inner.id)))
                break
            found.append(StructField(member.name, member.type_id, at, member.bit_size, enclosing))
        else:
            open_structs.pop()
    return tuple(found)


class _OpenStruct(NamedTuple):
    rest: Iterator[Member]
    base: int
    around: tuple[int, ...]


def children(b: Btf, type_id: int, limit: int = 256) -> Children:
    """Return the values one step below a value of this type: fields of a struct or of a pointer's target, or array
    elements.

    An array has its first `limit` elements, a flexible array its first one.
    """
    found = stripped(b, type_id)
    if isinstance(found, Struct):
        return Children(".", fields(b, found.id))
    if isinstance(found, Ptr) and isinstance(stripped(b, found.type_id), Struct):
        return Children("->", fields(b, found.type_id))
    if isinstance(found, Array) and is_complete(b, found.type_id):
        bits = size_of(b, found.type_id) * 8
        indexes = range(min(found.nelems or 1, limit))
        return Children("[]", tuple(StructField(str(i), found.type_id, i * bits, 0) for i in indexes))
    return Children("", ())


def resolve(b: Btf, type_id: int, hops: Sequence[tuple[str, str]]) -> ResolvedPath:
    """Follow a path from a value of this type, as parse_btf_arg and parse_btf_field of trace_probe.c do.

    Args:
        b: the types.
        type_id: type of the value at which the path begins.
        hops: (`->` | `.` | `[]`, name or index). `[]` is an extension of the kernel's syntax.

    Raises:
        PathError: with the kernel's error code and step.
    """
    at = strip(b, type_id)
    declared, offset, bit_size, agrees = type_id, 0, 0, True
    derefs: list[int] = []
    for i, (op, name) in enumerate(hops):
        if op == "[]":
            step = _element(b, at, name, i)
            agrees = False
            if step.op == "->":
                _load(derefs, offset, i)
                offset = 0
            declared, offset, bit_size = step.type_id, offset + step.bits, 0
        else:
            if op == ".":
                if i == 0:
                    raise PathError("NOSUP_DAT_ARG", i)
            else:
                target = b.type(at)
                if not isinstance(target, Ptr):
                    raise PathError("NO_PTR_STRCT", i)
                at = strip(b, target.type_id)
                _load(derefs, offset, i)
                offset = 0
            found = find_field(b, at, name, i)
            agrees &= found.kernel_agrees
            declared, offset, bit_size = found.type_id, offset + found.bit_offset, found.bit_size
        at = strip(b, declared)
    if hops:
        derefs.append(offset // 8)
    return ResolvedPath(declared, tuple(derefs), offset % 8, bit_size, agrees)


class FoundField(NamedTuple):
    """Field found by its name."""

    type_id: int
    bit_offset: int
    """Offset in bits from the searched struct."""
    bit_size: int
    kernel_agrees: bool
    """True if the kernel finds the same; see `ResolvedPath`."""


def find_field(b: Btf, struct_id: int, name: str, hop_index: int = 0) -> FoundField:
    """Return the field of this name, searched also in anonymous members, in the order of btf_find_struct_member.

    Raises:
        PathError: BAD_BTF_TID if the type is no struct or union, NO_BTF_FIELD if it has no such field.
    """
    outer = stripped(b, struct_id)
    if not isinstance(outer, Struct):
        raise PathError("BAD_BTF_TID", hop_index)
    stack: list[tuple[Struct, int, bool]] = [(outer, 0, True)]
    seen = 0
    while stack:
        owner, base, agrees = stack.pop()
        seen += 1 + len(owner.members)
        if seen > MAX_FIELDS:
            b.damage.met(BtfError(f"{outer.keyword} {outer.name} has no end", b.offset(outer.id)))
            break
        for member in owner.members:
            if member.name == name:
                raw = agrees and (outer.kind_flag or not (owner.kind_flag and member.bit_size))
                return FoundField(member.type_id, base + member.bit_offset, member.bit_size, raw)
            inner = None if member.name else stripped(b, member.type_id)
            if isinstance(inner, Struct):
                stack.append((inner, base + member.bit_offset, agrees and len(stack) < ANON_STACK))
    raise PathError("NO_BTF_FIELD", hop_index, outer.id)


class _Element(NamedTuple):
    op: str
    type_id: int
    bits: int


def _element(b: Btf, at: int, index: str, hop_index: int) -> _Element:
    """Return an element of an array, or of the memory that a pointer points to (`->`)."""
    found = b.type(at)
    if not isinstance(found, Array | Ptr):
        raise PathError("NO_PTR_STRCT", hop_index)
    try:
        number = int(index, 0)
    except ValueError:
        raise PathError("NO_BTF_FIELD", hop_index) from None
    if not is_complete(b, found.type_id):
        raise PathError("BAD_BTF_TID", hop_index)
    if isinstance(found, Array) and 1 < found.nelems <= number:  # an array of one element may stand for any number
        raise PathError("no_such_element", hop_index)
    op = "." if isinstance(found, Array) else "->"
    return _Element(op, found.type_id, number * size_of(b, found.type_id) * 8)


def _load(derefs: list[int], offset: int, hop_index: int) -> None:
    """Append the load of the pointer at `offset`; at the first step the pointer is the value itself."""
    if hop_index:
        derefs.append(offset // 8)
