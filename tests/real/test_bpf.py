"""Probes as BPF programs on real kernels, against events of tracefs on the same calls."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace

import pytest

from events.stacks.stack import kernel_frames
from events.store.store import Store
from events.text import FAULT
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.guards.limits import Limits, TooFast
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from kernel.session.armed import Armed
from kernel.session.probe_steps import Mode
from kernel.watch.watch import Watch
from probes.bpf import context
from probes.plans.plan import Plan, Via
from probes.refusal import CannotLower
from probes.syntax.parse import parse_probe
from tests.real.code_inside import CORE, put_code
from tests.real.command import TOP
from tests.real.guest_watch import run_workload, watch_of
from tests.real.held import bring_in
from tests.real.processes import until

READS = 150
CALLS = 180_000
"""More than the ring buffers of two CPUs hold: 4 MiB each, 64 bytes a record."""
PROGRAM = f"""
import os
zero = os.open("/dev/zero", os.O_RDONLY)
for number in range({READS}):
    os.read(zero, 1 + number)
    os.getuid()
    if number % 3 == 0:
        os.readlink("/proc/self/exe")
    if number % 5 == 0:
        try:
            os.read(99, 8)
        except OSError:
            pass
"""
ATTACHED = "cat /sys/kernel/tracing/enabled_functions"
MULTI = pytest.mark.parametrize("guest", ["7.2", "6.12"], indirect=True)
WITHOUT = pytest.mark.parametrize("guest", ["6.1", "arm64:6.12"], indirect=True)
BOTH = pytest.mark.parametrize(
    ("guest", "point"),
    [
        *((name, point) for name in ("7.2", "6.12") for point in ("fentry", "kprobe.multi")),
        *((name, "fentry") for name in ("6.1", "arm64:6.12")),
    ],
    indirect=["guest"],
)
"""Kernels, each with what it attaches programs on one function by."""


@pytest.fixture
def watch(guest: Guest) -> Iterator[Watch]:
    with watch_of(guest) as watching:
        yield watching
    assert b"vfs_re" not in guest.run(ATTACHED)


def arm(watch: Watch, text: str, via: Via, limits: bool = True, point: str = "") -> Armed:
    """Arm a probe; `point`: attach type of its programs, if it is on one function."""
    watch.planner.via = via
    info = watch.planner.info
    if point == "kprobe.multi":
        info.__dict__["program_support"] = replace(info.program_support, fentry=False)
    armed = watch.armed.arm(parse_probe(text), at_any_rate=not limits)
    if point and len({name for program in armed.plan.programs for name in program.functions}) == 1:
        ends = {"fentry": {"fentry", "fexit"}, "kprobe.multi": {"kprobe.multi", "kretprobe.multi"}}[point]
        assert {program.point.value for program in armed.plan.programs} <= ends
    return armed


def rows(watch: Watch, store: Store, path: str, names: tuple[str, ...]) -> dict[int, list[tuple[object, ...]]]:
    """Values of some fields by task, in the order of its events."""
    found: dict[int, list[tuple[object, ...]]] = {}
    for seq in range(store.first_seq, store.next_seq):
        record = store.record(seq)
        if record.event == path:
            values = dict(watch.event_fields.values(record))
            found.setdefault(record.pid, []).append((record.comm, *(values[name] for name in names)))
    return found


VALUES: dict[str, tuple[tuple[str, ...], ...]] = {
    "vfs_read{}both file count $retval name=file->f_path.dentry->d_name.name:string mode=file->f_mode"
    " three=count:b3@2/32 low=count:s8 inode=file->f_inode->i_ino part=file:x32 bits=file:b7@3/64 comm=$comm": (
        ("file", "count", "name", "mode", "three", "low", "inode", "part", "bits", "comm"),
        ("ret",),
    ),
    "vfs_re*{}both $retval:s32": (("func",), ("func", "ret")),
    "vfs_read,vfs_open{}both a=$arg1 b=$arg2 $retval:s32": (("func", "a", "b"), ("func", "ret")),
    "do_mmap{}both file addr len prot flags pgoff $retval": (
        ("file", "addr", "len", "prot", "flags", "pgoff"),
        ("ret",),
    ),
    "from_kuid_munged{}both targ=$arg1 kuid.val $retval:u32": (("targ", "val"), ("ret",)),
}
"""Probes, and the fields of each of their ends."""
CHOSEN: dict[str, tuple[tuple[str, ...], ...]] = {
    "vfs_read{} count if count > 100 && count < 140": (("count",),),
    'vfs_read{} count comm=$comm if comm == "python3" && !(count & 1)': (("count", "comm"),),
    'vfs_read{} count name=file->f_path.dentry->d_name.name:string if name ~ "*z?ro" || name ~ "*er*"': (
        ("count", "name"),
    ),
    'vfs_read{} count name=file->f_path.dentry->d_name.name:string if name ~ "?e*o*"': (("count", "name"),),
    "vfs_read{} file count if file != 0 && count > 100": (("file", "count"),),
    "vfs_read{}return $retval if ret > 20": (("ret",),),
}
"""The same with conditions."""


@BOTH
@pytest.mark.parametrize("probes", [pytest.param(VALUES, id="values"), pytest.param(CHOSEN, id="conditions")])
def test_programs_record_what_tracefs_records(
    guest: Guest, watch: Watch, point: str, probes: dict[str, tuple[tuple[str, ...], ...]]
) -> None:
    """All are armed together: one workload, which is what takes the time, is seen by each."""
    watch.planner.info.symbols.load()
    armed = {}
    for number, probe in enumerate(probes):
        text = probe.format("%" if "both" in probe or "return" in probe else "")
        by_tracefs = arm(watch, f"f:tr{number} {text}", Via.TRACEFS)
        by_program = arm(watch, f"f:bp{number} {text}", Via.BPF, point=point)
        assert by_program.plan.programs or "do_mmap" in probe, by_program.plan.losses
        assert not by_tracefs.plan.programs
        armed[probe] = by_program.plan, by_tracefs.plan
    run_workload(watch, guest, f"python3 -c '{PROGRAM}'")
    store = watch.store
    assert store is not None and not store.undecodable
    watch.intake.know_names(watch.names(cgroups=False))
    for probe, (ours, theirs) in armed.items():
        for end, other, names in zip(ours.events, theirs.events, probes[probe], strict=True):
            found, wanted = (rows(watch, store, event.path, names) for event in (end, other))
            # All are armed while others run: only a task that began afterwards was seen whole by both.
            tasks = {pid for pid, own in wanted.items() if own[0][0] == "python3" and len(own) >= 10}
            assert tasks, probe
            for pid in tasks:
                assert found.get(pid) == wanted[pid], probe


@BOTH
def test_programs_record_the_stacks_that_tracefs_records(guest: Guest, watch: Watch, point: str) -> None:
    watch.planner.info.symbols.load()
    info = watch.planner.info
    if point == "kprobe.multi":
        info.__dict__["program_support"] = replace(info.program_support, fentry=False)
    for via in (Via.TRACEFS, Via.BPF):  # one after the other: each would stand in the stacks of the other
        watch.planner.via = via
        name = "tr" if via is Via.TRACEFS else "bp"
        probe = parse_probe(f"f:{name} vfs_read%both count if count > 0 && count <= {READS}")
        armed = watch.armed.arm(probe, triggers=("stacktrace",))
        assert bool(armed.plan.programs) is (via is Via.BPF)
        run_workload(watch, guest, f"python3 -c '{PROGRAM}'")
        watch.armed.disarm(armed)
        bring_in(watch)
    store = watch.store
    assert store is not None and not store.undecodable and not store.lost_events
    watch.intake.know_names(watch.names(cgroups=False))
    found: dict[str, set[tuple[str, ...]]] = {}
    # A kernel leaves out the function itself where programs are at its exit, too (BPF_TRAMP_F_SKIP_FRAME). A kprobe
    # on arm64 leaves out its caller, whose address is still in a register.
    left_out = {"vfs_read", *(["ksys_read"] if info.facts.machine == "aarch64" else [])}
    for seq in range(store.first_seq, store.next_seq):
        record = store.record(seq)
        frames = kernel_frames(record, info.symbols.loaded_of)
        assert frames is not None, f"{record.event} has no stack"
        names = tuple(frame.function for frame in frames if frame.function not in left_out)
        # What the interpreter reads by other system calls while it starts differs from run to run.
        if record.comm == "python3" and any("sys_read" in name for name in names):
            found.setdefault(record.event.partition("/")[2], set()).add(names)
    for end in ("entry", "exit"):
        assert found[f"bp__{end}"] == found[f"tr__{end}"], end


FENTRY = pytest.mark.parametrize("guest", ["7.2", "6.12", "6.1", "arm64:6.12"], indirect=True)


@FENTRY
def test_an_exit_has_the_arguments_of_its_entry(guest: Guest, watch: Watch) -> None:
    by_tracefs = arm(watch, "f:tr vfs_read%both file count $retval", Via.TRACEFS)
    by_program = arm(watch, "f:bp vfs_read%return file count $retval pos=+0($arg4):s64", Via.BPF, point="fentry")
    (event,) = by_program.plan.events
    run_workload(watch, guest, f"python3 -c '{PROGRAM}'")
    store = watch.store
    assert store is not None and not store.undecodable
    watch.intake.know_names(watch.names(cgroups=False))
    entries, exits = (
        rows(watch, store, one.path, names)
        for one, names in zip(by_tracefs.plan.events, (("file", "count"), ("ret",)), strict=True)
    )
    found = rows(watch, store, event.path, ("file", "count", "ret"))
    tasks = {pid for pid, own in entries.items() if own[0][0] == "python3" and len(own) >= READS}
    assert tasks
    for pid in tasks:
        assert found[pid] == [(*entry, *exit_[1:]) for entry, exit_ in zip(entries[pid], exits[pid], strict=True)]


@FENTRY
def test_a_function_of_a_module_has_a_program_of_its_own(guest: Guest) -> None:
    """It is found in the types of the module, which the kernel has under a number of its own."""
    guest.run("insmod /lib/modules/extra/dummy.ko")
    try:
        with watch_of(guest) as watch:
            armed = arm(watch, "f dummy_xmit%return skb->len dev->mtu $retval", Via.BPF, point="fentry")
            (program,) = armed.plan.programs
            assert program.target.module == "dummy"
            guest.run("ip link set dummy0 up; ip addr add 10.9.8.7/24 dev dummy0; ping -c 2 -W 1 10.9.8.8 || true")
            bring_in(watch)
            store = watch.store
            assert store is not None
            found = [
                row
                for own in rows(watch, store, armed.plan.events[0].path, ("len", "mtu", "ret")).values()
                for row in own
            ]
            assert found and {(mtu, ret) for _, _, mtu, ret in found} <= {("1500", "0"), ("1500", "NETDEV_TX_OK")}
            assert watch.armed.disarm(armed) == []
    finally:
        guest.run("ip link set dummy0 down; rmmod dummy")


@FENTRY
def test_a_number_that_cannot_be_read_says_so(guest: Guest, watch: Watch) -> None:
    """The inode of a file is there once it is open; at the entry tracefs records a 0."""
    armed = arm(watch, "f:ino vfs_open%both file->f_inode->i_ino", Via.BPF, point="fentry")
    run_workload(watch, guest, f"python3 -c '{PROGRAM}'")
    store = watch.store
    assert store is not None and not store.undecodable
    entry, exit_ = (rows(watch, store, event.path, ("i_ino",)) for event in armed.plan.events)
    assert {ino for own in entry.values() for _, ino in own} == {FAULT}
    found = {ino for own in exit_.values() for _, ino in own}
    assert FAULT not in found and len(found) > 1


@FENTRY
def test_what_has_no_program_of_its_own_is_recorded_otherwise(guest: Guest, watch: Watch) -> None:
    """By the next means there is, with the reason in a line."""
    info = watch.planner.info
    points = ["kprobe.multi"] if info.program_support.multi else []

    def planned(name: str, reason: str) -> Plan:
        watch.planner.via = Via.BPF
        plan = watch.planner.lower(parse_probe(f"f {name}"), "pw")
        assert [program.point.value for program in plan.programs] == points
        assert any(reason in note for note in plan.losses), plan.losses
        return plan

    for name in sorted({"__rcu_read_lock", "_raw_spin_lock", "preempt_count_add"} & set(info.facts.functions)):
        planned(name, "programs" if name == "_raw_spin_lock" else "the machine could stand still")
    info.note_refused_programs({"vfs_open": "the kernel said so"})
    planned("vfs_open", "the kernel said so")


@FENTRY
def test_a_program_that_the_kernel_refuses_gives_way_to_the_next_means(
    guest: Guest, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verifier itself, here at a program that reads where nothing is."""
    info = watch.planner.info
    points = ["kprobe.multi"] if info.program_support.multi else []
    monkeypatch.setattr(context, "_SLOT", 256)
    armed = arm(watch, "f vfs_read count=$arg3 if count == 7777", Via.BPF)
    assert [program.point.value for program in armed.plan.programs] == points
    assert any("invalid bpf_context access" in note for note in armed.plan.losses), armed.plan.losses
    guest.run("dd if=/dev/zero of=/dev/null bs=7777 count=10 2>/dev/null")
    bring_in(watch)
    assert watch.intake.stored_counts() == {armed.plan.events[0].path: 10}


