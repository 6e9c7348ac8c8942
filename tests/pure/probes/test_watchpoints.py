"""Watchpoints: places, the verdict on each machine before anything is set, and what their program records."""

from __future__ import annotations

import dataclasses
import errno
import struct
from collections.abc import Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btf.kinds import Kind
from btf.layout import find_field
from events.bpf_layout import STACK_BYTES
from kernel.bpf.calls import BpfRefused
from kernel.bpf.refusals import refusal_of
from kernel.bpf.watchpoints import slots_obstacle
from kernel.connection.plan_of_boot import plan_of_boot
from kernel.connection.planner import Planner
from probes.bpf.disassembly import listing
from probes.bpf.instructions import BpfInstruction, Helper, MapRole
from probes.bpf.kernel_loads import NO_LOADS
from probes.bpf.program import BpfProgram, ProgramMode, counter_stride
from probes.bpf.program_writer import assembled
from probes.bpf.registers import SAVED_REGISTERS
from probes.bpf.watchpoints.memory import LENGTHS, MemoryAccess, WatchedMemory, memory_obstacle
from probes.bpf.watchpoints.watch_writer import first_value
from probes.command import parse_armable
from probes.export.dialect import CannotExport, ExportDialect
from probes.export.export import DIALECTS, export
from probes.facts.lookups import Environment, SymbolPlace
from probes.lowering.lower import lower
from probes.lowering.other_kernels import lower_for_others
from probes.plans.json_values import plan_from_dict, plan_to_dict
from probes.plans.plan import Plan, Via
from probes.refusal import CannotLower
from probes.sources.memory_place import MemoryPlace
from tests.bpf_machine import BpfMachine
from tests.probes_data import kernel, whole_types

AT = 0xFFFF_FFFF_8264_9098
SYMBOLS = {
    "counter": [SymbolPlace(AT, 4)],
    "word": [SymbolPlace(AT, 8)],
    "table": [SymbolPlace(AT, 4096)],
    "twice": [SymbolPlace(AT, 8), SymbolPlace(AT + 64, 8, "ext4")],
    "low": [SymbolPlace(0x2_1000, 4)],
    "mine": [SymbolPlace(0xFFFF_FFFF_8300_0010, 8)],
    "__per_cpu_start": [SymbolPlace(0xFFFF_FFFF_8300_0000, 0)],
    "__per_cpu_end": [SymbolPlace(0xFFFF_FFFF_8303_0000, 0)],
}
ENVIRONMENT = Environment(symbol_places=lambda name: SYMBOLS.get(name, ()))
X86 = kernel("7.2")
CONTEXT, CONTROL, COUNTERS, RINGS, RECORD, WATCHED = 0x10000, 0x20000, 0x30000, 0x40000, 0x50000, 0x60000
IP = 0xFFFF_FFFF_8112_3456
STRIDE = counter_stride(1)


def plan_of(text: str, machine: str = "x86_64", via: Via = Via.TRACEFS) -> Plan:
    facts = dataclasses.replace(X86.facts, machine=machine)
    btf = X86.btf if machine == "x86_64" else whole_types()
    return lower(parse_armable(text), btf, facts, "g", environment=ENVIRONMENT, via=via)


def program_of(text: str, machine: str = "x86_64") -> BpfProgram:
    (program,) = plan_of(text, machine).programs
    return program


def memory_of(text: str, machine: str = "x86_64") -> WatchedMemory:
    memory = program_of(text, machine).memory
    assert memory is not None
    return memory


@given(
    st.builds(
        MemoryPlace,
        st.from_regex(r"[A-Za-z_.][A-Za-z0-9_.$]{0,20}", fullmatch=True),
        st.integers(0, (1 << 32) - 1),
        st.sampled_from(["", "ext4", "net_failover"]),
    )
    | st.builds(MemoryPlace, st.just(""), st.integers(0, (1 << 64) - 1), st.just(""))
)
def test_text_and_place_are_one(place: MemoryPlace) -> None:
    assert MemoryPlace.parse(str(place)) == place


@given(st.text(max_size=20))
def test_any_text_is_a_place_or_none(text: str) -> None:
    place = MemoryPlace.parse(text)
    assert place is None or MemoryPlace.parse(str(place)) == place


