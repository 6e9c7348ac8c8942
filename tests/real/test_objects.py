"""Compiled BPF objects on real kernels: attached, their records and maps read, against what a known workload did."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kernel.errors import ProbeRefused, TargetUnusable
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from kernel.session.armed import Armed
from kernel.target import BpfPart
from kernel.watch.object_maps import read_maps
from kernel.watch.watch import Watch
from probes.command import parse_armable
from probes.objects.shown_maps import ShownMap
from probes.refusal import CannotLower
from tests import bpf_call_checks as checks
from tests.object_builder import built
from tests.real.command import address, finish, run, ssh_to, start
from tests.real.guest_watch import rows_of, run_workload, watch_of
from tests.real.held import bring_in
from tests.real.processes import until

KERNELS = pytest.mark.parametrize("guest", ["7.2", "6.12"], indirect=True)
FILES = 40
OPENS = 12_000
"""More than the perf buffers of two CPUs hold: 256 KiB each, 120 bytes a record."""
UNLINK = f"""
import os
os.chdir("/tmp")
for number in range({FILES}):
    open(f"own{{number}}", "w").close()
    os.unlink(f"own{{number}}")
    os.mkdir(f"folder{{number}}")
    os.rmdir(f"folder{{number}}")
try:
    os.open("/nowhere/at/all", os.O_RDONLY)
except OSError:
    pass
