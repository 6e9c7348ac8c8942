"""Programs that trace calls: their records of random calls of several tasks, in a small machine with their maps."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from events.bpf_layout import EVENT_ID, LOST, PID, STAMP, event_shift
from events.format import parse_format
from probes.bpf.instructions import BpfInstruction, Helper, MapRole
from probes.bpf.program import COUNTER_NAMES, ProgramMode
from probes.bpf.registers import SAVED_REGISTERS
from probes.bpf.tracing.call_tracer import (
    ENTRY,
    ENTRY_ID,
    EXIT,
    EXIT_ID,
    SIZE,
    SessionFunctions,
    follow_exits,
    follow_forks,
    trace_calls,
)
from tests.bpf_machine import STACK, BpfMachine
from tests.events_data import formats_of

REGISTERS = SAVED_REGISTERS["x86_64"]
KFUNCS, PID_OFFSET, OURS = SessionFunctions(4321, 4322), 1200, 77
CONTEXT, CONTROL, COUNTERS, RECORD, VALUES, COOKIES = 0x10000, 0x20000, 0x30000, 0x50000, 0x60000, 0x70000
TASK, LIMIT = 0x90000, 0xA0000
Record = tuple[int, int, int, int, tuple[int, ...]]
"""Thread, event, function, depth, and arguments or the return value."""


@dataclass
class Call:
    """Call of a function by number; 0 to 2 are roots."""

    function: int
    result: int
    inside: list[Call] = field(default_factory=list)


calls = st.recursive(
    st.builds(Call, st.integers(0, 9), st.integers(0, (1 << 64) - 1)),
    lambda inner: st.builds(Call, st.integers(0, 9), st.integers(0, (1 << 64) - 1), st.lists(inner, max_size=3)),
    max_leaves=12,
)
ROOTS = frozenset({0, 1, 2})


class Kernel:
    """Maps, tasks and the two programs."""

    def __init__(self, *, room: int = 1 << 30, levels: int = 0) -> None:
        self.depths: dict[int, int] = {}
        self.tasks: dict[int, int] = {}
        """Limit of each task."""
        self.records: list[Record] = []
        self.lost: list[int] = []
        self.within: dict[int, Callable[[], None]] = {}
        """Done while a function runs, by its number."""
        self.times: list[tuple[int, int, int]] = []
        """Of each recorded end: time of the record, and begin and end of the call; of a beginning 0."""
        self.clock = count(1)
        self.cookie = COOKIES
        self.room = room
        self.thread, self.process, self.is_return, self.function = 0, 0, False, 0
        helpers: dict[Helper, Callable[[BpfMachine], int]] = {
            Helper.GET_CURRENT_PID_TGID: lambda _: self.process << 32 | self.thread,
            Helper.GET_SMP_PROCESSOR_ID: lambda _: 0,
            Helper.KTIME_GET_NS: lambda _: next(self.clock),
            Helper.GET_CURRENT_COMM: self._comm,
            Helper.GET_FUNC_IP: lambda _: 0xF000 + self.function,
            Helper.MAP_LOOKUP_ELEM: self._look_up,
            Helper.MAP_UPDATE_ELEM: self._update,
            Helper.MAP_DELETE_ELEM: self._delete,
            Helper.RINGBUF_RESERVE: self._reserve,
            Helper.RINGBUF_SUBMIT: self._submit,
            Helper.PROBE_READ_KERNEL: self._read,
        }
        kfuncs = {KFUNCS.is_return: lambda _: 0xF00 | self.is_return, KFUNCS.cookie: lambda _: self.cookie}
        self.machine = BpfMachine(helpers, kfuncs)
        self.machine.write(COUNTERS, bytes(8 * len(COUNTER_NAMES)))
        self.switch(ProgramMode.RECORD)
        self._programs = {
            is_root: self._placed(trace_calls(REGISTERS, KFUNCS, (OURS,), is_root=is_root, levels=levels))
            for is_root in (False, True)
        }
        self._forks = self._placed(follow_forks(REGISTERS, PID_OFFSET))
        self._exits = self._placed(follow_exits(REGISTERS, PID_OFFSET))

    def switch(self, mode: ProgramMode, limit: int = 0) -> None:
        self.machine.write(CONTROL, struct.pack("<II", mode, limit))

    def counter(self, name: str) -> int:
        return self.machine.read(COUNTERS + 8 * COUNTER_NAMES.index(name), 8)

    def fork(self, parent: int, child: int) -> None:
        self._about(parent, child, self._forks)

    def release(self, parent: int, child: int) -> None:
        self._about(parent, child, self._exits)

    def _about(self, thread: int, other: int, program: list[BpfInstruction]) -> None:
        self.thread = self.process = thread
        self.machine.write(TASK + PID_OFFSET, struct.pack("<i", other))
        self.machine.write(CONTEXT + REGISTERS.arguments[0], struct.pack("<Q", TASK))
        self._run(program)

    def make(self, call: Call, thread: int, process: int) -> None:
        """Let a task call a function: the return is seen if the program at the entry says so."""
        program, cookie = self._programs[call.function in ROOTS], self.cookie
        self.machine.write(cookie, bytes(8 * [0xEE]))
        self._at(call, thread, process, is_return=False)
        for number, offset in enumerate(REGISTERS.arguments):
            self.machine.write(CONTEXT + offset, struct.pack("<Q", 100 * call.function + number))
        is_followed = not self._run(program)
        self.within.get(call.function, lambda: None)()
        for one in call.inside:
            self.cookie += 8
            self.make(one, thread, process)
        self.cookie = cookie
        if is_followed:
            self._at(call, thread, process, is_return=True)
            self.machine.write(CONTEXT + REGISTERS.result, struct.pack("<Q", call.result))
            self._run(program)

    def traced(self, *threads: int) -> list[int]:
        """Let tasks call a root; return those whose calls are recorded."""
        before = len(self.records)
        for thread in threads:
            self.make(Call(1, 0), thread, thread)
        assert all(one[1] == (ENTRY_ID, EXIT_ID)[at % 2] for at, one in enumerate(self.records[before:]))
        return [one[0] for one in self.records[before::2]]

    def _at(self, call: Call, thread: int, process: int, *, is_return: bool) -> None:
        self.thread, self.process, self.function, self.is_return = thread, process, call.function, is_return

    def _run(self, program: list[BpfInstruction]) -> int:
        self.machine.registers[1] = CONTEXT
        return self.machine.run(program)

    @staticmethod
    def _placed(program: tuple[BpfInstruction, ...]) -> list[BpfInstruction]:
        places: dict[int, int] = {role: role for role in MapRole} | {MapRole.CONTROL: CONTROL}
        return [
            one if one.code != 0x18 or not one.source else one._replace(source=0, immediate=places[one.immediate])
            for one in program
        ]

    def _key(self, machine: BpfMachine) -> int:
        assert STACK - 512 <= machine.registers[2] < STACK
        return machine.read(machine.registers[2], 4)

    def _look_up(self, machine: BpfMachine) -> int:
        role, key = machine.registers[1], self._key(machine)
        if role in (MapRole.COUNTERS, MapRole.RINGS):
            return COUNTERS if role == MapRole.COUNTERS else RECORD
        if role == MapRole.TASKS:
            self.machine.write(LIMIT, struct.pack("<Q", self.tasks.get(key, 0)))
            return LIMIT if key in self.tasks else 0
        self._store_depths()
        return VALUES + 8 * key if key in self.depths else 0

    def _store_depths(self) -> None:
        """Programs change a depth in the map's memory."""
        for key in self.depths:
            self.depths[key] = self.machine.read(VALUES + 8 * key, 8)

    def _update(self, machine: BpfMachine) -> int:
        key = self._key(machine)
        if machine.registers[1] == MapRole.TASKS:
            self.tasks[key] = machine.read(machine.registers[3], 8)
        else:
            self.depths[key] = machine.read(machine.registers[3], 8)
            machine.write(VALUES + 8 * key, struct.pack("<Q", self.depths[key]))
        return 0

    def _delete(self, machine: BpfMachine) -> int:
        if machine.registers[1] == MapRole.TASKS:
            return 0 if self.tasks.pop(self._key(machine), None) is not None else -2
        del self.depths[self._key(machine)]
        return 0

    def _reserve(self, machine: BpfMachine) -> int:
        assert machine.registers[2] == SIZE
        machine.write(RECORD, b"\xee" * SIZE)
        self.room -= 1
        return RECORD if self.room >= 0 else 0

    def _submit(self, machine: BpfMachine) -> int:
        event = machine.read(RECORD + EVENT_ID, 4)
        layout = ENTRY if event == ENTRY_ID else EXIT
        words = [machine.read(RECORD + at, 8) for at in range(layout.fields[0].offset, layout.size, 8)]
        own = tuple(words[2:]) if event == ENTRY_ID else (words[2],)
        self.records.append((machine.read(RECORD + PID, 4), event, words[0] - 0xF000, words[1], own))
        self.times.append((machine.read(RECORD + STAMP, 8), *([0, 0] if event == ENTRY_ID else words[3:])))
        self.lost.append(machine.read(RECORD + LOST, 4))
        return 0

    @staticmethod
    def _comm(machine: BpfMachine) -> int:
        machine.write(machine.registers[1], b"worker".ljust(machine.registers[2], b"\0"))
        return 0

    @staticmethod
    def _read(machine: BpfMachine) -> int:
        data = machine.read(machine.registers[3], machine.registers[2])
        machine.write(machine.registers[1], data.to_bytes(machine.registers[2], "little"))
        return 0