@pytest.mark.parametrize(
    ("text", "address", "length", "access"),
    [
        ("at=counter", AT, 4, MemoryAccess.W),
        ("at=word", AT, 8, MemoryAccess.W),
        ("at=table", AT, 8, MemoryAccess.W),
        ("at=table+0x14", AT + 0x14, 4, MemoryAccess.W),
        ("at=table+7 access=rw", AT + 7, 1, MemoryAccess.RW),
        ("at=counter len=2", AT, 2, MemoryAccess.W),
        ("at=word type=s16", AT, 2, MemoryAccess.W),
        ("at=ext4:twice", AT + 64, 8, MemoryAccess.W),
        ("at=0xffff888000001000+0xa", 0xFFFF88800000100A, 2, MemoryAccess.W),
        ("at=0xffff888000001002", 0xFFFF888000001002, 2, MemoryAccess.W),
    ],
)
def test_memory_that_is_watched(text: str, address: int, length: int, access: MemoryAccess) -> None:
    memory = memory_of(f"watchpoint {text}")
    assert (memory.address, memory.length, memory.access) == (address, length, access)


def test_a_field_of_an_object() -> None:
    memory = memory_of("watchpoint at=0xffff888000001000 field=file.f_pos", "aarch64")
    path = resolve_field("file", "f_pos")
    assert (memory.address, memory.length) == (0xFFFF888000001000 + path, 8)
    plan = plan_of("watchpoint at=0xffff888000001000 field=task_struct.se.vruntime", "aarch64")
    assert [event.event for event in plan.events] == ["watch_0xffff888000001000_se_vruntime"]
    assert [column.btf_type is not None for column in plan.events[0].columns] == [False, True]
    assert not any("unknown" in note for note in plan.losses)


def resolve_field(structure: str, field: str) -> int:
    found = whole_types().find(structure, Kind.STRUCT)
    assert found is not None
    return find_field(whole_types(), found, field).bit_offset // 8


def test_what_was_guessed_is_said() -> None:
    assert any("type is unknown, 4 bytes" in note for note in plan_of("watchpoint at=counter").losses)
    assert not plan_of("watchpoint at=counter len=4").losses
    assert not plan_of("watchpoint at=counter type=s32").losses


@pytest.mark.parametrize(
    ("text", "machine", "word", "said"),
    [
        ("watchpoint", "x86_64", "watchpoint", "at="),
        ("watchpoint at=nothing", "x86_64", "nothing", "kallsyms"),
        ("watchpoint at=twice", "x86_64", "twice", "2 symbols"),
        ("watchpoint at=mine", "x86_64", "mine", "Each CPU"),
        ("watchpoint at=low", "x86_64", "low", "Each CPU"),
        ("watchpoint at=0x21000", "x86_64", "at=0x21000", "no address of the kernel"),
        ("watchpoint at=0x7ffff7a00000", "aarch64", "at=0x7ffff7a00000", "no address of the kernel"),
        ("watchpoint at=counter+0x4", "x86_64", "counter+0x4", "4 bytes"),
        ("watchpoint at=table+0x2 len=4", "x86_64", "at=table+0x2", "multiple of 4"),
        ("watchpoint at=table+0x6 len=4", "aarch64", "at=table+0x6", "one word"),
        ("watchpoint at=counter access=r", "x86_64", "access=r", "reads alone"),
        ("watchpoint at=counter len=4 type=u64", "x86_64", "len=4", "8 bytes"),
        ("watchpoint at=counter len=3", "x86_64", "3", "1 or 2 or 4 or 8"),
        ("watchpoint at=table field=file", "aarch64", "file", "structure"),
        ("watchpoint at=table field=no_such.thing", "aarch64", "no_such.thing", "no structure"),
        ("watchpoint at=table field=file.f_poss", "aarch64", "file.f_poss", "no field f_poss"),
        ("watchpoint at=table field=file.f_pos.x", "aarch64", "file.f_pos.x", "is no structure"),
        ("watchpoint at=counter field=file.f_pos", "aarch64", "field=file.f_pos", "next symbol"),
        (
            "watchpoint at=table field=task_struct.sched_migrated",
            "aarch64",
            "task_struct.sched_migrated",
            "bit-field",
        ),
        ("watchpoint at=0xffffffffffffffff+1", "x86_64", "0xffffffffffffffff+1", "variable"),
        ("watchpoint at=1+2", "x86_64", "1+2", "variable"),
    ],
)
def test_refused_before_anything_is_set(text: str, machine: str, word: str, said: str) -> None:
    with pytest.raises(Exception) as raised:
        plan_of(text, machine)
    refusal = raised.value.refusal  # type: ignore[attr-defined]
    assert refusal.token == word
    assert text[refusal.column :].startswith(word)
    assert said in refusal.hint


