"""Find structs in an object's debug information (DWARF), where its BTF lacks them: records that lie on a stack alone.

clang's BTF has the types of maps, of variables and of arguments; the struct of a local variable is in DWARF alone,
which `clang -g` writes and `llvm-strip -g` removes.
"""

from __future__ import annotations

import contextlib
import itertools
import zlib
from collections.abc import Iterator
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from btf.debug.dwarf import READER_ERRORS
from events.bpf_layout import RECORD_DATA
from probes.bpf.record import ADDRESS, StoredField, StoredType
from probes.objects.stored_types import number_type, text_type

if TYPE_CHECKING:
    from elftools.dwarf.die import DIE

_MOST_ENTRIES = 1 << 18
_DEEPEST = 16
_SIGNED, _BOOL = (5, 6), 2
"""DW_ATE_signed, DW_ATE_signed_char, DW_ATE_boolean."""
_ALIASES = ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type")


class DebugStruct(NamedTuple):
    """Struct of a compiled object's debug information."""

    name: str
    size: int
    fields: tuple[StoredField, ...]
    """Members, those of inner structs as `outer_inner`; bit-fields are left out."""


@lru_cache(maxsize=4)
def debug_structs(data: bytes) -> dict[str, DebugStruct]:
    """Return the named structs of an ELF file by name, up to the first damage; empty without debug information."""
    from elftools.common.exceptions import DWARFError, ELFError  # not at each start of a session
    from elftools.elf.elffile import ELFFile

    damage = (*READER_ERRORS, ELFError, DWARFError, zlib.error)
    found: dict[str, DebugStruct] = {}
    with contextlib.suppress(*damage):
        elf = ELFFile(BytesIO(data))
        units = elf.get_dwarf_info().iter_CUs() if elf.has_dwarf_info() else ()
        entries = (die for unit in units for die in unit.iter_DIEs())
        for die in itertools.islice(entries, _MOST_ENTRIES):
            name, size = _name(die), _number(die, "DW_AT_byte_size")
            if die.tag == "DW_TAG_structure_type" and name and size and name not in found:
                found[name] = DebugStruct(name, size, tuple(_members(die, RECORD_DATA, "", 0)))
    return found


def _members(die: DIE, base: int, prefix: str, depth: int) -> Iterator[StoredField]:
    if depth > _DEEPEST:
        return
    for member in die.iter_children():
        place = _number(member, "DW_AT_data_member_location")
        if member.tag != "DW_TAG_member" or "DW_AT_bit_size" in member.attributes:
            continue
        name, kind = f"{prefix}{_name(member)}", _resolved(member)
        if kind is None:
            continue
        if kind.tag in ("DW_TAG_structure_type", "DW_TAG_union_type"):
            yield from _members(kind, base + place, f"{name}_" if _name(member) else prefix, depth + 1)
        elif (stored := _stored(kind)) is not None:
            yield StoredField(name, stored, base + place)


def _stored(kind: DIE) -> StoredType | None:
    size = _number(kind, "DW_AT_byte_size")
    if kind.tag == "DW_TAG_pointer_type":
        return ADDRESS
    if kind.tag == "DW_TAG_enumeration_type":
        return number_type(size, signed=False)
    if kind.tag == "DW_TAG_base_type":
        encoding = _number(kind, "DW_AT_encoding")
        return number_type(size, signed=encoding in _SIGNED) if encoding != _BOOL else StoredType("bool", 1, "%d")
    if kind.tag == "DW_TAG_array_type":
        return _array(kind)
    return None


def _array(kind: DIE) -> StoredType | None:
    element = _resolved(kind)
    count = 1
    for one in kind.iter_children():
        if one.tag == "DW_TAG_subrange_type":
            known = "DW_AT_count" in one.attributes
            count *= _number(one, "DW_AT_count") if known else _number(one, "DW_AT_upper_bound", -1) + 1
    if element is None:
        return None
    if element.tag == "DW_TAG_base_type" and _name(element) == "char":
        return text_type(count)
    stored = _stored(element)
    if stored is None or stored.elements > 1 or count < 1:
        return None
    return stored._replace(declared=f"{stored.declared}[{count}]", elements=count)


def _resolved(die: DIE) -> DIE | None:
    """Return the type of an entry, behind names and qualifiers; None: void."""
    at = die
    for _ in range(_DEEPEST):
        if "DW_AT_type" not in at.attributes:
            return None
        at = at.get_DIE_from_attribute("DW_AT_type")
        if at.tag not in _ALIASES:
            return at
    return None


def _name(die: DIE) -> str:
    attribute = die.attributes.get("DW_AT_name")
    return attribute.value.decode("utf-8", "replace")[:128] if attribute is not None else ""


def _number(die: DIE, name: str, otherwise: int = 0) -> int:
    attribute = die.attributes.get(name)
    return attribute.value if attribute is not None and isinstance(attribute.value, int) else otherwise
