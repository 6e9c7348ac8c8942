"""Lay out the records of a ring or perf buffer as fields of an event: a struct of the object's BTF, or a declaration.

Members of inner structs become fields `outer_inner`. A record has a fixed length in the store: it gets zeros behind,
and is cut at MAX_BYTES.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from btf.btf import Btf
from btf.kinds import MAX_DEPTH, Kind
from btf.layout import fields
from btf.render import c_type
from btf.types import Array, Enum, Enum64, Float, Int, Ptr, Struct
from btf.walk import size_of, strip, stripped
from events.bpf_layout import RECORD_DATA
from probes.bpf.record import ADDRESS, RecordLayout, StoredField, StoredType
from probes.objects.debug_structs import debug_structs
from probes.objects.elf_object import ObjectError
from probes.objects.object_file import BpfObject, ObjectMap
from probes.objects.stored_types import MAX_BYTES, bytes_type, number_type, text_type

_MAX_FIELDS = 200
_MOST_NAMES = 200
_DECLARED = re.compile(r"\s*([A-Za-z_][\w ]*?[ *]+)([A-Za-z_]\w*)\s*(?:\[\s*(\d{1,5})\s*\])?\s*")
_SIZES: Final = {
    **{
        f"{prefix}{sign}{bits}": (bits // 8, sign == "s")
        for prefix in ("", "__")
        for sign in "us"
        for bits in (8, 16, 32, 64)
    },
    **{f"{sign}int{bits}_t": (bits // 8, not sign) for sign in ("u", "") for bits in (8, 16, 32, 64)},
    "char": (1, True),
    "signed char": (1, True),
    "unsigned char": (1, False),
    "bool": (1, False),
    "short": (2, True),
    "unsigned short": (2, False),
    "int": (4, True),
    "unsigned int": (4, False),
    "unsigned": (4, False),
    "pid_t": (4, True),
    "long": (8, True),
    "unsigned long": (8, False),
    "long long": (8, True),
    "unsigned long long": (8, False),
    "size_t": (8, False),
}
"""Bytes and sign of the types that a declaration may use."""


class RecordChoice(NamedTuple):
    """Fields of the records of one map."""

    layout: RecordLayout
    struct: str
    """Name of the struct, or the declaration; empty: nobody says, and the record is shown as bytes."""
    payload: int
    """Bytes of a record that are kept."""
    names: dict[str, str]
    """Names of the numbers of an enum by field, as `PlanColumn.names`."""
    note: str = ""
    """Reason why it is cut or shown as bytes, in a line; empty: it is shown as a whole."""


def likely_structs(found: BpfObject, one: ObjectMap) -> list[str]:
    """Return the names of the structs that the records of a map may be, the likeliest first.

    The type of the map's values where it is a struct; then structs of the object's BTF of the length of its records;
    where there are none those of its debug information.
    """
    value = stripped(found.btf, one.value_type) if one.value_type else None
    if isinstance(value, Struct) and value.name:
        return [value.name]
    named = {name: size for name in found.btf.names_of(Kind.STRUCT) if (size := _size_in_btf(found, name))}
    likely = [name for name, size in named.items() if size in one.record_sizes]
    if not likely and one.record_sizes:
        structs = debug_structs(found.data).values()
        likely = [struct.name for struct in structs if struct.size in one.record_sizes]
    return sorted(likely, key=lambda name: ("event" not in name, name))


def choose_record(found: BpfObject, one: ObjectMap, wanted: str = "") -> RecordChoice:
    """Return the fields of the records of a map.

    Args:
        found: the object.
        one: a ring or perf buffer of it.
        wanted: name of a struct, or a declaration of its members: `u64 ts; u32 pid; char comm[16]`. Empty: choose.

    Raises ObjectError: the struct is not there, or the declaration can't be read.
    """
    if wanted and re.search(r"[\s;,\[]", wanted.strip().removeprefix("struct ")):
        return _laid_out(list(_declared(wanted)), wanted, 0)
    name = wanted.strip().removeprefix("struct ")
    likely = likely_structs(found, one) if not name else []
    name = name or (likely[0] if likely else "")
    if not name:
        size = min(max(one.record_sizes, default=64), MAX_BYTES)
        layout = _layout([StoredField("record", bytes_type(size), RECORD_DATA)], size)
        return RecordChoice(layout, "", size, {}, _nameless(one))
    size, fields_of = _struct(found, one, name)
    choice = _laid_out(fields_of, name, size)
    note = choice.note
    if len(likely) > 1:
        note = note or f"{one.name}: read as struct {name}; {', '.join(likely[1:5])} would fit, too"
    if one.record_sizes and size not in one.record_sizes:
        sizes = ", ".join(map(str, sorted(one.record_sizes)))
        note = note or f"{one.name}: struct {name} has {size} bytes, the records {sizes}"
    number = found.btf.find(name, Kind.STRUCT)
    names = dict(_enumerators(found.btf, number)) if number is not None else {}
    return choice._replace(note=note, names=names)


def _size_in_btf(found: BpfObject, name: str) -> int:
    """Return the bytes of a struct of the object's BTF; 0: there is none of the name."""
    number = found.btf.find(name, Kind.STRUCT)
    outer = found.btf.type(number) if number is not None else None
    return outer.size if isinstance(outer, Struct) else 0


def _struct(found: BpfObject, one: ObjectMap, name: str) -> tuple[int, list[StoredField]]:
    """Return bytes and fields of a struct, from BTF or debug information. Raises ObjectError."""
    number = found.btf.find(name, Kind.STRUCT)
    if number is not None:
        return size_of(found.btf, number), list(_members(found.btf, number))
    if (known := debug_structs(found.data).get(name)) is not None:
        return known.size, [field._replace(name=_field_name(field.name)) for field in known.fields]
    likely = likely_structs(found, one)
    near = f" (of that length: {', '.join(likely[:4])})" if likely else ""
    raise ObjectError(f"{one.name}: the object has no struct {name}{near}")


