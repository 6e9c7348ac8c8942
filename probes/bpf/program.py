"""Represent and assemble the BPF program of one event: count the hit, judge it, record it."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from events.bpf_layout import COMM as COMM_OFFSET
from events.bpf_layout import EVENT_ID, FAULTS
from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.condition import Condition
from probes.bpf.fetch import CONTEXT, FAULT_BITS, RECORD, FetchCompiler, NotCompiled
from probes.bpf.filter import ComparedValue, FilterCompiler, compared_fields
from probes.bpf.instructions import FRAME_POINTER, AluOperation, Helper, Instruction, JumpCondition, MapRole
from probes.bpf.record import COMM, RecordLayout, StoredField, StoredType
from probes.bpf.registers import SavedRegisters
from probes.bpf.ring_record import HITS, PASSED, add_one, find_counters, reserve, submit
from probes.fetcharg import Comm, Expression

COUNTER_NAMES: Final = ("hits", "passed", "lost", "recorded")
"""Counters of a program on one CPU, u64 each: calls, those that the filter let pass, and of those that were to be
recorded the ones without room and the ones recorded."""
CONTROL_BYTES: Final = 8
"""Bytes of the element of `MapRole.CONTROL`: mode (`ProgramMode`) and id of the event, u32 each."""
_SCRATCH_END = -24
"""Highest place on the stack for compared values: below the places of `probes.bpf.fetch`."""
_LARGEST_STACK = 512
"""Bytes of a program's stack (MAX_BPF_STACK)."""
_LARGEST_ERRNO = 4095
"""Pointers that are no smaller than the negative number are errors (MAX_ERRNO, include/linux/err.h)."""
_COMMON = {"comm": COMM, "COMM": COMM}
_NUMBERS = {
    "common_pid": StoredType("s32", 4, "%d", signed=True),
    **dict.fromkeys(("CPU", "cpu", "common_cpu"), StoredType("s32", 4, "%d", signed=True)),
}


class ProgramMode(enum.IntEnum):
    """Effect of a program that is attached."""

    OFF = 0
    RECORD = 1
    COUNT = 2


class AttachPoint(enum.Enum):
    """End of the calls that a program runs at, on any number of functions (kprobe.multi, kretprobe.multi)."""

    ENTRY = "kprobe.multi"
    EXIT = "kretprobe.multi"


class ObjectRole(enum.Enum):
    """Part of a program in tracking objects by their addresses."""

    BEGIN = "begin"
    """Record the object in the first value, and track it from then on."""
    TOUCH = "touch"
    """Record the calls in which that value is a tracked object."""
    END = "end"
    """Record such a call, and track the object no longer."""


class StoredValue(NamedTuple):
    """Value that a program records."""

    expression: Expression | None
    """None: the address of the function."""
    field: StoredField


@dataclass(frozen=True, slots=True)
class BpfProgram:
    """Program for one event of a plan."""

    point: AttachPoint
    functions: tuple[str, ...]
    """Functions that it is attached to, as available_filter_functions names them."""
    layout: RecordLayout
    size: int
    """Bytes of each record in the ring buffer, which the events of a plan share."""
    body: tuple[Instruction, ...]
    """Instructions; register 6 holds the program's argument at their beginning."""
    role: ObjectRole | None = None
    """None: it tracks no objects."""

    def instructions(self, own_processes: Sequence[int]) -> tuple[Instruction, ...]:
        """Return the whole program, which does nothing in some processes (ids of thread groups): our own."""
        out = Assembler()
        out.move(CONTEXT, 1)
        if own_processes:
            out.call(Helper.GET_CURRENT_PID_TGID)
            out.alu(AluOperation.RSH, 0, 32)
            for process in sorted(set(own_processes)):
                following = JumpLabel()
                out.jump_if(JumpCondition.NE, 0, process, following)
                out.exit()
                out.place(following)
        return out.program() + self.body


def assemble(
    values: Sequence[StoredValue],
    size: int,
    condition: Condition | None,
    registers: SavedRegisters,
    *,
    at_exit: bool,
    role: ObjectRole | None = None,
) -> tuple[Instruction, ...]:
    """Return the body of a program.

    Args:
        values: what is recorded.
        size: bytes of a record.
        condition: the filter; None: every hit is recorded.
        registers: of the machine.
        at_exit: it runs when the functions return.
        role: of the first value that is no place in the code, a pointer of 8 bytes; None: no objects are tracked.

    Raises:
        NotCompiled: no program computes one of the values, or the filter.
    """
    return _BodyWriter(values, size, registers, at_exit=at_exit).write(condition, role)