SINGLE = {
    "vfs_read": "file",
    "vfs_open": "file",
    "rw_verify_area": "file",
    "security_file_open": "file",
    "fput": "file",
}
"""Functions with their parameter of type `struct file *`, in the first place or the second."""


@MULTI
def test_each_function_of_a_type_records_its_own_argument(guest: Guest, watch: Watch) -> None:
    info = watch.planner.info
    info.symbols.load()
    names = [name for name in SINGLE if name in info.facts.functions]
    singles = {name: arm(watch, f"f:one_{name} {name} file ino=file->f_inode->i_ino", Via.TRACEFS) for name in names}
    everything = arm(watch, "f:all [struct file *] file ino=file->f_inode->i_ino", Via.AUTO, limits=False)
    (event,) = everything.plan.events
    places = [set(program.functions) for program in event.programs]
    assert len(places) > 2 and sum(map(len, places)) > 1000
    assert not any("vfs_read" in place and "vfs_open" in place for place in places)
    assert any(note.startswith("tracefs does not do this") for note in everything.plan.losses)
    run_workload(watch, guest, f"python3 -c '{PROGRAM}'")
    store = watch.store
    assert store is not None and not store.undecodable
    watch.intake.know_names(watch.names(cgroups=False))
    found = rows(watch, store, event.path, ("func", "file", "ino"))
    for name, single in singles.items():
        wanted = rows(watch, store, single.plan.events[0].path, ("file", "ino"))
        tasks = {pid for pid, own in wanted.items() if own[0][0] == "python3" and len(own) >= 10}
        assert tasks or name not in ("vfs_read", "vfs_open", "rw_verify_area")
        for pid in tasks:
            own = [(comm, file, ino) for comm, func, file, ino in found[pid] if func == name]
            # Tracefs records a 0 of what it could not read, as of a file that is not open yet.
            assert [(comm, file, "0" if ino == FAULT else ino) for comm, file, ino in own] == wanted[pid], name


