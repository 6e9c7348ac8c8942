"""Search for digits in the text of numbers, for whole columns at once."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.store.columns import Mask

DECIMAL = re.compile("(-?)([0-9]*)")
HEX = re.compile("(?:0?x)?([0-9a-f]*)")


class NumberPattern(NamedTuple):
    """Text that a gap of the line must contain; with `begins` and `ends` it is the whole content, if that has no
    blank and no `=`.
    """

    text: str
    begins: bool
    """True if the gap begins with the text."""
    ends: bool
    """True if the gap ends with the text."""

    def holds(self, text: str) -> bool:
        """Return whether a gap with the content `text` may match."""
        if self.begins or self.ends:
            return (self.begins and text.startswith(self.text)) or (self.ends and text.endswith(self.text))
        return self.text in text


def decimal(values: NDArray[Any], pattern: NumberPattern) -> Mask:
    """Return a mask of the numbers whose decimal text matches."""
    match = DECIMAL.fullmatch(pattern.text)
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
        return negative & _digits(sizes, digits, 10, pattern._replace(begins=True))
    found = _digits(sizes, digits, 10, pattern)
    return found & ~negative if pattern.begins and digits else found


def hexadecimal(values: NDArray[Any], pattern: NumberPattern) -> Mask:
    """Return a mask of the numbers whose text as 0x... may match."""
    match = HEX.fullmatch(pattern.text)
    if pattern.text == "0":
        return np.ones(len(values), np.bool_)
    if not match:
        return np.zeros(len(values), np.bool_)
    return _digits(values.astype(np.uint64), match[1], 16, NumberPattern("", begins=False, ends=False))


def _digits(sizes: NDArray[np.uint64], digits: str, base: int, pattern: NumberPattern) -> Mask:
    """Return a mask of the numbers >= 0 that contain the digits, at their start or end if required."""
    found = np.ones(len(sizes), np.bool_)
    if not digits:
        return found
    number, length = int(digits, base), len(digits)
    limit = base**length
    found[:] = sizes == number if digits == "0" else False
    largest = int(sizes.max()) if len(sizes) else 0
    if number > largest:
        return found
    if len(sizes) > 1 and int(sizes.min()) == largest:  # common for addresses of a probe
        found[:] = _digits(sizes[:1], digits, base, pattern)
        return found
    places = np.flatnonzero(sizes >= number)
    rest = sizes[places]
    leading_zero = digits[0] == "0"
    while len(places):
        above, lowest = np.zeros(len(rest), np.uint64), rest
        if limit <= largest:  # division is much faster than the remainder
            above = rest // np.uint64(limit)
            lowest = rest - above * np.uint64(limit)
        hit = lowest == number
        if leading_zero:
            hit &= above > 0  # a digit precedes the zero
        if pattern.begins:
            hit &= above == 0
        found[places[hit]] = True
        if pattern.ends or largest < limit:
            break
        largest //= base
        rest = rest // np.uint64(base)
        keep = rest >= number
        if not keep.all():
            places, rest = places[keep], rest[keep]
    return found
