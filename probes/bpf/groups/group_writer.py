"""Compile the part of a program that puts a call into its group."""

from __future__ import annotations

from typing import Final

from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.fetch import CONTEXT, FAULT_BITS, FetchCompiler, NotCompiled, fault_bit
from probes.bpf.groups.call_begins import FrameWriter, KeptCopy
from probes.bpf.groups.grouping import (
    HITS_BYTES,
    Grouping,
    GroupingKey,
    GroupingValue,
    KeptField,
    KeyPart,
    room,
)
from probes.bpf.groups.value_writer import GROUP, VALUE, ValueWriter
from probes.bpf.instructions import FRAME_POINTER, STACK_BYTES, AluOperation, Helper, JumpCondition, MapRole
from probes.bpf.record import COMM, StoredField, StoredType
from probes.fetcharg import Comm

_LARGEST_KEY: Final = 256
"""Bytes of a key on the stack of a program, which filters need as well."""
_LARGEST_ERRNO: Final = 4095
_ONLY_NEW: Final = 1
"""BPF_NOEXIST."""
_HELPERS: Final = {
    KeyPart.FUNCTION: Helper.GET_FUNC_IP,
    KeyPart.THREAD: Helper.GET_CURRENT_PID_TGID,
    KeyPart.CPU: Helper.GET_SMP_PROCESSOR_ID,
}


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
        self._frame = FrameWriter(assembler, fetch, grouping.timed, top) if grouping.timed is not None else None
        self._duration = self._frame.bottom if self._frame is not None else 0
        """Place on the stack of the duration."""
        self._key = (self._duration or top) // 8 * 8 - grouping.key_bytes
        self._number = self._key - 8
        """Place on the stack of one value."""
        self._kept_values: dict[str, int] = {}
        """Places on the stack of values of the entry, by name."""
        lowest = self._number
        for value in grouping.values:
            if isinstance(value.field, KeptField) and value.field.field.name not in self._kept_values:
                lowest -= 8
                self._kept_values[value.field.field.name] = lowest
        if grouping.key_bytes > _LARGEST_KEY or -lowest > STACK_BYTES:
            raise NotCompiled("such long keys")

    def write(self, unread: JumpLabel, full: JumpLabel) -> None:
        """Put the call into its group.

        Continue at a label where a key can't be read or the duration is not known, or where there is no room.
        """
        out = self._out
        for at in range(0, self._grouping.key_bytes, 8):
            out.store_constant(FRAME_POINTER, self._key + at, 0, 8)
        if self._frame is not None:
            self._frame.find(unread, self._copies())
        at = self._key
        for key in self._grouping.keys:
            self._write_key(key, at, unread)
            at += key.size
        self._find_group(full)
        out.load(1, GROUP, 0, 8)
        out.alu(AluOperation.ADD, 1, 1)
        out.store(GROUP, 0, 1, 8)
        begin = HITS_BYTES
        for value in self._grouping.values:
            self._add_value(value, begin)
            begin += value.size

    def _copies(self) -> list[KeptCopy]:
        """Return what is wanted of the values that the entry kept, and where on the stack."""
        found, at = [], self._key
        for key in self._grouping.keys:
            if isinstance(key.field, KeptField):
                found.append(KeptCopy(key.field.begin, key.size, at))
            at += key.size
        values = {
            one.field.field.name: one.field for one in self._grouping.values if isinstance(one.field, KeptField)
        }
        found += [KeptCopy(one.begin, room(one.type), self._kept_values[name]) for name, one in values.items()]
        return found

    def _write_key(self, key: GroupingKey, at: int, unread: JumpLabel) -> None:
        out = self._out
        if isinstance(key.field, KeptField):
            if not key.field.type.text:
                self._jump_if_kept_fault(key.field, unread)
        elif key.part is KeyPart.COMM:
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
        out.move(GROUP, 0)

    def _with_key(self, helper: Helper) -> None:
        self._out.stack_address(2, self._key)
        self._out.map(1, MapRole.GROUPS)
        self._out.call(helper)

    def _add_value(self, value: GroupingValue, begin: int) -> None:
        """Add a value to its sums, which begin at some bytes of the group; one that can't be read is left out."""
        out, done = self._out, JumpLabel()
        if value.field is None:
            out.load(VALUE, FRAME_POINTER, self._duration, 8)
        elif isinstance(value.field, KeptField):
            self._jump_if_kept_fault(value.field, done)
            kind = value.field.type
            out.load(VALUE, FRAME_POINTER, self._kept_values[value.field.field.name], kind.size)
            if value.signed:
                _extend_sign(out, VALUE, kind.size)
        else:
            number, expression, field = value.field
            self._fetch.store(expression, field, number, FRAME_POINTER, self._number)
            _jump_if_fault(out, number, done)
            out.load(VALUE, FRAME_POINTER, self._number, field.type.size)
            if value.signed:
                _extend_sign(out, VALUE, field.type.size)
        ValueWriter(out, value, begin).write(done)
        out.place(done)

    def _jump_if_kept_fault(self, kept: KeptField, label: JumpLabel) -> None:
        """Continue at a label where the entry could not read a value."""
        if self._frame is not None:
            self._out.load(1, FRAME_POINTER, self._frame.faults, 8)
            self._out.jump_if(JumpCondition.SET, 1, fault_bit(kept.number), label)


def _jump_if_fault(out: Assembler, number: int, label: JumpLabel) -> None:
    """Continue at a label where the value of a number could not be read."""
    out.jump_if(JumpCondition.SET, FAULT_BITS, fault_bit(number), label)


def _extend_sign(out: Assembler, register: int, size: int) -> None:
    if size < 8:
        out.alu(AluOperation.LSH, register, 64 - 8 * size)
        out.alu(AluOperation.ARSH, register, 64 - 8 * size)
