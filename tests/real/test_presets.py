"""Every preset that comes along, armed on each kernel with a workload that makes it speak; nothing is left behind."""

from __future__ import annotations

import ast
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from kernel.preset_files import Origin, Presets
from kernel.session.session import Session
from kernel.watch.watch import Watch
from probes.facts.facts import Feature
from probes.presets.judge import PresetJudgement, judge
from probes.presets.schema import PresetView
from tests.real.conftest import prepared
from tests.real.held import bring_in
from tests.real.preset_modules import module_archive
from tests.real.saved import SavedGuests

KERNELS = ["6.1", "6.12", "7.2", "arm64:6.12"]
TRACING = "/sys/kernel/tracing"
SHIPPED = {entry.name: entry.preset for entry in Presets().all() if entry.origin is Origin.SHIPPED}
PROBES = {name for name, preset in SHIPPED.items() if preset is not None and preset.view is not PresetView.FAILURES}
"""Those that have probes; `test_errors` has the others."""

Event = dict[str, Any]
"""`event`, `comm`, `pid`, and its values."""


class Run(NamedTuple):
    """What a preset said of a workload."""

    events: list[Event]
    told: dict[str, Any]
    """What the workload printed."""
    kept: bool
    """This kernel keeps arguments for the exit."""

    def of(self, name: str) -> list[Event]:
        return [event for event in self.events if event["event"].endswith(name)]


class Case(NamedTuple):
    """How a preset is made to speak, and what it has to say."""

    script: str
    """Python, for the guest; prints one dictionary."""
    values: dict[str, str]
    check: Callable[[Run], None]


CASES: dict[str, Case] = {}


def case(name: str, script: str, **values: str) -> Callable[[Callable[[Run], None]], None]:
    def put(check: Callable[[Run], None]) -> None:
        CASES[name] = Case(script, values, check)

    return put


@case(
    "slow-opens",
    """
import os, time
began = time.monotonic_ns()
fd = os.open("/tmp/pw_opened", os.O_CREAT | os.O_RDWR)
try:
    os.open("/tmp/pw_not_there", os.O_RDONLY)
except OSError:
    pass
print({"fd": fd, "pid": os.getpid(), "took": time.monotonic_ns() - began})
""",
    min_latency="1ns",
    path="/tmp/pw_*",
)
def _slow_opens(run: Run) -> None:
    opened, missing = run.events
    assert (opened["filename"], opened["ret"]) == ("/tmp/pw_opened", run.told["fd"])
    assert (missing["filename"], missing["ret"]) == ("/tmp/pw_not_there", -2)
    assert opened["pid"] == missing["pid"] == run.told["pid"]
    assert 0 < opened["lat"] + missing["lat"] < run.told["took"]


@case(
    "block-latency",
    """
import mmap, os, time
fd = os.open("/dev/loop0", os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, 4096)
began = time.monotonic_ns()
os.preadv(fd, [page], 65536)
print({"took": time.monotonic_ns() - began, "rdev": os.fstat(fd).st_rdev, "byte": page[0]})
""",
)
def _block_latency(run: Run) -> None:
    device = run.told["rdev"] >> 8 << 20 | run.told["rdev"] & 0xFF
    (read,) = [event for event in run.events if event["sector"] == 128]
    assert (read["dev"], read["nr_sector"], read["rwbs"][0]) == (device, 8, "R")
    assert 0 < read["lat"] < run.told["took"]
    assert run.told["byte"] == 7  # what was put there, so the read was this one


@case(
    "tcp-retransmits",
    """
import socket, struct, time
def retransmitted():  # tcpi_total_retrans: tcpi_retransmits counts what a full queue put off, too
    return struct.unpack_from("I", second.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), 100)[0]
server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen(0)
port = server.getsockname()[1]
first = socket.create_connection(("127.0.0.1", port))
second = socket.socket(); second.setblocking(False)
second.connect_ex(("127.0.0.1", port))
while not retransmitted(): time.sleep(0.05)
print({"port": port, "own": second.getsockname()[1]})
""",
)
def _tcp_retransmits(run: Run) -> None:
    again = [event for event in run.events if event["dport"] == run.told["port"]]
    assert again and {event["sport"] for event in again} == {run.told["own"]}
    for event in again:
        assert list(event["saddr"]) == list(event["daddr"]) == [127, 0, 0, 1]
        assert event["state"] == 2  # TCP_SYN_SENT: nobody has answered


