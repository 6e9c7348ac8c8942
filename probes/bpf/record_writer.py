"""Write the part of a program that records a call in a ring buffer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from events.bpf_layout import COMM as COMM_OFFSET
from events.bpf_layout import EVENT_ID, FAULTS, LOST, PID, STACK_FRAMES, STAMP
from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.counters import COUNTER_BASE, CPU_PLACE, Counter, CounterWriter
from probes.bpf.fetch import CONTEXT, FAULT_BITS, RECORD, FetchCompiler
from probes.bpf.filters.compared_values import ComparedValues
from probes.bpf.instructions import FRAME_POINTER, Helper, JumpCondition, MapRole
from probes.bpf.program import BpfProgram, ProgramValue, StoredValue
from probes.bpf.record import COMM, StoredField
from probes.bpf.watchpoints.watch_writer import EARLIER_PLACE, READ_PLACE
from probes.fetcharg import Comm

PID_PLACE: Final = -8
"""Place on the stack of the number of this thread, u32."""

_WATCHED: Final[Mapping[object, int]] = {ProgramValue.READ: READ_PLACE, ProgramValue.EARLIER: EARLIER_PLACE}


class RecordWriter:
    """Writer of the record of one program."""

    def __init__(
        self,
        program: BpfProgram,
        assembler: Assembler,
        fetch: FetchCompiler,
        counters: CounterWriter,
        compared: ComparedValues,
    ) -> None:
        """Take the program, and what its other parts have written: numbers that were compared are not read again."""
        self._program = program
        self._out = assembler
        self._fetch = fetch
        self._counters = counters
        self._compared = compared

    def write(self, done: JumpLabel, full: JumpLabel) -> None:
        """Reserve a record in this CPU's ring buffer, fill it and hand it over; count it as lost without room."""
        out = self._out
        out.stack_address(2, CPU_PLACE)
        out.map(1, MapRole.RINGS)
        out.call(Helper.MAP_LOOKUP_ELEM)
        out.jump_if(JumpCondition.EQ, 0, 0, full)
        out.move(1, 0)
        out.constant(2, self._program.size)
        out.constant(3, 0)
        out.call(Helper.RINGBUF_RESERVE)
        out.jump_if(JumpCondition.EQ, 0, 0, full)
        out.move(RECORD, 0)
        self._write_head()
        for number, value in enumerate(self._program.values):
            self._store(number, value)
        if self._program.has_stack:
            at = self._program.fields_size
            self._fetch.store_stack(STACK_FRAMES, RECORD, at + 8)
            out.store(RECORD, at, 0, 8)
        out.store(RECORD, FAULTS, FAULT_BITS, 4)
        out.move(1, RECORD)
        out.constant(2, 0)
        out.call(Helper.RINGBUF_SUBMIT)
        self._counters.add(Counter.RECORDED)
        out.jump(done)
        out.place(full)
        self._counters.add_lost_record()

    def _write_head(self) -> None:
        """Write what is before the values, but the faults."""
        out = self._out
        out.call(Helper.KTIME_GET_NS)
        out.store(RECORD, STAMP, 0, 8)
        out.load(1, FRAME_POINTER, PID_PLACE, 4)
        out.store(RECORD, PID, 1, 4)
        out.load(1, COUNTER_BASE, 0, 8)
        out.store(RECORD, LOST, 1, 4)
        out.map_value(2, MapRole.CONTROL)
        out.load(1, 2, 4, 4)
        out.store(RECORD, EVENT_ID, 1, 4)
        self._fetch.store(Comm(), StoredField("", COMM, COMM_OFFSET), 0, RECORD, COMM_OFFSET)

    def _store(self, number: int, value: StoredValue) -> None:
        """Record one value: again from memory if it is no number that the filter has read."""
        out, field = self._out, value.field
        compared = self._compared.places.get(field.name)
        if value.expression is ProgramValue.FUNCTION:
            out.move(1, CONTEXT)
            out.call(Helper.GET_FUNC_IP)
            out.store(RECORD, field.offset, 0, 8)
        elif value.expression in _WATCHED:
            out.load(1, FRAME_POINTER, _WATCHED[value.expression], 8)
            out.store(RECORD, field.offset, 1, field.type.size)
        elif isinstance(value.expression, ProgramValue):
            out.store(RECORD, field.offset, CONTEXT, 8)
        elif compared is not None and not field.type.declared.startswith("char["):
            out.load(1, FRAME_POINTER, compared.offset, field.type.size)
            out.store(RECORD, field.offset, 1, field.type.size)
        else:
            self._fetch.store(value.expression, field, number, RECORD, field.offset)