def expected(call: Call, thread: int, depth: int = -1) -> Iterator[Record]:
    """What is recorded of a call: all inside a root, each with its depth below that."""
    own = depth + 1 if depth >= 0 or call.function in ROOTS else -1
    if own >= 0:
        yield thread, ENTRY_ID, call.function, own, tuple(100 * call.function + number for number in range(6))
    for one in call.inside:
        yield from expected(one, thread, own)
    if own >= 0:
        yield thread, EXIT_ID, call.function, own, (call.result,)


@given(st.lists(st.tuples(calls, st.integers(1, 3)), max_size=5))
def test_all_calls_inside_a_root_are_recorded_with_their_depth(made: list[tuple[Call, int]]) -> None:
    kernel = Kernel()
    for call, thread in made:
        kernel.make(call, thread, thread)
    assert kernel.records == [one for call, thread in made for one in expected(call, thread)]
    assert kernel.depths == {}
    assert kernel.counter("recorded") == kernel.counter("hits") == len(kernel.records)


@given(calls, st.integers(0, 4))
def test_an_end_has_the_time_of_its_beginning_whether_that_had_room_or_not(call: Call, room: int) -> None:
    whole, kernel = Kernel(), Kernel(room=room)
    for one in (whole, kernel):
        one.make(Call(0, 0, [call]), 5, 5)
        one.room = 1 << 30
        one.make(Call(1, 0), 5, 5)
    begun: list[int] = []
    for (_, event, *_), (stamp, begin, end) in zip(whole.records, whole.times, strict=True):
        if event == ENTRY_ID:
            begun.append(stamp)
        else:
            assert (begin, end) == (begun.pop() - 1, stamp)  # the clock of the test counts how often it is read
    assert all(0 < begin < end for begin, end in (times[1:] for times in kernel.times if times[2]))


