"""Find the call that one event is an end of, among the events around it, without pairing a whole store."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from events.calls.call_matching import CallMatching
from events.calls.call_values import Call, EndRole

if TYPE_CHECKING:
    from events.store.store import Store

REACHES: Final = (1 << 10, 1 << 13, 1 << 16)
"""Rows that are looked at on each side of an event, one attempt after the other: most calls are short, and what ran
before a call shows its place on the stack.
"""
_PIECE: Final = 1 << 11
"""Rows that are matched between two looks at the time."""
_BUDGET: Final = 0.02
"""Seconds after which no more rows are looked at: a person moves the cursor meanwhile."""


def call_around(store: Store, ends: Mapping[str, EndRole], seq: int, budget: float = _BUDGET) -> Call | None:
    """Return the call that an event is an end of; None: none of its partners is near enough to say.

    A pair is as proven as in `events.calls.pairing`; nothing before the rows that are looked at is taken as known.

    Args:
        store: the events.
        ends: role of each event that is the end of a call, by its path.
        seq: sequence number of the event; IndexError if it was dropped.
        budget: seconds after which no more rows are looked at.
    """
    deadline = time.monotonic() + budget
    if store.record(seq).event not in ends:
        return None
    found = None
    for reach in REACHES:
        start, stop = max(store.first_seq, seq - reach), min(store.next_seq, seq + reach)
        found = _match(store, ends, seq, range(start, stop), deadline) or found
        is_pair = found is not None and found.unpaired_reason is None
        is_whole = (start, stop) == (store.first_seq, store.next_seq)
        if is_pair or is_whole or time.monotonic() >= deadline:
            break
    return found


def _match(store: Store, ends: Mapping[str, EndRole], seq: int, rows: range, deadline: float) -> Call | None:
    """Return the call of an event as some rows prove it; None: they do not, or the time is over."""
    matching = CallMatching(store, start=rows.start)
    matching.use(ends)
    for at in range(rows.start, rows.stop, _PIECE):
        if at > rows.start and time.monotonic() >= deadline:
            break
        for finished in matching.take(store.columns(at, min(at + _PIECE, rows.stop))):
            is_end = (finished.entries == seq) | (finished.exits == seq)
            if is_end.any():
                place = int(is_end.argmax())
                return Call(int(finished.entries[place]), int(finished.exits[place]))
            for call in finished.unpaired:
                if seq in (call.entry, call.exit):
                    return call
    return None
