"""Monitors: their places, the paths through a kernel's types, and the verdict before anything is sampled."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Mapping
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btf.btf import Btf
from btf.kinds import Kind
from btf.layout import find_field
from btf.walk import size_of
from foreign.text import encode_text
from kernel.agent.number_readers import number_in
from kernel.connection.plan_of_boot import plan_of_boot
from kernel.connection.planner import Planner
from probes.command import parse_armable
from probes.export.dialect import CannotExport
from probes.export.export import DIALECTS, export
from probes.facts.lookups import Environment, NotReadable, SymbolPlace
from probes.lowering.lower import lower
from probes.lowering.sources.number_path import enumerators
from probes.plans.json_values import plan_from_dict, plan_to_dict
from probes.plans.plan import Plan, Via
from probes.plans.sampled_number import FileNumberPlace, SampledNumber
from probes.refusal import CannotLower
from probes.sources.number_place import NumberPlace
from probes.sources.source import parse_source
from probes.syntax.parse_error import ParseError
from tests.probes_data import kernel, whole_types

AT = 0xFFFF_FFFF_8264_9000
TASK, CORE = 0xFFFF_FFFF_8280_0000, 0xFFFF_FFFF_8300_0000
AREAS = {0: 0xFFFF_8880_0010_0000, 1: 0xFFFF_8880_0020_0000}
SYMBOLS = {
    "counter": [SymbolPlace(AT, 4)],
    "odd": [SymbolPlace(AT + 0x101, 64)],
    "jiffies_64": [SymbolPlace(AT + 0x10, 8)],
    "vm_zone_stat": [SymbolPlace(AT + 0x200, 96)],
    "init_task": [SymbolPlace(TASK, 0x4000)],
    "twice": [SymbolPlace(AT, 8), SymbolPlace(AT + 64, 8, "ext4")],
    "vm_event_states": [SymbolPlace(CORE + 0x100, 0)],
    "kstat": [SymbolPlace(0x2_1000, 0)],
    "vfs_read": [SymbolPlace(AT, 64, code=True)],
    "__per_cpu_start": [SymbolPlace(CORE, 0)],
    "__per_cpu_end": [SymbolPlace(CORE + 0x3_0000, 0)],
    "__per_cpu_offset": [SymbolPlace(AT + 0x800, 0)],
}
FILES = {
    "/proc/meminfo": b"MemTotal:        1013000 kB\nMemFree:          881000 kB\n",
    "/proc/loadavg": b"0.71 0.05 0.10 1/123 4567\n",
    "/proc/net/dev": b"Inter-|   Receive\n eth0: 10 20 30\n",
    "/sys/bus/pci/devices/0000:00:1f.2/numa_node": b"-1\n",
}
X86 = kernel("7.2")


def field_offset(structure: str, name: str) -> int:
    found = whole_types().find(structure, Kind.STRUCT)
    assert found is not None
    return find_field(whole_types(), found, name).bit_offset // 8


def around(memory: Mapping[int, int] | None = None, refused: str = "") -> Environment:
    """Lookups of a machine with two CPUs; `memory`: pointers by address, where all others are 0."""
    offsets = {AT + 0x800 + 8 * cpu: area for cpu, area in AREAS.items()}

    def read(address: int, size: int) -> bytes:
        if refused:
            raise NotReadable(refused)
        words = [(memory or {}).get(at, offsets.get(at, 0)) for at in range(address, address + size, 8)]
        return b"".join(struct.pack("<Q", word) for word in words)[:size]

    def file(path: str, limit: int) -> bytes:
        if path not in FILES:
            raise NotReadable(f"{path}: No such file or directory")
        return FILES[path][:limit]

    def number(text: bytes, key: str, column: int, scale: int) -> int | None:
        return number_in(text, encode_text(key), column, scale)

    return Environment(
        symbol_places=lambda name: SYMBOLS.get(name, ()), read_memory=read, read_file=file, find_number=number
    )


def plan_of(text: str, environment: Environment | None = None, btf: Btf | None = None, cpus: int = 2) -> Plan:
    facts = dataclasses.replace(X86.facts, cpus=cpus)
    return lower(
        parse_armable(text), btf or whole_types(), facts, "g", environment=environment or around(), via=Via.AUTO
    )


def number_of(text: str, environment: Environment | None = None) -> SampledNumber:
    number = plan_of(f"monitor {text}", environment).sampled
    assert number is not None
    return number


def declared(number: SampledNumber) -> list[str]:
    return [field.type.declared for field in number.layout.fields]


@given(st.text(max_size=30) | st.from_regex(r"/(proc|sys)/[ -~]{0,20}", fullmatch=True))
def test_any_text_is_a_place_or_none(text: str) -> None:
    place = NumberPlace.parse(text)
    assert place is None or NumberPlace.parse(str(place)) == place


@pytest.mark.parametrize(
    ("text", "path", "key", "column"),
    [
        ("/proc/meminfo:MemFree", "/proc/meminfo", "MemFree", 1),
        ("/proc/loadavg::3", "/proc/loadavg", "", 3),
        ("/proc/net/dev:eth0:9", "/proc/net/dev", "eth0", 9),
        ("/sys/bus/pci/devices/0000:00:1f.2/numa_node", "/sys/bus/pci/devices/0000:00:1f.2/numa_node", "", 1),
        ("/proc/meminfo:Active(anon)", "/proc/meminfo", "Active(anon)", 1),
    ],
)
def test_places_in_files(text: str, path: str, key: str, column: int) -> None:
    place = NumberPlace.parse(text)
    assert place is not None
    assert place[1:4] == (path, key, column)


@pytest.mark.parametrize(
    "text",
    [
        "/etc/passwd",
        "/proc/",
        "/proc",
        "/proc/../etc/passwd",
        "/sys/a/../../etc/x",
        "/proc//x",
        "/proc/x:k:0",
        "a[",
        "a->",
        "a[-1]",
        "a[b",
        "()a",
        "",
    ],
)
def test_what_is_no_place(text: str) -> None:
    assert NumberPlace.parse(text) is None


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("monitor vm_stat nr_free_pages --every 100ms", "monitor of=vm_stat[nr_free_pages] every=100ms"),
        ("monitor /proc/meminfo:MemFree", "monitor of=/proc/meminfo:MemFree"),
        ("monitor --every=1s jiffies_64 type=x64", "monitor of=jiffies_64 every=1s type=x64"),
        ("monitor of=jiffies_64 every=1000us", "monitor of=jiffies_64 every=1ms"),
    ],
)
def test_names_of_options_may_be_left_out(typed: str, text: str) -> None:
    assert str(parse_source(typed)) == text


def test_a_wrong_value_is_shown_where_it_stands() -> None:
    for text, token in (("monitor /etc/passwd", "/etc/passwd"), ("monitor jiffies --every 1us", "1us")):
        with pytest.raises(ParseError) as error:
            parse_source(text)
        assert error.value.refusal.column == text.index(token)


@pytest.mark.parametrize(
    ("text", "bases", "steps", "fields"),
    [
        ("counter", [AT], (0,), ["u64", "s64"]),
        ("counter type=s32", [AT], (0,), ["s32", "s64"]),
        ("counter type=x32", [AT], (0,), ["u32"]),
        ("jiffies_64", [AT + 0x10], (0,), ["u64", "s64"]),
        ("vm_zone_stat[3]", [AT + 0x200], (24,), ["s64", "s64"]),
        ("vm_zone_stat+0x8[1]", [AT + 0x208], (8,), ["u64", "s64"]),
        ("ext4:twice", [AT + 64], (0,), ["u64", "s64"]),
        ("0xffff888000001000", [0xFFFF888000001000], (0,), ["u64", "s64"]),
    ],
)
def test_variables(text: str, bases: list[int], steps: tuple[int, ...], fields: list[str]) -> None:
    if text.startswith("counter") and "type" not in text:
        with pytest.raises(CannotLower, match="4 bytes up to the next symbol"):
            number_of(text)
        return
    number = number_of(text)
    assert ([base for _, base in number.bases], number.steps, declared(number)) == (bases, steps, fields)
    assert number.has_delta == (len(fields) == 2)


def test_an_enumerator_is_an_index_in_either_case() -> None:
    (free,) = {one.value for one in enumerators(whole_types(), "NR_FREE_PAGES")}
    for text in ("vm_zone_stat[NR_FREE_PAGES]", "vm_zone_stat[nr_free_pages]"):
        assert number_of(text).steps == (8 * free,)
    plan = plan_of("monitor vm_stat nr_free_pages")
    assert plan.sampled is not None and plan.sampled.bases == ((0, AT + 0x200),)
    assert plan.losses == ("vm_stat is called vm_zone_stat by this kernel",)


def test_per_cpu_variables_are_added_up_or_sampled_each() -> None:
    (fault,) = {one.value for one in enumerators(whole_types(), "PGFAULT")}
    events = [(cpu, CORE + 0x100 + area & (1 << 64) - 1) for cpu, area in AREAS.items()]
    total = number_of("vm_event_states.event[PGFAULT]")
    assert (total.bases, total.steps, total.is_summed) == (tuple(events), (8 * fault,), True)
    assert declared(total) == ["u64", "s64"]
    each = number_of("vm_event_states.event[PGFAULT] per=cpu cpus=1")
    assert (each.bases, each.is_summed) == ((events[1],), False)
    early = number_of("kstat.irqs_sum")  # an offset, as on x86-64 before Linux 6.15
    assert early.bases == tuple((cpu, 0x2_1000 + area) for cpu, area in AREAS.items())


def test_pointers_are_followed_by_path() -> None:
    mm, pgd = field_offset("task_struct", "active_mm"), field_offset("mm_struct", "pgd")
    there = 0xFFFF_8880_0300_0000
    memory = {TASK + mm: there}
    for text in ("init_task.active_mm->pgd", "init_task->active_mm.pgd", "(task_struct)init_task.active_mm->pgd"):
        number = number_of(text, around(memory))
        assert (number.bases, number.steps, declared(number)) == (((0, TASK),), (mm, pgd), ["u64"])
    assert declared(number_of("init_task.active_mm->mm_users", around(memory))) == ["s32", "s64"]
    user = number_of("(task_struct)0xffff888003a40000.prio")
    assert (user.bases[0][1], user.steps) == (0xFFFF888003A40000, (field_offset("task_struct", "prio"),))


@pytest.mark.parametrize(
    ("text", "reason", "nearest"),
    [
        ("init_task.active_mm->pgd", "Pointer 1 of the path is NULL", ()),
        ("none_such", "kallsyms", ()),
        ("twice", "2 symbols", (f"0x{AT:x}", f"0x{AT + 64:x}")),
        ("odd", "multiple of 8", ()),
        ("odd type=u16", "multiple of 2", ()),
        ("vfs_read", "is a function", ()),
        ("0x1000", "no address of the kernel", ()),
        ("init_task", "give a field", ("init_task.thread_info",)),
        ("init_task.comm", "give an index", ()),
        ("init_task.comm[16]", "16 elements", ()),
        ("init_task.pri", "no field pri", ("init_task.prio",)),
        ("init_task.prio.x", "no structure", ()),
        ("init_task.sched_reset_on_fork", "bit-field", ()),
        ("counter.x", r"give its structure, as \(task_struct\)counter", ()),
        ("(none_such)counter.x", "no structure none_such", ()),
        ("vm_zone_stat[NONE_SUCH]", "no enumerator", ()),
        ("vm_zone_stat[12]", "96 bytes", ()),
        ("counter type=u32 per=cpu", "no per-CPU", ()),
        ("counter type=u32 cpus=0", "no per-CPU", ()),
        ("vm_event_states.event[PGFAULT] cpus=7", "2 CPUs", ()),
        ("jiffies_64 scale=10", "numbers of files", ()),
        ("/proc/none", "No such file", ()),
        ("/proc/meminfo:MemFre", "no line that begins with MemFre", ("/proc/meminfo:MemFree",)),
        ("/proc/meminfo", "is no number", ("/proc/meminfo::2",)),
        ("/proc/meminfo:MemFree:2", "no number: kB", ("/proc/meminfo:MemFree:1",)),
        ("/proc/meminfo:MemFree:3", "2 words", ("/proc/meminfo:MemFree:1",)),
        ("/proc/loadavg per=cpu", "one number for all CPUs", ()),
        ("/proc/loadavg cpus=1", "one number for all CPUs", ()),
        ("/proc/kmsg", "take away", ()),
        ("/proc/self/root/proc/kmsg", "take away", ()),
        ("/proc/1/fd/0", "take away", ()),
        ("/sys/kernel/tracing/instances/theirs/trace_pipe", "take away", ()),
        ("/sys/kernel/tracing/per_cpu/cpu0/trace_pipe_raw", "take away", ()),
    ],
)
def test_what_is_refused_before_it_is_sampled(text: str, reason: str, nearest: tuple[str, ...]) -> None:
    with pytest.raises(CannotLower, match=reason) as refused:
        number_of(text)
    error = refused.value.refusal
    assert error.nearest[: len(nearest)] == nearest
    assert str(parse_armable(f"monitor {text}"))[error.column :].startswith(error.token)


def test_memory_that_cannot_be_read_has_its_reason() -> None:
    for text in ("jiffies_64", "vm_event_states.event[PGFAULT]"):
        with pytest.raises(CannotLower, match="lockdown"):
            number_of(text, around(refused="/proc/kcore can't be read: lockdown"))
    assert number_of("/proc/meminfo:MemFree", around(refused="lockdown")).file is not None
    with pytest.raises(CannotLower, match="little-endian"):
        lower(parse_armable("monitor jiffies_64"), None, dataclasses.replace(X86.facts, byteorder="big"), "g")


def test_numbers_of_files() -> None:
    number = number_of("/proc/loadavg::3 scale=100 every=2s")
    assert number.file is not None
    assert number.file == FileNumberPlace("/proc/loadavg", "", 3)
    assert (number.scale, number.every_us, declared(number)) == (100, 2_000_000, ["s64", "s64"])
    assert declared(number_of("/sys/bus/pci/devices/0000:00:1f.2/numa_node type=s32")) == ["s32", "s64"]


@pytest.mark.parametrize("text", ["jiffies_64", "/proc/meminfo:MemFree every=1s", "vm_event_states.event[PGFAULT]"])
def test_plans_are_kept_and_shown(text: str) -> None:
    plan = plan_of(f"monitor {text}")
    assert plan.by_programs and not plan.lines and not plan.programs
    assert all("every" in line or "sum" in line for line in plan.shown_lines)
    kept = plan_from_dict(plan_to_dict(plan))
    assert (kept.probe, kept.events, kept.sampled) == (plan.probe, plan.events, None)
    for dialect in DIALECTS:
        with pytest.raises(CannotExport, match="takes the samples"):
            export(dialect, [plan], X86.facts)


def test_for_a_kernel_that_is_not_there_nothing_is_read() -> None:
    plan = lower(parse_armable("monitor jiffies_64"), None, X86.facts, "g")
    assert plan.sampled is not None and len(plan.sampled.bases) == 1
    assert lower(parse_armable("monitor /proc/any:Key"), None, X86.facts, "g").sampled is not None


def test_after_a_reboot_its_variable_is_found_again() -> None:
    plan = plan_of("monitor jiffies_64")
    moved = plan_of("monitor of=vm_zone_stat[1]")
    planner = SimpleNamespace(lower=lambda probe, group: moved)
    fresh = plan_of_boot(cast(Planner, planner), plan, "g")
    assert (fresh.sampled, fresh.events) == (moved.sampled, plan.events)


def test_the_size_of_what_is_taken_for_a_structure() -> None:
    found = whole_types().find("task_struct", Kind.STRUCT)
    assert found is not None and size_of(whole_types(), found) <= 0x4000