class _BodyWriter:
    """Writer of one body."""

    def __init__(self, values: Sequence[StoredValue], size: int, registers: SavedRegisters, *, at_exit: bool) -> None:
        self._out = Assembler()
        self._values = values
        self._size = size
        self._fetch = FetchCompiler(self._out, registers, at_exit=at_exit)
        self._compared: dict[str, ComparedValue] = {}

    def write(self, condition: Condition | None, role: ObjectRole | None) -> tuple[Instruction, ...]:
        out, done, full = self._out, JumpLabel(), JumpLabel()
        out.map_value(2, MapRole.CONTROL)
        out.load(1, 2, 0, 4)
        out.jump_if(JumpCondition.EQ, 1, ProgramMode.OFF, done)
        find_counters(out, done)
        add_one(out, HITS)
        out.constant(FAULT_BITS, 0)
        pointer = next((one.field.name for one in self._values if role and one.expression is not None), None)
        if condition is not None:
            self._load_compared(compared_fields(condition))
            FilterCompiler(out, self._compared).jump_unless(condition, done)
        if role is not None and pointer is not None:
            self._load_compared([pointer])
            self._jump_unless_object(role, pointer, done)
        add_one(out, PASSED)
        if role is ObjectRole.BEGIN and pointer is not None:
            self._begin_tracking(pointer, full)
        out.map_value(2, MapRole.CONTROL)
        out.load(1, 2, 0, 4)
        out.jump_if(JumpCondition.NE, 1, ProgramMode.RECORD, done)
        self._record(done, full)
        out.place(done)
        out.exit()
        return out.program()

    def _jump_unless_object(self, role: ObjectRole, pointer: str, done: JumpLabel) -> None:
        """Continue at a label where a pointer is none to an object, or to one that is not tracked."""
        out, at = self._out, self._compared[pointer].offset
        if role is ObjectRole.BEGIN:
            out.load(1, FRAME_POINTER, at, 8)
            out.jump_if(JumpCondition.EQ, 1, 0, done)
            out.jump_if(JumpCondition.GE, 1, -_LARGEST_ERRNO, done)
            return
        self._object_call(Helper.MAP_LOOKUP_ELEM, at)
        out.jump_if(JumpCondition.EQ, 0, 0, done)
        if role is ObjectRole.END:
            self._object_call(Helper.MAP_DELETE_ELEM, at)

    def _begin_tracking(self, pointer: str, full: JumpLabel) -> None:
        """Put an object among those that are tracked; continue at a label where there is no room."""
        out, at = self._out, self._compared[pointer].offset
        out.stack_address(3, at)
        out.constant(4, 0)
        self._object_call(Helper.MAP_UPDATE_ELEM, at)
        out.jump_if(JumpCondition.NE, 0, 0, full)

    def _object_call(self, helper: Helper, at: int) -> None:
        self._out.stack_address(2, at)
        self._out.map(1, MapRole.OBJECTS)
        self._out.call(helper)

    def _load_compared(self, names: Iterable[str]) -> None:
        """Put the values that the filter compares on the stack, each once. Raises NotCompiled."""
        fields = {value.field.name: (number, value) for number, value in enumerate(self._values)}
        at = min((one.offset for one in self._compared.values()), default=_SCRATCH_END)
        for name in names:
            if name in self._compared:
                continue
            number, value = fields.get(name, (0, None))
            kind = value.field.type if value is not None else (_COMMON.get(name) or _NUMBERS.get(name))
            if kind is None or kind.elements > 1:
                raise NotCompiled(f"{name} in the filter")
            at -= -(-kind.size // 8) * 8
            if -at > _LARGEST_STACK:
                raise NotCompiled("so many texts in the filter")
            self._compared[name] = ComparedValue(kind, at)
            if value is None:
                self._load_common(name, kind, at)
            elif value.expression is None:
                raise NotCompiled(f"{name} in the filter")
            else:
                self._fetch.store(value.expression, value.field, number, FRAME_POINTER, at)

    def _load_common(self, name: str, kind: StoredType, at: int) -> None:
        out = self._out
        if kind is COMM:
            self._fetch.store(Comm(), StoredField(name, kind, 0), 0, FRAME_POINTER, at)
            return
        out.call(Helper.GET_CURRENT_PID_TGID if name == "common_pid" else Helper.GET_SMP_PROCESSOR_ID)
        out.store(FRAME_POINTER, at, 0, kind.size)

    def _record(self, done: JumpLabel, full: JumpLabel) -> None:
        """Reserve a record in this CPU's ring buffer, fill it and hand it over; count it as lost without room."""
        out = self._out
        reserve(out, self._size, full)
        out.map_value(2, MapRole.CONTROL)
        out.load(1, 2, 4, 4)
        out.store(RECORD, EVENT_ID, 1, 4)
        self._fetch.store(Comm(), StoredField("", COMM, COMM_OFFSET), 0, RECORD, COMM_OFFSET)
        for number, value in enumerate(self._values):
            self._store(number, value)
        out.store(RECORD, FAULTS, FAULT_BITS, 4)
        submit(out, done, full)

    def _store(self, number: int, value: StoredValue) -> None:
        """Record one value: again from memory if it is no number that the filter has read."""
        out, field = self._out, value.field
        compared = self._compared.get(field.name)
        if value.expression is None:
            out.move(1, CONTEXT)
            out.call(Helper.GET_FUNC_IP)
            out.store(RECORD, field.offset, 0, 8)
        elif compared is not None and not field.type.declared.startswith("char["):
            out.load(1, FRAME_POINTER, compared.offset, field.type.size)
            out.store(RECORD, field.offset, 1, field.type.size)
        else:
            self._fetch.store(value.expression, field, number, RECORD, field.offset)
