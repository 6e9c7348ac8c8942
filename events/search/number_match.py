"""Numbers by a part of their text, whole columns at once: which of them have these digits, and where."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.store.columns import Mask

DECIMAL = re.compile("(-?)([0-9]*)")
HEX = re.compile("(?:0?x)?([0-9a-f]*)")


class NumberPattern(NamedTuple):
    """What the text of a hole must have; at both ends: it is all of the text, if that has no blank and no `=`."""

    text: str
    begins: bool
    """The text stands at the beginning."""
    ends: bool
    """The text stands at the end."""

    def holds(self, text: str) -> bool:
        """Whether a text may have it."""
        if self.begins or self.ends:
            return (self.begins and text.startswith(self.text)) or (self.ends and text.endswith(self.text))
        return self.text in text


def decimal(values: NDArray[Any], wanted: NumberPattern) -> Mask:
    """Numbers whose decimal text has it."""
    match = DECIMAL.fullmatch(wanted.text)
    if not match:
        return np.zeros(len(values), np.bool_)
    if values.dtype.kind == "i":
        negative = values < 0
        sizes = np.abs(values.astype(np.int64)).view(np.uint64)
    else:
        negative = np.zeros(len(values), np.bool_)
        sizes = values.astype(np.uint64)
    sign, digits = match.groups()
    if sign:
        return negative & _digits(sizes, digits, 10, wanted._replace(begins=True))
    found = _digits(sizes, digits, 10, wanted)
    return found & ~negative if wanted.begins and digits else found


def hexadecimal(values: NDArray[Any], wanted: NumberPattern) -> Mask:
    """Numbers whose text as 0x... may have it."""
    match = HEX.fullmatch(wanted.text)
    if wanted.text == "0":
        return np.ones(len(values), np.bool_)
    if not match:
        return np.zeros(len(values), np.bool_)
    return _digits(values.astype(np.uint64), match[1], 16, NumberPattern("", begins=False, ends=False))


def _digits(sizes: NDArray[np.uint64], digits: str, base: int, wanted: NumberPattern) -> Mask:
    """Numbers >= 0 whose digits have these, at their beginning or end where that is wanted."""
    found = np.ones(len(sizes), np.bool_)
    if not digits:
        return found
    number, length = int(digits, base), len(digits)
    limit = base**length
    found[:] = sizes == number if digits == "0" else False
    largest = int(sizes.max()) if len(sizes) else 0
    if number > largest:
        return found
    if len(sizes) > 1 and int(sizes.min()) == largest:  # where a probe is, above all
        found[:] = _digits(sizes[:1], digits, base, wanted)
        return found
    places = np.flatnonzero(sizes >= number)
    rest = sizes[places]
    leading_zero = digits[0] == "0"
    while len(places):
        above, lowest = np.zeros(len(rest), np.uint64), rest
        if limit <= largest:  # much faster than the remainder
            above = rest // np.uint64(limit)
            lowest = rest - above * np.uint64(limit)
        hit = lowest == number
        if leading_zero:
            hit &= above > 0  # a digit goes before it
        if wanted.begins:
            hit &= above == 0
        found[places[hit]] = True
        if wanted.ends or largest < limit:
            break
        largest //= base
        rest = rest // np.uint64(base)
        keep = rest >= number
        if not keep.all():
            places, rest = places[keep], rest[keep]
    return found
