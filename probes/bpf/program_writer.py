"""Assemble the BPF program of one event: count the hit, judge it, record it or put it into its group."""

from __future__ import annotations

from collections.abc import Sequence

from events.names.errnos import MAX_ERRNO
from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.counters import Counter, CounterWriter
from probes.bpf.fetch import CONTEXT, FAULT_BITS, FetchCompiler
from probes.bpf.filters.compared_values import ComparedValues
from probes.bpf.filters.filter import FilterCompiler, compared_fields
from probes.bpf.groups.call_begins import FrameWriter
from probes.bpf.groups.group_writer import GroupWriter
from probes.bpf.instructions import FRAME_POINTER, BpfInstruction, Helper, JumpCondition, MapRole
from probes.bpf.program import BpfProgram, ObjectRole, ProgramMode
from probes.bpf.record_writer import PID_PLACE, RecordWriter
from probes.bpf.watchpoints.watch_writer import exchange_value


def assembled(
    program: BpfProgram, own_processes: Sequence[int], cpus: int, stride: int, *, limited: bool = False
) -> tuple[BpfInstruction, ...]:
    """Return the instructions of a program.

    Args:
        program: the program.
        own_processes: ids of thread groups of which it records nothing: our own.
        cpus: number of CPUs that have counters.
        stride: bytes of the counters of a CPU (`counter_stride`).
        limited: it records the tasks of `MapRole.TASKS` alone.

    Raises:
        NotCompiled: no program computes one of the values, or the filter.
    """
    return _ProgramWriter(program, own_processes, limited=limited).write(cpus, stride)


class _ProgramWriter:
    """Writer of one program."""

    def __init__(self, program: BpfProgram, own_processes: Sequence[int], *, limited: bool) -> None:
        self._program = program
        self._limited = limited
        self._own = sorted(set(own_processes))
        self._out = Assembler()
        self._fetch = FetchCompiler(self._out, program.context, program.loads)
        self._counters = CounterWriter(self._out, program.number)
        self._compared = ComparedValues(self._out, self._fetch, program.values)

    def write(self, cpus: int, stride: int) -> tuple[BpfInstruction, ...]:
        out, done, full = self._out, JumpLabel(), JumpLabel()
        condition, tracked = self._program.condition, self._program.object_field
        out.move(CONTEXT, 1)
        if self._program.memory is not None:  # also while nothing is recorded, as the next hit needs the value
            exchange_value(out, self._program.memory)
        out.map_value(2, MapRole.CONTROL)
        out.load(1, 2, 0, 4)
        out.jump_if(JumpCondition.EQ, 1, ProgramMode.OFF, done)
        is_last = condition is not None or tracked
        if not is_last:
            self._leave_out_others(done)
        self._counters.find(cpus, stride, done)
        self._counters.add(Counter.HITS)
        out.constant(FAULT_BITS, 0)
        if condition is not None:
            # Most calls end here: nothing is done before that a call which passes can do as well.
            self._compared.load(compared_fields(condition))
            comparer = FilterCompiler(out, self._compared.places, self._program.functions, CONTEXT)
            comparer.jump_unless(condition, done)
        if tracked:
            self._compared.load([tracked])
            self._jump_unless_object(done)
        if is_last:
            self._leave_out_others(done)
        self._counters.add(Counter.PASSED)
        if self._program.role is ObjectRole.BEGIN:
            self._begin_tracking(full)
        out.map_value(2, MapRole.CONTROL)
        out.load(1, 2, 0, 4)
        out.jump_if(JumpCondition.NE, 1, ProgramMode.RECORD, done)
        self._keep(done, full)
        out.place(done)
        out.exit()
        return out.program()

    def _keep(self, done: JumpLabel, full: JumpLabel) -> None:
        """Note the begin of the call, put it into its group, or record it; place a label where there is no room."""
        program, out = self._program, self._out
        if program.begins is not None:
            FrameWriter(out, self._fetch, program.begins, self._compared.bottom).note_begin()
        elif program.grouping is not None:
            self._counters.add(Counter.RECORDED)
            GroupWriter(out, self._fetch, program.grouping, self._compared.bottom).write(done, full)
            out.jump(done)
            out.place(full)
            self._counters.add(Counter.LOST)
        else:
            RecordWriter(program, out, self._fetch, self._counters, self._compared).write(done, full)

    def _leave_out_others(self, done: JumpLabel) -> None:
        """Do nothing in our own processes, nor in tasks that are not recorded, and note the number of the thread."""
        out = self._out
        self._fetch.ids(PID_PLACE)
        for process in self._own:
            out.jump_if(JumpCondition.EQ, 0, process, done)
        if self._limited:
            out.stack_address(2, PID_PLACE)
            out.map(1, MapRole.TASKS)
            out.call(Helper.MAP_LOOKUP_ELEM)
            out.jump_if(JumpCondition.EQ, 0, 0, done)

    def _jump_unless_object(self, done: JumpLabel) -> None:
        """Continue at a label where a pointer is none to an object, or to one that is not tracked."""
        out = self._out
        if self._program.role is ObjectRole.BEGIN:
            out.load(1, FRAME_POINTER, self._object_place, 8)
            out.jump_if(JumpCondition.EQ, 1, 0, done)
            out.jump_if(JumpCondition.GE, 1, -MAX_ERRNO, done)  # IS_ERR_VALUE of include/linux/err.h
            return
        self._call_with_object(Helper.MAP_LOOKUP_ELEM)
        out.jump_if(JumpCondition.EQ, 0, 0, done)
        if self._program.role is ObjectRole.END:
            self._call_with_object(Helper.MAP_DELETE_ELEM)

    def _begin_tracking(self, full: JumpLabel) -> None:
        """Put an object among those that are tracked; continue at a label where there is no room."""
        self._out.stack_address(3, self._object_place)
        self._out.constant(4, 0)
        self._call_with_object(Helper.MAP_UPDATE_ELEM)
        self._out.jump_if(JumpCondition.NE, 0, 0, full)

    @property
    def _object_place(self) -> int:
        return self._compared.places[self._program.object_field].offset

    def _call_with_object(self, helper: Helper) -> None:
        self._out.stack_address(2, self._object_place)
        self._out.map(1, MapRole.OBJECTS)
        self._out.call(helper)
