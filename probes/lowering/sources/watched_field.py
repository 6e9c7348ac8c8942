"""Find the bytes of one field in a structure that begins at a known address: `file.f_pos`."""

from __future__ import annotations

import difflib
from typing import NamedTuple

from btf.btf import Btf
from btf.errors import BtfError
from btf.kinds import Kind
from btf.layout import PathError, fields, find_field
from btf.types import Ptr, Struct
from btf.walk import size_of, strip


class FieldRefused(Exception):
    """A field that can't be watched: the reason, and names that are near."""

    def __init__(self, reason: str, nearest: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.nearest = nearest


class WatchedField(NamedTuple):
    """Bytes of a field."""

    offset: int
    """Bytes from the begin of the structure."""
    size: int
    type_id: int


def watched_field(btf: Btf, text: str) -> WatchedField:
    """Return a field by the structure's name and its own, `STRUCT.FIELD.FIELD`. Raises FieldRefused."""
    name, *path = text.split(".")
    found = next((found for kind in (Kind.STRUCT, Kind.UNION) if (found := btf.find(name, kind)) is not None), None)
    if found is None:
        raise FieldRefused(f"BTF has no structure {name}")
    at, bits, bit_size = found, 0, 0
    for number, word in enumerate(path):
        try:
            field = find_field(btf, at, word)
        except PathError as error:
            owner = ".".join((name, *path[:number]))
            reason = "is no structure" if error.code == "BAD_BTF_TID" else f"has no field {word}"
            raise FieldRefused(f"{owner} {reason}", _nearest(btf, at, text, word)) from None
        at, bits, bit_size = field.type_id, bits + field.bit_offset, field.bit_size
    if bit_size:
        raise FieldRefused(f"{text} is a bit-field: give its bytes by at=…+OFFSET and len=")
    try:
        return WatchedField(bits // 8, size_of(btf, at), at)
    except BtfError:
        raise FieldRefused(f"the size of {text} is unknown") from None


def _nearest(btf: Btf, structure: int, text: str, word: str) -> tuple[str, ...]:
    """Return the text with names of fields that are like a word in its place."""
    try:
        names = [field.name for field in fields(btf, structure) if field.name]
    except BtfError:
        return ()
    head = text.partition(f".{word}")[0]
    return tuple(f"{head}.{name}" for name in difflib.get_close_matches(word, names, 3))


def pointed_structure(btf: Btf | None, type_id: int | None) -> str:
    """Return the name of the structure that a pointer of a type leads to; empty: none, or it is unknown."""
    if btf is None or type_id is None:
        return ""
    try:
        pointer = btf.type(strip(btf, type_id))
        structure = btf.type(strip(btf, pointer.type_id)) if isinstance(pointer, Ptr) else None
    except BtfError:
        return ""
    return structure.name if isinstance(structure, Struct) else ""