@BOTH
def test_a_filter_on_the_function_chooses_its_calls(guest: Guest, watch: Watch, point: str) -> None:
    """By numbers of the functions in one program, or by what each program stands on."""
    info = watch.planner.info
    info.symbols.load()
    if point == "fentry":
        info.__dict__["program_support"] = replace(info.program_support, multi=False)
    only = arm(watch, "f:only vfs_read,vfs_open%both if func == vfs_open", Via.BPF)
    others = arm(watch, 'f:others vfs_read,vfs_open,vfs_write if func != vfs_open && COMM ~ "*tho*"', Via.BPF)
    assert {program.point.on_one for program in (*only.plan.programs, *others.plan.programs)} == {point == "fentry"}
    run_workload(watch, guest, f"python3 -c '{PROGRAM}'")
    watch.intake.know_names(watch.names(cgroups=False))
    store = watch.store
    assert store is not None and not store.undecodable
    for event in only.plan.events:
        found = rows(watch, store, event.path, ("func",))
        assert {func for own in found.values() for _, func in own} == {"vfs_open"}
    found = rows(watch, store, others.plan.events[0].path, ("func",))
    assert {func for own in found.values() for _, func in own} - {"vfs_write"} == {"vfs_read"}
    assert all("tho" in str(comm) for own in found.values() for comm, _ in own)


