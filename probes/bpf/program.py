"""Represent and assemble the BPF program of one event: count the hit, judge it, record it."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from events.bpf_layout import COMM as COMM_OFFSET
from events.bpf_layout import EVENT_ID, FAULTS, LOST, PID, STAMP
from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.context import ProgramContext
from probes.bpf.fetch import CONTEXT, FAULT_BITS, RECORD, FetchCompiler, NotCompiled, fault_bit
from probes.bpf.filters.condition import Condition
from probes.bpf.filters.filter import ComparedValue, FilterCompiler, compared_fields, compares_functions
from probes.bpf.groups.call_begins import FrameWriter
from probes.bpf.groups.group_writer import GroupWriter
from probes.bpf.groups.grouping import CallFrame, Grouping
from probes.bpf.instructions import (
    FRAME_POINTER,
    STACK_BYTES,
    AluOperation,
    Helper,
    Instruction,
    JumpCondition,
    MapRole,
)
from probes.bpf.kernel_loads import NO_LOADS, KernelLoads
from probes.bpf.record import COMM, RecordLayout, StoredField, StoredType
from probes.fetcharg import Comm, Dereference, Expression

COUNTER_NAMES: Final = ("hits", "passed", "lost", "recorded")
"""Counters of a program on one CPU, u64 each: calls, those that the filter let pass, and of those that were to be
recorded the ones without room and the ones recorded; where calls are grouped the last is all of them. A program does
not run on a CPU on which it runs already: it alone writes to them."""
LOST_BYTES: Final = 8
"""Bytes before the counters of the first program on a CPU: u64, the records without room of all programs, which share
the ring buffer."""
PROGRAM_BYTES: Final = 8 * len(COUNTER_NAMES)
"""Bytes of the counters of one program on one CPU."""
_CACHE_LINE = 64
CONTROL_BYTES: Final = 8
"""Bytes of the element of `MapRole.CONTROL`: mode (`ProgramMode`) and id of the event, u32 each."""
_HITS, _PASSED, _LOST, _RECORDED = 0, 8, 16, 24
_COUNTER_BASE = 8
"""Register with the address of this CPU's counters."""
_CPU, _PID = -4, -8
"""Places on the stack for the numbers of this CPU and of this thread."""
_SCRATCH_END = -24
"""Highest place on the stack for compared values: below the places of `probes.bpf.fetch`."""
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
    """Record calls, or put them into groups."""
    COUNT = 2


class AttachPoint(enum.Enum):
    """Ends of the calls that a program runs at, of any number of functions (kprobe.multi) or of one (fentry)."""

    ENTRY = "kprobe.multi"
    EXIT = "kretprobe.multi"
    SESSION = "kprobe.session"
    """Both ends."""
    FENTRY = "fentry"
    FEXIT = "fexit"

    @property
    def at_exit(self) -> bool:
        """True if it is the return of the functions."""
        return self in (AttachPoint.EXIT, AttachPoint.FEXIT)

    @property
    def on_one(self) -> bool:
        """True if a program is on one function, by its number in BTF."""
        return self in (AttachPoint.FENTRY, AttachPoint.FEXIT)


class ObjectRole(enum.Enum):
    """Part of a program in tracking objects by their addresses."""

    BEGIN = "begin"
    """Record the object in the first value, and track it from then on."""
    TOUCH = "touch"
    """Record the calls in which that value is a tracked object."""
    END = "end"
    """Record such a call, and track the object no longer."""


class ProgramValue(enum.Enum):
    """Value that is no fetcharg."""

    FUNCTION = "address of the function"
    CALL = "address of the program's argument, which entry and exit of a call share"


class StoredValue(NamedTuple):
    """Value that a program records."""

    expression: Expression | ProgramValue
    field: StoredField


class TargetFunction(NamedTuple):
    """Function of a program on one function."""

    type_id: int
    """Number of the function in BTF."""
    module: str = ""
    """Module whose BTF has it; empty: the kernel's."""


NO_FUNCTION: Final = TargetFunction(0)
"""Target of programs on several functions, which are named."""


