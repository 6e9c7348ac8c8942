"""Assemble BPF programs that trace the calls inside some functions, with arguments and return values.

They record what the function_graph tracer records, under its names, so that all that reads its events reads theirs.
A program stands at both ends of its functions (kprobe.session). Of calls outside of the roots only the beginning is
looked at. The depth of a task's calls is counted in a hash, as the tracer counts it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from events.bpf_layout import COMM, EVENT_ID, FAULTS, STAMP
from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.fetch import CONTEXT, RECORD
from probes.bpf.instructions import FRAME_POINTER, AluOperation, BpfInstruction, Helper, JumpCondition, MapRole
from probes.bpf.record import COMM_BYTES, RecordLayout, StoredType
from probes.bpf.registers import SavedRegisters
from probes.bpf.tracing.ring_record import HITS, add_one, find_counters, reserve, submit

ENTRY_ID, EXIT_ID = 0xF000, 0xF001
"""Ids of the events of entries and returns; those of other programs begin at 0x8000, and are few."""
ARGUMENTS: Final = 6
"""Registers that are recorded of each call (FTRACE_REGS_MAX_ARGS on x86-64)."""
IS_RETURN: Final = "bpf_session_is_return"
"""Name of the kfunc that says at which end of a call a program runs."""
COOKIE: Final = "bpf_session_cookie"
"""Name of the kfunc that gives 8 bytes which both ends of a call share: the time of its beginning is kept there."""
_FUNCTION = StoredType("unsigned long", 8, "%ps")
_NUMBER = StoredType("unsigned long", 8, "%lu")
_RESULT = StoredType("unsigned long", 8, "%lx")
_ARGUMENTS = StoredType(f"unsigned long[{ARGUMENTS}]", 8, "%lx", elements=ARGUMENTS)
ENTRY: Final = RecordLayout.of([("func", _FUNCTION), ("depth", _NUMBER), ("args", _ARGUMENTS)])
EXIT: Final = RecordLayout.of(
    [("func", _FUNCTION), ("depth", _NUMBER), ("retval", _RESULT), ("calltime", _RESULT), ("rettime", _RESULT)]
)
SIZE: Final = max(ENTRY.size, EXIT.size)
"""Bytes of a record."""
_DEPTH: Final = 9
"""Register with the address of the task's depth, then with the depth."""
_KEY, _VALUE = -8, -16
"""Places on the stack of the thread id and of a value for a hash."""
_IGNORED: Final = 1
"""Result at an entry: the return is not followed."""


class SessionFunctions(NamedTuple):
    """BTF ids of the kfuncs of programs that stand at both ends of a function."""

    is_return: int
    """Number of `IS_RETURN`."""
    cookie: int
    """Number of `COOKIE`."""


def trace_calls(
    registers: SavedRegisters,
    kfuncs: SessionFunctions,
    own_processes: tuple[int, ...],
    *,
    is_root: bool,
    levels: int = 0,
) -> tuple[BpfInstruction, ...]:
    """Return the program of the roots, or of the functions whose calls inside a root are recorded.

    The second number of `MapRole.CONTROL` is the limit of the tasks: 0: all; else those whose element of
    `MapRole.TASKS` is that number.

    Args:
        registers: of the machine.
        kfuncs: functions of the kernel that it calls.
        own_processes: ids of thread groups whose calls are not traced.
        is_root: its functions begin a trace.
        levels: levels of calls that are recorded, the root's included; 0: all.
    """
    return _TracerWriter(registers, kfuncs, own_processes, is_root=is_root, levels=levels).write()