@MULTI
def test_a_value_by_name_is_read_of_each_function_of_a_pattern(guest: Guest, watch: Watch) -> None:
    watch.planner.info.symbols.load()
    armed = arm(watch, "f vfs_* file->f_inode->i_ino", Via.AUTO)
    assert armed.plan.programs
    assert any("left out, they lack a value that is recorded" in note for note in armed.plan.losses)
    listed = arm(watch, "f:list /^vfs_(read|open)$/ file->f_inode->i_ino", Via.AUTO)
    assert sorted(name for program in listed.plan.programs for name in program.functions) == ["vfs_open", "vfs_read"]
    run_workload(watch, guest, f"python3 -c '{PROGRAM}'")
    store = watch.store
    assert store is not None
    watch.intake.know_names(watch.names(cgroups=False))
    found = rows(watch, store, armed.plan.events[0].path, ("func", "i_ino"))
    fewer = rows(watch, store, listed.plan.events[0].path, ("func", "i_ino"))
    tasks = {pid for pid, own in fewer.items() if own[0][0] == "python3" and len(own) >= READS}
    assert tasks
    for pid in tasks:
        assert [row for row in found[pid] if row[1] in ("vfs_read", "vfs_open")] == fewer[pid]


@MULTI
def test_a_probe_that_is_too_fast_names_its_most_frequent_functions(guest: Guest, watch: Watch) -> None:
    watch.planner.via = Via.AUTO
    watch.armed.limits = Limits(1, 0)
    reads = "with open('/dev/zero', 'rb', 0) as zero:\n while zero.read(1): pass"
    reader = subprocess.Popen([*guest.ssh_command, f'echo $$ > /tmp/reader; exec timeout 60 python3 -c "{reads}"'])
    try:
        assert until(lambda: b"python3" in guest.run("ps"))
        with pytest.raises(TooFast) as caught:
            watch.armed.arm(parse_probe("f [struct file *] file"))
    finally:
        guest.run("kill $(cat /tmp/reader)")
        reader.wait()
    error = caught.value
    calls = error.measured.by_function
    assert calls["vfs_read"] > 10 and list(calls.values()) == sorted(calls.values(), reverse=True)
    assert set(calls) <= {name for program in error.plan.programs for name in program.functions}
    assert next(iter(calls)) in str(error)
    attached = guest.run(ATTACHED)
    assert b"vfs_open" not in attached and b"fput" not in attached