@pytest.mark.parametrize("text", ["at=counter access=r", "at=table+0x2 len=4", "at=table+0x6 len=2"])
def test_arm64_takes_what_x86_does_not(text: str) -> None:
    assert memory_of(f"watchpoint {text}", "aarch64").address >= AT


@given(st.integers(0, (1 << 64) - 1), st.sampled_from(LENGTHS), st.sampled_from(MemoryAccess))
def test_registers_of_x86_never_get_what_the_kernel_rejects(address: int, length: int, access: MemoryAccess) -> None:
    option, reason = memory_obstacle(WatchedMemory(address, length, access, "x"), "x86_64")
    accepted = address >> 56 == 0xFF and address & (length - 1) == 0 and access is not MemoryAccess.R
    assert bool(option) == bool(reason) == (not accepted)


def test_kernels_that_can_not_do_it_are_refused() -> None:
    """On arm64 also those whose perf event may have the program in place of the handler that steps on."""
    probe = parse_armable("watchpoint at=counter")
    for machine, btf, said in (
        ("aarch64", None, "goes on behind"),
        ("aarch64", kernel("6.1").btf, "6.11"),
        ("riscv64", X86.btf, "x86-64 and arm64"),
    ):
        with pytest.raises(CannotLower, match=said):
            lower(probe, btf, dataclasses.replace(X86.facts, machine=machine), "g", environment=ENVIRONMENT)


def test_other_kernels_are_assumed_to_have_the_variable() -> None:
    others = lower_for_others(parse_armable("watchpoint at=counter"), X86.btf, {"6.12": kernel("6.12").facts})
    assert others["6.12"].error is None
    refused = lower_for_others(parse_armable("watchpoint at=counter access=r"), X86.btf, {"6.12": X86.facts})
    assert refused["6.12"].error is not None


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_no_other_tool_gets_a_text_of_it(dialect: ExportDialect) -> None:
    with pytest.raises(CannotExport, match="watchpoint counter: a program of ours"):
        export(dialect, [plan_of("watchpoint at=counter")], X86.facts)


def test_after_a_reboot_the_variable_is_found_again() -> None:
    plan, moved = plan_of("watchpoint at=counter stack=on"), AT + 0x1000
    environment = Environment(symbol_places=lambda _: [SymbolPlace(moved, 4)])
    planner = SimpleNamespace(
        lower=lambda probe, group: lower(probe, X86.btf, X86.facts, group, environment=environment)
    )
    (program,) = plan_of_boot(cast(Planner, planner), plan, "g").programs
    assert program.memory is not None
    assert program.memory.address == moved
    assert dataclasses.replace(program, memory=plan.programs[0].memory) == plan.programs[0]


def test_by_programs_whatever_is_asked_for() -> None:
    for via in Via:
        plan = plan_of("watchpoint at=counter", via=via)
        assert plan.by_programs
        assert [event.path for event in plan.events] == ["g/watch_counter"]
        assert [column.name for column in plan.events[0].columns] == ["ip", "old", "new"]
        assert plan_from_dict(plan_to_dict(plan)).probe == plan.probe
    assert [column.name for column in plan_of("watchpoint at=counter", "aarch64").events[0].columns] == ["ip", "old"]
    assert "xchg" in "\n".join(listing(program_of("watchpoint at=counter")))
    stacked = program_of("watchpoint at=counter stack=on")
    assert stacked.has_stack
    assert stacked.size == stacked.fields_size + STACK_BYTES


