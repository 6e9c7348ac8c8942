"""Locate events in sub-buffers of the ring buffer (kernel/trace/ring_buffer.c, include/linux/ring_buffer.h).

A sub-buffer is a page header followed by events. Each event starts with a word of 5 bits `type_len` and 27 bits
`time_delta` (the low bits first on a little-endian machine, the high bits first on a big-endian one):

    1..28  data of type_len words
    0      data, the length in bytes (including the length word) in the next word
    29     padding; with delta 0 up to the end of the page, else a discarded event, length in the next word
    30     time extend: delta += next word << 27
    31     absolute stamp: next word << 27 | delta; the top five bits are those of the time before it

Invalid bytes raise no error: what cannot be read is counted.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from events.batch import Chunk
from events.format import HeaderPage

WORD_BITS = 22
"""Number of key bits for the word offset: a key is `slab number << WORD_BITS | word offset of the event's header`;
see `events.store.blocks`."""
WORD_MASK = (1 << WORD_BITS) - 1

MISSED_EVENTS = 1 << 31
_MISSED_STORED = 1 << 30
COMMIT_MASK = (1 << 30) - 1
TS_MSB = 0xF8 << 56
TS_LIMIT = (1 << 63) - (1 << 50)
"""Limit of time stamps: all deltas of one sub-buffer sum to less than 1 << 50, so no time stamp reaches 1 << 63."""
_DELTA_MASK = (1 << 27) - 1
_PADDING, _TIME_EXTEND = 29, 30

# Words to the next header by type_len, and bytes by the byte that holds it; 0: depends on the next word.
_WORD_STEP = [type_len + 1 if 1 <= type_len <= 28 else 0 for type_len in range(32)]
_STEP_LITTLE = [_WORD_STEP[byte & 31] * 4 for byte in range(256)]
_STEP_BIG = [_WORD_STEP[byte >> 3] * 4 for byte in range(256)]
DATA_BYTES = {
    "little": [max(step - 4, 0) for step in _STEP_LITTLE],
    "big": [max(step - 4, 0) for step in _STEP_BIG],
}
"""Bytes of data after the first word of an event, by the byte that holds type_len; 0: call `payload`."""


class SubbufferEvents(NamedTuple):
    """Events of some sub-buffers, as columns of the same length."""

    stamps: Sequence[int]
    """Time stamps in nanoseconds (or ticks of some clocks), < 2**63."""
    keys: Sequence[int]
    """Keys; see WORD_BITS."""
    ids: Sequence[int]
    """Format ids (`common_type`)."""
    undecodable: int
    """Number of sub-buffers with invalid contents; their events after the fault are missing."""


def stamp(page: bytes, header: HeaderPage) -> int:
    """Return the time of the first event, in nanoseconds or ticks of the trace clock."""
    return int.from_bytes(page[:8], header.byteorder)


def commit(page: bytes, header: HeaderPage) -> int:
    """Return the number of data bytes according to the page header."""
    return _commit_word(page, header) & COMMIT_MASK


def _commit_word(page: bytes, header: HeaderPage) -> int:
    low = 8 if header.byteorder == "little" else 8 + header.commit_size - 4
    return int.from_bytes(page[low : low + 4], header.byteorder)


def _data_end(page: bytes, header: HeaderPage) -> tuple[int, bool]:
    """Return the offset after the last event, and whether the page header is plausible."""
    end = header.data_offset + commit(page, header)
    room = min(len(page), header.page_size)
    if len(page) < header.data_offset:
        return 0, False
    return min(end, room) & ~3, end <= room


def count_overwritten(page: bytes, header: HeaderPage) -> int:
    """Return the number of events overwritten before this page; -1: the kernel had no room to store the number."""
    word = _commit_word(page, header)
    if not word & MISSED_EVENTS:
        return 0
    at = header.data_offset + (word & COMMIT_MASK)
    stored = page[at : at + header.long_size]
    if not word & _MISSED_STORED or len(stored) < header.long_size:
        return -1
    return int.from_bytes(stored, header.byteorder)


def trim(page: bytes, header: HeaderPage) -> bytes:
    """Return the page without the bytes after its data; an implausible page is returned unchanged."""
    end, plausible = _data_end(page, header)
    return page[:end] if plausible and len(page) > end else page


def count(page: bytes, header: HeaderPage) -> int:
    """Return the number of events in the page, by the fastest walk."""
    at, (end, _) = header.data_offset, _data_end(page, header)
    steps = _STEP_LITTLE if header.byteorder == "little" else _STEP_BIG
    found = step = 0
    while at < end:
        step = steps[page[at]]
        if step:
            found += 1
        else:
            word = int.from_bytes(page[at : at + 4], header.byteorder)
            second = int.from_bytes(page[at + 4 : at + 8], header.byteorder)
            _, words, is_event = _special_event(*_split(word, header), second, 0)
            if words <= 0:
                break
            found += is_event
            step = words * 4
        at += step
    # If the last event extends beyond the data, it is no event.
    return found - bool(step and at > end and _type_len(page[at - step], header) < _PADDING)


def events_in(chunk: Chunk, header: HeaderPage) -> int:
    """Return the number of events in a chunk; for text, of lines."""
    if chunk.text:
        return chunk.data.count(b"\n")
    size = header.page_size
    return sum(count(chunk.data[at : at + size], header) for at in range(0, len(chunk.data), size))


def walk(page: bytes, header: HeaderPage) -> list[tuple[int, int, int]]:
    """Return (time stamp, offset of the record in the page, bytes of the record) of each event, in page order."""
    walked = index(page, (0, len(page)), header)
    return [(ts, *payload(page, word, header)) for ts, word in zip(walked.stamps, walked.keys, strict=True)]


def payload(page: bytes, word: int, header: HeaderPage) -> tuple[int, int]:
    """Return (offset, length) in bytes of the record whose header is at word `word` of the page."""
    at = word * 4
    type_len = _type_len(page[at], header)
    if type_len:
        return at + 4, type_len * 4
    return at + 8, int.from_bytes(page[at + 4 : at + 8], header.byteorder) - 4


Lists = tuple[list[int], list[int], list[int]]
"""Lists of time stamps, keys and ids."""


def index(data: bytes, bounds: Sequence[int], header: HeaderPage, base: int = 0) -> SubbufferEvents:
    """Index all events of consecutive sub-buffers.

    Args:
        data: bytes of the sub-buffers.
        bounds: offset of each sub-buffer, a multiple of 4, and of the end of the last.
        header: layout of the sub-buffers.
        base: key of the first word of `data`.
    """
    lists: Lists = ([], [], [])
    undecodable = 0
    for start, stop in pairwise(bounds):
        page = data[start:stop]
        ts = int.from_bytes(page[:8], header.byteorder)
        readable = len(page) >= header.data_offset and ts < TS_LIMIT
        first = header.data_offset >> 2
        undecodable += not (readable and go_on(page, header, base + (start >> 2), first, ts, lists))
    return SubbufferEvents(*lists, undecodable)


def go_on(page: bytes, header: HeaderPage, base: int, at: int, ts: int, lists: Lists) -> bool:
    """Append the events of one page from word `at` on to the lists; return False if the page has invalid contents.

    Args:
        page: bytes of the page.
        header: layout of the page.
        base: key of the page's first word.
        at: word offset of an event.
        ts: time before that event.
        lists: extended in place.
    """
    end, plausible = _data_end(page, header)
    end >>= 2
    words = words_of(page, header)
    run, id_shift = (_run_little, 0) if header.byteorder == "little" else (_run_big, 16)
    step = 0
    try:
        while True:
            ts, at, moved = run(words, at, end, ts, base, lists)
            step = moved or step
            if at >= end:
                break
            ts, step, is_event = _special_event(*_split(words[at], header), words[at + 1], ts)
            if step <= 0:
                return step < 0 and plausible
            if is_event:
                lists[2].append((words[at + 2] >> id_shift) & 0xFFFF)
                lists[0].append(ts)
                lists[1].append(base + at)
            at += step
    except IndexError:
        return False
    if at > end and lists[1] and lists[1][-1] == base + at - step:
        for column in lists:
            column.pop()
    return plausible and at == end


# The following two loops dominate the run time, 150 ns per event: each is for one byte order.


def _run_little(words: array[int], at: int, end: int, ts: int, base: int, lists: Lists) -> tuple[int, int, int]:
    """Append events from word `at` on while their first word has their length; return (time, word, length of the
    last).
    """
    stamps, keys, ids = lists
    steps, step = _WORD_STEP, 0
    while at < end:
        word = words[at]
        length = steps[word & 31]
        if not length:
            break
        ids.append(words[at + 1] & 0xFFFF)
        ts += word >> 5
        stamps.append(ts)
        keys.append(base + at)
        at += length
        step = length
    return ts, at, step


def _run_big(words: array[int], at: int, end: int, ts: int, base: int, lists: Lists) -> tuple[int, int, int]:
    stamps, keys, ids = lists
    steps, step = _WORD_STEP, 0
    while at < end:
        word = words[at]
        length = steps[word >> 27]
        if not length:
            break
        ids.append(words[at + 1] >> 16)
        ts += word & _DELTA_MASK
        stamps.append(ts)
        keys.append(base + at)
        at += length
        step = length
    return ts, at, step


def _type_len(byte: int, header: HeaderPage) -> int:
    """Return the type in the first byte of an event."""
    return byte & 31 if header.byteorder == "little" else byte >> 3


def _split(word: int, header: HeaderPage) -> tuple[int, int]:
    """Return (type_len, time_delta) of an event's first word."""
    return (word & 31, word >> 5) if header.byteorder == "little" else (word >> 27, word & _DELTA_MASK)


def _special_event(type_len: int, delta: int, second: int, ts: int) -> tuple[int, int, bool]:
    """Evaluate an event whose first word does not have its length.

    Returns:
        (time, words to the next header, True for data); words 0: invalid, -1: end of the page.
    """
    if type_len == 0:
        return ts + delta, (((second + 3) >> 2) + 1 if second >= 8 else 0), True
    if type_len == _PADDING:
        # rb_event_discard() writes 1 where the delta was 0; check_buffer() counts any other.
        return ts + (delta if delta != 1 else 0), (((second + 3) >> 2) + 1 if delta else -1), False
    moved = (second << 27) + delta
    if type_len == _TIME_EXTEND:
        ts += moved
    elif ts & TS_MSB:  # rb_fix_abs_ts()
        moved |= ts & TS_MSB
        ts = moved + (1 << 59) if moved < ts else moved
    else:
        ts = moved
    return ts, (2 if ts < TS_LIMIT else 0), False


def words_of(page: bytes, header: HeaderPage) -> array[int]:
    """Return the page as 32-bit words (an array is indexed faster than a memoryview)."""
    words = array("I", page if len(page) % 4 == 0 else page[: len(page) & ~3])
    if header.byteorder != sys.byteorder:
        words.byteswap()
    return words