@WITHOUT
def test_functions_of_a_type_are_refused_where_programs_are_not_attached(guest: Guest, watch: Watch) -> None:
    assert not watch.planner.info.program_support.multi
    with pytest.raises(CannotLower) as caught:
        arm(watch, "f [struct file *] $arg1", Via.AUTO)
    assert caught.value.refusal.code == "too_many_functions"
    several = arm(watch, "f vfs_read,vfs_write%both $arg3 $retval:s64", Via.AUTO)
    assert [len(event.lines) for event in several.plan.events] == [2, 2] and not several.plan.programs
    assert b"vfs_fallocate" not in guest.run(ATTACHED)


@BOTH
def test_every_call_is_recorded_or_counted_as_lost(guest: Guest, watch: Watch, point: str) -> None:
    both = "%both" if point == "fentry" else ""  # the exit of kprobe.multi no longer has the argument
    armed = arm(watch, f"f vfs_read{both} count if count == 7777", Via.BPF, limits=False, point=point)
    read = f"dd if=/dev/zero of=/dev/null bs=7777 count={CALLS // 2} 2>/dev/null"
    agent = watch.planner.info.target.owner.partition("_")[0]
    guest.run(f"kill -STOP {agent}; {read} & {read}; wait; kill -CONT {agent}")  # nobody reads meanwhile
    bring_in(watch)
    counts, store = watch.counts(), watch.store
    assert counts is not None and store is not None
    recorded = watch.intake.stored_counts()
    assert set(recorded) == {event.path for event in armed.plan.events}
    ends = len(armed.plan.events)
    told = sum(recorded.values()) + sum(counts.full.values()) + counts.dropped
    # Where a reader takes the CPU from the other within a program, the kernel misses a call, and counts it.
    missed = sum(number or 0 for number in counts.nmissed.values())
    assert told <= ends * CALLS <= told + missed, counts
    assert counts.written == told
    assert sum(counts.full.values()) > 0
    assert counts.full.get(0, 0) + counts.full.get(1, 0) >= store.lost_events
    assert all(counts.hits[event.path] + (counts.nmissed[event.path] or 0) >= CALLS for event in armed.plan.events)
    assert not counts.read_errors


