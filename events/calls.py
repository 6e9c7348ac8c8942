"""The calls that a store's events belong to, as rows in the order in which they ended.

Rows of the store are paired when somebody looks at calls, in bounded steps; see `events.pairing` for what proves a
pair.
"""

from __future__ import annotations

import time
from array import array
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from events.decode import Value
from events.pairing import Alone, Call, End, Pairing, idle_task
from events.record import Record

if TYPE_CHECKING:
    from events.store import Store

_NONE = -1
_REASONS = tuple(Alone)
_STRIDE = 64
"""Rows between two looks at the clock."""


class EndOf(NamedTuple):
    """How an event is an end of a call."""

    function: int
    """Number of the probe."""
    at_exit: bool
    frame: str
    """Field with the stack pointer."""
    shift: int
    """Bytes by which it is above the one at the entry."""
    kept: tuple[str, ...]
    """Fields with values that both ends have in common."""


class Calls:
    """Rows `first` to `next - 1`; a row is dropped when its last event is."""

    def __init__(self, store: Store, pairing: Pairing | None = None) -> None:
        self.first = 0
        self.alone: Counter[Alone] = Counter()
        """Ends without a partner, by the reason."""
        self.paired = 0
        """Proven pairs."""
        self._store = store
        self._pairing = pairing or Pairing()
        self._ends: Mapping[str, EndOf] = {}
        self._by_id: dict[int, EndOf | None] = {}
        """What an event is, by the id of its format."""
        self._at = store.first_seq
        self._entries = array("q")
        self._exits = array("q")
        self._reasons = bytearray()

    @property
    def next(self) -> int:
        """Row that comes next."""
        return self.first + len(self._entries)

    @property
    def open(self) -> int:
        """Calls that have begun and not ended yet."""
        return self._pairing.open

    @property
    def behind(self) -> int:
        """Events that were not looked at yet."""
        return self._store.next_seq - max(self._at, self._store.first_seq)

    def use(self, ends: Mapping[str, EndOf]) -> None:
        """Take what the events are, by their `group/name`."""
        if ends != self._ends:
            self._ends = ends
            self._by_id.clear()

    def tick(self, budget: float = 0.01) -> int:
        """Look at events that came, for at most so many seconds; gives the number of new rows."""
        before = self.next
        deadline = time.monotonic() + budget
        self._at = max(self._at, self._store.first_seq)
        while self._at < self._store.next_seq:
            for seq in range(self._at, min(self._at + _STRIDE, self._store.next_seq)):
                self._look(seq)
            self._at = min(self._at + _STRIDE, self._store.next_seq)
            if time.monotonic() >= deadline:
                break
        new = self.next - before
        self._drop()
        return new

    def call(self, row: int) -> Call:
        """What a row is. Raises IndexError where it was dropped, or there is none yet."""
        if not self.first <= row < self.next:
            raise IndexError(row)
        at = row - self.first
        entry, leave, reason = self._entries[at], self._exits[at], self._reasons[at]
        return Call(
            None if entry == _NONE else entry,
            None if leave == _NONE else leave,
            _REASONS[reason - 1] if reason else None,
        )

    def _look(self, seq: int) -> None:
        number = self._store.row(seq).id
        if number not in self._by_id:
            self._by_id[number] = self._ends.get(self._store.event(number))
        end = self._by_id[number]
        if end is not None:
            record = self._store.record(seq)
            task = record.pid or idle_task(record.cpu)
            for call in self._pairing.take(End(seq, task, end.function, end.at_exit, _proof(record, end))):
                self._add(call)

    def _add(self, call: Call) -> None:
        self._entries.append(_NONE if call.entry is None else call.entry)
        self._exits.append(_NONE if call.exit is None else call.exit)
        self._reasons.append(0 if call.alone is None else _REASONS.index(call.alone) + 1)
        if call.alone is None:
            self.paired += 1
        else:
            self.alone[call.alone] += 1

    def _drop(self) -> None:
        """Drop rows whose events are gone."""
        oldest = self._store.first_seq
        gone = 0
        while gone < len(self._entries) and max(self._entries[gone], self._exits[gone]) < oldest:
            gone += 1
        del self._entries[:gone], self._exits[:gone], self._reasons[:gone]
        self.first += gone


def _proof(record: Record, end: EndOf) -> tuple[Value, ...]:
    values = record.values
    frame = values[end.frame]
    shifted = frame - end.shift if isinstance(frame, int) else frame
    return (shifted, *(values[name] for name in end.kept))
