"""Programs of whole probes: what they record is what the format says, and what they can't do is refused."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btf.kinds import Kind
from btf.layout import find_field
from events.bpf_layout import EVENT_ID, FAULTS, LOST, PID, RECORD_DATA, STACK_BYTES, STAMP
from events.format import parse_format
from probes.bpf.disassembly import listing
from probes.bpf.exclusions import exclusion_reason
from probes.bpf.instructions import Helper
from probes.bpf.kernel_loads import NO_LOADS, AddressCast, KernelLoads, kernel_loads
from probes.bpf.lower import with_stacks
from probes.bpf.program import COUNTER_NAMES, LOST_BYTES, PROGRAM_BYTES, BpfProgram, ProgramMode, counter_stride
from probes.bpf.program_writer import assembled
from probes.bpf.registers import SAVED_REGISTERS
from probes.command import parse_armable
from probes.facts.lookups import Environment
from probes.facts.program_support import ProgramSupport
from probes.lowering.lower import lower
from probes.plans.plan import Plan, Via
from probes.refusal import CannotLower
from probes.syntax.parse import parse_probe
from tests.bpf_machine import STACK, BpfMachine
from tests.probes_data import kernel

CONTEXT, CONTROL, COUNTERS, RINGS, RECORD, OBJECTS = 0x10000, 0x20000, 0x30000, 0x40000, 0x50000, 0x60000
TASK, LOADED = 0x70000, 0x80000
OURS, OTHERS = 7, 4242
FUNCTION, STAMP_NOW = 0xFFFFFFFF81234560, 123_456_789_012


MULTI, FENTRY = ProgramSupport(fentry=False), ProgramSupport(multi=False)
CPUS, CPU, STRIDE = 4, 1, counter_stride(2)


def plan_of(text: str, name: str = "7.2", support: ProgramSupport = MULTI) -> Plan:
    known = kernel(name)
    around = Environment(programs=support)
    return lower(parse_armable(text), known.btf, known.facts, "pw", environment=around, via=Via.BPF)


def program_of(text: str, support: ProgramSupport = MULTI) -> BpfProgram:
    (program,) = plan_of(text, support=support).programs
    return program


class Hit:
    """A hit of a program: registers at the probed function, memory of the kernel, and what came of it."""

    def __init__(self, program: BpfProgram, arguments: list[int], **memory: tuple[int, bytes]) -> None:
        self.reserved = 0
        self.submitted = False
        self.has_room = True
        self.process = OTHERS
        self.objects: set[int] = set()
        self.most_objects = 2
        self.cookie = 0
        self.context = CONTEXT
        self._known = {address + at: byte for address, data in memory.values() for at, byte in enumerate(data)}
        self._program = program
        self.maps: dict[int, int] = {1: CONTROL, 2: COUNTERS, 3: RINGS, 7: OBJECTS}
        self.helpers: dict[Helper, Callable[[BpfMachine], int]] = {
            Helper.GET_CURRENT_PID_TGID: lambda _: self.process << 32 | 4243,
            Helper.GET_CURRENT_TASK_BTF: self._task,
            Helper.MAP_LOOKUP_ELEM: self._look_up,
            Helper.GET_SMP_PROCESSOR_ID: lambda _: CPU,
            Helper.KTIME_GET_NS: lambda _: STAMP_NOW,
            Helper.GET_FUNC_IP: lambda _: FUNCTION,
            Helper.GET_CURRENT_COMM: lambda machine: self._write(machine, b"worker/1"),
            Helper.PROBE_READ_KERNEL: self._read,
            Helper.PROBE_READ_USER: lambda machine: self._write(machine, b"") - 14,
            Helper.PROBE_READ_KERNEL_STR: self._read_text,
            Helper.PROBE_READ_USER_STR: lambda _: -14,
            Helper.RINGBUF_RESERVE: self._reserve,
            Helper.RINGBUF_SUBMIT: self._submit,
            Helper.MAP_UPDATE_ELEM: self._track,
            Helper.MAP_DELETE_ELEM: self._forget,
            Helper.GET_FUNC_ARG: self._argument,
            Helper.GET_ATTACH_COOKIE: lambda machine: self.cookie if machine.registers[1] == self.context else -1,
        }
        cast = program.loads.cast
        self.machine = BpfMachine(self.helpers, {cast.function: self._cast} if cast is not None else {})
        offsets = range(0, 8 * len(arguments), 8) if program.point.on_one else SAVED_REGISTERS["x86_64"].arguments
        for offset, value in zip(offsets, arguments, strict=False):
            self.machine.write(CONTEXT + offset, value.to_bytes(8, "little"))
        self.machine.write(COUNTERS, bytes(CPUS * STRIDE))
        self.control(ProgramMode.RECORD)

    def control(self, mode: ProgramMode) -> None:
        self.machine.write(CONTROL, struct.pack("<II", mode, 0x8005))

    def run(self) -> dict[str, int]:
        """Run the program once; return its counters."""
        self.machine.registers[1] = self.context
        program = [
            one if one.code != 0x18 or not one.source else one._replace(source=0, immediate=self.maps[one.immediate])
            for one in assembled(self._program, [OURS], CPUS, STRIDE)
        ]
        assert self.machine.run(program) == 0
        own = COUNTERS + CPU * STRIDE + LOST_BYTES + self._program.number * PROGRAM_BYTES
        return {name: self.machine.read(own + 8 * at, 8) for at, name in enumerate(COUNTER_NAMES)}

    def field(self, name: str) -> int | bytes:
        """A field of the record, by the event's format: a number, or a text."""
        text = self._program.layout.format_text("event", 0x8005, self._program.fields_size)
        fmt = parse_format(text)
        field = next(one for one in fmt.fields if one.name == name)
        shift = fmt.fields[0].offset - self._program.layout.fields[0].offset
        at = RECORD + field.offset - shift
        data = bytes(self.machine.memory[at + place] for place in range(field.size))
        return (
            data.partition(b"\0")[0] if "char" in field.type else int.from_bytes(data, "little", signed=field.signed)
        )

    def head(self, offset: int, size: int) -> int:
        return self.machine.read(RECORD + offset, size)

    def _task(self, machine: BpfMachine) -> int:
        task = self._program.loads.task
        assert task is not None
        machine.write(TASK + task.thread, struct.pack("<i", 4243))
        machine.write(TASK + task.process, struct.pack("<i", self.process))
        machine.write(TASK + task.comm, b"worker/1".ljust(16, b"\0"))
        return TASK

    def _cast(self, machine: BpfMachine) -> int:
        """Return memory with the 8 bytes at an address: zeros where a load fails."""
        assert self._program.loads.cast is not None
        assert machine.registers[2] == self._program.loads.cast.structure
        machine.write(LOADED, bytes(self._known.get(machine.registers[1] + at, 0) for at in range(8)))
        return LOADED

    def _look_up(self, machine: BpfMachine) -> int:
        assert STACK - 512 <= machine.registers[2] < STACK
        if machine.registers[1] == OBJECTS:
            return OBJECTS if machine.read(machine.registers[2], 8) in self.objects else 0
        assert machine.registers[1] == RINGS and machine.read(machine.registers[2], 4) == CPU
        return RECORD

    def _argument(self, machine: BpfMachine) -> int:
        assert machine.registers[1] == self.context
        value = machine.read(self.context + 8 * machine.registers[2], 8)
        machine.write(machine.registers[3], value.to_bytes(8, "little"))
        return 0

    def _reserve(self, machine: BpfMachine) -> int:
        self.reserved = machine.registers[2]
        machine.write(RECORD, b"\xee" * self.reserved)
        return RECORD if self.has_room else 0

    def _submit(self, _: BpfMachine) -> int:
        self.submitted = True
        return 0

    def _track(self, machine: BpfMachine) -> int:
        assert machine.registers[1] == OBJECTS and machine.registers[4] == 0
        if len(self.objects) == self.most_objects:
            return -7
        self.objects.add(machine.read(machine.registers[2], 8))
        return 0

    def _forget(self, machine: BpfMachine) -> int:
        assert machine.registers[1] == OBJECTS
        self.objects.discard(machine.read(machine.registers[2], 8))
        return 0

    def _write(self, machine: BpfMachine, data: bytes) -> int:
        """As the helpers do: what is not read is zero."""
        machine.write(machine.registers[1], data.ljust(machine.registers[2], b"\0"))
        return 0

    def _read(self, machine: BpfMachine) -> int:
        address, size = machine.registers[3], machine.registers[2]
        whole = all(address + at in self._known for at in range(size))
        self._write(machine, bytes(self._known[address + at] for at in range(size)) if whole else b"")
        return 0 if whole else -14

    def _read_text(self, machine: BpfMachine) -> int:
        address, size = machine.registers[3], machine.registers[2]
        if address not in self._known:
            return -14
        data = bytes(self._known.get(address + at, 0) for at in range(size)).partition(b"\0")[0][: size - 1]
        machine.write(machine.registers[1], data + b"\0")
        return len(data) + 1