@case(
    "packet-drops",
    """
import os, socket
closed = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); closed.bind(("127.0.0.1", 0))
port = closed.getsockname()[1]; closed.close()
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(5):
    sender.sendto(b"nobody listens", ("127.0.0.1", port))
print({"pid": os.getpid()})
""",
    protocol="2048",
)
def _packet_drops(run: Run) -> None:
    dropped = [event for event in run.events if event["pid"] == run.told["pid"]]
    assert len(dropped) >= 5 and {event["protocol"] for event in dropped} == {2048}
    (most, times) = Counter((event["reason"], event["location"]) for event in dropped).most_common(1)[0]
    assert times >= 5 and most[0] > 0  # each datagram to the closed port, in one place for one reason


@case(
    "who-kills",
    """
import ctypes, os, signal, time
child = os.fork()
if not child:
    while True: signal.pause()
libc, timer, wanted, when = ctypes.CDLL(None), ctypes.c_void_p(), (ctypes.c_int * 16)(), (ctypes.c_long * 4)()
fired = []
signal.signal(signal.SIGTERM, lambda *_: fired.append(1))
wanted[2], when[3] = signal.SIGTERM, 1000000  # sigev_signo, it_value.tv_nsec
assert libc.timer_create(1, wanted, ctypes.byref(timer)) == libc.timer_settime(timer, 0, when, None) == 0
while not fired: time.sleep(0.01)
os.kill(child, signal.SIGTERM); os.waitpid(child, 0)
print({"sender": os.getpid(), "child": child})
""",
    signal="15",
)
def _who_kills(run: Run) -> None:
    (sent,) = [event for event in run.events if event["pid_of_field"] in (run.told["child"], run.told["sender"])]
    assert (sent["pid"], sent["sig"], sent["code"], sent["result"]) == (run.told["sender"], 15, 0, 0)
    assert sent["comm_of_field"] == "python3"


