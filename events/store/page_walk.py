"""Index the events of many sub-buffers at once: each numpy step advances all of them by one event.

Returns the result of `events.subbuffer.index` (150 ns per event; here 10 to 40), which still handles small numbers of
sub-buffers and each sub-buffer with invalid contents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.format import ByteOrder, HeaderPage
from events.store.page_headers import Ints, Mask, Pages, Words, read_page_headers, words_of
from events.store.row_columns import RowColumns, concatenate_rows, rows_from_lists
from events.subbuffer import DATA_BYTES, TS_LIMIT
from events.subbuffer import index as index_slowly

MANY = 16
"""Minimum number of sub-buffers for which this is faster than the loop in Python."""
_GROUP_BYTES = 1 << 20
"""Target bytes indexed in one call, so that the data fits into the processor's caches."""
_FEW = 4
"""Number of remaining sub-buffers below which the loop in Python takes over."""
_MOST_STEPS = 16
"""Maximum number of steps between checks for finished sub-buffers."""
_PADDING, _TIME_EXTEND, _TIME_STAMP = 29, 30, 31
_MAX_DATA_TYPE_LEN = 28
_1, _5, _27, _31, _DELTA = np.array([1, 5, 27, 31, (1 << 27) - 1], np.uint32)
_SLACK = 1 << 51
"""Greater than the sum of all time deltas of one sub-buffer."""
_STAMP_LIMIT = (1 << 59) - _SLACK
"""Time from which on an absolute time stamp lacks the top bits; see `events.subbuffer`."""


class _Steps(NamedTuple):
    """Tables of the bytes to the next event, indexed by the header byte that holds type_len."""

    known: Ints
    """Total bytes; 0: the next word holds the length."""
    fixed: Ints
    """Bytes in addition to the length in the next word."""
    counted: Ints
    """1 if the next word holds a length, otherwise 0."""


def _steps(order: ByteOrder) -> _Steps:
    data = np.array(DATA_BYTES[order], np.int64)
    kinds = np.arange(256) & 31 if order == "little" else np.arange(256) >> 3
    fixed = np.where(kinds >= _TIME_EXTEND, 8, data + 4)
    counted = (kinds == 0) | (kinds == _PADDING)
    return _Steps(np.where(counted, 0, fixed), fixed, counted.astype(np.int64))


_STEPS: dict[ByteOrder, _Steps] = {"little": _steps("little"), "big": _steps("big")}


class PageGroup(NamedTuple):
    """Sub-buffers of one CPU; fields as the arguments of `events.subbuffer.index`."""

    data: bytes
    bounds: Sequence[int]
    base: int


def index(parts: Sequence[PageGroup], header: HeaderPage) -> tuple[list[RowColumns], int]:
    """Return the events of each group, and the number of sub-buffers with invalid contents."""
    runs: list[RowColumns] = []
    broken = 0
    for group in _groups(parts):
        found, bad = _index_joined(group, header) if len(group) > 1 else _index_alone(group[0], header)
        runs += found
        broken += bad
    return runs, broken


def _groups(parts: Sequence[PageGroup]) -> Iterator[list[PageGroup]]:
    """Yield runs of consecutive groups of about `_GROUP_BYTES` bytes, which is fastest."""
    group: list[PageGroup] = []
    size = 0
    for part in parts:
        group.append(part)
        size += len(part.data)
        if size >= _GROUP_BYTES or len(part.data) % 4:
            yield group
            group, size = [], 0
    if group:
        yield group


def _index_alone(part: PageGroup, header: HeaderPage) -> tuple[list[RowColumns], int]:
    run, broken = _index(part, header)
    return [run], broken


def _index_joined(parts: Sequence[PageGroup], header: HeaderPage) -> tuple[list[RowColumns], int]:
    """Index several groups in one call: together they are enough sub-buffers for the vectorized walk."""
    starts = [0, *accumulate(len(part.data) for part in parts)]
    bounds = [start + bound for start, part in zip(starts, parts, strict=False) for bound in part.bounds[:-1]]
    whole = PageGroup(b"".join(part.data for part in parts), [*bounds, starts[-1]], 0)
    run, broken = _index(whole, header)
    words = [start >> 2 for start in starts]
    cuts = np.searchsorted(run.keys, words).tolist()
    found = []
    for number, part in enumerate(parts):
        own = run.part(cuts[number], cuts[number + 1])
        found.append(own._replace(keys=own.keys + (part.base - words[number])))
    return found, broken


