"""The headers of many sub-buffers at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.format import HeaderPage
from events.subbuffer import COMMIT_MASK, MISSED_EVENTS, TS_LIMIT

Mask = NDArray[np.bool_]
Ints = NDArray[np.int64]
Words = NDArray[np.uint32]


def words_of(data: bytes, header: HeaderPage) -> Words:
    """The words of 32 bits, in this machine's order."""
    order = "<u4" if header.byteorder == "little" else ">u4"
    return np.frombuffer(data, order, len(data) // 4).astype(np.uint32, copy=False)


class Pages(NamedTuple):
    """Sub-buffers, an array a property."""

    start: Ints
    """Word of the page header."""
    at: Ints
    """Word of the first event."""
    end: Ints
    """Word behind the last event."""
    ts: Ints
    """Time of the first event."""
    fit: Mask
    """The page has what it says it has; of others the rest means nothing."""


def heads(words: Words, bounds: Ints, header: HeaderPage) -> Pages:
    """What the pages say of themselves."""
    room = np.minimum(bounds[1:] - bounds[:-1], header.page_size)
    there = room >= header.data_offset
    start = bounds[:-1] >> 2
    if not there.any():
        return Pages(start, start, start, start, there)
    readable = np.where(there, start, start[there][0])
    low, high = (0, 1) if header.byteorder == "little" else (1, 0)
    ts = words[readable + low].astype(np.uint64) | words[readable + high].astype(np.uint64) << np.uint64(32)
    used = (words[readable + _commit_at(header)] & COMMIT_MASK).astype(np.int64) + header.data_offset
    at, end = start + (header.data_offset >> 2), start + (used >> 2)
    return Pages(start, at, end, ts.astype(np.int64), there & (ts < TS_LIMIT) & (used <= room))


def is_dense(data: bytes, header: HeaderPage) -> bool:
    """Whether whole pages are so full that it is not worth to pack them, and none is empty."""
    used = _commits(data, header) & COMMIT_MASK
    if not used.all() or used.max() > header.data_size:
        return False
    return int(used.sum(dtype=np.int64)) * 8 > len(data) * 7


def flagged(data: bytes, header: HeaderPage) -> list[int]:
    """Numbers of the whole pages in front of which events were overwritten."""
    found: list[int] = np.flatnonzero(_commits(data, header) & MISSED_EVENTS).tolist()
    return found


def _commits(data: bytes, header: HeaderPage) -> Words:
    """Low words of the commits of whole pages."""
    order = "<u4" if header.byteorder == "little" else ">u4"
    words: Words = np.frombuffer(data, order).reshape(-1, header.page_size // 4)[:, _commit_at(header)]
    return words.astype(np.uint32)


def _commit_at(header: HeaderPage) -> int:
    """Word of the page that holds the low bits of its commit."""
    return 2 if header.byteorder == "little" else (8 + header.commit_size - 4) // 4
