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

from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.fetch import CONTEXT, FAULT_BITS, FetchCompiler, NotCompiled, fault_bit
from probes.bpf.instructions import FRAME_POINTER, AluOperation, Helper, JumpCondition, MapRole
from probes.bpf.record import COMM, COMM_BYTES, StoredField, StoredType
from probes.fetcharg import Comm, Expression

POWERS: Final = 66
"""Counters of the values of a group by power of two: the negative ones, then the exponents 0 to 64."""
VALUE_BYTES: Final = 40
_HITS_BYTES: Final = 8
_NUMBER, _LOW, _HIGH, _LEAST, _MOST = 0, 8, 16, 24, 32
"""Bytes of a value's parts from its begin."""
_LARGEST_KEY: Final = 256
"""Bytes of a key on the stack of a program, which filters need as well."""
_GROUP: Final = 7
"""Register with the address of the group, once there is one."""
_LARGEST_ERRNO: Final = 4095


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


class GroupingKey(NamedTuple):
    """Key of a grouping."""

    part: KeyPart
    field: GroupedField | None = None
    """Value, for a field and an error."""

    @property
    def size(self) -> int:
        """Bytes in the table: a multiple of 8."""
        if self.part is KeyPart.COMM:
            return COMM_BYTES
        return -(-self.field.type.size // 8) * 8 if self.field is not None else 8


class GroupingValue(NamedTuple):
    """Value of a grouping."""

    field: GroupedField
    signed: bool
    """True if it is compared with its sign."""
    has_powers: bool = False
    """True if its values are counted by powers of two."""


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

    @property
    def key_bytes(self) -> int:
        """Bytes of a key of the table; 8 where all calls are one group."""
        return sum(key.size for key in self.keys) or 8

    @property
    def group_bytes(self) -> int:
        """Bytes of an element of the table on one CPU."""
        return _HITS_BYTES + sum(map(_value_bytes, self.values))

    def reading(self, key: bytes, element: bytes) -> GroupReading:
        """Return a group from its key and its elements of all CPUs."""
        keys, at = [], 0
        for one in self.keys:
            keys.append(key[at : at + one.size])
            at += one.size
        size = self.group_bytes
        parts = [element[start : start + size] for start in range(0, len(element), size)]
        hits = sum(int.from_bytes(part[:_HITS_BYTES], "little") for part in parts)
        values, at = [], _HITS_BYTES
        for value in self.values:
            values.append(_value_reading(value, [part[at : at + _value_bytes(value)] for part in parts]))
            at += _value_bytes(value)
        return GroupReading(tuple(keys), hits, tuple(values))


def _value_bytes(value: GroupingValue) -> int:
    return VALUE_BYTES + 8 * POWERS * value.has_powers


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


class GroupWriter:
    """Writer of the part of a program that puts a call into its group."""

    def __init__(self, assembler: Assembler, fetch: FetchCompiler, grouping: Grouping, top: int) -> None:
        """Take the program.

        Args:
            assembler: the program.
            fetch: compiler of its values.
            grouping: keys and values.
            top: lowest place on the stack that is in use, from its end: negative.

        Raises NotCompiled where the keys do not fit on the stack.
        """
        self._out = assembler
        self._fetch = fetch
        self._grouping = grouping
        self._key = top // 8 * 8 - grouping.key_bytes
        self._number = self._key - 8
        """Place on the stack of one value."""
        if grouping.key_bytes > _LARGEST_KEY or -self._number > 512:
            raise NotCompiled("such long keys")

    def write(self, unread: JumpLabel, full: JumpLabel) -> None:
        """Put the call into its group; continue at a label where a key can't be read, or there is no room."""
        out = self._out
        for at in range(0, self._grouping.key_bytes, 8):
            out.store_constant(FRAME_POINTER, self._key + at, 0, 8)
        at = self._key
        for key in self._grouping.keys:
            self._write_key(key, at, unread)
            at += key.size
        self._find_group(full)
        out.load(1, _GROUP, 0, 8)
        out.alu(AluOperation.ADD, 1, 1)
        out.store(_GROUP, 0, 1, 8)
        begin = _HITS_BYTES
        for value in self._grouping.values:
            self._add_value(value, begin)
            begin += _value_bytes(value)

    def _write_key(self, key: GroupingKey, at: int, unread: JumpLabel) -> None:
        out = self._out
        if key.part is KeyPart.COMM:
            self._fetch.store(Comm(), StoredField("", COMM, 0), 0, FRAME_POINTER, at)
        elif key.field is not None:
            number, expression, field = key.field
            self._fetch.store(expression, field, number, FRAME_POINTER, at)
            if not field.type.text:
                _jump_if_fault(out, number, unread)
            if key.part is KeyPart.ERROR:
                self._keep_error(field.type, at)
        else:
            if key.part is KeyPart.FUNCTION:
                out.move(1, CONTEXT)
            out.call(_HELPERS[key.part])
            out.store(FRAME_POINTER, at, 0, 8 if key.part is KeyPart.FUNCTION else 4)

    def _keep_error(self, kind: StoredType, at: int) -> None:
        """Replace a number by that of its error."""
        out, none = self._out, JumpLabel()
        out.load(3, FRAME_POINTER, at, kind.size)
        _extend_sign(out, 3, kind.size)
        out.store_constant(FRAME_POINTER, at, 0, 8)
        out.jump_if(JumpCondition.SGE, 3, 0, none)
        out.jump_if(JumpCondition.SLT, 3, -_LARGEST_ERRNO, none)
        out.alu(AluOperation.MUL, 3, -1)
        out.store(FRAME_POINTER, at, 3, 8)
        out.place(none)

    def _find_group(self, full: JumpLabel) -> None:
        """Put the address of the group into its register; make a group where there is none."""
        out, found = self._out, JumpLabel()
        self._with_key(Helper.MAP_LOOKUP_ELEM)
        out.jump_if(JumpCondition.NE, 0, 0, found)
        out.map_value(3, MapRole.NEW_GROUP)
        out.constant(4, _ONLY_NEW)
        self._with_key(Helper.MAP_UPDATE_ELEM)
        self._with_key(Helper.MAP_LOOKUP_ELEM)
        out.jump_if(JumpCondition.EQ, 0, 0, full)
        out.place(found)
        out.move(_GROUP, 0)

    def _with_key(self, helper: Helper) -> None:
        self._out.stack_address(2, self._key)
        self._out.map(1, MapRole.GROUPS)
        self._out.call(helper)

    def _add_value(self, value: GroupingValue, begin: int) -> None:
        """Add a value to its sums, which begin at some bytes of the group; one that can't be read is left out."""
        out, done = self._out, JumpLabel()
        number, expression, field = value.field
        self._fetch.store(expression, field, number, FRAME_POINTER, self._number)
        _jump_if_fault(out, number, done)
        out.load(3, FRAME_POINTER, self._number, field.type.size)
        if value.signed:
            _extend_sign(out, 3, field.type.size)
        self._keep_extremes(value.signed, begin)
        out.load(1, _GROUP, begin + _NUMBER, 8)
        out.alu(AluOperation.ADD, 1, 1)
        out.store(_GROUP, begin + _NUMBER, 1, 8)
        self._add_to_sum(value.signed, begin)
        if value.has_powers:
            self._count_power(value.signed, begin + VALUE_BYTES, done)
        out.place(done)

    def _keep_extremes(self, signed: bool, begin: int) -> None:
        out = self._out
        out.load(1, _GROUP, begin + _NUMBER, 8)
        below = JumpCondition.SLE if signed else JumpCondition.LE
        for place, is_least in ((_LEAST, True), (_MOST, False)):
            kept, taken = JumpLabel(), JumpLabel()
            out.jump_if(JumpCondition.EQ, 1, 0, taken)
            out.load(2, _GROUP, begin + place, 8)
            out.jump_if_registers(below, *((2, 3) if is_least else (3, 2)), kept)
            out.place(taken)
            out.store(_GROUP, begin + place, 3, 8)
            out.place(kept)

    def _add_to_sum(self, signed: bool, begin: int) -> None:
        """Add register 3 to a sum of 128 bits."""
        out, carried, done = self._out, JumpLabel(), JumpLabel()
        out.load(1, _GROUP, begin + _LOW, 8)
        out.load(2, _GROUP, begin + _HIGH, 8)
        out.add(1, 3)
        out.store(_GROUP, begin + _LOW, 1, 8)
        out.jump_if_registers(JumpCondition.LT, 1, 3, carried)
        if signed:
            out.jump_if(JumpCondition.SGE, 3, 0, done)
            out.alu(AluOperation.ADD, 2, -1)
        out.jump(done)
        out.place(carried)
        if signed:  # the upper half of a negative number is -1, which the carry undoes
            out.jump_if(JumpCondition.SLT, 3, 0, done)
        out.alu(AluOperation.ADD, 2, 1)
        out.place(done)
        out.store(_GROUP, begin + _HIGH, 2, 8)

    def _count_power(self, signed: bool, begin: int, done: JumpLabel) -> None:
        """Count register 3 by the exponent of the smallest power of two that is no smaller."""
        out, counted = self._out, JumpLabel()
        out.constant(1, 0)
        if signed:
            out.jump_if(JumpCondition.SLT, 3, 0, counted)
        out.constant(1, 1)
        out.jump_if(JumpCondition.LE, 3, 1, counted)
        out.alu(AluOperation.ADD, 3, -1)
        for bits in (32, 16, 8, 4, 2, 1):  # the number of bits of the number below
            small = JumpLabel()
            out.move(2, 3)
            out.alu(AluOperation.RSH, 2, bits)
            out.jump_if(JumpCondition.EQ, 2, 0, small)
            out.alu(AluOperation.ADD, 1, bits)
            out.move(3, 2)
            out.place(small)
        out.alu(AluOperation.ADD, 1, 1)
        out.place(counted)
        out.jump_if(JumpCondition.GE, 1, POWERS, done)  # never: the verifier has to know
        out.alu(AluOperation.LSH, 1, 3)
        out.move(2, _GROUP)
        out.add(2, 1)
        out.load(1, 2, begin, 8)
        out.alu(AluOperation.ADD, 1, 1)
        out.store(2, begin, 1, 8)


_ONLY_NEW: Final = 1
"""BPF_NOEXIST."""
_HELPERS: Final = {
    KeyPart.FUNCTION: Helper.GET_FUNC_IP,
    KeyPart.THREAD: Helper.GET_CURRENT_PID_TGID,
    KeyPart.CPU: Helper.GET_SMP_PROCESSOR_ID,
}


def _jump_if_fault(out: Assembler, number: int, label: JumpLabel) -> None:
    """Continue at a label where the value of a number could not be read."""
    out.jump_if(JumpCondition.SET, FAULT_BITS, fault_bit(number), label)


def _extend_sign(out: Assembler, register: int, size: int) -> None:
    if size < 8:
        out.alu(AluOperation.LSH, register, 64 - 8 * size)
        out.alu(AluOperation.ARSH, register, 64 - 8 * size)