def test_a_record_has_its_head_its_function_and_its_fields() -> None:
    program = program_of("f vfs_read count=$arg3:u64 low=$arg3:s16 $comm bits=$arg3:b4@4/32")
    hit = Hit(program, [1, 2, 0xFFFFFFFF])
    assert hit.run() == {"hits": 1, "passed": 1, "lost": 0, "recorded": 1}
    assert hit.submitted and hit.reserved == program.size
    assert (hit.head(STAMP, 8), hit.head(PID, 4), hit.head(LOST, 4)) == (STAMP_NOW, 4243, 0)
    assert (hit.head(FAULTS, 4), hit.head(EVENT_ID, 4)) == (0, 0x8005)
    assert hit.field("__probe_ip") == FUNCTION
    assert [hit.field(name) for name in ("count", "low", "comm", "bits")] == [0xFFFFFFFF, -1, b"worker/1", 15]


def test_memory_is_followed_and_a_fault_is_of_its_field_only() -> None:
    program = program_of(
        "f vfs_read a=+8(+16($arg1)):u32 b=+0(+24($arg1)):string c=+0(+400($arg1)):u64 d=+0($arg2):string"
    )
    hit = Hit(
        program,
        [0x9000, 0xDEAD0000],
        pointers=(0x9010, struct.pack("<QQ", 0xA000, 0xB000)),
        number=(0xA008, struct.pack("<I", 77)),
        text=(0xB000, b"name\0"),
    )
    hit.run()
    assert [hit.field(name) for name in "abcd"] == [77, b"name", 0, b"(fault)"]
    names = [one.name for one in program.layout.fields]
    assert hit.head(FAULTS, 4) == 1 << names.index("c") | 1 << names.index("d")