@dataclass(frozen=True, slots=True)
class BpfProgram:
    """Program for one event of a plan."""

    point: AttachPoint
    functions: tuple[str, ...]
    """Functions that it is attached to, as available_filter_functions names them."""
    layout: RecordLayout
    size: int
    """Bytes of each record in the ring buffer, which the events of a plan share."""
    values: tuple[StoredValue, ...]
    """Recorded values."""
    condition: Condition | None
    """Filter; None: every hit is recorded."""
    context: ProgramContext
    """Places of values in its argument."""
    number: int = 0
    """Number of the program in its plan, from 0."""
    target: TargetFunction = NO_FUNCTION
    """Function of a program on one function."""
    role: ObjectRole | None = None
    """Role in the tracking of objects, whose pointer is the first fetcharg; None: none are tracked."""
    grouping: Grouping | None = None
    """Groups that calls are put into, and not recorded; None: they are recorded."""
    loads: KernelLoads = NO_LOADS
    """Memory that it reads by loads."""
    begins: CallFrame | None = None
    """Frame of the calls whose begin is noted for their exits, and not recorded; None: they are recorded."""

    @property
    def object_field(self) -> str:
        """Name of the field with the address of a tracked object; empty: it tracks none."""
        own = (value.field.name for value in self.values if not isinstance(value.expression, ProgramValue))
        return next(own) if self.role is not None else ""

    @property
    def numbered(self) -> bool:
        """True if the number of each function in `functions` has to be its cookie."""
        return len(self.functions) > 1 and compares_functions(self.condition)

    def instructions(self, own_processes: Sequence[int], cpus: int, stride: int) -> tuple[Instruction, ...]:
        """Return the instructions.

        Args:
            own_processes: ids of thread groups of which it records nothing: our own.
            cpus: number of CPUs that have counters.
            stride: bytes of the counters of a CPU (`counter_stride`).

        Raises:
            NotCompiled: no program computes one of the values, or the filter.
        """
        return _ProgramWriter(self, own_processes).write(cpus, stride)


