"""Monitors on real kernels: numbers whose values are known, beside the events that change them; nothing is left."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from kernel.lab.guest import Guest
from kernel.session.armed import Armed
from kernel.watch.watch import Watch
from probes.command import parse_armable
from probes.refusal import CannotLower
from tests.real.command import address, run, ssh_to, start
from tests.real.guest_watch import rows_of, run_workload
from tests.real.held import bring_in
from tests.real.processes import until

FILE = "/proc/sys/kernel/panic_on_oops"
VALUES = [3, 5, 0x7FFFFFFF, -1, *range(1000, 1020), 0]
"""Written one after the other, slowly; the variable is 0 before."""
HZ = 250
"""CONFIG_HZ of Debian's kernels."""


def arm(watch: Watch, text: str) -> Armed:
    return watch.armed.arm(parse_armable(f"monitor {text}" if "=" in text.split()[0] else text), at_any_rate=True)


def write(values: list[int], pause: float) -> str:
    code = f'import time; [(open("{FILE}", "w").write(str(value)), time.sleep({pause})) for value in {values}]'
    return f"python3 -c '{code}; import os; print(os.getpid())'"


@pytest.mark.parametrize("guest", ["7.2", "6.1"], indirect=True)
def test_samples_are_in_order_with_the_writes_that_they_see(guest: Guest, watch: Watch) -> None:
    """A watchpoint has each write: a sample has the value of the last one before its time, or of the next one."""
    arm(watch, "watchpoint at=panic_on_oops type=s32")
    memory = arm(watch, "of=panic_on_oops every=10ms")
    arm(watch, f"of={FILE} every=10ms")
    run_workload(watch, guest, write(VALUES, 0.1))
    written = [(row["ts_of_event"], row["new"]) for row in rows_of(watch, "watch_panic_on_oops")]
    assert [new for _, new in written] == VALUES
    for event in ("mon_panic_on_oops", "mon_panic_on_oops_2"):
        samples = rows_of(watch, event)
        assert [row["ts_of_event"] for row in samples] == sorted(row["ts_of_event"] for row in samples)
        for row in samples:
            before = [0, *(new for ts, new in written if ts < row["ts_of_event"])]
            following = [new for ts, new in written if ts >= row["ts_of_event"]]
            assert row["value"] in (before[-1], *following[:1])
        assert len({row["value"] for row in samples} & set(VALUES)) > len(VALUES) // 2
        for one, other in pairwise(samples):
            assert other["delta"] == other["value"] - one["value"]
    assert watch.armed.disarm(memory) == []
    bring_in(watch)
    count = len(rows_of(watch, "mon_panic_on_oops"))
    run_workload(watch, guest, "sleep 0.3")
    assert len(rows_of(watch, "mon_panic_on_oops")) == count


@pytest.mark.parametrize("guest", ["7.2", "6.12", "arm64:6.12"], indirect=True)
def test_the_clock_of_the_kernel_goes_on_between_samples(guest: Guest, watch: Watch) -> None:
    arm(watch, "of=jiffies_64 every=50ms")
    run_workload(watch, guest, "sleep 2")
    samples = rows_of(watch, "mon_jiffies_64")
    assert len(samples) > 5
    seconds = (samples[-1]["ts_of_event"] - samples[0]["ts_of_event"]) / 1e9
    ticks = samples[-1]["value"] - samples[0]["value"]
    # What is late in an emulated machine is made up for by the next tick.
    assert abs(ticks - seconds * HZ) < 0.5 * HZ
    assert all(row["delta"] >= 0 for row in samples)
    assert {row["task"] for row in samples} == {"monitor"}


@pytest.mark.parametrize("guest", ["7.2", "6.1", "arm64:6.12"], indirect=True)
def test_counts_of_all_cpus_are_those_of_the_file(guest: Guest, watch: Watch) -> None:
    """/proc/vmstat adds up the same per-CPU counters: with what it said before and after, each sum is between."""
    arm(watch, "of=vm_event_states.event[PGFAULT] every=50ms")
    arm(watch, "of=vm_event_states.event[PGFAULT] every=50ms per=cpu")
    arm(watch, "of=/proc/vmstat:pgfault every=50ms")
    before = faults(guest)
    run_workload(watch, guest, "for i in 1 2 3 4 5 6; do cat /proc/version >/dev/null; sleep 0.1; done")
    after = faults(guest)
    sums = rows_of(watch, "mon_vm_event_states_event_PGFAULT")
    files = rows_of(watch, "mon_vmstat_pgfault")
    each = rows_of(watch, "mon_vm_event_states_event_PGFAULT_2")
    merged = sorted(
        [
            *((row["ts_of_event"], row["value"]) for row in sums),
            *((row["ts_of_event"], row["value"]) for row in files),
        ]
    )
    assert [value for _, value in merged] == sorted(value for _, value in merged)
    assert len(sums) > 5 and len(files) > 5
    assert before <= sums[-1]["value"] <= after
    cpus = {row["cpu_of_event"] for row in each}
    assert len(cpus) > 1
    latest = {row["cpu_of_event"]: row["value"] for row in each}
    assert sums[0]["value"] <= sum(latest.values()) <= after
    for cpu in cpus:
        own = [row["value"] for row in each if row["cpu_of_event"] == cpu]
        assert own == sorted(own)


