"""Group the calls that a BPF program sees by keys, with sums of values, in a hash table by CPU.

An element has the number of calls (u64), and for each value `VALUE_BYTES`: the number of values that could be read,
their sum in 128 bits, the least and the greatest, then where they are wanted the `POWERS` counts by power of two.
"""

from __future__ import annotations

import enum
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from probes.bpf.record import COMM_BYTES, StoredField, StoredType
from probes.fetcharg import Expression

POWERS: Final = 66
"""Counters of the values of a group by power of two: the negative ones, then the exponents 0 to 64."""
VALUE_BYTES: Final = 40
HITS_BYTES: Final = 8
TIME_BYTES: Final = 8


class KeyPart(enum.Enum):
    """Part of a key."""

    FIELD = "value that the probe records"
    ERROR = "error in a returned value, as its positive number; 0: none"
    FUNCTION = "address of the function"
    COMM = "task name"
    THREAD = "thread id"
    CPU = "number of the CPU"


class GroupedField(NamedTuple):
    """Recorded value that a program groups by, or sums."""

    number: int
    """Number of the value in the program, which is that of its bit among the faults."""
    expression: Expression
    field: StoredField

    @property
    def type(self) -> StoredType:
        """Type of the value."""
        return self.field.type


class KeptField(NamedTuple):
    """Value of the entry of a call that is kept for the exit."""

    number: int
    """Number of the value in the program at the entry, which is that of its bit among the faults there."""
    field: StoredField
    """Field of the entry's record."""
    begin: int
    """Bytes before it in what is kept of the call."""

    @property
    def type(self) -> StoredType:
        """Type of the value."""
        return self.field.type


class GroupingKey(NamedTuple):
    """Key of a grouping."""

    part: KeyPart
    field: GroupedField | KeptField | None = None
    """Value, for a field and an error."""

    @property
    def size(self) -> int:
        """Bytes in the table: a multiple of 8."""
        if self.part is KeyPart.COMM:
            return COMM_BYTES
        return room(self.field.type) if self.field is not None else 8


class CallFrame(NamedTuple):
    """Value that the entry and the exit of a call share, by which a program finds what the entry noted.

    That is the time (u64, ns), and where values are kept their faults (u64) and the values, each in a multiple of 8
    bytes.
    """

    field: GroupedField | None
    """Recorded stack pointer; None: it is the address of the program's argument."""
    shift: int = 0
    """Bytes by which it exceeds the value at the entry."""
    kept: tuple[GroupedField, ...] = ()
    """Values that the entry keeps; of the program at the exit only their types and their order mean something."""

    @property
    def begin_bytes(self) -> int:
        """Bytes that the entry of a call notes."""
        return TIME_BYTES + (TIME_BYTES + sum(room(one.type) for one in self.kept) if self.kept else 0)

    def kept_field(self, name: str) -> KeptField | None:
        """Return a value that the entry keeps; None: it keeps none of that name."""
        begin = 2 * TIME_BYTES
        for one in self.kept:
            if one.field.name == name:
                return KeptField(one.number, one.field, begin)
            begin += room(one.type)
        return None


def room(kind: StoredType) -> int:
    """Return the bytes that a value of a type takes in a key, and where it is kept."""
    return -(-kind.size // 8) * 8


class GroupingValue(NamedTuple):
    """Value of a grouping."""

    field: GroupedField | KeptField | None
    """Recorded value; None: the duration of the call in ns."""
    signed: bool
    """True if it is compared with its sign."""
    has_powers: bool = False
    """True if its values are counted by powers of two."""

    @property
    def size(self) -> int:
        """Bytes in an element of the table."""
        return VALUE_BYTES + 8 * POWERS * self.has_powers


class ValueReading(NamedTuple):
    """Values of one group."""

    number: int
    sum: int
    least: int | None
    """Smallest value; None: there is no value."""
    most: int | None
    powers: Mapping[int, int]
    """Count by exponent from 0; that of negative numbers by -1."""

    def merged(self, other: ValueReading) -> ValueReading:
        """Return the values of two groups."""
        least = [one.least for one in (self, other) if one.least is not None]
        most = [one.most for one in (self, other) if one.most is not None]
        return ValueReading(
            self.number + other.number,
            self.sum + other.sum,
            min(least, default=None),
            max(most, default=None),
            Counter(self.powers) + Counter(other.powers),
        )


class GroupReading(NamedTuple):
    """Group of calls."""

    keys: tuple[bytes, ...]
    """Bytes of each key; of a number 8, whatever its size."""
    hits: int
    values: tuple[ValueReading, ...]


@dataclass(frozen=True, slots=True)
class Grouping:
    """Keys and values by which a program groups calls."""

    keys: tuple[GroupingKey, ...]
    values: tuple[GroupingValue, ...]
    timed: CallFrame | None = None
    """Frame of the calls, of which the duration or values of the entry are wanted; None: neither is."""

    @property
    def key_bytes(self) -> int:
        """Bytes of a key of the table; 8 where all calls are one group."""
        return sum(key.size for key in self.keys) or 8

    @property
    def group_bytes(self) -> int:
        """Bytes of an element of the table on one CPU."""
        return HITS_BYTES + sum(value.size for value in self.values)

    def reading(self, key: bytes, element: bytes) -> GroupReading:
        """Return a group from its key and its elements of all CPUs."""
        keys, at = [], 0
        for one in self.keys:
            keys.append(key[at : at + one.size])
            at += one.size
        size = self.group_bytes
        parts = [element[start : start + size] for start in range(0, len(element), size)]
        hits = sum(int.from_bytes(part[:HITS_BYTES], "little") for part in parts)
        values, at = [], HITS_BYTES
        for value in self.values:
            values.append(_value_reading(value, [part[at : at + value.size] for part in parts]))
            at += value.size
        return GroupReading(tuple(keys), hits, tuple(values))


def _value_reading(value: GroupingValue, parts: Sequence[bytes]) -> ValueReading:
    kind = "q" if value.signed else "Q"
    number = total = 0
    least, most, powers = list[int](), list[int](), Counter[int]()
    for part in parts:
        count, low, high, small, great = struct.unpack_from(f"<QQq{kind}{kind}", part)
        if count:
            number, total = number + count, total + (high << 64) + low
            least.append(small)
            most.append(great)
        if value.has_powers:
            counts = struct.unpack_from(f"<{POWERS}Q", part, VALUE_BYTES)
            powers.update({exponent: many for exponent, many in enumerate(counts, -1) if many})
    return ValueReading(number, total, min(least, default=None), max(most, default=None), powers)