class _TracerWriter:
    """Writer of one program."""

    def __init__(
        self,
        registers: SavedRegisters,
        kfuncs: SessionFunctions,
        own: tuple[int, ...],
        *,
        is_root: bool,
        levels: int,
    ) -> None:
        self._out = Assembler()
        self._registers = registers
        self._kfuncs = kfuncs
        self._own = own
        self._is_root = is_root
        self._levels = levels

    def write(self) -> tuple[BpfInstruction, ...]:
        out, ignored, returned = self._out, JumpLabel(), JumpLabel()
        out.move(CONTEXT, 1)
        out.call(Helper.GET_CURRENT_PID_TGID)
        out.store(FRAME_POINTER, _KEY, 0, 4)
        if self._is_root:
            out.alu(AluOperation.RSH, 0, 32)
            for process in (0, *sorted(set(self._own))):
                out.jump_if(JumpCondition.EQ, 0, process, ignored)
        self._find(MapRole.DEPTHS)
        out.move(_DEPTH, 0)
        out.move(1, CONTEXT)
        out.call_kernel_function(self._kfuncs.is_return)
        out.alu(AluOperation.AND, 0, 1)
        out.jump_if(JumpCondition.NE, 0, 0, returned)
        self._entry(ignored)
        out.place(returned)
        self._exit(ignored)
        out.place(ignored)
        out.exit(_IGNORED)
        return out.program()

    def _find(self, role: MapRole) -> None:
        """Look up the element of this task."""
        out = self._out
        out.stack_address(2, _KEY)
        out.map(1, role)
        out.call(Helper.MAP_LOOKUP_ELEM)

    def _entry(self, ignored: JumpLabel) -> None:
        out, inside, counted, done = self._out, JumpLabel(), JumpLabel(), JumpLabel()
        if self._is_root:
            out.jump_if(JumpCondition.NE, _DEPTH, 0, inside)
            self._begin(ignored)
            out.constant(_DEPTH, 0)
            out.jump(counted)
            out.place(inside)
        else:
            out.jump_if(JumpCondition.EQ, _DEPTH, 0, ignored)
        out.load(1, _DEPTH, 0, 8)
        if self._levels:
            out.jump_if(JumpCondition.GE, 1, self._levels, ignored)
        out.move(2, 1)
        out.alu(AluOperation.ADD, 2, 1)
        out.store(_DEPTH, 0, 2, 8)
        out.move(_DEPTH, 1)
        out.place(counted)
        self._note_beginning()
        full = self._record(ENTRY, ENTRY_ID, done)
        first = ENTRY.fields[2].offset
        for number in range(ARGUMENTS):
            out.load(1, CONTEXT, self._registers.arguments[number], 8)
            out.store(RECORD, first + 8 * number, 1, 8)
        submit(out, done, full)
        out.place(done)
        out.exit()

    def _note_beginning(self) -> None:
        """Keep the time for the call's end, whether there is room for a record or not."""
        out = self._out
        out.call(Helper.KTIME_GET_NS)
        out.store(FRAME_POINTER, _VALUE, 0, 8)
        self._find_cookie()
        out.load(1, FRAME_POINTER, _VALUE, 8)
        out.store(0, 0, 1, 8)

    def _find_cookie(self) -> None:
        """Set register 0 to the address of the bytes that both ends of the call share."""
        self._out.move(1, CONTEXT)
        self._out.call_kernel_function(self._kfuncs.cookie)

    def _begin(self, ignored: JumpLabel) -> None:
        """Begin a trace in this task, if the tracer is on and the task is one of those wanted."""
        out, unlimited = self._out, JumpLabel()
        out.map_value(2, MapRole.CONTROL)
        out.load(1, 2, 0, 4)
        out.jump_if(JumpCondition.EQ, 1, 0, ignored)
        out.load(_DEPTH, 2, 4, 4)
        out.jump_if(JumpCondition.EQ, _DEPTH, 0, unlimited)
        self._find(MapRole.TASKS)
        out.jump_if(JumpCondition.EQ, 0, 0, ignored)
        out.load(1, 0, 0, 8)
        out.jump_if_registers(JumpCondition.NE, 1, _DEPTH, ignored)
        out.place(unlimited)
        out.store_constant(FRAME_POINTER, _VALUE, 1, 8)
        out.stack_address(2, _KEY)
        out.stack_address(3, _VALUE)
        out.map(1, MapRole.DEPTHS)
        out.constant(4, 0)
        out.call(Helper.MAP_UPDATE_ELEM)
        out.jump_if(JumpCondition.NE, 0, 0, ignored)

    def _exit(self, ignored: JumpLabel) -> None:
        out, done = self._out, JumpLabel()
        out.jump_if(JumpCondition.EQ, _DEPTH, 0, ignored)
        out.load(1, _DEPTH, 0, 8)
        out.jump_if(JumpCondition.EQ, 1, 0, ignored)
        out.alu(AluOperation.ADD, 1, -1)
        out.store(_DEPTH, 0, 1, 8)
        out.move(_DEPTH, 1)
        if self._is_root:
            inside = JumpLabel()
            out.jump_if(JumpCondition.NE, _DEPTH, 0, inside)
            out.stack_address(2, _KEY)
            out.map(1, MapRole.DEPTHS)
            out.call(Helper.MAP_DELETE_ELEM)
            out.place(inside)
        full = self._record(EXIT, EXIT_ID, done)
        out.load(1, CONTEXT, self._registers.result, 8)
        result, begin, end = (field.offset for field in EXIT.fields[2:])
        out.store(RECORD, result, 1, 8)
        out.load(1, RECORD, STAMP, 8)
        out.store(RECORD, end, 1, 8)
        self._find_cookie()
        out.load(1, 0, 0, 8)
        out.store(RECORD, begin, 1, 8)
        for at in range(EXIT.size, SIZE, 8):
            out.store_constant(RECORD, at, 0, 8)
        submit(out, done, full)
        out.place(done)
        out.exit()

    def _record(self, layout: RecordLayout, number: int, done: JumpLabel) -> JumpLabel:
        """Reserve a record and write what both ends have; return the label to place where there is no room."""
        out, full = self._out, JumpLabel()
        find_counters(out, done)
        add_one(out, HITS)
        reserve(out, SIZE, full)
        out.store_constant(RECORD, EVENT_ID, number, 4)
        out.store_constant(RECORD, FAULTS, 0, 4)
        out.move(1, RECORD)
        out.alu(AluOperation.ADD, 1, COMM)
        out.constant(2, COMM_BYTES)
        out.call(Helper.GET_CURRENT_COMM)
        out.move(1, CONTEXT)
        out.call(Helper.GET_FUNC_IP)
        out.store(RECORD, layout.fields[0].offset, 0, 8)
        out.store(RECORD, layout.fields[1].offset, _DEPTH, 8)
        return full