def _index(part: PageGroup, header: HeaderPage) -> tuple[RowColumns, int]:
    data, bounds, base = part
    if len(bounds) <= MANY:
        walked = index_slowly(data, bounds, header, base)
        return rows_from_lists(*walked[:3]), walked.undecodable
    words = words_of(data, header)
    pages = read_page_headers(words, np.asarray(bounds, np.int64), header)
    begins = np.zeros(len(words) + 1, np.bool_)
    whole = pages.fit.copy()
    whole[_walk(data, words, pages, begins, header)] = False
    run = _run(words, pages, begins, whole, header)
    found, broken = [run._replace(keys=run.keys + base)], 0
    for number in np.flatnonzero(~whole).tolist():
        start, stop = bounds[number], bounds[number + 1]
        walked = index_slowly(data[start:stop], (0, stop - start), header, base + (start >> 2))
        found.append(rows_from_lists(*walked[:3]))
        broken += walked.undecodable
    rows = concatenate_rows(found)
    return rows if len(found) == 1 else rows.of(rows.keys.argsort(kind="stable")), broken


def _walk(data: bytes, words: Words, pages: Pages, begins: Mask, header: HeaderPage) -> Ints:
    """Set `begins` at the word of each event; return the sub-buffers whose last event does not end with the data."""
    octets, steps = np.frombuffer(data, np.uint8), _STEPS[header.byteorder]
    page = np.flatnonzero(pages.fit & (pages.at < pages.end))
    at, end = pages.at[page] << 2, pages.end[page] << 2
    ends, unfinished, ahead = pages.end[page], [], _MOST_STEPS
    while len(page) >= _FEW:
        trail = np.empty((ahead + 1, len(page)), np.int64)
        kind, step = np.empty(len(page), np.uint8), np.empty(len(page), np.int64)
        trail[0] = at
        # A finished sub-buffer runs on into the data after it, until the next check removes it.
        for current, following in pairwise(list(trail)):
            octets.take(current, None, kind, "clip")
            steps.known.take(kind, None, step, "clip")
            np.add(current, step, following)
        begins[np.minimum(trail, end) >> 2] = True
        at = trail[-1]
        stuck = int(np.count_nonzero(at == trail[-2]))
        ahead = max(1, ahead // 2) if stuck * 2 > len(page) else min(2 * ahead, _MOST_STEPS)
        octets.take(at, None, kind, "clip")
        more = (words.take((at >> 2) + 1, mode="clip").astype(np.int64) + 3) & ~3
        at = at + steps.fixed.take(kind) + steps.counted.take(kind) * more
        on = at < end
        if not on.all():
            unfinished.append(page[~on & (at != end) & (trail != end).all(0)])
            page, at, end = page[on], at[on], end[on]
    begins[ends] = False
    return np.concatenate([*unfinished, page])


class _MarkedEntries(NamedTuple):
    """Events and paddings found by the walk, sub-buffer by sub-buffer, one array per property."""

    at: Ints
    """Word offset of the event header."""
    kind: Words
    """Values of type_len."""
    delta: Words
    """Values of time_delta."""
    rare: Ints
    """Indexes in these arrays of the entries whose header word alone does not give their length."""


def _run(words: Words, pages: Pages, begins: Mask, whole: Mask, header: HeaderPage) -> RowColumns:
    """Return the events of the valid sub-buffers; clear `whole` for sub-buffers found to be invalid."""
    little = header.byteorder == "little"
    entries = _marked_entries(words, pages, begins, pages.fit & ~whole, little)
    bad = _invalid_pages(words, pages, entries) & whole
    if bad.any():
        whole[bad] = False
        entries = _marked_entries(words, pages, begins, bad, little)
    stamps = _stamps(words, pages, entries, whole & (pages.at < pages.end))
    at, kind, _, rare = entries
    if len(rare) and kind.max() > _MAX_DATA_TYPE_LEN:
        events = kind <= _MAX_DATA_TYPE_LEN
        at, kind, stamps = at[events], kind[events], stamps[events]
    ids = words.take(at + 1 + (kind == 0) if len(rare) else at + 1)
    return RowColumns(stamps, at, (ids & 0xFFFF if little else ids >> 16).astype(np.int32))


def _marked_entries(words: Words, pages: Pages, begins: Mask, excluded: Mask, little: bool) -> _MarkedEntries:
    """Return the entries that the walk has marked, without those of the sub-buffers in `gone`."""
    for number in np.flatnonzero(excluded).tolist():
        begins[pages.at[number] : pages.end[number]] = False
    at = np.flatnonzero(begins)
    first = words.take(at)
    kind, delta = (first & _31, first >> _5) if little else (first >> _27, first & _DELTA)
    # uint32: a kind of 0 wraps to a large value
    return _MarkedEntries(at, kind, delta, np.flatnonzero(kind - _1 >= _MAX_DATA_TYPE_LEN))


def _second(words: Words, entries: _MarkedEntries) -> tuple[Ints, Words, Ints]:
    """Return, for each entry in `entries.rare`, the word after the header, the kind, and the time that both words
    encode.
    """
    at, kind, delta, rare = entries
    second = words.take(at[rare] + 1, mode="clip").astype(np.int64)
    return second, kind[rare], (second << 27) + delta[rare]


def _invalid_pages(words: Words, pages: Pages, entries: _MarkedEntries) -> Mask:
    """Return a mask of the sub-buffers with invalid contents, or with times so late that only `events.subbuffer`
    handles them.
    """
    invalid = np.zeros(len(pages.at), np.bool_)
    if not len(entries.rare):
        return invalid
    second, kind, time = _second(words, entries)
    at, delta = entries.at[entries.rare], entries.delta[entries.rare]
    page = np.searchsorted(pages.start, at, "right") - 1
    cut = at + 1 >= pages.end[page]
    invalid[page[cut | (kind == 0) & (second < 8) | (kind == _PADDING) & (delta == 0)]] = True
    latest = pages.ts.astype(np.float64)
    limit = np.full(len(latest), float(TS_LIMIT - _SLACK))
    is_stamp, is_extend = kind == _TIME_STAMP, kind == _TIME_EXTEND
    np.maximum.at(latest, page[is_stamp], time[is_stamp])
    limit[page[is_stamp]] = _STAMP_LIMIT
    latest += np.bincount(page[is_extend], time[is_extend], len(latest))
    return invalid | (latest >= limit)


def _stamps(words: Words, pages: Pages, entries: _MarkedEntries, nonempty: Mask) -> Ints:
    """Return the time stamp of each marked entry; `there` is the mask of the sub-buffers that have entries."""
    at, _, delta, rare = entries
    begin, base = np.searchsorted(at, pages.at[nonempty]), pages.ts[nonempty]
    moved: NDArray[np.integer[Any]] = delta
    if len(rare):
        _, rare_kind, time = _second(words, entries)
        is_stamp = rare_kind == _TIME_STAMP
        # rb_event_discard() writes 1 where the delta was 0.
        without_delta = is_stamp | (rare_kind == _PADDING) & (delta[rare] == 1)
        moved = delta.astype(np.int64)
        moved[rare] = np.where(without_delta, 0, np.where(rare_kind == _TIME_EXTEND, time, delta[rare]))
        begin, base = np.append(begin, rare[is_stamp]), np.append(base, time[is_stamp])
        # stable sort: a time stamp at the start of a sub-buffer overrides the header's
        order = begin.argsort(kind="stable")
        begin, base = begin[order], base[order]
    # The sum over all sub-buffers may overflow 64 bits; differences within one sub-buffer are still correct.
    sums = np.cumsum(moved, dtype=np.int64)
    base = base - np.where(begin > 0, sums.take(begin - 1, mode="wrap"), 0)
    return sums + np.repeat(base, np.diff(begin, append=len(at)))
