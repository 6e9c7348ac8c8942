"""Programs that group calls: their tables, beside a dictionary of the same calls."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.aggregates.request import AggregateError, AggregateFunction, AggregateRequest, Statistic
from probes.bpf.groups.grouping import CallFrame, Grouping, GroupReading
from probes.bpf.instructions import CALL, Helper, MapRole
from probes.bpf.program import BpfProgram, counter_stride
from probes.bpf.program_writer import assembled
from probes.bpf.registers import SAVED_REGISTERS
from probes.facts.program_support import ProgramSupport
from tests.bpf_machine import WORD, BpfMachine
from tests.pure.probes.bpf.test_programs import CONTEXT, FENTRY, FUNCTION, MULTI, Hit, plan_of
from tui.views.aggregate.program_groups import with_groups

NEW_GROUP, KEY, BEGINS, BEGIN, GROUPS = 0x70000, 0x77000, 0x78000, 0x79000, 0x80000
ALL = (AggregateFunction.SUM, AggregateFunction.MIN, AggregateFunction.MAX, AggregateFunction.LOG2)
U64 = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 70).map(lambda n: (1 << n) - 1 & 2**64 - 1))


def program_of(text: str, keys: tuple[str, ...], *values: str) -> BpfProgram:
    request = AggregateRequest(keys, tuple(Statistic(function, value) for value in values for function in ALL))
    (program,) = with_groups(request, plan_of(text, support=MULTI)).programs
    return program


class Table:
    """Groups of a program on one CPU."""

    def __init__(
        self, program: BpfProgram, most: int = 100, begins: dict[tuple[int, int], bytes] | None = None
    ) -> None:
        self._program, self._grouping, self._most = program, program.grouping or Grouping((), ()), most
        self._begins = {} if begins is None else begins
        self._places: dict[bytes, int] = {}
        self._data = dict[int, int]()

    def hit(
        self,
        arguments: list[int],
        result: int = 0,
        stack: int = 0,
        now: int = 0,
        frame: int = 0,
        kernel_stack: Sequence[int] = (),
        cgroup: int = 1,
        **memory: tuple[int, bytes],
    ) -> dict[str, int]:
        """Run the program for a call, whose argument is in a frame of its own; return its counters."""
        hit = Hit(self._program, arguments, **memory)
        if self._program.point.on_one:
            hit.machine.memory |= {
                at + 0x100 * frame: byte for at, byte in hit.machine.memory.items() if at >> 12 == CONTEXT >> 12
            }
            hit.context += 0x100 * frame
            if self._program.point.at_exit:
                hit.machine.write(hit.context + 8 * len(arguments), (result & WORD).to_bytes(8, "little"))
        elif self._program.point.at_exit:
            hit.machine.write(CONTEXT + SAVED_REGISTERS["x86_64"].result, (result & WORD).to_bytes(8, "little"))
        hit.maps |= {MapRole.NEW_GROUP: NEW_GROUP, MapRole.GROUPS: GROUPS, MapRole.BEGINS: BEGINS}
        hit.helpers |= {Helper.MAP_LOOKUP_ELEM: self._look_up, Helper.MAP_UPDATE_ELEM: self._add}
        hit.helpers |= {Helper.MAP_DELETE_ELEM: self._remove, Helper.KTIME_GET_NS: lambda _: now}
        hit.maps |= {MapRole.KEY: KEY}
        hit.helpers |= {
            Helper.GET_CURRENT_CGROUP_ID: lambda _: cgroup,
            Helper.GET_STACK: partial(_stack, kernel_stack),
        }
        hit.machine.write(KEY, b"\xee" * 512)  # of the call before
        if not self._program.point.on_one:
            hit.machine.write(CONTEXT + SAVED_REGISTERS["x86_64"].stack_pointer, stack.to_bytes(8, "little"))
        hit.machine.memory |= self._data
        hit.machine.write(NEW_GROUP, bytes(self._grouping.group_bytes))
        counts = hit.run()
        self._data = {at: byte for at, byte in hit.machine.memory.items() if at >= GROUPS}
        return counts

    def groups(self) -> list[GroupReading]:
        size = self._grouping.group_bytes
        empty = bytes(size)  # of another CPU
        return [
            self._grouping.reading(key, empty + bytes(self._data[place + at] for at in range(size)))
            for key, place in self._places.items()
        ]

    def _key(self, machine: BpfMachine) -> bytes:
        assert machine.registers[1] == GROUPS
        return bytes(machine.memory[machine.registers[2] + at] for at in range(self._grouping.key_bytes))

    def _frame(self, machine: BpfMachine) -> tuple[int, int]:
        return machine.read(machine.registers[2], 8), machine.read(machine.registers[2] + 8, 8)

    def _remove(self, machine: BpfMachine) -> int:
        assert machine.registers[1] == BEGINS
        del self._begins[self._frame(machine)]
        return 0

    def _look_up(self, machine: BpfMachine) -> int:
        if machine.registers[1] == KEY:
            assert machine.read(machine.registers[2], 4) == 0
            return KEY
        if machine.registers[1] == BEGINS:
            begin = self._begins.get(self._frame(machine))
            machine.write(BEGIN, begin or b"")
            return 0 if begin is None else BEGIN
        return self._places.get(self._key(machine), 0)

    def _add(self, machine: BpfMachine) -> int:
        if machine.registers[1] == BEGINS:
            size, at = (self._program.begins or CallFrame(None)).begin_bytes, machine.registers[3]
            self._begins[self._frame(machine)] = bytes(machine.memory[at + place] for place in range(size))
            return 0
        assert machine.registers[3] == NEW_GROUP and machine.registers[4] == 1
        if len(self._places) == self._most:
            return -7
        place = self._places[self._key(machine)] = GROUPS + 0x1000 * (len(self._places) + 1)
        machine.write(place, bytes(self._grouping.group_bytes))
        return 0


def _stack(frames: Sequence[int], machine: BpfMachine) -> int:
    """Write frames as the kernel does: what is behind the last one stays as it was."""
    data = b"".join(one.to_bytes(8, "little") for one in frames)[: machine.registers[3]]
    machine.write(machine.registers[2], data)
    return len(data) or -14


@pytest.mark.parametrize(
    ("kind", "bits", "signed"), [("u64", 64, False), ("s64", 64, True), ("u8", 8, False), ("s32", 32, True)]
)
@given(calls=st.lists(st.tuples(st.integers(0, 2), U64), max_size=8))
def test_sums_are_those_of_a_dictionary(kind: str, bits: int, signed: bool, calls: list[tuple[int, int]]) -> None:
    table = Table(program_of(f"f vfs_read key=$arg1:u32 value=$arg2:{kind}", ("key",), "value"))
    expected: defaultdict[int, list[int]] = defaultdict(list)
    for key, value in calls:
        assert table.hit([key, value])["passed"] == 1
        number = value & (1 << bits) - 1
        expected[key].append(number - (1 << bits) if signed and number >> bits - 1 else number)
    found = {int.from_bytes(group.keys[0], "little"): group for group in table.groups()}
    assert found.keys() == expected.keys()
    for key, numbers in expected.items():
        (total,) = found[key].values
        assert (found[key].hits, total.number, total.sum) == (len(numbers), len(numbers), sum(numbers))
        assert (total.least, total.most) == (min(numbers), max(numbers))
        assert total.powers == Counter(-1 if number < 0 else max(number - 1, 0).bit_length() for number in numbers)


def test_keys_of_every_kind_are_in_the_key() -> None:
    table = Table(program_of("f vfs_[r]ead count", ("func", "comm", "pid")))
    table.hit([0, 0, 5])
    ((function, comm, thread),) = [group.keys for group in table.groups()]
    assert int.from_bytes(function, "little") == FUNCTION
    assert (comm.rstrip(b"\0"), int.from_bytes(thread, "little")) == (b"worker/1", 4243)
    table = Table(program_of("f vfs_read name=+0($arg1):string", ("cpu", "name")))
    table.hit([0x9000], name=(0x9000, b"file\0"))
    table.hit([0x9000], name=(0x9000, b"file\0garbage"))
    ((cpu, name),) = [group.keys for group in table.groups()]
    assert (int.from_bytes(cpu, "little"), name.rstrip(b"\0")) == (1, b"file")


@pytest.mark.parametrize(("number", "error"), [(0, 0), (5, 0), (-1, 1), (-4095, 4095), (-4096, 0), (-(2**31), 0)])
def test_an_error_is_a_key_by_its_number(number: int, error: int) -> None:
    table = Table(program_of("f vfs_read%return ret=$retval:s32", ("errno",), "ret"))
    table.hit([], number)
    (group,) = table.groups()
    assert int.from_bytes(group.keys[0], "little") == error and group.values[0].sum == number


def test_a_call_lasts_from_its_own_entry_to_its_exit() -> None:
    request = AggregateRequest(("func",), tuple(Statistic(function, "latency") for function in ALL))
    entry, leave = with_groups(request, plan_of("f vfs_[r]ead%both", support=MULTI)).programs
    assert leave.grouping is not None and leave.grouping.timed is not None and entry.begins is not None
    shift = leave.grouping.timed.shift
    assert shift == 8, "the return address, which the exit has taken from the stack"
    begins: dict[tuple[int, int], bytes] = {}
    found = Table(leave, begins=begins)
    outer, inner = 0xFFFFC90000004000, 0xFFFFC90000003000
    for stack, now in ((outer, 1_000), (inner, 1_500)):
        Table(entry, begins=begins).hit([], stack=stack, now=now)
    found.hit([], stack=inner + shift, now=1_600)
    found.hit([], stack=outer + shift, now=9_000)
    found.hit([], stack=outer + shift, now=9_001)  # of a call that began before
    (group,) = found.groups()
    (duration,) = group.values
    assert (group.hits, duration.sum, duration.least, duration.most) == (2, 8_100, 100, 8_000)
    assert duration.powers == {7: 1, 13: 1} and begins == {}


@pytest.mark.parametrize("support", [MULTI, FENTRY])
@given(calls=st.lists(st.tuples(st.integers(0, 2), U64, st.integers(-(2**63), 2**63 - 1)), max_size=3))
def test_keys_and_values_of_both_ends_are_of_the_same_call(
    support: ProgramSupport, calls: list[tuple[int, int, int]]
) -> None:
    statistics = tuple(Statistic(function, value) for value in ("size", "$retval", "latency") for function in ALL)
    request = AggregateRequest(("place", "name", "errno"), statistics)
    text = "f vfs_read%both name=+0($arg1):string place=$arg2:u8 size=$arg3:u64 $retval:s64"
    entry, leave = with_groups(request, plan_of(text, support=support)).programs
    assert entry.begins is not None and leave.grouping is not None and leave.grouping.timed is not None
    begins: dict[tuple[int, int], bytes] = {}
    table = Table(leave, begins=begins)
    expected: defaultdict[tuple[int, int], list[tuple[int, int, int]]] = defaultdict(list)
    name = (0x9000, b"a file of some length\0")
    for number, (place, size, result) in enumerate(calls):  # each within the one before
        entering = Table(entry, begins=begins)
        entering.hit([0x9000, place, size], stack=0x8000 - 64 * number, now=number, frame=number, name=name)
        expected[place, -result if -4095 <= result < 0 else 0].append((size, result, 1000 * number + 1000 - number))
    for number, (place, size, result) in reversed([*enumerate(calls)]):
        stack = 0x8000 - 64 * number + leave.grouping.timed.shift
        arguments = [0x9000, place, size, 0] if leave.point.on_one else []  # registers of an exit have others
        table.hit(arguments, result, stack=stack, now=1000 * number + 1000, frame=number, name=name)
    assert begins == {}
    found = {}
    for group in table.groups():
        place_key, text_key, error = group.keys
        assert text_key.rstrip(b"\0") == b"a file of some length"
        found[int.from_bytes(place_key, "little"), int.from_bytes(error, "little")] = group
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        assert found[key].hits == len(values)
        for read, numbers in zip(found[key].values, zip(*values, strict=True), strict=True):
            assert (read.number, read.sum, read.least, read.most) == (
                len(values),
                sum(numbers),
                min(numbers),
                max(numbers),
            )


def test_what_an_entry_could_not_read_is_in_no_group_or_no_sum() -> None:
    def grouped(key: str, value: str, readable: bool) -> list[tuple[int, int]]:
        request = AggregateRequest((key,), (Statistic(AggregateFunction.SUM, value),))
        text = "f vfs_read%both there=+0($arg1):u32 size=$arg3:u64 $retval"
        entry, leave = with_groups(request, plan_of(text, support=MULTI)).programs
        begins: dict[tuple[int, int], bytes] = {}
        memory = {"there": (0x9000, (7).to_bytes(4, "little"))} if readable else {}
        Table(entry, begins=begins).hit([0x9000, 0, 3], stack=0x4000, **memory)
        table = Table(leave, begins=begins)
        table.hit([], 5, stack=0x4008)
        assert begins == {}
        return [(group.hits, group.values[0].sum) for group in table.groups()]

    assert grouped("there", "$retval", readable=True) == [(1, 5)]
    assert grouped("there", "$retval", readable=False) == []
    assert grouped("errno", "there", readable=True) == [(1, 7)]
    assert grouped("errno", "there", readable=False) == [(1, 0)]


def test_what_cannot_be_read_is_in_no_group_or_no_sum() -> None:
    by_key = Table(program_of("f vfs_read key=+0($arg1):u64 count", ("key",), "count"))
    assert by_key.hit([0x9000, 0, 3])["passed"] == 1 and by_key.groups() == []
    by_comm = Table(program_of("f vfs_read value=+0($arg1):u64", ("comm",), "value"))
    by_comm.hit([0x9000])
    by_comm.hit([0x9000], value=(0x9000, (7).to_bytes(8, "little")))
    (group,) = by_comm.groups()
    assert (group.hits, group.values[0].number, group.values[0].sum) == (2, 1, 7)


def test_a_call_that_finds_no_room_is_counted() -> None:
    table = Table(program_of("f vfs_read count", ("count",)), most=2)
    assert [table.hit([0, 0, count])["lost"] for count in (1, 2, 3, 1)] == [0, 0, 1, 0]
    assert sorted(group.hits for group in table.groups()) == [1, 2]


@given(
    stack=st.lists(st.integers(1, 2**64 - 1), max_size=70),
    cgroup=st.integers(1, 2**64 - 1),
    others=st.sampled_from(((), ("comm",), ("cgroup",), ("cgroup", "name"))),
)
def test_a_stack_is_a_key_as_far_as_there_is_room(stack: list[int], cgroup: int, others: tuple[str, ...]) -> None:
    table = Table(program_of("f vfs_read name=+0($arg1):string count", ("kstack", *others), "count"))
    for _ in range(2):
        table.hit([0x9000, 0, 5], stack=0x4000, name=(0x9000, b"file\0"), kernel_stack=stack, cgroup=cgroup)
    room = {(): 64, ("comm",): 62, ("cgroup",): 63, ("cgroup", "name"): 47}[others]
    if not stack:
        assert table.groups() == [], "what the kernel gives no stack of is in no group"
        return
    (group,) = table.groups()
    assert group.hits == 2 and group.values[0].sum == 10
    assert group.keys[0] == b"".join(one.to_bytes(8, "little") for one in stack[:room]).ljust(8 * room, b"\0")
    if "cgroup" in others:
        assert int.from_bytes(group.keys[1], "little") == cgroup
    if "name" in others:
        assert group.keys[2].rstrip(b"\0") == b"file"


def test_a_stack_has_no_frames_of_its_program() -> None:
    for support, machine_frames in ((MULTI, 0), (FENTRY, 2)):
        request = AggregateRequest(("kstack",))
        (program,) = with_groups(request, plan_of("f vfs_read", support=support)).programs
        flags = [
            before.immediate
            for before, one in pairwise(assembled(program, (), 1, counter_stride(1)))
            if (one.code, one.immediate) == (CALL, Helper.GET_STACK)
        ]
        assert flags == [machine_frames]


def test_filters_choose_what_is_grouped() -> None:
    table = Table(program_of("f vfs_read count if count > 10", ("comm",), "count"))
    assert [table.hit([0, 0, count])["passed"] for count in (10, 11, 12)] == [0, 1, 1]
    (group,) = table.groups()
    assert (group.hits, group.values[0].sum) == (2, 23)


@pytest.mark.parametrize(
    ("text", "keys", "values", "told"),
    [
        ("f vfs_read count", ("preempt",), (), "preempt is no key of programs"),
        ("f vfs_read count", ("errno",), (), "NAME%return $retval"),
        ("f vfs_read +0(buf):string +0(buf):string", ("comm",), ("arg2",), "no number"),
        ("f vfs_read many=+0($arg1):u8[4]", ("many",), (), "several values"),
        ("f vfs_read count", ("comm",), ("latency",), "latency is of calls, whose ends NAME%both has"),
        ("f vfs_read%both count $retval", ("count", "errno", "nothing"), (), "nothing is no key of programs"),
        ("f vfs_read%both many=+0($arg1):u8[4] $retval", ("many",), ("$retval",), "several values"),
    ],
)
def test_what_no_program_groups_by_is_refused(
    text: str, keys: tuple[str, ...], values: tuple[str, ...], told: str
) -> None:
    with pytest.raises(AggregateError) as caught:
        program_of(text, keys, *values)
    assert told in str(caught.value)
