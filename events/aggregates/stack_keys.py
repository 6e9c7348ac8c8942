"""Keys of recorded stacks: equal stacks have equal keys, and only one of them is decoded.

A key is the sum of the addresses of a stack, each mixed and multiplied by a random weight of its position: nobody can
make two stacks of one key, and 100,000 stacks take some 30 ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from events.decode import Value
from events.stacks.addresses import caller_field, stack_event_addresses
from events.summary.keys import KeyColumns, Keys, position_weights

if TYPE_CHECKING:
    from events.store.columns import FormatTable
    from events.store.store import Store

Ints = NDArray[np.int64]

_NO_STACK: Final = np.uint64(0)
_LENGTH_WEIGHT: Final = np.uint64(0x9E3779B97F4A7C15)
_SPREAD: Final = np.uint64(0xBF58476D1CE4E5B9)
"""Multiplier of splitmix64: addresses that differ in few bits differ in many after it."""


class _StackValues:
    """Stacks of some events by their keys; an event without a stack has a key that stands for None."""

    def __init__(self, keys: Keys, seqs: Ints, store: Store, paths: Sequence[str]) -> None:
        """Take the key of each event, its sequence number, and the names of the events that hold stacks."""
        self._keys = keys
        self._seqs = seqs
        self._store = store
        self._paths = paths

    def values(self, wanted: Keys) -> dict[int, Value]:
        """Return the addresses that some of the keys stand for, the innermost first; None: no stack."""
        places = np.flatnonzero(np.isin(self._keys, wanted))
        found, first = np.unique(self._keys[places], return_index=True)
        return {
            key: self._stack(seq) for key, seq in zip(found.tolist(), self._seqs[places[first]].tolist(), strict=True)
        }

    def _stack(self, seq: int) -> Value:
        record = self._store.record(seq)
        stack = next((one for one in (record, *record.stacks) if one.event in self._paths), None)
        return (stack_event_addresses(stack) or ()) if stack is not None else None


def stack_keys(table: FormatTable, store: Store, paths: Sequence[str]) -> KeyColumns:
    """Return the keys of the stacks of events; `paths`: names of the events that hold stacks."""
    keys = np.full(len(table), _NO_STACK, np.uint64)
    places, columns = store.stacks(table.keys, paths)
    for stacks in columns.tables.values():
        keys[places[stacks.places]] = _hashes(stacks)
    return KeyColumns(keys, parts=[_StackValues(keys, table.seqs, store, paths)])


def _hashes(stacks: FormatTable) -> Keys:
    callers = caller_field(stacks.layout.format)
    if callers is None:
        return np.full(len(stacks), _LENGTH_WEIGHT, np.uint64)
    width = callers.width or 8
    room = np.maximum(stacks.lengths - callers.offset, 0) // width
    size = next((field for field in stacks.layout.format.fields if field.name == "size"), None)
    numbers = room
    if size is not None:
        numbers = np.clip(stacks.column(size).values.astype(np.int64), 0, room)
    elif callers.count is not None:
        numbers = np.minimum(room, callers.count)
    begins = np.cumsum(numbers) - numbers
    positions = np.arange(int(numbers.sum())) - np.repeat(begins, numbers)
    at = np.repeat(stacks.starts + callers.offset, numbers) + positions * width
    addresses = _gathered(stacks.data, at, np.dtype(f"{'<' if stacks.layout.byteorder == 'little' else '>'}u{width}"))
    hashes = (numbers.astype(np.uint64) + np.uint64(1)) * _LENGTH_WEIGHT
    mixed = (addresses ^ addresses >> np.uint64(30)) * _SPREAD
    products = (mixed ^ mixed >> np.uint64(27)) * position_weights(int(numbers.max(initial=0)) + 1)[positions]
    some = np.flatnonzero(numbers)  # `reduceat` has no empty run
    if len(some):
        hashes[some] += np.add.reduceat(products, begins[some])
    return hashes


def _gathered(data: bytes, at: Ints, dtype: np.dtype[Any]) -> Keys:
    """Return the numbers at byte offsets, which need not be aligned."""
    if not len(at):
        return np.empty(0, np.uint64)
    everywhere: NDArray[Any] = np.ndarray((len(data) - dtype.itemsize + 1,), dtype, data, strides=(1,))
    return everywhere[at].astype(np.uint64)