@given(calls, st.integers(1, 3))
def test_no_more_levels_are_recorded_than_were_asked_for(call: Call, levels: int) -> None:
    kernel = Kernel(levels=levels)
    kernel.make(call, 5, 5)
    assert kernel.records == [one for one in expected(call, 5) if one[3] < levels]
    assert kernel.depths == {}


@given(calls, st.integers(0, 8))
def test_records_without_room_are_counted_and_the_depths_stay_right(call: Call, room: int) -> None:
    kernel = Kernel(room=room)
    kernel.make(call, 5, 5)
    whole = list(expected(call, 5))
    assert kernel.records == whole[:room]
    assert kernel.counter("lost") == max(0, len(whole) - room)
    assert kernel.depths == {}
    kernel.room = 1 << 30
    kernel.make(Call(0, 1, [Call(5, 2)]), 5, 5)
    assert kernel.records[min(room, len(whole)) :] == list(expected(Call(0, 1, [Call(5, 2)]), 5))
    assert kernel.lost[-1] == kernel.counter("lost")


def test_our_own_process_and_the_idle_tasks_are_not_traced_nor_others_while_it_is_off() -> None:
    kernel = Kernel()
    tree = Call(0, 0, [Call(4, 0)])
    kernel.make(tree, 78, OURS)
    kernel.make(tree, 0, 0)
    kernel.switch(ProgramMode.OFF)
    kernel.make(tree, 5, 5)
    assert (kernel.records, kernel.depths) == ([], {})
    kernel.switch(ProgramMode.RECORD)
    kernel.make(tree, 5, 5)
    assert len(kernel.records) == 4


