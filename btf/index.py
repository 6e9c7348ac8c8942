"""One walk over the type section: where each type begins. Nothing is decoded.

A fifth of the time of struct.unpack: the words are an array('I'), and the length of a type is looked up by its whole
info word, of which a kernel has a few hundred different ones.
"""

from __future__ import annotations

import sys
from array import array
from typing import NamedTuple

from btf.errors import BtfError
from btf.header import Header
from btf.kinds import SHAPE, Kind

FUNCS = frozenset((Kind.FUNC << 24) | linkage for linkage in range(3))
"""The info words of functions; their vlen is the linkage."""


class UnknownKindError(LookupError):
    """An info word whose length nobody knows."""


class Steps(dict[int, int]):
    """info word -> words of the whole type, filled as they are met."""

    def __missing__(self, info: int) -> int:
        shape = SHAPE.get(info >> 24 & 0x1F)
        if shape is None:
            raise UnknownKindError
        step = self[info] = 3 + shape[0] + shape[1] * (info & 0xFFFF)
        return step


class Index(NamedTuple):
    words: array[int]
    """The type section in host byte order."""
    positions: list[int]
    """Word index of each type, in the order of their ids."""
    functions: list[int]
    """Word index of each FUNC, ascending."""


def walk(data: bytes, header: Header) -> Index:
    """Index the type section; raises BtfError at an unknown kind or where a type passes the end."""
    words = array("I")
    words.frombytes(memoryview(data)[header.types : header.types_end])
    if header.byteorder != sys.byteorder:
        words.byteswap()
    positions: list[int] = []
    functions: list[int] = []
    add, add_function, steps, at = positions.append, functions.append, Steps(), 0
    try:
        while True:
            info = words[at + 1]
            add(at)
            if info in FUNCS:
                add_function(at)
            at += steps[info]
    except IndexError:
        # The end of the words is the end of the walk; a type that passes it has been added already.
        if at != len(words):
            begin = positions[-1] if at > len(words) else at
            raise BtfError("a type is cut off by the end of its section", header.types + begin * 4) from None
    except UnknownKindError:
        raise BtfError(f"unknown kind {words[at + 1] >> 24 & 0x1F}", header.types + at * 4 + 4) from None
    return Index(words, positions, functions)
