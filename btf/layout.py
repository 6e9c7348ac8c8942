"""Where the fields of structs and unions lie, and what a path like `->f_path.dentry` comes to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from btf.btf import Btf
from btf.damage import instead
from btf.errors import BtfError
from btf.kinds import MAX_DEPTH
from btf.types import Array, Member, Ptr, Struct
from btf.walk import is_complete, size_of, strip, stripped

MAX_FIELDS = 1 << 14
"""More fields than this, flattened, has no struct (a kernel's have up to 300); lies could nest exponentially many."""
ANON_STACK = 16
"""BTF_ANON_STACK_MAX of kernel/trace/trace_btf.c."""


class Field(NamedTuple):
    """A named field, as reached from the outermost struct."""

    name: str
    type_id: int
    bit_offset: int
    """From the start of the outermost struct."""
    bit_size: int
    """0: no bit-field."""
    anonymous: tuple[int, ...] = ()
    """Ids of the anonymous structs and unions around it, outermost first."""

    @property
    def byte_offset(self) -> int:
        """Byte in which the field begins."""
        return self.bit_offset // 8


class Children(NamedTuple):
    """What lies one step below a value."""

    op: str
    """How C gets there: `->`, `.`, `[]`; empty where nothing is below."""
    fields: tuple[Field, ...]
    """Offsets are from the struct, or (for `[]`) from the first element; names of elements are their indices."""


class Resolved(NamedTuple):
    """What a path comes to."""

    type_id: int
    """Of the last field, as declared."""
    derefs: tuple[int, ...]
    """Byte offset of each load, innermost first, the last being that of the field: `p->a.b->c` gives
    (offset of a.b, offset of c), which is `+C(+AB(p))`. Empty for an empty path: the value itself.
    """
    bit_offset: int
    """Bits from `derefs[-1]` to the field: 0 to 7."""
    bit_size: int
    """0: no bit-field."""
    kernel_agrees: bool = True
    """False: the kernel's own field access gets this wrong or doesn't find it. It reads the kind flag of the outer
    struct for a bit-field of an anonymous inner one (parse_btf_field), and looks into no more than 16 anonymous
    members at a time (btf_find_struct_member). Or: the path has a `[]`, which the kernel doesn't know.
    """


class PathError(Exception):
    """A path that can't be followed.

    Attributes:
        code: the kernel's name (ERRORS in kernel/trace/trace_probe.h): NO_PTR_STRCT, NOSUP_DAT_ARG, NO_BTF_FIELD or
            BAD_BTF_TID; ours: `no_such_element`, an index behind an array's last.
        hop_index: which step of the path.
        struct_id: the struct that was looked into, for NO_BTF_FIELD; None else.
    """

    def __init__(self, code: str, hop_index: int, struct_id: int | None = None) -> None:
        super().__init__(f"{code} at step {hop_index}")
        self.code = code
        self.hop_index = hop_index
        self.struct_id = struct_id


def members(b: Btf, struct_id: int) -> tuple[Member, ...]:
    """The members as declared; anonymous ones have no name. Empty for what is no struct or union."""
    found = stripped(b, struct_id)
    return found.members if isinstance(found, Struct) else ()


@instead(tuple[Field, ...])
def fields(b: Btf, struct_id: int) -> tuple[Field, ...]:
    """All fields that C reaches by one name, in order: those of anonymous structs and unions stand in their place.

    Empty for what is no struct or union. Raises BtfError for structs that contain themselves.
    """
    outer = stripped(b, struct_id)
    found: list[Field] = []
    if not isinstance(outer, Struct):
        return ()
    open_structs = [_Open(iter(outer.members), 0, ())]
    left = MAX_FIELDS
    while open_structs:
        rest, base, around = open_structs[-1]
        for member in rest:
            left -= 1
            if left < 0 or len(open_structs) > MAX_DEPTH:
                raise BtfError(f"{outer.keyword} {outer.name} has no end", b.offset(outer.id))
            at = base + member.bit_offset
            inner = None if member.name else stripped(b, member.type_id)
            if isinstance(inner, Struct):
                open_structs.append(_Open(iter(inner.members), at, (*around, inner.id)))
                break
            found.append(Field(member.name, member.type_id, at, member.bit_size, around))
        else:
            open_structs.pop()
    return tuple(found)


class _Open(NamedTuple):
    rest: Iterator[Member]
    base: int
    around: tuple[int, ...]


def children(b: Btf, type_id: int, limit: int = 256) -> Children:
    """What is one step below a value of this type: fields of a struct or behind a pointer, elements of an array.

    An array shows its first `limit` elements, a flexible one its first.
    """
    found = stripped(b, type_id)
    if isinstance(found, Struct):
        return Children(".", fields(b, found.id))
    if isinstance(found, Ptr) and isinstance(stripped(b, found.type_id), Struct):
        return Children("->", fields(b, found.type_id))
    if isinstance(found, Array) and is_complete(b, found.type_id):
        bits = size_of(b, found.type_id) * 8
        shown = range(min(found.nelems or 1, limit))
        return Children("[]", tuple(Field(str(i), found.type_id, i * bits, 0) for i in shown))
    return Children("", ())


def resolve(b: Btf, type_id: int, hops: Sequence[tuple[str, str]]) -> Resolved:
    """Follow a path from a value of this type, as parse_btf_arg and parse_btf_field of trace_probe.c do.

    Args:
        b: the types.
        type_id: type of the value the path begins at.
        hops: (`->` | `.` | `[]`, name or index). `[]` goes beyond the kernel's language.

    Raises:
        PathError: with the code that the kernel gives, at the step it gives it.
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
    return Resolved(declared, tuple(derefs), offset % 8, bit_size, agrees)


class Found(NamedTuple):
    """A field by its name."""

    type_id: int
    bit_offset: int
    """From the struct that was searched."""
    bit_size: int
    kernel_agrees: bool
    """See `Resolved`."""


def find_field(b: Btf, struct_id: int, name: str, hop_index: int = 0) -> Found:
    """The field of this name, also in anonymous members, searched in the order of btf_find_struct_member.

    Raises:
        PathError: BAD_BTF_TID where this is no struct or union, NO_BTF_FIELD where it has no such field.
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
                return Found(member.type_id, base + member.bit_offset, member.bit_size, raw)
            inner = None if member.name else stripped(b, member.type_id)
            if isinstance(inner, Struct):
                stack.append((inner, base + member.bit_offset, agrees and len(stack) < ANON_STACK))
    raise PathError("NO_BTF_FIELD", hop_index, outer.id)


class _Element(NamedTuple):
    op: str
    type_id: int
    bits: int


def _element(b: Btf, at: int, index: str, hop_index: int) -> _Element:
    """One element of an array, or of what a pointer points at (`->`)."""
    found = b.type(at)
    if not isinstance(found, Array | Ptr):
        raise PathError("NO_PTR_STRCT", hop_index)
    try:
        number = int(index, 0)
    except ValueError:
        raise PathError("NO_BTF_FIELD", hop_index) from None
    if not is_complete(b, found.type_id):
        raise PathError("BAD_BTF_TID", hop_index)
    if isinstance(found, Array) and 1 < found.nelems <= number:  # one of a single element may stand for any number
        raise PathError("no_such_element", hop_index)
    op = "." if isinstance(found, Array) else "->"
    return _Element(op, found.type_id, number * size_of(b, found.type_id) * 8)


def _load(derefs: list[int], offset: int, hop_index: int) -> None:
    """Load the pointer at `offset` of what the last load reached; the first pointer is the value itself."""
    if hop_index:
        derefs.append(offset // 8)
