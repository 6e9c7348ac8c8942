"""Find the call that one event is an end of, among the events around it, without pairing a whole store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from events.calls.call_matching import CallMatching
from events.calls.call_values import Call, EndRole

if TYPE_CHECKING:
    from events.store.store import Store

REACHES: Final = (1 << 10, 1 << 14, 1 << 17)
"""Rows that are looked at on each side of an event, one attempt after the other: most calls are short, and what ran
before a call shows its place on the stack.
"""
_PIECE: Final = 1 << 13
"""Rows that are matched at once."""


def call_around(store: Store, ends: Mapping[str, EndRole], seq: int) -> Call | None:
    """Return the call that an event is an end of; None: none of its partners is near enough to say.

    A pair is as proven as in `events.calls.pairing`; nothing before the rows that are looked at is taken as known.

    Args:
        store: the events.
        ends: role of each event that is the end of a call, by its path.
        seq: sequence number of the event; IndexError if it was dropped.
    """
    if store.record(seq).event not in ends:
        return None
    found = None
    for reach in REACHES:
        start, stop = max(store.first_seq, seq - reach), min(store.next_seq, seq + reach)
        found = _match(store, ends, seq, start, stop)
        if (found is not None and found.unpaired_reason is None) or (start, stop) == (
            store.first_seq,
            store.next_seq,
        ):
            break
    return found


def _match(store: Store, ends: Mapping[str, EndRole], seq: int, start: int, stop: int) -> Call | None:
    """Return the call of an event as rows from `start` to before `stop` prove it."""
    matching = CallMatching(store, start=start)
    matching.use(ends)
    for at in range(start, stop, _PIECE):
        for finished in matching.take(store.columns(at, min(at + _PIECE, stop))):
            is_end = (finished.entries == seq) | (finished.exits == seq)
            if is_end.any():
                place = int(is_end.argmax())
                return Call(int(finished.entries[place]), int(finished.exits[place]))
            for call in finished.unpaired:
                if seq in (call.entry, call.exit):
                    return call
    return None