@pytest.mark.parametrize("support", [MULTI, FENTRY])
@given(
    values=st.dictionaries(st.sampled_from(range(0x9000, 0x9040, 8)), st.integers(0, 2**64 - 1) | st.just(0)),
    first=st.sampled_from([0, 0x9000, 0x9008, 0x9020, 0xDEAD0000]),
    pointer=st.sampled_from([0, 0x9000, 0x9010, 0xDEAD0000]),
)
def test_loads_record_what_helpers_record(
    support: ProgramSupport, values: dict[int, int], first: int, pointer: int
) -> None:
    by_helpers = replace(
        program_of(
            "f vfs_read a=+0($arg1):u64 b=+0(+8($arg1)):s16 c=+4(+0(+16($arg1))):b3@2/8 d=+8($arg1):u8 $comm "
            "if b > 3 || a == 0",
            support,
        ),
        loads=NO_LOADS,
    )
    loads = KernelLoads(kernel_loads(kernel("7.2").btf).task, AddressCast(function=1234, structure=56))
    memory = {f"at{at}": (at, struct.pack("<Q", value)) for at, value in values.items()}
    memory["pointer"] = 0x9008, struct.pack("<Q", pointer)
    records = []
    for one in (by_helpers, replace(by_helpers, loads=loads)):
        hit = Hit(one, [first, 1, 2], **memory)
        counts = hit.run()
        record = [hit.machine.memory[RECORD + at] for at in range(one.size)] if hit.submitted else []
        records.append((counts, record))
    assert records[0] == records[1]


def test_a_load_at_an_address_is_listed_as_a_call_of_a_kernel_function() -> None:
    loads = KernelLoads(None, AddressCast(function=1234, structure=56))
    lines = listing(replace(program_of("f vfs_read a=+0(+8($arg1)):u64"), loads=loads))
    assert sum(line.endswith("call kfunc#1234") for line in lines) == 2


