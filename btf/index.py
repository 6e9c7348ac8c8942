"""Find the start of each type in one walk over the type section, without decoding.

The file is not copied, and positions are stored as 32-bit numbers: in a new process the first access to a memory page
costs as much as twenty types. The kind of a type is read from a string of every word's top byte.
"""

from __future__ import annotations

import sys
from array import array
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

from btf.errors import BtfError
from btf.header import Header
from btf.kinds import SHAPE

_LITTLE = sys.byteorder == "little"
_KIND = 7 if _LITTLE else 4
"""Offset of the byte with the kind in a type, in host byte order."""
_VLEN = 2 if _LITTLE else 3
"""Index of the half word with the vlen in a type, in host byte order."""

MAX_TYPES = 1 << 19
"""Maximum number of types; a kernel has up to 200,000."""
_SHAPES = [SHAPE.get(byte & 0x1F, (0, 0)) for byte in range(256)]
_FIXED = [3 + fixed if byte & 0x1F in SHAPE and not each else 0 for byte, (fixed, each) in enumerate(_SHAPES)]
"""Words of a type by the top byte of its info word; 0: depends on its vlen, or the kind is unknown."""
_EACH = [each for _, each in _SHAPES]
"""Words per unit of vlen, after the first three; 0: none, or the kind is unknown."""


@dataclass(frozen=True)
class Index:
    """Word indexes of all types."""

    words: memoryview
    """Type section in host byte order, as 32-bit items."""
    functions: array[int]
    """Word index of each FUNC, ascending."""
    others: array[int]
    """Word index of each type that is no FUNC, ascending."""

    @cached_property
    def positions(self) -> array[int]:
        """Word index of each type, in the order of ids."""
        return array("I", sorted([*self.functions, *self.others]))


def walk(data: bytes, header: Header) -> Index:
    """Index the type section.

    Raises:
        BtfError: a kind is unknown, or a type extends beyond the section.
    """
    if header.types == header.types_end:
        return Index(memoryview(array("I")), array("I"), array("I"))
    section, start, end = data, header.types, header.types_end
    if header.byteorder != sys.byteorder:
        swapped = array("I", data[start:end])
        swapped.byteswap()
        section, start, end = swapped.tobytes(), 0, end - start
    view = memoryview(section)[start:end]
    kinds, vlens = section[start + _KIND : end : 4], view.cast("H")[_VLEN::2]
    found = Index(view.cast("I"), array("I"), array("I"))
    add_function, add, fixed, each, at = found.functions.append, found.others.append, _FIXED, _EACH, 0
    try:
        while True:
            kind = kinds[at]
            if kind == 12:  # Kind.FUNC: an attribute access would cost a tenth of the walk
                add_function(at)
                at += 3
            else:
                add(at)
                if kind == 13:  # Kind.FUNC_PROTO, the next most frequent kind
                    at += 3 + 2 * vlens[at]
                elif step := fixed[kind]:
                    at += step
                elif step := each[kind]:
                    at += 3 + step * vlens[at]
                else:
                    raise BtfError(f"unknown kind {kind & 0x1F}", header.types + at * 4 + 4)
    except IndexError:
        if at != len(found.words):
            _refuse_cut(found, at, header)
    number = len(found.functions) + len(found.others)
    if number > MAX_TYPES:
        raise BtfError(f"{number:,} types, at most {MAX_TYPES:,} are read", header.types)
    return found


def _refuse_cut(found: Index, at: int, header: Header) -> NoReturn:
    """Raise an error for the type that extends beyond the end: the last one found, unless even its info word is
    missing.
    """
    last = max((*found.functions[-1:], *found.others[-1:]), default=0)
    begin = last if at > len(found.words) else at
    raise BtfError("a type is cut off by the end of its section", header.types + begin * 4) from None
