"""Compile the part of a program that makes the key of a group: on its stack, or beside it where it is large."""

from __future__ import annotations

from typing import Final

from events.names.errnos import MAX_ERRNO
from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.fetch import CONTEXT, FAULT_BITS, FetchCompiler, NotCompiled, fault_bit
from probes.bpf.groups.call_begins import KeptCopy
from probes.bpf.groups.grouping import LARGEST_KEY, Grouping, GroupingKey, KeptField, KeyPart
from probes.bpf.instructions import FRAME_POINTER, AluOperation, Helper, JumpCondition, MapRole
from probes.bpf.record import COMM, StoredField, StoredType
from probes.fetcharg import Comm

KEY: Final = 7
"""Register with the address of the key, until the group is found."""
_LARGEST_ON_STACK: Final = 256
"""Bytes of a key on the stack of a program, which filters need as well."""
_HELPERS: Final = {
    KeyPart.FUNCTION: Helper.GET_FUNC_IP,
    KeyPart.THREAD: Helper.GET_CURRENT_PID_TGID,
    KeyPart.CPU: Helper.GET_SMP_PROCESSOR_ID,
    KeyPart.CGROUP: Helper.GET_CURRENT_CGROUP_ID,
}
_LONG: Final = (KeyPart.FUNCTION, KeyPart.CGROUP)
"""Keys of 8 bytes that helpers give."""


class KeyWriter:
    """Writer of the key of one program."""

    def __init__(self, assembler: Assembler, fetch: FetchCompiler, grouping: Grouping, top: int) -> None:
        """Take the program, the compiler of its values, the keys, and the lowest place on the stack that is in use.

        Raises NotCompiled where they are too long.
        """
        self._out = assembler
        self._fetch = fetch
        self._keys = grouping.keys
        self._bytes = grouping.key_bytes
        self._is_apart = grouping.has_stack
        self.bottom = top // 8 * 8 - (8 if self._is_apart else self._bytes)
        """Lowest place on the stack that is in use from here on: the key, or the number of its element."""
        if self._bytes > (LARGEST_KEY if self._is_apart else _LARGEST_ON_STACK):
            raise NotCompiled("such long keys")

    def begin(self, full: JumpLabel) -> None:
        """Put the address of the key into its register, and zeros there; continue at a label where it has none."""
        out = self._out
        if self._is_apart:
            out.store_constant(FRAME_POINTER, self.bottom, 0, 8)
            out.stack_address(2, self.bottom)
            out.map(1, MapRole.KEY)
            out.call(Helper.MAP_LOOKUP_ELEM)
            out.jump_if(JumpCondition.EQ, 0, 0, full)
            out.move(KEY, 0)
        else:
            out.stack_address(KEY, self.bottom)
        for at in range(0, self._bytes, 8):
            out.store_constant(KEY, at, 0, 8)

    def copies(self) -> list[KeptCopy]:
        """Return the keys that are values of the entry."""
        return [
            KeptCopy(key.field.begin, key.size, KEY, at)
            for key, at in self._places()
            if isinstance(key.field, KeptField)
        ]

    def write(self, unread: JumpLabel, faults: int) -> None:
        """Write the other keys; continue at a label where one can't be read.

        `faults`: place on the stack of the faults of the values of the entry.
        """
        for key, at in self._places():
            if not isinstance(key.field, KeptField):
                self._write_key(key, at, unread)
            elif not key.field.type.text:
                self._out.load(1, FRAME_POINTER, faults, 8)
                self._out.jump_if(JumpCondition.SET, 1, fault_bit(key.field.number), unread)

    def _places(self) -> list[tuple[GroupingKey, int]]:
        found, at = [], 0
        for key in self._keys:
            found.append((key, at))
            at += key.size
        return found

    def _write_key(self, key: GroupingKey, at: int, unread: JumpLabel) -> None:
        out = self._out
        if key.part is KeyPart.COMM:
            self._fetch.store(Comm(), StoredField("", COMM, 0), 0, KEY, at)
        elif key.part is KeyPart.STACK:
            self._fetch.store_stack(key.frames, KEY, at)
            out.jump_if(JumpCondition.SLE, 0, 0, unread)
        elif key.field is not None and not isinstance(key.field, KeptField):
            number, expression, field = key.field
            self._fetch.store(expression, field, number, KEY, at)
            if not field.type.text:
                out.jump_if(JumpCondition.SET, FAULT_BITS, fault_bit(number), unread)
            if key.part is KeyPart.ERROR:
                self._keep_error(field.type, at)
        else:
            if key.part is KeyPart.FUNCTION:
                out.move(1, CONTEXT)
            out.call(_HELPERS[key.part])
            out.store(KEY, at, 0, 8 if key.part in _LONG else 4)

    def _keep_error(self, kind: StoredType, at: int) -> None:
        """Replace a number by that of its error."""
        out, none = self._out, JumpLabel()
        out.load(3, KEY, at, kind.size)
        extend_sign(out, 3, kind.size)
        out.store_constant(KEY, at, 0, 8)
        out.jump_if(JumpCondition.SGE, 3, 0, none)
        out.jump_if(JumpCondition.SLT, 3, -MAX_ERRNO, none)
        out.alu(AluOperation.MUL, 3, -1)
        out.store(KEY, at, 3, 8)
        out.place(none)


def extend_sign(out: Assembler, register: int, size: int) -> None:
    """Extend the sign of a number of some bytes to the register."""
    if size < 8:
        out.alu(AluOperation.LSH, register, 64 - 8 * size)
        out.alu(AluOperation.ARSH, register, 64 - 8 * size)
