"""Compile the part of a program that puts a call into its group."""

from __future__ import annotations

from typing import Final

from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.fetch import FAULT_BITS, FetchCompiler, NotCompiled, fault_bit
from probes.bpf.groups.call_begins import FrameWriter, KeptCopy
from probes.bpf.groups.grouping import HITS_BYTES, Grouping, GroupingValue, KeptField, room
from probes.bpf.groups.key_writer import KEY, KeyWriter, extend_sign
from probes.bpf.groups.value_writer import GROUP, VALUE, ValueWriter
from probes.bpf.instructions import FRAME_POINTER, STACK_BYTES, AluOperation, Helper, JumpCondition, MapRole

_ONLY_NEW: Final = 1
"""BPF_NOEXIST."""


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
        self._keys = KeyWriter(assembler, fetch, grouping, self._duration or top)
        self._number = self._keys.bottom - 8
        """Place on the stack of one value."""
        self._kept_values: dict[str, int] = {}
        """Places on the stack of values of the entry, by name."""
        lowest = self._number
        for value in grouping.values:
            if isinstance(value.field, KeptField) and value.field.field.name not in self._kept_values:
                lowest -= 8
                self._kept_values[value.field.field.name] = lowest
        if -lowest > STACK_BYTES:
            raise NotCompiled("such long keys")

    def write(self, unread: JumpLabel, full: JumpLabel) -> None:
        """Put the call into its group.

        Continue at a label where a key can't be read or the entry was not seen, or where there is no room.
        """
        out = self._out
        self._keys.begin(full)
        if self._frame is not None:
            values = {
                one.field.field.name: one.field for one in self._grouping.values if isinstance(one.field, KeptField)
            }
            copies = [
                KeptCopy(one.begin, room(one.type), FRAME_POINTER, self._kept_values[name])
                for name, one in values.items()
            ]
            self._frame.find(unread, [*self._keys.copies(), *copies])
        self._keys.write(unread, self._frame.faults if self._frame is not None else 0)
        self._find_group(full)
        out.load(1, GROUP, 0, 8)
        out.alu(AluOperation.ADD, 1, 1)
        out.store(GROUP, 0, 1, 8)
        begin = HITS_BYTES
        for value in self._grouping.values:
            self._add_value(value, begin)
            begin += value.size

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
        self._out.move(2, KEY)
        self._out.map(1, MapRole.GROUPS)
        self._out.call(helper)

    def _add_value(self, value: GroupingValue, begin: int) -> None:
        """Add a value to its sums, which begin at some bytes of the group; one that can't be read is left out."""
        out, done = self._out, JumpLabel()
        if value.field is None:
            out.load(VALUE, FRAME_POINTER, self._duration, 8)
        elif isinstance(value.field, KeptField):
            if self._frame is not None:
                out.load(1, FRAME_POINTER, self._frame.faults, 8)
                out.jump_if(JumpCondition.SET, 1, fault_bit(value.field.number), done)
            self._load(value, self._kept_values[value.field.field.name], value.field.type.size)
        else:
            number, expression, field = value.field
            self._fetch.store(expression, field, number, FRAME_POINTER, self._number)
            out.jump_if(JumpCondition.SET, FAULT_BITS, fault_bit(number), done)
            self._load(value, self._number, field.type.size)
        ValueWriter(out, value, begin).write(done)
        out.place(done)

    def _load(self, value: GroupingValue, place: int, size: int) -> None:
        self._out.load(VALUE, FRAME_POINTER, place, size)
        if value.signed:
            extend_sign(self._out, VALUE, size)