def follow_forks(registers: SavedRegisters, pid_offset: int) -> tuple[BpfInstruction, ...]:
    """Return a program for the entry of `wake_up_new_task(struct task_struct *p)`: a task that one of `MapRole.TASKS`
    has made is one of them, with the same number.

    Args:
        registers: of the machine.
        pid_offset: bytes of `pid` in struct task_struct.
    """
    out, done = Assembler(), JumpLabel()
    out.move(CONTEXT, 1)
    out.call(Helper.GET_CURRENT_PID_TGID)
    out.store(FRAME_POINTER, _KEY, 0, 4)
    out.stack_address(2, _KEY)
    out.map(1, MapRole.TASKS)
    out.call(Helper.MAP_LOOKUP_ELEM)
    out.jump_if(JumpCondition.EQ, 0, 0, done)
    out.load(1, 0, 0, 8)
    out.store(FRAME_POINTER, _VALUE, 1, 8)
    _read_task(out, registers, pid_offset)
    out.stack_address(2, _KEY)
    out.stack_address(3, _VALUE)
    out.map(1, MapRole.TASKS)
    out.constant(4, 0)
    out.call(Helper.MAP_UPDATE_ELEM)
    out.place(done)
    out.exit()
    return out.program()


def follow_exits(registers: SavedRegisters, pid_offset: int) -> tuple[BpfInstruction, ...]:
    """Return a program for the entry of `release_task(struct task_struct *p)`: a task whose number is about to be
    free (kernel/exit.c) is none of `MapRole.TASKS` any more.

    Args: as of `follow_forks`.
    """
    out = Assembler()
    out.move(CONTEXT, 1)
    out.constant(1, 0)  # no task, where the number can't be read
    out.store(FRAME_POINTER, _KEY, 1, 4)
    _read_task(out, registers, pid_offset)
    out.stack_address(2, _KEY)
    out.map(1, MapRole.TASKS)
    out.call(Helper.MAP_DELETE_ELEM)
    out.exit()
    return out.program()


def _read_task(out: Assembler, registers: SavedRegisters, pid_offset: int) -> None:
    """Read the number of the task that is the first argument into the key on the stack."""
    out.load(3, CONTEXT, registers.arguments[0], 8)
    out.alu(AluOperation.ADD, 3, pid_offset)
    out.constant(2, 4)
    out.stack_address(1, _KEY)
    out.call(Helper.PROBE_READ_KERNEL)
