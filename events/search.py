"""Search through a store in bounded steps, so that a screen never waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from events.record import Record
from events.text import show

if TYPE_CHECKING:
    from events.store import Store

Match = Callable[[Record], bool]

_STRIDE = 32
"""Rows between two looks at the clock."""


class Found(NamedTuple):
    """Result of one step."""

    seq: int | None
    """Row that matches; None: none yet."""
    next: int
    """Where the next step starts, if one is wanted."""
    done: bool
    """A row was found, or there are no more rows in this direction."""


def plain_text(record: Record) -> str:
    """A record as one line, for searching: task, cpu, event and all values."""
    if record.text:
        return f"{record.comm}-{record.pid} {record.event} {record.text}"
    values = " ".join(f"{name}={show(value)}" for name, value in record.values.items())
    return f"{record.comm}-{record.pid} {record.event} {values}"


def contains(needle: str, text_of: Callable[[Record], str] = plain_text) -> Match:
    """Match on a part of the text; capitals count only where the needle has some."""
    if needle.islower() or needle.lower() == needle:
        return lambda record: needle in text_of(record).lower()
    return lambda record: needle in text_of(record)


def step(
    store: Store, match: Match, start: int, direction: int, budget: float, events: frozenset[int] | None
) -> Found:
    """Look at rows from `start` on until one matches, the rows end, or `budget` seconds have passed."""
    deadline = time.monotonic() + budget
    seq = max(start, store.first_seq) if direction > 0 else min(start, store.next_seq - 1)
    looked = 0
    while store.first_seq <= seq < store.next_seq:
        if (events is None or store.row(seq).id in events) and match(store.record(seq)):
            return Found(seq, seq + direction, True)
        seq += direction
        looked += 1
        if looked % _STRIDE == 0 and time.monotonic() >= deadline:
            return Found(None, seq, False)
    return Found(None, seq, True)