@pytest.mark.parametrize("name", ["7.2", "6.1"])
def test_loads_are_by_the_types_of_the_kernel(name: str) -> None:
    btf = kernel(name).btf
    loads, task = kernel_loads(btf), btf.find("task_struct", Kind.STRUCT)
    assert task is not None and loads.task is not None
    fields = [find_field(btf, task, member).bit_offset // 8 for member in ("pid", "tgid", "comm")]
    assert [*loads.task] == fields
    assert (loads.cast is None) == (btf.function("bpf_rdonly_cast") is None)
    assert kernel_loads(None) == NO_LOADS


def test_stack_arguments_come_from_the_stack() -> None:
    hit = Hit(
        program_of("f vfs_read eighth=$arg8 first=$stack1"), [0] * 6, stack=(0x7000, struct.pack("<4Q", 1, 2, 3, 4))
    )
    hit.machine.write(CONTEXT + SAVED_REGISTERS["x86_64"].stack_pointer, struct.pack("<Q", 0x7000))
    hit.run()
    assert (hit.field("eighth"), hit.field("first")) == (3, 2)


@pytest.mark.parametrize(
    ("mode", "counted"),
    [
        (ProgramMode.OFF, {"hits": 0, "passed": 0, "lost": 0, "recorded": 0}),
        (ProgramMode.COUNT, {"hits": 1, "passed": 1, "lost": 0, "recorded": 0}),
        (ProgramMode.RECORD, {"hits": 1, "passed": 1, "lost": 0, "recorded": 1}),
    ],
)
def test_a_mode_decides_what_a_hit_does(mode: ProgramMode, counted: dict[str, int]) -> None:
    hit = Hit(program_of("f vfs_read"), [])
    hit.control(mode)
    assert hit.run() == counted
    assert hit.submitted == (mode is ProgramMode.RECORD)


def test_a_hit_without_room_is_counted_as_lost() -> None:
    hit = Hit(program_of("f vfs_read"), [])
    hit.has_room = False
    assert hit.run() == {"hits": 1, "passed": 1, "lost": 1, "recorded": 0}
    assert not hit.submitted


def test_our_own_processes_are_left_alone() -> None:
    hit = Hit(program_of("f vfs_read"), [])
    hit.process = OURS
    assert hit.run()["hits"] == 0


@pytest.mark.parametrize(("count", "passes"), [(101, 1), (100, 0)])
def test_a_filter_that_is_false_reserves_nothing(count: int, passes: int) -> None:
    hit = Hit(program_of('f vfs_read count if count > 100 && comm ~ "work*"'), [0, 0, count])
    counted = hit.run()
    assert (counted["hits"], counted["passed"], counted["recorded"]) == (1, passes, passes)
    assert bool(hit.reserved) == bool(passes)
    if passes:
        assert hit.field("count") == count


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        ("func == vfs_write", {"vfs_write"}),
        ('func == "vfs_write"', {"vfs_write"}),
        ("func != vfs_write", {"vfs_read", "vfs_open"}),
        ("func == vfs_write || func == vfs_open", {"vfs_write", "vfs_open"}),
        ("func == vfs_write && a > 5", {"vfs_write"}),
        ("func == vfs_write && a > 6", set()),
    ],
)
@pytest.mark.parametrize("support", [MULTI, FENTRY])
def test_a_filter_compares_the_function(support: ProgramSupport, condition: str, wanted: set[str]) -> None:
    plan = plan_of(f"f vfs_read,vfs_write,vfs_open a=$arg1 if {condition}", support=support)
    passed = set()
    for program in plan.programs:
        assert program.numbered == (support is MULTI)
        for number, function in enumerate(program.functions):
            hit = Hit(replace(program, number=0), [6, 0])
            hit.cookie = number
            passed |= {function} if hit.run()["recorded"] else set()
    assert passed == wanted