@BOTH
def test_a_mode_is_switched_without_a_trace(guest: Guest, watch: Watch, point: str) -> None:
    armed = arm(watch, "f vfs_read count if count == 7777", Via.BPF, point=point)
    (event,) = armed.plan.events
    read = "dd if=/dev/zero of=/dev/null bs=7777 count=10 2>/dev/null"

    def stored() -> int:
        guest.run(read)
        bring_in(watch)
        return watch.intake.stored_counts().get(event.path, 0)

    assert stored() == 10
    watch.armed.switch(armed, Mode.COUNT)
    assert stored() == 10
    counts = watch.counts()
    assert counts is not None and counts.passed[event.path] == 20
    watch.armed.switch(armed, Mode.OFF)
    assert stored() == 10
    changed = watch.armed.change_filter(armed, "count == 7778")
    watch.armed.switch(changed, Mode.RECORD)
    assert stored() == 10
    changed = watch.armed.change_filter(changed, "count > 7000 && count < 8000")
    assert stored() == 20
    assert watch.armed.disarm(changed) == []
    assert stored() == 20


@BOTH
def test_what_is_armed_together_records_from_one_time_on(guest: Guest, watch: Watch, point: str) -> None:
    watch.armed.hold_recording()
    armed = arm(watch, "f vfs_read count if count == 7777", Via.BPF, point=point)
    read = "dd if=/dev/zero of=/dev/null bs=7777 count=10 2>/dev/null"
    guest.run(read)
    watch.armed.record_together()
    guest.run(read)
    bring_in(watch)
    assert watch.intake.stored_counts() == {armed.plan.events[0].path: 10}


@MULTI
def test_a_thousand_functions_are_armed_and_gone(guest: Guest, watch: Watch) -> None:
    armed = arm(watch, "f [st]*_*e*", Via.BPF, limits=False)
    (program,) = armed.plan.programs
    assert len(program.functions) > 1000
    count = f"{ATTACHED} | wc -l"
    assert int(guest.run(count)) >= len(program.functions)
    bring_in(watch)
    assert watch.armed.disarm(armed) == []
    assert int(guest.run(count)) == 0


@BOTH
def test_nothing_stays_of_a_connection_that_is_killed(guest: Guest, point: str) -> None:
    planner = Planner(KernelInfo(connect(guest, guest.kernel.release)))
    watching = Watch(planner)
    arm(watching, "f vfs_read%both", Via.BPF, point=point)
    assert b"vfs_read" in guest.run(ATTACHED)
    guest.run(f"kill -9 {planner.info.target.owner.partition('_')[0]}")
    until(lambda: b"vfs_read" not in guest.run(ATTACHED))
    watching.close()
    planner.info.close()
    guest.run(
        "for name in /sys/kernel/tracing/instances/probewright-*; do rmdir $name; done; rm -rf /run/probewright"
    )


@BOTH
def test_on_the_machine_itself_it_is_the_same(guest: Guest, point: str) -> None:
    """No agent: the calls and the ring buffers of this process."""
    own = ("tests/__init__", "tests/real/__init__", "tests/real/bpf_inside")
    put_code(guest, CORE, {f"{name}.py": TOP / f"{name}.py" for name in own})
    answers = json.loads(guest.run(f"cd /pw && python3 -m tests.real.bpf_inside {point}"))
    assert answers == {
        "records": 25,
        "pids": True,
        "counts": [True, 25, 25, {}],
        "after": True,
        "bpf files": [],
        "refused": -22,
    }


@WITHOUT
def test_where_no_program_is_attached_to_many_tracefs_records_them(guest: Guest, watch: Watch) -> None:
    support = watch.planner.info.program_support
    assert support.fentry and not support.multi
    armed = arm(watch, "f vfs_*", Via.BPF)
    assert not armed.plan.programs and len(armed.plan.events[0].lines) > 20
    assert any("without CONFIG_FPROBE" in note for note in armed.plan.losses), armed.plan.losses
    assert not arm(watch, "f vfs_read", Via.TRACEFS).plan.programs


@WITHOUT
def test_some_functions_have_programs_of_their_own(guest: Guest, watch: Watch) -> None:
    """Where each is another number of the argument: tracefs refuses it."""
    armed = arm(watch, "f vfs_read,vfs_open file->f_flags", Via.AUTO)
    assert [program.point.value for program in armed.plan.programs] == ["fentry", "fentry"]
    assert any(note.startswith("tracefs does not do this") for note in armed.plan.losses)
    run_workload(watch, guest, f"python3 -c '{PROGRAM}'")
    watch.planner.info.symbols.load()
    watch.intake.know_names(watch.names(cgroups=False))
    store = watch.store
    assert store is not None
    found = rows(watch, store, armed.plan.events[0].path, ("func",))
    assert any({func for _, func in own} == {"vfs_read", "vfs_open"} for own in found.values())