def _nameless(one: ObjectMap) -> str:
    sizes = ", ".join(map(str, sorted(one.record_sizes)))
    length = f" of {sizes} bytes" if sizes else ""
    return (
        f"{one.name}: nothing in the object names the fields of its records{length}: MAP=STRUCT, or its members, does"
    )


def _laid_out(found: list[StoredField], struct: str, size: int) -> RecordChoice:
    end = max((one.offset + one.type.size * one.type.elements for one in found), default=RECORD_DATA) - RECORD_DATA
    payload = min(max(size, end), MAX_BYTES)
    kept, note = [], ""
    for one in found:
        length = one.type.size * one.type.elements
        room = RECORD_DATA + payload - one.offset
        if length <= room:
            kept.append(one)
            continue
        note = f"{struct}: the records are cut at {MAX_BYTES} bytes"
        if one.type.declared.startswith("char[") and room > 0:
            kept.append(one._replace(type=StoredType(f"char[{room}]", room, one.type.conversion)))
    return RecordChoice(_layout(kept, payload), struct, payload, {}, note)


def _layout(found: list[StoredField], payload: int) -> RecordLayout:
    names: dict[str, int] = {}
    unique = []
    for one in found[:_MAX_FIELDS]:
        names[one.name] = number = names.get(one.name, 0) + 1
        unique.append(one._replace(name=f"{one.name}_{number}") if number > 1 else one)
    return RecordLayout(tuple(unique), -(-(RECORD_DATA + payload) // 8) * 8)


def _members(btf: Btf, struct: int, base: int = 0, prefix: str = "", depth: int = 0) -> Iterator[StoredField]:
    """Yield the fields of a struct; bit-fields are left out."""
    if depth > MAX_DEPTH:
        raise ObjectError("a struct that contains itself")
    for member in fields(btf, struct):
        if member.bit_size or member.bit_offset % 8:
            continue
        name, at = f"{prefix}{member.name}", base + member.byte_offset
        inner = stripped(btf, member.type_id)
        if isinstance(inner, Struct):
            yield from _members(btf, strip(btf, member.type_id), at, f"{name}_", depth + 1)
        elif (kind := _stored(btf, member.type_id)) is not None:
            yield StoredField(_field_name(name), kind, RECORD_DATA + at)


def _enumerators(btf: Btf, struct: int, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the fields of a struct that are enums, each with the names of its numbers."""
    for member in fields(btf, struct) if depth < MAX_DEPTH else ():
        inner = stripped(btf, member.type_id)
        if isinstance(inner, Struct):
            yield from _enumerators(btf, strip(btf, member.type_id), f"{prefix}{member.name}_", depth + 1)
        elif isinstance(inner, Enum | Enum64):
            names = ",".join(f"{one.value}={one.name}" for one in inner.values[:_MOST_NAMES])
            yield _field_name(f"{prefix}{member.name}"), names


def _field_name(name: str) -> str:
    """Return a name that no field of the kernel's own has."""
    return f"{name}_" if name.startswith(("common_", "__probe_")) else name


def _stored(btf: Btf, type_id: int) -> StoredType | None:
    """Return the type by which a member is stored; None: it has no bytes."""
    match stripped(btf, type_id):
        case Int() as number if number.size in (1, 2, 4, 8):
            return (
                StoredType("bool", 1, "%d") if number.is_bool else number_type(number.size, signed=number.is_signed)
            )
        case Enum() | Enum64() as named if named.size in (1, 2, 4, 8):
            return number_type(named.size, signed=named.is_signed)
        case Ptr():
            return ADDRESS
        case Array() as several:
            return _array(btf, several)
        case Int() | Float() as other:
            return bytes_type(other.size)
        case _:
            return None


def _array(btf: Btf, array: Array) -> StoredType | None:
    if _is_char(btf, array.type_id):
        return text_type(array.nelems)
    element = _stored(btf, array.type_id)
    if (
        element is None
        or not array.nelems
        or element.elements > 1
        or element.declared.startswith(("char[", "struct"))
    ):
        size = size_of(btf, array.type_id) * array.nelems
        return bytes_type(size) if size else None
    return element._replace(declared=f"{element.declared}[{array.nelems}]", elements=array.nelems)


def _is_char(btf: Btf, type_id: int) -> bool:
    return c_type(btf, strip(btf, type_id)) == "char"


def _declared(text: str) -> Iterator[StoredField]:
    """Yield the fields of a declaration, each at its natural alignment. Raises ObjectError."""
    at = 0
    parts = [part for part in re.split(r"[;,]", text) if part.strip()]
    if len(parts) > _MAX_FIELDS:
        raise ObjectError(f"{len(parts)} members are more than a record has")
    for part in parts:
        match = _DECLARED.fullmatch(part)
        words = " ".join(match[1].split()) if match else ""
        known = (8, False) if words.endswith("*") else _SIZES.get(words)
        if match is None or known is None:
            raise ObjectError(f"{part.strip()}: no member of a record, as u32 pid or char comm[16]")
        size, signed = known
        count = int(match[3] or 1)
        at = -(-at // size) * size
        kind = ADDRESS if words.endswith("*") else number_type(size, signed=signed)
        if match[3] and words == "char":
            kind = text_type(count)
        elif match[3] and kind is not None:
            kind = kind._replace(declared=f"{kind.declared}[{count}]", elements=count)
        if kind is not None:
            yield StoredField(_field_name(match[2]), kind, RECORD_DATA + at)
        at += size * count
