"""Read the headers of many sub-buffers at once."""

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
    """Return the data as 32-bit words in this machine's byte order."""
    order = "<u4" if header.byteorder == "little" else ">u4"
    return np.frombuffer(data, order, len(data) // 4).astype(np.uint32, copy=False)


class Pages(NamedTuple):
    """Sub-buffer headers: one array per property, one element per sub-buffer."""

    start: Ints
    """Word offset of the page header."""
    at: Ints
    """Word offset of the first event."""
    end: Ints
    """Word offset after the last event."""
    ts: Ints
    """Time of the first event."""
    fit: Mask
    """Mask of the sub-buffers whose data is as long as their header says; other elements of the arrays are undefined.
    """


def read_page_headers(words: Words, bounds: Ints, header: HeaderPage) -> Pages:
    """Read the header of each sub-buffer between consecutive `bounds` (byte offsets)."""
    room = np.minimum(bounds[1:] - bounds[:-1], header.page_size)
    complete = room >= header.data_offset
    start = bounds[:-1] >> 2
    if not complete.any():
        return Pages(start, start, start, start, complete)
    readable = np.where(complete, start, start[complete][0])
    low, high = (0, 1) if header.byteorder == "little" else (1, 0)
    ts = words[readable + low].astype(np.uint64) | words[readable + high].astype(np.uint64) << np.uint64(32)
    used = (words[readable + _commit_at(header)] & COMMIT_MASK).astype(np.int64) + header.data_offset
    at, end = start + (header.data_offset >> 2), start + (used >> 2)
    return Pages(start, at, end, ts.astype(np.int64), complete & (ts < TS_LIMIT) & (used <= room))


def is_dense(data: bytes, header: HeaderPage) -> bool:
    """Return whether whole sub-buffers are at least 7/8 full on average and none is empty, so that trimming is not
    worthwhile.
    """
    used = _commits(data, header) & COMMIT_MASK
    if not used.all() or used.max() > header.data_size:
        return False
    return int(used.sum(dtype=np.int64)) * 8 > len(data) * 7


def pages_after_loss(data: bytes, header: HeaderPage) -> list[int]:
    """Return the indexes of the whole sub-buffers before which events were overwritten."""
    found: list[int] = np.flatnonzero(_commits(data, header) & MISSED_EVENTS).tolist()
    return found


def _commits(data: bytes, header: HeaderPage) -> Words:
    """Return the low words of the commit fields of whole sub-buffers."""
    order = "<u4" if header.byteorder == "little" else ">u4"
    words: Words = np.frombuffer(data, order).reshape(-1, header.page_size // 4)[:, _commit_at(header)]
    return words.astype(np.uint32)


def _commit_at(header: HeaderPage) -> int:
    """Return the word offset, in a sub-buffer, of the low bits of its commit field."""
    return 2 if header.byteorder == "little" else (8 + header.commit_size - 4) // 4
