"""The events of many sub-buffers at once: all of them advance by one event at each step of numpy.

The same answers as `events.subbuffer.index`, which finishes what few pages are left of and takes few pages from the
start: below some 64 pages Python is faster (150 ns an event; here 25 to 60).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.format import HeaderPage
from events.runs import EMPTY, Run, run_of
from events.subbuffer import COMMIT_MASK, MISSED_EVENTS, TS_LIMIT, TS_MSB, Lists, go_on
from events.subbuffer import index as index_slowly

Ints = NDArray[np.int64]
Words = NDArray[np.uint32]

MANY = 64
"""Sub-buffers from which on this is faster than the loop in Python."""
_TOGETHER = 1 << 20
"""Bytes that are walked at once: more do not fit into the processor's caches."""
_FEW = 16
"""Pages that are left, from which on the loop in Python finishes them."""
_TIME_EXTEND, _PADDING = 30, 29
_DATA_MOST = 28
_5, _27, _31, _DELTA = np.array([5, 27, 31, (1 << 27) - 1], np.uint32)
_MSB = TS_MSB & (TS_LIMIT - 1) & ~((1 << 56) - 1)


class Part(NamedTuple):
    """Sub-buffers of one CPU; see the arguments of `events.subbuffer.index`."""

    data: bytes
    bounds: Sequence[int]
    base: int


def index(parts: Sequence[Part], header: HeaderPage) -> tuple[list[Run], int]:
    """The events of each part, and the number of sub-buffers that broke off."""
    runs: list[Run] = []
    broken = 0
    for group in _groups(parts):
        found, bad = _index_joined(group, header) if len(group) > 1 else _index_alone(group[0], header)
        runs += found
        broken += bad
    return runs, broken


