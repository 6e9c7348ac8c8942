"""Watchpoints on real kernels: each write of a known workload, with its values, its task and its instruction."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path

import pytest

from kernel.errors import ProbeRefused, TargetUnusable
from kernel.lab.guest import Guest
from kernel.session.armed import Armed
from kernel.watch.watch import Watch
from probes.command import parse_armable
from probes.refusal import CannotLower
from tests.real.command import address, finish, run, ssh_to, start
from tests.real.guest_watch import rows_of, run_workload
from tests.real.held import bring_in
from tests.real.processes import until

FILE = "/proc/sys/kernel/panic_on_oops"
VARIABLE = "panic_on_oops"
VALUES = [3, 5, 5, 5, 0x7FFFFFFF, -1, *range(1000, 1100), 7, 0]
"""Written one after the other; the variable is 0 before."""
SLOTS = 4
"""Watchpoints of a CPU on x86."""
FOUR = (f"at={VARIABLE} type=s32", "at=panic_timeout", "at=saved_command_line len=8", "at=linux_banner len=8")
"""Only the first is written. They differ: of several at one place an emulated processor tells of one only."""
_TAKE_ALL = f"""
import ctypes, struct, sys
call = ctypes.CDLL(None, use_errno=True).syscall
call.restype = ctypes.c_long
address = int(next(line.split()[0] for line in open("/proc/kallsyms") if line.split()[2] == "jiffies_64"), 16)
for number in range({SLOTS}):
    attributes = struct.pack("<IIQQQQQIIQQ", 5, 96, 0, 0, 0, 0, 0, 0, 2, address, 8)
    memory = ctypes.create_string_buffer(attributes, 96)
    if call(298, ctypes.byref(memory), ctypes.c_int(-1), ctypes.c_int(0), ctypes.c_int(-1), ctypes.c_ulong(0)) < 0:
        sys.exit("errno %d" % ctypes.get_errno())
