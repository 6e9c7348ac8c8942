"""Functions chosen by their callers and by address, on real kernels: those are hit, and no others of their names."""

from __future__ import annotations

import subprocess

import pytest

from kernel.attach.explain import AttachExplainer
from kernel.guards.limits import Limits, TooFast
from kernel.lab.guest import Guest
from kernel.watch.watch import Watch
from probes.functions.function_index import index_of
from probes.plans.plan import Via
from probes.syntax.parse import parse_probe
from tests.real.guest_watch import run_workload
from tests.real.processes import until

KERNELS = ["7.2", "6.12", "6.1", "arm64:6.12"]
ALL = pytest.mark.parametrize("guest", KERNELS, indirect=True)


def functions_hit(watch: Watch, first: int = 0) -> set[str]:
    """Functions of the events from a number on."""
    store = watch.store
    records = [store.record(seq) for seq in range(max(first, store.first_seq), store.next_seq)]
    return {str(dict(watch.event_fields.values(one))["func"]) for one in records}


@pytest.mark.parametrize("guest", [*KERNELS, "riscv64:7.2"], indirect=True)
def test_functions_that_another_calls_are_found_in_the_code_and_hit(guest: Guest, watch: Watch) -> None:
    watch.info.symbols.load()
    found = watch.planner.lookups.called.find(["vfs_read"], 2)
    direct = watch.planner.lookups.called.find(["vfs_read"], 1)
    assert "rw_verify_area" in direct.names and set(direct.names) < set(found.names)
    armed = watch.armed.arm(parse_probe("f [called by vfs_read 2],!*spin*,!*rcu*"), at_any_rate=True)
    assert any("functions are probed" in note for note in armed.plan.losses)
    run_workload(watch, guest, "exec cat /proc/self/status >/dev/null")
    hit = functions_hit(watch)
    assert "rw_verify_area" in hit and hit <= set(found.names)
    callers = AttachExplainer(watch.info).callers("rw_verify_area")
    assert callers is not None and "vfs_read" in {caller.spot.name for caller in callers.callers}, "and back"


@ALL
@pytest.mark.parametrize("via", [Via.TRACEFS, Via.BPF])
def test_one_of_several_functions_of_a_name_is_hit_alone(guest: Guest, watch: Watch, via: Via) -> None:
    """/proc/cpuinfo, /proc/crypto and /proc/consoles are read by functions of the same names."""
    watch.info.symbols.load()
    symbols = watch.info.symbols.current
    assert symbols is not None and index_of(watch.info.facts).count("c_start") > 1
    watch.planner.via = via
    if via is Via.BPF and not watch.info.program_support.multi:
        pytest.skip("this kernel attaches programs to single functions by name")
    places = [entry.address for entry in symbols.named("c_start") if entry.code]
    hits = []
    for address in places:
        armed = watch.armed.arm(parse_probe(f"f {address:#x},vfs_statx $arg1"), at_any_rate=True)
        assert bool(armed.plan.programs) is (via is Via.BPF)
        first = watch.store.next_seq
        run_workload(watch, guest, "exec head -c 10 /proc/cpuinfo >/dev/null")
        hits.append(functions_hit(watch, first))
        watch.armed.disarm(armed)
    assert sum("c_start" in one for one in hits) == 1, hits


@ALL
@pytest.mark.parametrize("via", [Via.TRACEFS, Via.BPF])
def test_the_rate_of_several_functions_is_known_before_they_are_armed(guest: Guest, watch: Watch, via: Via) -> None:
    watch.planner.via = via
    watch.armed.limits = Limits(asks_about_several=True)
    reads = "with open('/dev/zero', 'rb', 0) as zero:\n while zero.read(1): pass"
    reader = subprocess.Popen([*guest.ssh_command, f'echo $$ >/tmp/reader; exec timeout 60 python3 -c "{reads}"'])
    try:
        assert until(lambda: b"dev/zero" in guest.run("ps -o args"))
        with pytest.raises(TooFast) as caught:
            watch.armed.arm(parse_probe("f vfs_read,vfs_statx,vfs_mkdir,vfs_fsync"))
        assert watch.armed.probes == ()
        calls = caught.value.measured.by_function
        assert next(iter(calls)) == "vfs_read" and set(calls) <= {"vfs_read", "vfs_statx", "vfs_fsync", "vfs_mkdir"}
        assert sum(calls.values()) == pytest.approx(caught.value.measured.hits, rel=1e-6)
        if len(calls) > 1:
            assert str(caught.value.quieter) == "f vfs_read,vfs_statx,vfs_mkdir,vfs_fsync,!vfs_read"
        armed = watch.armed.arm(parse_probe("f vfs_read,vfs_statx,!vfs_read"), at_any_rate=True)
        assert bool(armed.plan.programs) is (via is Via.BPF)
    finally:
        guest.run("kill $(cat /tmp/reader); rm /tmp/reader")
        reader.wait()