def limited() -> Kernel:
    """A kernel that traces task 10 alone, which has made 11, and that 12."""
    kernel = Kernel()
    kernel.tasks[10] = 1
    kernel.switch(ProgramMode.RECORD, 1)
    kernel.fork(10, 11)
    kernel.fork(11, 12)
    return kernel


def test_only_wanted_tasks_are_traced_and_those_that_they_make() -> None:
    kernel = limited()
    kernel.fork(20, 21)
    assert kernel.traced(10, 11, 12, 20, 21) == [10, 11, 12]
    # All tasks again, then those of another command: what the first one left behind is not of it.
    kernel.switch(ProgramMode.RECORD)
    assert kernel.traced(10, 20) == [10, 20]
    kernel.tasks[20] = 2
    kernel.switch(ProgramMode.RECORD, 2)
    kernel.fork(12, 13)
    kernel.fork(20, 22)
    assert kernel.traced(10, 12, 13, 20, 21, 22) == [20, 22]
    kernel.switch(ProgramMode.OFF, 2)
    assert kernel.traced(20) == []


def test_a_task_that_has_ended_takes_no_room_and_its_number_is_nobodys() -> None:
    kernel = limited()
    kernel.release(10, 11)
    kernel.release(1, 30)  # it was none of them
    assert kernel.tasks == {10: 1, 12: 1}
    kernel.fork(20, 11)
    assert kernel.traced(10, 11, 12) == [10, 12]


def test_a_trace_that_has_begun_goes_on_when_others_are_wanted() -> None:
    kernel = Kernel()
    tree = Call(1, 0, [Call(5, 0)])
    kernel.within[1] = lambda: kernel.switch(ProgramMode.RECORD, 1)
    kernel.make(tree, 10, 10)
    assert kernel.records == list(expected(tree, 10))
    assert kernel.depths == {} and kernel.traced(10) == []


def test_the_formats_say_what_the_tracers_do() -> None:
    entry = parse_format(ENTRY.format_text("funcgraph_entry", ENTRY_ID, SIZE), "ftrace")
    leave = parse_format(EXIT.format_text("funcgraph_exit", EXIT_ID, SIZE), "ftrace")
    assert (entry.path, leave.path) == ("ftrace/funcgraph_entry", "ftrace/funcgraph_exit")
    assert [one.name for one in entry.fields] == ["func", "depth", "args"]
    assert [one.name for one in leave.fields] == ["func", "depth", "retval", "calltime", "rettime"]
    assert entry.fields[0].offset == ENTRY.fields[0].offset + event_shift(SIZE)


def test_fields_are_shown_and_filtered_as_those_of_the_kernels_tracer() -> None:
    own = [
        parse_format(layout.format_text(name, number, SIZE), "ftrace")
        for layout, name, number in ((ENTRY, "funcgraph_entry", ENTRY_ID), (EXIT, "funcgraph_exit", EXIT_ID))
    ]
    tracers = {fmt.path: fmt for fmt in formats_of("7.2").values()}
    for fmt in own:
        true = {one.name: one for one in tracers[fmt.path].fields}
        for own_field in fmt.fields:
            if own_field.name in true and own_field.count is None:
                known = true[own_field.name]
                assert (own_field.kind, own_field.spec[-1:]) == (known.kind, known.spec[-1:]), own_field