def counter_stride(programs: int) -> int:
    """Return the bytes of the counters of some programs on one CPU; those of different CPUs share no cache line."""
    return -(-(LOST_BYTES + programs * PROGRAM_BYTES) // _CACHE_LINE) * _CACHE_LINE


class _ProgramWriter:
    """Writer of one program: register 8 has the counters of this CPU."""

    def __init__(self, program: BpfProgram, own_processes: Sequence[int]) -> None:
        self._out = Assembler()
        self._values = program.values
        self._size = program.size
        self._condition = program.condition
        self._role, self._object = program.role, program.object_field
        self._functions = program.functions
        self._grouping, self._begins = program.grouping, program.begins
        self._own = sorted(set(own_processes))
        self._counters = LOST_BYTES + program.number * PROGRAM_BYTES
        self._fetch = FetchCompiler(self._out, program.context, program.loads)
        self._compared: dict[str, ComparedValue] = {}

    def write(self, cpus: int, stride: int) -> tuple[Instruction, ...]:
        out, done, full = self._out, JumpLabel(), JumpLabel()
        out.move(CONTEXT, 1)
        out.map_value(2, MapRole.CONTROL)
        out.load(1, 2, 0, 4)
        out.jump_if(JumpCondition.EQ, 1, ProgramMode.OFF, done)
        is_last = self._condition is not None or self._object
        if not is_last:
            self._leave_out_own(done)
        self._find_counters(cpus, stride, done)
        self._count(_HITS)
        out.constant(FAULT_BITS, 0)
        if self._condition is not None:
            # Most calls end here: nothing is done before that a call which passes can do as well.
            self._load_compared(compared_fields(self._condition))
            comparer = FilterCompiler(out, self._compared, self._functions, CONTEXT)
            comparer.jump_unless(self._condition, done)
        if self._object:
            self._load_compared([self._object])
            self._jump_unless_object(done)
        if is_last:
            self._leave_out_own(done)
        self._count(_PASSED)
        if self._role is ObjectRole.BEGIN:
            self._begin_tracking(full)
        out.map_value(2, MapRole.CONTROL)
        out.load(1, 2, 0, 4)
        out.jump_if(JumpCondition.NE, 1, ProgramMode.RECORD, done)
        if self._begins is not None:
            FrameWriter(out, self._fetch, self._begins, self._stack_bottom).note_begin()
        elif self._grouping is not None:
            self._group(self._grouping, done, full)
        else:
            self._record(done, full)
        out.place(done)
        out.exit()
        return out.program()

    def _leave_out_own(self, done: JumpLabel) -> None:
        """Do nothing in our own processes, and note the number of the thread."""
        out = self._out
        self._fetch.ids(_PID)
        for process in self._own:
            out.jump_if(JumpCondition.EQ, 0, process, done)

    def _find_counters(self, cpus: int, stride: int, done: JumpLabel) -> None:
        out = self._out
        out.call(Helper.GET_SMP_PROCESSOR_ID)
        out.store(FRAME_POINTER, _CPU, 0, 4)
        out.jump_if(JumpCondition.GE, 0, cpus, done)
        out.alu(AluOperation.MUL, 0, stride)
        out.map_value(_COUNTER_BASE, MapRole.COUNTERS)
        out.add(_COUNTER_BASE, 0)

    def _count(self, counter: int) -> None:
        """Add one to a counter of this program."""
        out, at = self._out, self._counters + counter
        out.load(1, _COUNTER_BASE, at, 8)
        out.alu(AluOperation.ADD, 1, 1)
        out.store(_COUNTER_BASE, at, 1, 8)

    def _jump_unless_object(self, done: JumpLabel) -> None:
        """Continue at a label where a pointer is none to an object, or to one that is not tracked."""
        out, at = self._out, self._compared[self._object].offset
        if self._role is ObjectRole.BEGIN:
            out.load(1, FRAME_POINTER, at, 8)
            out.jump_if(JumpCondition.EQ, 1, 0, done)
            out.jump_if(JumpCondition.GE, 1, -_LARGEST_ERRNO, done)
            return
        self._call_with_object(Helper.MAP_LOOKUP_ELEM)
        out.jump_if(JumpCondition.EQ, 0, 0, done)
        if self._role is ObjectRole.END:
            self._call_with_object(Helper.MAP_DELETE_ELEM)

    def _begin_tracking(self, full: JumpLabel) -> None:
        """Put an object among those that are tracked; continue at a label where there is no room."""
        self._out.stack_address(3, self._compared[self._object].offset)
        self._out.constant(4, 0)
        self._call_with_object(Helper.MAP_UPDATE_ELEM)
        self._out.jump_if(JumpCondition.NE, 0, 0, full)

    def _call_with_object(self, helper: Helper) -> None:
        self._out.stack_address(2, self._compared[self._object].offset)
        self._out.map(1, MapRole.OBJECTS)
        self._out.call(helper)

    @property
    def _stack_bottom(self) -> int:
        """Lowest place on the stack that compared values take."""
        return min((one.offset for one in self._compared.values()), default=_SCRATCH_END)

    def _load_compared(self, names: Iterable[str]) -> None:
        """Put values that are compared on the stack, each once. Raises NotCompiled."""
        fields = {value.field.name: (number, value) for number, value in enumerate(self._values)}
        at = self._stack_bottom
        for name in names:
            if name in self._compared:
                continue
            number, value = fields.get(name, (0, None))
            kind = value.field.type if value is not None else (_COMMON.get(name) or _NUMBERS.get(name))
            if kind is None or kind.elements > 1:
                raise NotCompiled(f"{name} in the filter")
            at -= -(-kind.size // 8) * 8
            if -at > STACK_BYTES:
                raise NotCompiled("so many texts in the filter")
            can_fault = value is not None and isinstance(value.expression, Dereference) and not kind.text
            self._compared[name] = ComparedValue(kind, at, fault_bit(number) if can_fault else 0)
            if value is None:
                self._load_common(name, kind, at)
            elif isinstance(value.expression, ProgramValue):
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
        out.stack_address(2, _CPU)
        out.map(1, MapRole.RINGS)
        out.call(Helper.MAP_LOOKUP_ELEM)
        out.jump_if(JumpCondition.EQ, 0, 0, full)
        out.move(1, 0)
        out.constant(2, self._size)
        out.constant(3, 0)
        out.call(Helper.RINGBUF_RESERVE)
        out.jump_if(JumpCondition.EQ, 0, 0, full)
        out.move(RECORD, 0)
        out.call(Helper.KTIME_GET_NS)
        out.store(RECORD, STAMP, 0, 8)
        out.load(1, FRAME_POINTER, _PID, 4)
        out.store(RECORD, PID, 1, 4)
        out.load(1, _COUNTER_BASE, 0, 8)
        out.store(RECORD, LOST, 1, 4)
        out.map_value(2, MapRole.CONTROL)
        out.load(1, 2, 4, 4)
        out.store(RECORD, EVENT_ID, 1, 4)
        self._fetch.store(Comm(), StoredField("", COMM, COMM_OFFSET), 0, RECORD, COMM_OFFSET)
        for number, value in enumerate(self._values):
            self._store(number, value)
        out.store(RECORD, FAULTS, FAULT_BITS, 4)
        out.move(1, RECORD)
        out.constant(2, 0)
        out.call(Helper.RINGBUF_SUBMIT)
        self._count(_RECORDED)
        out.jump(done)
        out.place(full)
        self._count(_LOST)
        out.constant(1, 1)
        out.add_in_memory(_COUNTER_BASE, 0, 1)  # other programs may run on this CPU within this one

    def _group(self, grouping: Grouping, done: JumpLabel, full: JumpLabel) -> None:
        """Put the call into its group; count it, and as lost where there is no room for one more."""
        self._count(_RECORDED)
        GroupWriter(self._out, self._fetch, grouping, self._stack_bottom).write(done, full)
        self._out.jump(done)
        self._out.place(full)
        self._count(_LOST)

    def _store(self, number: int, value: StoredValue) -> None:
        """Record one value: again from memory if it is no number that the filter has read."""
        out, field = self._out, value.field
        compared = self._compared.get(field.name)
        if value.expression is ProgramValue.FUNCTION:
            out.move(1, CONTEXT)
            out.call(Helper.GET_FUNC_IP)
            out.store(RECORD, field.offset, 0, 8)
        elif isinstance(value.expression, ProgramValue):
            out.store(RECORD, field.offset, CONTEXT, 8)
        elif compared is not None and not field.type.declared.startswith("char["):
            out.load(1, FRAME_POINTER, compared.offset, field.type.size)
            out.store(RECORD, field.offset, 1, field.type.size)
        else:
            self._fetch.store(value.expression, field, number, RECORD, field.offset)