print("taken", flush=True)
sys.stdin.read()
"""


def arm(watch: Watch, text: str) -> Armed:
    return watch.armed.arm(parse_armable(text), at_any_rate=True)


def write(values: list[int]) -> str:
    code = f'[open("{FILE}", "w").write(str(value)) for value in {values}]; import os; print(os.getpid())'
    return f"python3 -c '{code}'"


def missed(watch: Watch) -> int:
    session = watch.session
    assert session is not None
    return sum(number or 0 for number in session.counts().nmissed.values())


@pytest.mark.parametrize("guest", ["7.2", "6.12", "6.1"], indirect=True)
def test_each_write_is_one_event(guest: Guest, watch: Watch) -> None:
    armed = arm(watch, f"watchpoint at={VARIABLE} type=s32")
    run_workload(watch, guest, write(VALUES))
    found = rows_of(watch, f"watch_{VARIABLE}")
    assert [(row["old"], row["new"]) for row in found] == list(pairwise([0, *VALUES]))
    assert len({row["thread"] for row in found}) == 1
    assert {row["task"] for row in found} == {"python3"}
    assert all(row["ip_text"].startswith("do_proc_") for row in found)
    assert missed(watch) == 0
    assert watch.armed.disarm(armed) == []
    run_workload(watch, guest, write([1, 0]))
    assert len(rows_of(watch, f"watch_{VARIABLE}")) == len(VALUES)


@pytest.mark.parametrize("guest", ["7.2", "6.12"], indirect=True)
def test_every_change_of_a_busy_variable_follows_the_one_before(guest: Guest, watch: Watch) -> None:
    """Timers of all CPUs write jiffies_64, also within our own processes: no event is left out between two others."""
    arm(watch, "watchpoint at=jiffies_64 access=w")
    arm(watch, f"watchpoint at={VARIABLE} type=u32 access=rw")
    run_workload(watch, guest, f"cat {FILE} >/dev/null; {write([1, 0])}; sleep 2")
    found = rows_of(watch, "watch_jiffies_64")
    assert len(found) > 20
    assert all(before["new"] == after["old"] < after["new"] for before, after in pairwise(found))
    own = rows_of(watch, f"watch_{VARIABLE}")
    assert [(row["old"], row["new"]) for row in own] == [(0, 0), (0, 1), (1, 0)]
    assert own[0]["task"] in ("cat", "exe", "busybox")


@pytest.mark.parametrize("guest", ["arm64:6.12"], indirect=True)
def test_arm64_has_the_value_before_each_write(guest: Guest, watch: Watch) -> None:
    """An interrupt before the access lets arm64 stop there again: equal neighbours are one write."""
    armed = arm(watch, f"watchpoint at={VARIABLE} type=s32")
    assert any("before the access" in note for note in armed.plan.losses)
    values = list(range(500, 540))
    run_workload(watch, guest, write([*values, 0]))
    found = rows_of(watch, f"watch_{VARIABLE}")
    assert [old for old, _ in groupby(row["old"] for row in found)] == [0, *values]
    assert {row["task"] for row in found} == {"python3"}
    assert all(row["ip_text"].startswith("do_proc_") for row in found)
    arm(watch, f"watchpoint at={VARIABLE}+0x1 len=1 access=r")


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_four_at_once_and_none_is_left(guest: Guest, watch: Watch) -> None:
    """The debug registers of both CPUs are free again, also after what was refused."""
    for _ in range(2):
        all_armed = [arm(watch, f"watchpoint {words}") for words in FOUR]
        with pytest.raises(TargetUnusable, match="4 watchpoints"):
            arm(watch, "watchpoint at=jiffies_64")
        event = all_armed[0].plan.events[0].event
        before = len(rows_of(watch, event))
        run_workload(watch, guest, write([9, 0]))
        assert [row["new"] for row in rows_of(watch, event)[before:]] == [9, 0]
        for one in all_armed:
            assert watch.armed.disarm(one) == []
    with taken_registers(guest):  # all four, which needs them free
        with pytest.raises(ProbeRefused, match="No space left") as refused:
            arm(watch, "watchpoint at=jiffies_64")
        assert refused.value.verdict.error is not None
        assert "perf, gdb" in refused.value.verdict.error.hint


@contextlib.contextmanager
def taken_registers(guest: Guest) -> Iterator[None]:
    """All debug registers of a CPU, held by a process of somebody else."""
    command = [*guest.ssh_command, f"exec python3 -c '{_TAKE_ALL}'"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "taken\n"
        yield
        holder.communicate()


@pytest.mark.parametrize("guest", ["7.2", "6.12"], indirect=True)
def test_what_is_refused(guest: Guest, watch: Watch) -> None:
    hole = "0xffff800000000000"  # between the halves of the address space
    with pytest.raises(ProbeRefused) as refused:
        arm(watch, f"watchpoint at={hole}")
    assert refused.value.verdict.error is not None
    assert "nothing is mapped" in refused.value.verdict.error.hint
    for text, said in (
        ("at=runqueues", "Each CPU"),
        ("at=no_such_variable", "kallsyms"),
        (f"at={VARIABLE} access=r", "reads alone"),
        (f"at={VARIABLE}+0x1 len=4", "multiple of 4"),
        ("at=0x400000", "no address of the kernel"),
    ):
        with pytest.raises(CannotLower, match=said):
            arm(watch, f"watchpoint {text}")
    bring_in(watch)


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_the_commands_and_a_recording_of_it(guest: Guest, tmp_path: Path) -> None:
    env, target = ssh_to(guest, tmp_path), address(guest)
    path = tmp_path / "watch.pwr"
    process = start(
        *("record", "--target", target, f"watchpoint at={VARIABLE} type=s32 stack=on", "--count", "6"),
        *("-o", str(path)),
        env=env,
    )
    guest.run(
        f"for i in $(seq 3000); do [ -e /tmp/enough ] && break; echo $((i % 50)) >{FILE}; sleep 0.1; done & true"
    )
    done = finish(process)
    shown = run("run", "--target", target, f"watchpoint at={VARIABLE} type=s32", "--count", "2", "--json", env=env)
    guest.run(f"touch /tmp/enough; sleep 0.5; rm /tmp/enough; echo 0 >{FILE}")
    assert done.status == 0, done
    events = run(str(path), "--export", "jsonl", "-o", "-").objects[:6]
    assert len(events) == 6
    for one, following in pairwise(events):
        assert one["values"]["new"] == following["values"]["old"]
        assert following["values"]["new"] == (one["values"]["new"] + 1) % 50
    for one in events:
        assert one["event"] == f"watch_{VARIABLE}"
        assert one["text"]["ip"] == one["stack"][0]["symbol"]
        assert any(frame["symbol"].startswith("proc_sys_call_handler") for frame in one["stack"])
    assert shown.status == 0, shown
    first, second = (one["values"] for one in shown.objects[:2])
    assert first["new"] == second["old"]
    judged = run("check", f"watchpoint at={VARIABLE} access=r", "--target", target, env=env)
    assert judged.status == 1, judged
    assert "reads alone" in judged.out


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_a_killed_session_leaves_none(guest: Guest, tmp_path: Path) -> None:
    """The agent ends with its connection, and with it the files that hold watchpoints."""
    words = [f"watchpoint {one}" for one in FOUR]
    process = start("run", "--target", address(guest), *words, "--for", "600", env=ssh_to(guest, tmp_path))
    until(lambda: not is_free(guest))
    process.kill()
    process.communicate()
    until(lambda: is_free(guest))


def is_free(guest: Guest) -> bool:
    """Whether all debug registers of a CPU can be had."""
    return b"taken" in guest.run(f"python3 -c '{_TAKE_ALL}' </dev/null 2>&1; true")