def test_both_ends_have_their_fields_and_share_the_length_of_their_records() -> None:
    plan = plan_of("f vfs_read%both file count $retval")
    entry, exit_ = plan.events
    assert [column.label for column in entry.columns] == ["file", "count"]
    (at_entry,), (at_exit,) = entry.programs, exit_.programs
    assert at_entry.size == at_exit.size
    assert (entry.frame, exit_.frame, exit_.frame_shift) == ("frame", "frame", 8)
    names = [one.name for one in at_exit.layout.fields]
    assert names == ["__probe_func", "__probe_ret_ip", "ret", "frame"]
    assert at_exit.layout.fields[0].offset == RECORD_DATA


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("p vfs_read+4", "where a function begins"),
        ("t sched_switch", "Only probes on functions"),
        ("f vfs_read a=@jiffies", "No program computes @jiffies"),
        ("f vfs_read a=+0($arg1):symstr", "No program computes symstr"),
        ('f vfs_read n=+0($arg2):string if n ~ "*[e]nd"', "No program computes"),
    ],
)
def test_other_probes_are_refused_with_a_way_out(text: str, said: str) -> None:
    with pytest.raises(CannotLower) as caught:
        plan_of(text)
    hint = caught.value.refusal.hint
    assert said in hint
    assert "--via tracefs" in hint


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("f vfs_read b=$arg1 a=@jiffies", "@jiffies"),
        ("f vfs_read b=$arg1 a=+0($arg1):symstr", "symstr"),
        ('f vfs_read n=+0($arg2):string if n ~ "*[e]nd"', 'n ~ "'),
    ],
)
def test_a_refusal_stands_at_the_part_that_no_program_computes(text: str, part: str) -> None:
    with pytest.raises(CannotLower) as caught:
        plan_of(text)
    assert caught.value.refusal.column == text.index(part)
    assert caught.value.refusal.token.startswith(part)


@pytest.mark.parametrize(("support", "own"), [(MULTI, 0), (FENTRY, 2)])
@pytest.mark.parametrize("ends", ["", "%both"])
def test_a_stack_is_behind_the_fields_of_each_record(support: ProgramSupport, own: int, ends: str) -> None:
    plain = plan_of(f"f vfs_read{ends} count", support=support)
    probe = replace(parse_probe(f"f vfs_read{ends} count"), stack=True)
    known, around = kernel("7.2"), Environment(programs=support)
    plan = lower(probe, known.btf, known.facts, "pw", environment=around, via=Via.BPF)
    assert plan.events == with_stacks(plain).events and with_stacks(plan) == plan
    assert all(event.triggers == ("stacktrace",) for event in plan.events)
    for program, before in zip(plan.programs, plain.programs, strict=True):
        assert program.size == before.size + STACK_BYTES and program.fields_size == before.size
        for frames in ([], [0xFFFFFFFF81000000 + n for n in range(7)]):
            hit = Hit(program, [0, 0, 42])
            hit.machine.memory = dict.fromkeys(range(CONTEXT, CONTEXT + 168), 0) | hit.machine.memory
            data = b"".join(one.to_bytes(8, "little") for one in frames)

            def stack(machine: BpfMachine, data: bytes = data) -> int:
                _, context, target, size, flags, *_ = machine.registers
                assert (context, size, flags) == (CONTEXT, STACK_BYTES - 8, own)
                machine.write(target, data)
                return len(data) or -14

            hit.helpers[Helper.GET_STACK] = stack
            assert hit.run()["recorded"] == 1 and hit.reserved == program.size
            assert hit.head(program.fields_size, 8) == (len(data) or 2**64 - 14)
            assert all(hit.head(program.fields_size + 8 + 8 * n, 8) == one for n, one in enumerate(frames))


def test_other_triggers_are_left_to_tracefs() -> None:
    known = kernel("7.2")
    with pytest.raises(CannotLower) as caught:
        probe = replace(parse_probe("f vfs_read"), triggers=("stacktrace", "traceoff"))
        lower(probe, known.btf, known.facts, "pw", via=Via.BPF)
    assert "no triggers but stacktrace" in str(caught.value)


def test_a_machine_without_known_registers_is_refused() -> None:
    known = kernel("7.2")
    for facts in (replace(known.facts, machine="loongarch64"), replace(known.facts, byteorder="big")):
        with pytest.raises(CannotLower):
            lower(parse_probe("f vfs_read"), known.btf, facts, "pw", via=Via.BPF)


def test_functions_that_programs_run_through_are_never_probed_in_bulk() -> None:
    assert exclusion_reason("__rcu_read_lock") and exclusion_reason("ring_buffer_write")
    assert not exclusion_reason("vfs_read") and not exclusion_reason("tcp_bpf_recvmsg")


def test_a_listing_is_shown_in_place_of_lines() -> None:
    plan = plan_of("f vfs_read")
    assert plan.lines == ()
    assert plan.shown_lines[0].startswith("kprobe.multi on vfs_read, ")
    assert plan.shown_lines[-1].endswith("exit")