@case(
    "page-faults",
    """
import ctypes, mmap, os, time
pages = mmap.mmap(-1, 8 * 4096)
address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
began = time.monotonic_ns()
pages[3 * 4096] = 1
print({"page": address // 4096 + 3, "pid": os.getpid(), "took": time.monotonic_ns() - began})
""",
)
def _page_faults(run: Run) -> None:
    entries = [event for event in run.of("__entry") if event["pid"] == run.told["pid"]]
    (ours,) = [event for event in entries if event["address"] // 4096 == run.told["page"]]
    assert ours["flags"] & 0x41 == 0x41  # FAULT_FLAG_WRITE, FAULT_FLAG_USER
    after = next(e for e in run.of("__exit") if e["pid"] == run.told["pid"] and e["ts"] > ours["ts"])
    assert 0 < after["ts"] - ours["ts"] < run.told["took"]
    assert after["ret"] & 0x873 == 0  # none of VM_FAULT_ERROR


@case(
    "file-position",
    """
import os
fd = os.open("/tmp/pw_position", os.O_CREAT | os.O_RDWR)
os.write(fd, b"x" * 300); os.lseek(fd, 50, os.SEEK_SET)
os.read(fd, 100); os.read(fd, 1000)
print({"pid": os.getpid()})
""",
)
def _file_position(run: Run) -> None:
    entries = [event for event in run.of("__entry") if event["file"] == "pw_position"]
    assert [(e["pos"], e["f_pos"], e["count"]) for e in entries] == [(50, 50, 100), (150, 150, 1000)]
    exits = [e for e in run.of("__exit") if e["pid"] == run.told["pid"]]
    exits = [next(e for e in exits if e["ts"] > entry["ts"]) for entry in entries]
    assert [e["ret"] for e in exits] == [100, 150]
    if run.kept:
        assert [e["pos"] for e in exits] == [150, 300]


@case(
    "run-queue-delay",
    """
import os, time
os.sched_setaffinity(0, {0})
busy = os.fork()
if not busy:
    while True: pass
began = time.monotonic_ns()
open("/proc/self/comm", "w").write("pw_sleeper")
for _ in range(20): time.sleep(0.01)
print({"pid": os.getpid(), "busy": busy, "took": time.monotonic_ns() - began})
open("/proc/self/comm", "w").write("python3")
os.kill(busy, 9); os.waitpid(busy, 0)
""",
    min_latency="1ns",
    comm="pw_sleeper",
)
def _run_queue_delay(run: Run) -> None:
    assert len(run.events) > 5
    assert {(event["next_comm"], event["next_pid"]) for event in run.events} == {("pw_sleeper", run.told["pid"])}
    assert run.told["busy"] in {event["prev_pid"] for event in run.events}
    waited = [event["lat"] for event in run.events]
    assert min(waited) > 0 and sum(waited) < run.told["took"]


@case(
    "task-delay",
    """
import time
for _ in range(20): time.sleep(0.01)
print({})
""",
)
def _task_delay(run: Run) -> None:
    """These kernels have no timerlat: the other way is taken, which measures wakeups."""
    woken = [event["lat"] for event in run.events]
    assert len(woken) > 5
    assert min(woken) > 0


@case(
    "dentry-leaks",
    """
import os
for name in ("pw_leak_a", "pw_leak_b"):
    try:
        os.stat(f"/tmp/{name}")
    except OSError:
        pass
print({"pid": os.getpid()})
""",
)
def _dentry_leaks(run: Run) -> None:
    made = [event for event in run.of("alloc__entry") if str(event["name"]).startswith("pw_leak")]
    assert [event["name"] for event in made] == ["pw_leak_a", "pw_leak_b"]
    for entry in made:
        leave = next(e for e in run.of("alloc__exit") if e["pid"] == entry["pid"] and e["ts"] > entry["ts"])
        # tmpfs keeps no names of files that are not there: what was made is freed, by the same address.
        assert any(free["dentry"] == leave["ret"] and free["ts"] > leave["ts"] for free in run.of("free"))


@case(
    "mutex-hold",
    """
import os, time
began = time.monotonic_ns()
reader, writer = os.pipe()
for _ in range(50): os.write(writer, b"x" * 100)
print({"pid": os.getpid(), "took": time.monotonic_ns() - began})
""",
    min_latency="1ns",
)
def _mutex_hold(run: Run) -> None:
    ours = [event for event in run.events if event["pid"] == run.told["pid"]]
    by_lock = [event["lock"] for event in ours]
    pipe = max(set(by_lock), key=by_lock.count)
    held = [event["lat"] for event in ours if event["lock"] == pipe]
    assert 50 <= len(held) <= 52 and pipe >> 56 == 0xFF  # both ends are closed behind what was timed
    assert all(took > 0 for took in held) and sum(held[:50]) < run.told["took"]


@case(
    "failed-syscalls",
    """
import os, platform
try:
    os.chdir("/pw_nowhere")
except OSError as error:
    print({"pid": os.getpid(), "errno": error.errno, "chdir": {"x86_64": 80, "aarch64": 49}[platform.machine()]})
""",
    error="-2",
)
def _failed_syscalls(run: Run) -> None:
    ours = [event for event in run.events if event["pid"] == run.told["pid"]]
    assert {event["ret"] for event in run.events} == {-run.told["errno"]}
    assert [event["id"] for event in ours].count(run.told["chdir"]) == 1


@case(
    "exec-arguments",
    """
import os
child = os.fork()
if not child:
    os.execv("/usr/bin/echo", ["pw_echo", "a b", "$(x)"])
os.waitpid(child, 0)
print({"child": child})
""",
)
def _exec_arguments(run: Run) -> None:
    (call,) = [event for event in run.of("/call") if event["pid"] == run.told["child"]]
    assert [call[name] for name in ("arg0", "arg1", "arg2")] == ["pw_echo", "a b", "$(x)"]
    assert call["filename"] in ("/usr/bin/echo", None)  # a page of text that the caller has not touched is a fault
    assert call["arg3"] in (None, "", "(fault)")
    (done,) = [event for event in run.of("sched_process_exec") if event["pid"] == run.told["child"]]
    assert done["filename"] == "/usr/bin/echo"


@case(
    "oom-kills",
    """
import os
os.makedirs("/tmp/cgroup", exist_ok=True)
os.system("cd /tmp; mount -t cgroup2 none cgroup && echo +memory >cgroup/cgroup.subtree_control && mkdir cgroup/pw")
open("/tmp/cgroup/pw/memory.max", "w").write("20M")
child = os.fork()
if not child:
    open("/proc/self/comm", "w").write("pw_greedy")
    open("/tmp/cgroup/pw/cgroup.procs", "w").write(str(os.getpid()))
    held = [bytearray(b"x") * (1 << 20) for _ in range(200)]
    os._exit(0)
_, status = os.waitpid(child, 0)
os.system("until rmdir /tmp/cgroup/pw 2>/dev/null; do usleep 10000; done; umount /tmp/cgroup")
print({"child": child, "status": status})
""",
)
def _oom_kills(run: Run) -> None:
    assert run.told["status"] == 9
    (kill,) = run.of("/kill")
    assert (kill["comm_of_field"], kill["pid_of_field"]) == ("pw_greedy", run.told["child"])
    assert kill["message"] == "Memory cgroup out of memory"
    assert run.told["child"] in {event.get("pid_of_field") for event in run.of("mark_victim")}


@case(
    "containers",
    """
import os
os.makedirs("/tmp/cgroup", exist_ok=True)
os.system("mount -t cgroup2 none /tmp/cgroup && mkdir /tmp/cgroup/pw")
child = os.fork()
if not child:
    open("/tmp/cgroup/pw/cgroup.procs", "w").write(str(os.getpid()))
    inside = os.fork()
    if inside:
        os.waitpid(inside, 0)
        print({"parent": os.getppid(), "child": os.getpid(), "inside": inside}, flush=True)
    os._exit(0)
os.waitpid(child, 0)
os.system("until rmdir /tmp/cgroup/pw 2>/dev/null; do usleep 10000; done; umount /tmp/cgroup")
""",
)
def _containers(run: Run) -> None:
    parent, child, inside = (run.told[name] for name in ("parent", "child", "inside"))
    forks = {(event["parent_pid"], event["child_pid"]) for event in run.of("sched_process_fork")}
    assert {(parent, child), (child, inside)} <= forks
    (move,) = run.of("cgroup_attach_task")
    assert (move["pid_of_field"], move["dst_path"], move["dst_root"]) == (child, "/pw", 0)


def test_every_shipped_preset_has_its_case() -> None:
    assert len(SHIPPED) >= 12 and set(CASES) == PROBES
    assert SHIPPED.keys() - PROBES == {"first-failure"}


@pytest.fixture(scope="module")
def machine(request: pytest.FixtureRequest, saved: SavedGuests) -> Iterator[tuple[Guest, Planner]]:
    kernel = str(request.param)
    prepared(kernel)
    with saved.start(kernel) as guest, module_archive(kernel, "loop").open("rb") as modules:
        subprocess.run([*guest.ssh_command, "cd / && busybox cpio -idu"], stdin=modules, check=True)
        guest.run(
            "insmod /lib/modules/extra/loop.ko max_loop=1;"
            " dd if=/dev/zero bs=1M count=2 2>/dev/null | tr '\\0' '\\7' >/tmp/disk"
            " && losetup /dev/loop0 /tmp/disk"
        )
        planner = Planner(KernelInfo(connect(guest, "guest")))
        yield guest, planner
        planner.info.close()


@pytest.mark.parametrize("name", sorted(PROBES))
@pytest.mark.parametrize("machine", KERNELS, indirect=True, scope="module")
def test_it_speaks(machine: tuple[Guest, Planner], name: str) -> None:
    guest, planner = machine
    preset, one = SHIPPED[name], CASES[name]
    assert preset is not None
    judgement = judge(preset, one.values, planner.check)
    assert judgement.ok, [judged.verdict for judged in judgement.probes]
    events, told = _speak(guest, planner, judgement, one.script)
    one.check(Run(events, told, planner.info.facts.has(Feature.ENTRY_ARGS_AT_EXIT)))
    left = guest.run(f"cat {TRACING}/dynamic_events; ls {TRACING}/instances; cat {TRACING}/set_event")
    assert left == b""


def _speak(
    guest: Guest, planner: Planner, judgement: PresetJudgement, script: str
) -> tuple[list[Event], dict[str, Any]]:
    """Arm, run the workload, read all that came, take everything away."""
    watch = Watch(planner)
    try:
        for judged in judgement.probes:
            watch.armed.arm(judged.probe)
        session, store = watch.session, watch.store
        assert isinstance(session, Session) and store is not None
        session.resize(8192)  # a busy machine reads late
        stop = f"echo 0 >{session.instance.path}/tracing_on"  # else what the guest does by itself never ends
        out = guest.run(f"python3 -c {_quoted(script)}; {stop}").decode()
        bring_in(watch)
        watch.intake.know_names(watch.names())
        assert (watch.error, store.undecodable, dict(store.overrun)) == (None, 0, {})
        events = [_event(store.record(seq)) for seq in range(store.first_seq, store.next_seq)]
        return events, ast.literal_eval(out.strip().splitlines()[-1])
    finally:
        assert watch.close() == []


def _event(record: Any) -> Event:
    own = {"event": record.event, "comm": record.comm, "pid": record.pid, "ts": record.ts}
    values = {f"{name}_of_field" if name in own else name: value for name, value in record.values.items()}
    return {**own, **values}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