class Accesses:
    """Accesses to memory on one CPU, with the program that each of them runs."""

    def __init__(self, program: BpfProgram, first: int) -> None:
        memory = program.memory
        assert memory is not None
        self.program, self.memory, self.value = program, memory, first
        self.records: list[tuple[int, ...]] = []
        self.machine = BpfMachine(
            {
                Helper.GET_CURRENT_PID_TGID: lambda _: 42 << 32 | 43,
                Helper.MAP_LOOKUP_ELEM: lambda _: RINGS,
                Helper.GET_SMP_PROCESSOR_ID: lambda _: 0,
                Helper.KTIME_GET_NS: lambda _: 5,
                Helper.GET_CURRENT_COMM: lambda _: 0,
                Helper.PROBE_READ_KERNEL: self._read,
                Helper.RINGBUF_RESERVE: self._reserve,
                Helper.RINGBUF_SUBMIT: self._submit,
            }
        )
        self.machine.write(CONTEXT + SAVED_REGISTERS["x86_64"].program_counter, struct.pack("<Q", IP))
        self.machine.write(COUNTERS, bytes(STRIDE))
        self.machine.write(WATCHED, bytes(16))
        self.mode(ProgramMode.RECORD)
        assert self._run(first_value(memory)) == 0

    def mode(self, mode: ProgramMode) -> None:
        self.machine.write(CONTROL, struct.pack("<II", mode, 0x8005))

    def write(self, value: int) -> None:
        self.value = value
        assert self._run(assembled(self.program, (), 1, STRIDE)) == 0

    @property
    def runs(self) -> int:
        return self.machine.read(WATCHED + 8, 8)

    def _run(self, program: Sequence[BpfInstruction]) -> int:
        maps = {MapRole.CONTROL: CONTROL, MapRole.COUNTERS: COUNTERS, MapRole.RINGS: RINGS, MapRole.WATCHED: WATCHED}
        self.machine.registers[1] = CONTEXT
        return self.machine.run(
            [
                one
                if one.code != 0x18 or not one.source
                else one._replace(source=0, immediate=maps[MapRole(one.immediate)])
                for one in program
            ]
        )

    def _read(self, machine: BpfMachine) -> int:
        target, size, address = machine.registers[1:4]
        assert (address, size) == (self.memory.address, self.memory.length)
        machine.write(target, self.value.to_bytes(8, "little")[:size])
        return 0

    def _reserve(self, machine: BpfMachine) -> int:
        machine.write(RECORD, bytes(machine.registers[2]))
        return RECORD

    def _submit(self, machine: BpfMachine) -> int:
        fields = self.program.layout.fields
        self.records.append(tuple(machine.read(RECORD + one.offset, one.type.size) for one in fields))
        return 0


@given(
    st.sampled_from(LENGTHS).flatmap(
        lambda size: st.tuples(
            st.just(size), st.lists(st.integers(0, (1 << 8 * size) - 1), min_size=2, max_size=8), st.booleans()
        )
    )
)
def test_each_access_has_the_value_before_and_after(given: tuple[int, list[int], bool]) -> None:
    length, values, has_pause = given
    program = dataclasses.replace(program_of(f"watchpoint at=table len={length}"), loads=NO_LOADS)
    accesses = Accesses(program, values[0])
    for value in values[1:]:
        accesses.write(value)
    expected = [(IP, before, after) for before, after in pairwise(values)]
    assert accesses.records == expected
    assert accesses.runs == len(expected)
    if has_pause:  # what is not recorded is known to the next access that is
        accesses.mode(ProgramMode.OFF)
        accesses.write(values[0])
        accesses.mode(ProgramMode.RECORD)
        accesses.write(values[1])
        assert accesses.records == [*expected, (IP, values[0], values[1])]


def test_arm64_records_the_value_before_the_access() -> None:
    program = dataclasses.replace(program_of("watchpoint at=counter", "aarch64"), loads=NO_LOADS)
    assert [value.field.name for value in program.values] == ["ip", "old"]


def test_a_fifth_watchpoint_of_ours_is_refused_on_x86() -> None:
    plan = plan_of("watchpoint at=counter")
    assert not slots_obstacle(plan, [plan] * 3, "x86_64")
    assert "4 watchpoints" in slots_obstacle(plan, [plan] * 4, "x86_64")
    assert not slots_obstacle(plan, [plan] * 4, "aarch64")


@pytest.mark.parametrize(
    ("number", "said"), [(errno.ENOSPC, "debug registers"), (errno.EFAULT, "mapped"), (errno.EPERM, "CAP_SYS_ADMIN")]
)
def test_errors_of_the_kernel_are_explained(number: int, said: str) -> None:
    error = refusal_of(plan_of("watchpoint at=counter"), BpfRefused("watching counter", number)).verdict.error
    assert error is not None
    assert said in error.hint