os.spawnv(os.P_WAIT, "/bin/true", ["true", "one", "two"])
print(os.getpid())
"""


@pytest.fixture
def watch(guest: Guest) -> Iterator[Watch]:
    with watch_of(guest) as watching:
        yield watching
    # All of it is gone with its files: nothing is pinned.
    until(lambda: b"vfs_" not in guest.run("cat /sys/kernel/tracing/enabled_functions"))
    assert b"vfs_" not in guest.run("cat /sys/kernel/tracing/enabled_functions")


def arm(watch: Watch, name: str, words: str = "") -> Armed:
    return watch.armed.arm(parse_armable(f"{built(name)} {words}".strip()), at_any_rate=True)


def work(watch: Watch, guest: Guest, code: str = UNLINK) -> None:
    run_workload(watch, guest, f"python3 -c '{code}'")


def maps(watch: Watch) -> dict[str, ShownMap]:
    return {one.map.name: one for found in read_maps(watch.armed) for one in found.maps}


@KERNELS
def test_a_ring_buffer_of_fentry_and_fexit_has_what_the_workload_removed(guest: Guest, watch: Watch) -> None:
    armed = arm(watch, "unlink")
    assert any("drops_nothing" in text for text in armed.plan.losses)
    work(watch, guest)
    own = [row for row in rows_of(watch, "unlink") if str(row["name"]).startswith("own")]
    assert [row["name"] for row in own] == [f"own{number}" for number in range(FILES) for _ in range(2)]
    assert [row["step_text"] for row in own] == ["STEP_BEGIN", "STEP_END"] * FILES
    assert {row["ret"] for row in own} == {0}
    (pid,) = {row["who_pid"] for row in own}
    assert {row["thread"] for row in own} == {pid}
    assert {row["comm"] for row in own} == {"python3"}
    assert all(row["ts"] == row["ts_of_event"] for row in own)
    assert all(row["who_parent"] not in (0, pid) for row in own)
    counted = {row.key: row.value for row in maps(watch)["removed_by"].rows}
    assert counted["python3"] == FILES


@KERNELS
def test_a_perf_buffer_of_tracepoints_has_opened_files_and_errors(guest: Guest, watch: Watch) -> None:
    arm(watch, "opens")
    work(watch, guest)
    own = [row for row in rows_of(watch, "opens") if row["comm"] == "python3"]
    (missing,) = [row for row in own if row["name"] == "/nowhere/at/all"]
    assert missing["ret"] == -2
    assert missing["ret_text"] == "-ENOENT"
    made = [row for row in own if str(row["name"]).startswith("own")]
    assert [row["name"] for row in made] == [f"own{number}" for number in range(FILES)]
    assert {row["flags"] for row in made} == {os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC}
    # The kernel stamped the record, which it did behind the program's own look at the clock.
    assert {row["thread"] for row in made} == {missing["pid"]}
    assert all(0 <= int(str(row["ts_of_event"])) - int(str(row["ts"])) < 10**9 for row in made)


@KERNELS
def test_tracepoints_of_btf_raw_ones_and_many_functions(guest: Guest, watch: Watch) -> None:
    by_types = arm(watch, "execs", "events=started")
    assert any("program_starts_raw is left out" in text for text in by_types.plan.losses)
    watch.armed.disarm(by_types)
    again = arm(watch, "execs", "programs=program_starts,program_starts_raw,folder_goes,folder_came events=started")
    work(watch, guest)
    # Rows of the first may still be seen: the events of another choice of programs have another name.
    name = again.plan.events[0].event
    assert name == "execs_2"
    started = [row for row in rows_of(watch, name) if row["file"] == "/bin/true"]
    (true,) = started
    assert (true["argc"], true["comm"], true["length"]) == (3, "true", len("/bin/true") + 1)
    assert true["thread"] == true["pid"]
    counts = {row.key: row.value for row in maps(watch)["counts"].rows}
    assert counts[0] == counts[1]
    assert int(str(counts[0])) >= 1
    assert (counts[2], counts[3]) == (FILES, FILES)


@KERNELS
def test_maps_of_a_histogram_and_of_each_cpu(guest: Guest, watch: Watch) -> None:
    armed = arm(watch, "latency")
    assert armed.plan.counts_only
    work(watch, guest)
    found = maps(watch)
    # The version is that of the guest, not of this machine, on which libbpf ran.
    major, minor, patch = (int(word) for word in re.split(r"[.+]", guest.kernel.release)[:3])
    assert [row.value for row in found["kernel"].rows] == [major << 16 | minor << 8 | patch]
    totals = {row.key: row for row in found["totals"].rows}
    assert totals[0].value == sum(int(str(one)) for one in totals[0].by_cpu)
    slots = {name: sum(counts) for name, counts in found["hists"].histograms}
    assert slots["python3"] > 0
    # A read that has not ended yet, and those that ended before the map was read, stand between the two sums.
    assert abs(int(str(totals[0].value)) - sum(slots.values())) <= max(200, sum(slots.values()) // 2)


@KERNELS
def test_an_object_may_have_more_programs_than_are_loaded_together(guest: Guest, watch: Watch) -> None:
    armed = arm(watch, "many")
    assert armed.plan.object is not None
    assert [one.name for one in armed.plan.object.programs] == ["wanted"]
    work(watch, guest)
    (row,) = maps(watch)["counts"].rows
    assert int(str(row.value)) >= FILES


@KERNELS
def test_what_the_verifier_refuses_is_said_with_the_program(guest: Guest, watch: Watch) -> None:
    with pytest.raises(ProbeRefused) as caught:
        arm(watch, "refused")
    assert "reads_anything" in str(caught.value)
    assert "the verifier: " in caught.value.remedy
    assert "mem access" in caught.value.remedy
    assert watch.armed.probes == ()
    arm(watch, "refused", "programs=is_fine")


@KERNELS
def test_objects_are_disarmed_and_armed_beside_others(guest: Guest, watch: Watch) -> None:
    first = arm(watch, "unlink", "programs=unlink_ends")
    other = watch.armed.arm(parse_armable("f vfs_rmdir%return $retval"), at_any_rate=True)
    work(watch, guest)
    names = Counter(str(row["name"]) for row in rows_of(watch, "unlink"))
    assert all(names[f"own{number}"] == 1 for number in range(FILES))
    assert len([row for row in rows_of(watch, other.plan.events[0].event) if row["ret"] == 0]) >= FILES
    assert watch.armed.disarm(first) == []
    work(watch, guest)
    assert Counter(str(row["name"]) for row in rows_of(watch, "unlink")) == names
    again = arm(watch, "unlink", "programs=unlink_ends")
    assert again.plan.events[0].event == "unlink"
    work(watch, guest)
    assert sum(Counter(str(row["name"]) for row in rows_of(watch, "unlink")).values()) >= 2 * FILES


@KERNELS
def test_a_perf_buffer_that_is_full_tells_what_it_lost(guest: Guest, watch: Watch) -> None:
    arm(watch, "opens")
    (agent,) = watch.planner.info.target.our_pids()[:1]
    code = f"""
