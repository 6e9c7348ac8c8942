"""Convert values of a field to 64-bit keys that can be counted, and back.

Numbers are their own keys. A text is hashed by a random number plus the sum of its bytes, each multiplied by a random
weight of its position (multilinear hashing: two texts collide with probability 2^-56, and a text with a number with
2^-64; collisions cannot be constructed without knowing the random numbers).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from events.decode import Value, text_of
from events.format import Field, FieldKind
from events.record import Record
from events.store.columns import FormatTable, StringBytes, is_number, is_string
from foreign.text import encode_text

Keys = NDArray[np.uint64]

_EMPTY, _MISSING = np.frombuffer(secrets.token_bytes(16), np.uint64)
"""Keys of the empty text, and of a text that is missing: random, as every constant is the key of a number, too."""


class KeyValues(Protocol):
    """Values that keys stand for."""

    def values(self, wanted: Keys) -> dict[int, Value]:
        """Return the values that some of the keys stand for."""


class KeyColumns:
    """Keys of a run of events; `values` returns the values that keys stand for.

    `parts`: what has the values, where they are not here: the columns that the keys were taken from.
    """

    def __init__(
        self,
        keys: Keys,
        texts: StringBytes | None = None,
        values: list[Value] | None = None,
        parts: Sequence[KeyValues] = (),
    ) -> None:
        self.keys = keys
        self._texts = texts
        self._values = values
        self._parts = parts

    def values(self, wanted: Keys) -> dict[int, Value]:
        """Return the values that some of the keys stand for; empty for numbers, which are their own keys."""
        found: dict[int, Value] = {}
        for part in self._parts:
            found |= part.values(wanted)
        if self._texts is None and self._values is None:
            return found
        places = np.flatnonzero(np.isin(self.keys, wanted))
        _, first = np.unique(self.keys[places], return_index=True)
        for place in places[first].tolist():
            found[int(self.keys[place])] = self._value(place)
        return found

    def taken(self, rows: NDArray[np.intp]) -> KeyColumns:
        """Return the keys of some of the events."""
        texts = self._texts
        return KeyColumns(
            self.keys[rows],
            None if texts is None else texts._replace(begins=texts.begins[rows], missing=texts.missing[rows]),
            None if self._values is None else [self._values[row] for row in rows.tolist()],
            self._parts,
        )

    def _value(self, place: int) -> Value:
        if self._values is not None:
            return self._values[place]
        if self._texts is None or self._texts.missing[place]:
            return None
        begin = int(self._texts.begins[place])
        return text_of(self._texts.data[begin : self._texts.data.index(0, begin)])


def field_keys(table: FormatTable, field: Field) -> KeyColumns:
    """Return the keys of a field's values; a number for which a record is too short has no key.

    Takes 5 ns for a number, 60 ns for a short text, 1 us for other types.
    """
    if is_number(field):
        values, missing = table.column(field)
        return KeyColumns(keys_from_numbers(values if missing is None else values[~missing]))
    if is_string(field):
        texts = table.string_bytes(field)
        return KeyColumns(_hash_texts(texts), texts=texts)
    return value_keys(table.values(field))


def value_keys(values: list[Value]) -> KeyColumns:
    """Return the keys of values of any kind."""
    texts = [encode_text(repr(value)) + b"\0" for value in values]
    sizes = np.array([len(text) for text in texts], np.int64)
    begins = np.cumsum(sizes) - sizes
    return KeyColumns(
        _hash_texts(StringBytes(b"".join(texts), begins, np.zeros(len(texts), np.bool_))), values=values
    )


def lacks_number(record: Record, name: str) -> bool:
    """Return whether an event received as text has no value of a field of numbers, as none could be read: like such a
    number in pages, it has no key.
    """
    if record.values.get(name) is not None or record.format is None:
        return False
    return any(field.name == name and is_number(field) for field in record.format.fields)


def keys_from_numbers(values: NDArray[Any]) -> Keys:
    """Return numbers as keys; `number_from_key` is the inverse."""
    return values.astype(np.int64).view(np.uint64) if values.dtype.kind in "ib" else values.astype(np.uint64)


def number_from_key(key: int, field: Field) -> Value:
    """Return the number that a key stands for."""
    if field.kind is FieldKind.BOOL:
        return bool(key)
    return key - (1 << 64) if field.signed and key >> 63 else key


def _hash_texts(texts: StringBytes) -> Keys:
    """Return the hash of each text; bytes after a NUL within a field are not part of its text."""
    if not len(texts.begins):
        return np.empty(0, np.uint64)
    data = np.frombuffer(texts.data, np.uint8)
    ends = np.flatnonzero(data == 0)
    sizes = ends[np.searchsorted(ends, texts.begins)] - texts.begins
    starts = np.cumsum(sizes + 1) - (sizes + 1)
    inside = np.arange(int(starts[-1] + sizes[-1]) + 1) - np.repeat(starts, sizes + 1)
    source = np.repeat(texts.begins, sizes + 1) + inside
    products = data[source].astype(np.uint64) * position_weights(int(sizes.max()) + 1)[inside]
    hashed: Keys = np.add.reduceat(products, starts) + _EMPTY
    # Texts never differ in trailing NULs only; a missing text has a hash of its own.
    return np.where(texts.missing, _MISSING, hashed)


_WEIGHTS: list[Keys] = [np.empty(0, np.uint64)]


def position_weights(size: int) -> Keys:
    """Return random odd numbers, one per position in a text; constant during the life of the process."""
    if len(_WEIGHTS[0]) < size:
        missing = max(size, 64) - len(_WEIGHTS[0])
        more = np.frombuffer(secrets.token_bytes(8 * missing), np.uint64) | np.uint64(1)
        _WEIGHTS[0] = np.concatenate([_WEIGHTS[0], more])
    return _WEIGHTS[0]