def _groups(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """Parts that follow one another, about so many that it is quickest."""
    group: list[Part] = []
    size = 0
    for part in parts:
        group.append(part)
        size += len(part.data)
        if size >= _TOGETHER or len(part.data) % 4:
            yield group
            group, size = [], 0
    if group:
        yield group


def _index_alone(part: Part, header: HeaderPage) -> tuple[list[Run], int]:
    run, broken = _index(part, header)
    return [run], broken


def _index_joined(parts: Sequence[Part], header: HeaderPage) -> tuple[list[Run], int]:
    """What each by itself has too few of, they have together."""
    starts = [0, *accumulate(len(part.data) for part in parts)]
    bounds = [start + bound for start, part in zip(starts, parts, strict=False) for bound in part.bounds[:-1]]
    whole = Part(b"".join(part.data for part in parts), [*bounds, starts[-1]], 0)
    run, broken = _index(whole, header)
    words = [start >> 2 for start in starts]
    cuts = np.searchsorted(run.keys, words).tolist()
    found = []
    for number, part in enumerate(parts):
        own = run.part(cuts[number], cuts[number + 1])
        found.append(own._replace(keys=own.keys + (part.base - words[number])))
    return found, broken


def _index(part: Part, header: HeaderPage) -> tuple[Run, int]:
    data, bounds, base = part
    if len(bounds) <= MANY:
        walked = index_slowly(data, bounds, header, base)
        return run_of(*walked[:3]), walked.undecodable
    words = words_of(data, header)
    pages, bad = _heads(words, np.asarray(bounds, np.int64), header)
    trail = _Trail([], [])
    pages, broken = _advance(words, pages, header, trail)
    left = _finish(data, bounds, pages, header, trail)
    return _in_order(words, trail, header, base), bad + broken + left


def words_of(data: bytes, header: HeaderPage) -> Words:
    """The words of 32 bits, in this machine's order."""
    order = "<u4" if header.byteorder == "little" else ">u4"
    return np.frombuffer(data, order, len(data) // 4).astype(np.uint32, copy=False)


def is_dense(data: bytes, header: HeaderPage) -> bool:
    """Whether whole pages are so full that it is not worth to pack them, none is empty, and none was overrun."""
    words = words_of(data, header).reshape(-1, header.page_size // 4)
    commits = words[:, _commit_at(header)]
    used = commits & COMMIT_MASK
    if (commits & MISSED_EVENTS).any() or not used.all() or used.max() > header.data_size:
        return False
    return int(used.sum(dtype=np.int64)) * 8 > len(data) * 7


def _commit_at(header: HeaderPage) -> int:
    """Word of the page that holds the low bits of its commit."""
    return 2 if header.byteorder == "little" else (8 + header.commit_size - 4) // 4


class _Pages(NamedTuple):
    """The pages that are not at their end, an array a property."""

    number: Ints
    at: Ints
    """Word of the next event."""
    end: Ints
    """Word behind the last event."""
    limit: Ints
    """Word behind the page."""
    ts: Ints
    honest: NDArray[np.bool_]
    """The page has what it says it has."""

    def of(self, wanted: NDArray[np.bool_]) -> _Pages:
        number, at, end, limit, ts, honest = self
        return _Pages(number[wanted], at[wanted], end[wanted], limit[wanted], ts[wanted], honest[wanted])


class _Trail(NamedTuple):
    """The events that were met."""

    at: list[Ints]
    ts: list[Ints]


def _heads(words: Words, bounds: Ints, header: HeaderPage) -> tuple[_Pages, int]:
    """The pages that have events, and the number of those that can't be read at all."""
    start, limit = bounds[:-1] >> 2, bounds[1:] >> 2
    there = bounds[1:] - bounds[:-1] >= header.data_offset
    start = np.where(there, start, 0)
    low, high = (0, 1) if header.byteorder == "little" else (1, 0)
    if not there.any():
        return _Pages(*(start[:0],) * 5, there[:0]), len(there)
    ts = words[start + low].astype(np.uint64) | words[start + high].astype(np.uint64) << np.uint64(32)
    used = (words[start + _commit_at(header)] & COMMIT_MASK).astype(np.int64) + header.data_offset
    room = np.minimum(bounds[1:] - bounds[:-1], header.page_size)
    honest = used <= room
    good = there & (ts < TS_LIMIT)
    end = start + (np.minimum(used, room) >> 2)
    at = start + (header.data_offset >> 2)
    pages = _Pages(np.arange(len(start)), at, end, limit, ts.astype(np.int64), honest)
    empty = good & (at >= end)
    return pages.of(good & ~empty), int(len(good) - good.sum() + (empty & ~honest).sum())


def _advance(words: Words, pages: _Pages, header: HeaderPage, trail: _Trail) -> tuple[_Pages, int]:
    """Go on while there are many pages; gives those that are left, and the number of those that broke off."""
    little = header.byteorder == "little"
    broken = 0
    while len(pages.at) >= _FEW:
        word = words.take(pages.at)
        kind = word & _31 if little else word >> _27
        delta = word >> _5 if little else word & _DELTA
        if (kind - 1).max() < _DATA_MOST:  # a kind of 0 wraps
            step, ts = kind + 1, pages.ts + delta
            is_event = None
        else:
            step, ts, is_event = _rare(words, pages, kind, delta)
            stuck = step <= 0
            if stuck.any():
                broken += int((stuck & ~((step < 0) & pages.honest)).sum())
                keep = ~stuck
                pages, step, ts, is_event = pages.of(keep), step[keep], ts[keep], is_event[keep]
        after = pages.at + step
        done = after >= pages.end
        if not done.any():
            trail.at.append(pages.at if is_event is None else pages.at[is_event])
            trail.ts.append(ts if is_event is None else ts[is_event])
            pages = pages._replace(at=after, ts=ts)
            continue
        # The last event may claim to end behind the data: then it is none.
        whole = after <= pages.end if is_event is None else is_event & (after <= pages.end)
        trail.at.append(pages.at[whole])
        trail.ts.append(ts[whole])
        broken += int((done & ~(pages.honest & (after == pages.end))).sum())
        pages = pages._replace(at=after, ts=ts).of(~done)
    return pages, broken


def _rare(words: Words, pages: _Pages, kind: Words, delta: Words) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """(step, time, whether it is an event) where some events have no length in their first word.

    As `events.subbuffer._rare`; a step of 0: this cannot be, -1: the page ends here.
    """
    step, ts = kind.astype(np.int64) + 1, pages.ts + delta
    some = np.flatnonzero((kind == 0) | (kind > _DATA_MOST))
    own_kind, own_delta, before = kind[some], delta[some].astype(np.int64), pages.ts[some]
    next_at = pages.at[some] + 1
    second = words.take(np.minimum(next_at, len(words) - 1)).astype(np.int64)
    long_step = ((second + 3) >> 2) + 1

    is_data, is_padding = own_kind == 0, own_kind == _PADDING
    moved = (second << 27) + own_delta
    top = before & _MSB
    fixed = np.where(top > 0, moved | top, moved)
    absolute = np.where((top > 0) & (fixed < before), fixed + (1 << 59), fixed)
    stamped = np.where(own_kind == _TIME_EXTEND, before + moved, absolute)
    relative = before + np.where(is_padding & (own_delta == 1), 0, own_delta)
    own_ts = np.where(is_data | is_padding, relative, stamped)

    stamp_step = np.where((stamped >= 0) & (stamped < TS_LIMIT), 2, 0)
    data_step = np.where(second >= 8, long_step, 0)
    padding_step = np.where(own_delta > 0, long_step, -1)
    own_step = np.where(is_data, data_step, np.where(is_padding, padding_step, stamp_step))
    step[some] = np.where(next_at < pages.limit[some], own_step, 0)
    ts[some] = own_ts
    is_event = np.ones(len(kind), np.bool_)
    is_event[some] = is_data
    return step, ts, is_event


def _finish(data: bytes, bounds: Sequence[int], pages: _Pages, header: HeaderPage, trail: _Trail) -> int:
    """Walk what is left of few pages; gives the number of those that broke off."""
    broken = 0
    for number, at, _, _, ts, _ in zip(*(column.tolist() for column in pages), strict=True):
        start = bounds[number]
        lists: Lists = ([], [], [])
        broken += not go_on(data[start : bounds[number + 1]], header, start >> 2, at - (start >> 2), ts, lists)
        trail.at.append(np.array(lists[1], np.int64))
        trail.ts.append(np.array(lists[0], np.int64))
    return broken


def _in_order(words: Words, trail: _Trail, header: HeaderPage, base: int) -> Run:
    """The events page by page: where one begins says its place."""
    if not trail.at:
        return EMPTY
    at = np.concatenate(trail.at)
    begins = np.zeros(len(words), np.bool_)
    begins[at] = True
    stamps = np.empty(len(words), np.int64)
    stamps[at] = np.concatenate(trail.ts)
    at = np.flatnonzero(begins)
    first = words.take(at)
    little = header.byteorder == "little"
    is_long = (first & 31 if little else first >> 27) == 0
    ids = words.take(at + 1 + is_long)
    return Run(stamps.take(at), at + base, (ids & 0xFFFF if little else ids >> 16).astype(np.int32))