import os
for number in range({OPENS}):
    try:
        os.open("/nowhere", os.O_RDONLY)
    except OSError:
        pass
"""
    guest.run(f"kill -STOP {agent}")
    try:
        guest.run(f"python3 -c '{code}'")
    finally:
        guest.run(f"kill -CONT {agent}")
    # The kernel's record of a loss comes with the next one on that CPU: there is none.
    bring_in(watch)
    session = watch.session
    assert session is not None
    read = [row for row in rows_of(watch, "opens") if row["name"] == "/nowhere"]
    lost = sum(session.counts().full.values())
    assert lost > 0
    stamps = [row["ts_of_event"] for row in read]
    assert len(read) < OPENS <= len(read) + lost, (len(read), session.counts(), min(stamps), max(stamps))


@KERNELS
def test_an_object_that_is_none_or_lacks_what_it_names_is_refused(guest: Guest, watch: Watch, tmp_path: Path) -> None:
    path = tmp_path / "no.bpf.o"
    path.write_bytes(b"text")
    for text, part in (
        (str(path), "no ELF file"),
        (f"{tmp_path}/absent.bpf.o", "No such file"),
        (f"{built('unlink')} programs=nothing", "no program of this object"),
        (f"{built('opens')} events=nothing", "no struct nothing"),
    ):
        with pytest.raises((CannotLower, TargetUnusable), match=part):
            watch.armed.arm(parse_armable(text), at_any_rate=True)


@KERNELS
def test_the_agent_makes_maps_and_programs_as_this_machine_does(guest: Guest) -> None:
    target = connect(guest, guest.kernel.release)

    def call(command: int, attributes: bytes, parts: Sequence[checks.Part]) -> tuple[int, list[bytes]]:
        answer = target.bpf(command, attributes, [BpfPart(offset, data, kind) for offset, kind, data in parts])
        return answer.result, list(answer.returned)

    try:
        checks.check_maps(call)
        checks.check_programs(call)
        assert checks.written_ring(call, (8, 64))[0] > 0
    finally:
        target.close()


@KERNELS
def test_run_prints_records_and_maps_and_leaves_nothing(guest: Guest, tmp_path: Path) -> None:
    env = ssh_to(guest, tmp_path)
    where = ["--target", address(guest)]
    running = start("run", str(built("unlink")), *where, "--json", "--maps", "--for", "8", env=env)
    until(lambda: b"vfs_unlink" in guest.run("cat /sys/kernel/tracing/enabled_functions"))
    guest.run(f"python3 -c '{UNLINK}'")
    done = finish(running)
    events = [one["values"]["name"] for one in done.objects if "values" in one]
    assert [name for name in events if name.startswith("own")] == [f"own{n}" for n in range(FILES) for _ in range(2)]
    (table,) = [one for one in done.objects if one.get("map") == "removed_by"]
    assert {row["key"]: row["value"] for row in table["rows"]}["python3"] == FILES
    assert b"vfs_unlink" not in guest.run("cat /sys/kernel/tracing/enabled_functions")
    refused = run("run", str(built("refused")), *where, env=env)
    assert refused.status == 1
    assert "reads_anything" in refused.out + refused.err


@KERNELS
def test_a_killed_run_leaves_no_program(guest: Guest, tmp_path: Path) -> None:
    env = ssh_to(guest, tmp_path)
    running = start("run", str(built("unlink")), "--target", address(guest), env=env)
    until(lambda: b"vfs_unlink" in guest.run("cat /sys/kernel/tracing/enabled_functions"))
    running.send_signal(signal.SIGKILL)
    running.wait()
    until(lambda: b"vfs_unlink" not in guest.run("cat /sys/kernel/tracing/enabled_functions"))
    assert b"vfs_unlink" not in guest.run("cat /sys/kernel/tracing/enabled_functions")
    for stream in (running.stdout, running.stderr):
        assert stream is not None
        stream.close()