def faults(guest: Guest) -> int:
    found = re.search(rb"^pgfault (\d+)$", guest.run("cat /proc/vmstat"), re.MULTILINE)
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("guest", ["7.2", "arm64:6.12"], indirect=True)
def test_paths_and_zones(guest: Guest, watch: Watch) -> None:
    arm(watch, "monitor vm_stat nr_free_pages --every 50ms")
    arm(watch, "of=/proc/vmstat:nr_free_pages every=50ms")
    arm(watch, "of=init_mm.pgd every=50ms")
    arm(watch, "of=init_task.signal->nr_threads every=50ms")
    run_workload(watch, guest, "sleep 1")
    pages = {row["value"] for row in rows_of(watch, "mon_vm_stat_nr_free_pages")}
    files = {row["value"] for row in rows_of(watch, "mon_vmstat_nr_free_pages")}
    assert pages & files
    symbols = guest.run("grep -E ' (swapper_pg_dir|init_top_pgt)$' /proc/kallsyms").decode()
    tables = {int(line.split()[0], 16) for line in symbols.splitlines()}
    assert {row["value"] for row in rows_of(watch, "mon_init_mm_pgd")} <= tables
    assert {row["value"] for row in rows_of(watch, "mon_init_task_signal_nr_threads")} <= set(range(1, 4))


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_the_samples_make_no_events_of_other_probes(guest: Guest, watch: Watch) -> None:
    """The thread that takes them is one of ours: a probe on what it calls sees the calls of others alone."""
    arm(watch, f"of={FILE} every=10ms")
    reads = arm(watch, "f proc_sys_call_handler").plan.events[0].event
    run_workload(watch, guest, write([1, 0], 0.3))
    samplers = {row["thread"] for row in rows_of(watch, "mon_panic_on_oops")}
    assert len(samplers) == 1
    others = {row["thread"] for row in rows_of(watch, reads)}
    assert others and not samplers & others


@pytest.mark.parametrize("guest", ["7.2", "6.12"], indirect=True)
def test_what_is_refused(guest: Guest, watch: Watch) -> None:
    for text, said in (
        ("of=init_task.mm->pgd", "NULL"),
        ("of=no_such_variable", "kallsyms"),
        ("of=0xffff800000000000", "nothing is mapped"),
        ("of=/proc/meminfo:MemFre", "no line"),
        ("of=/proc/no_such_file", "No such file"),
        ("of=jiffies_64+0x1 type=s32", "multiple of 4"),
        ("of=runqueues", "give a field"),
    ):
        with pytest.raises(CannotLower, match=said):
            arm(watch, text)
    bring_in(watch)


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_a_process_that_ends_is_told_as_unreadable(guest: Guest, watch: Watch) -> None:
    pid = int(guest.run("sleep 1000 >/dev/null 2>&1 & echo $!"))
    arm(watch, f"of=/proc/{pid}/stat::1 every=50ms")
    run_workload(watch, guest, f"sleep 0.5; kill {pid}; sleep 0.5")
    values = [row["value"] for row in rows_of(watch, "mon_stat")]
    first = values.index(None)
    assert set(values[:first]) == {pid} and set(values[first:]) == {None}


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_the_commands_a_recording_of_it_and_a_killed_one(guest: Guest, tmp_path: Path) -> None:
    env, target = ssh_to(guest, tmp_path), address(guest)
    path = tmp_path / "monitor.pwr"
    words = ("monitor jiffies_64 --every 50ms", "monitor of=/proc/uptime every=100ms scale=100")
    done = run("record", "--target", target, *words, "--count", "20", "-o", str(path), env=env)
    assert done.status == 0, done
    events = run(str(path), "--export", "jsonl", "-o", "-").objects
    assert len(events) >= 20
    assert [one["ts"] for one in events] == sorted(one["ts"] for one in events)
    ticks = [one for one in events if one["event"] == "mon_jiffies_64"]
    for one, following in pairwise(ticks):
        assert following["values"]["value"] == one["values"]["value"] + following["values"]["delta"]
    for one in events:
        if one["event"] == "mon_uptime":  # CLOCK_BOOTTIME, which is that of events where nothing was suspended
            assert abs(one["values"]["value"] * 10_000_000 - one["ts"]) < 10**9
    judged = run("check", "monitor of=init_task.mm->pgd", "--target", target, env=env)
    assert judged.status == 1 and "NULL" in judged.out, judged
    process = start("run", "--target", target, words[0], "--for", "600", "--json", env=env)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["event"] == "mon_jiffies_64"
    until(lambda: holders(guest) > 0)
    process.kill()
    process.communicate()
    until(lambda: holders(guest) == 0)


def holders(guest: Guest) -> int:
    """Number of processes that have the kernel's memory open."""
    return int(guest.run("ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c /proc/kcore || true"))
