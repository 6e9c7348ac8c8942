"""One probe of each kind on each kernel: armed, driven, and every event compared with the kernel's own text of it."""

from __future__ import annotations

import operator
import re
import struct
import subprocess
import tarfile
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from events.names.kernel_text import kernel_text
from events.record import Record
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from kernel.session.session import Session
from kernel.watch.watch import Watch
from probes.command import parse_armable
from probes.facts.facts import Feature
from probes.plans.plan import PlannedEvent
from probes.programs.elf_symbols import read_program
from tests.real.command import address, run, ssh_to
from tests.real.conftest import prepared
from tests.real.held import Event, assert_same, bring_in, hold, kernel_side
from tests.real.saved import SavedGuests

KERNELS = ["6.1", "6.12", "7.2", "arm64:6.12"]
TRACING = "/sys/kernel/tracing"
PROGRAMS = Path(__file__).parents[1] / "data/programs.tar.xz"
SPECS = (
    "t:x/tp sched_switch prev->comm:string prev->pid next->comm:string next->pid if pid > 0",
    "e:x/ev sched.sched_switch $$args if next_pid == 0",
    "e:x/call syscalls.sys_enter_openat $dfd $flags",
    "e:x/timer timer.hrtimer_start $$args",
    "p:x/parent LIBC:getppid $comm",
    "r:x/parent_is LIBC:getppid%return $retval:s32",
    'p:x/set LIBC:setenv +0($arg1):string +0($arg2):string overwrite=$arg3:s32 if arg1 ~ "PW*"',
    "p:x/box /bin/busybox:ENTRY %sp",
    "f:x/many vfs_re*%both $arg1 $retval",
    "s:pw_woken u64 lat; pid_t pid; char comm[16]",
)
STATIC = "p:x/static /tmp/runs:sdt_made:twice %di"
OPENED = "p:x/opened do_sys_openat2 filename:ustring"
TRIGGERS = {
    "sched/sched_waking": "hist:keys=pid:ts0=common_timestamp.usecs:clock=mono",
    "sched/sched_switch": "hist:keys=next_pid:lat=common_timestamp.usecs-$ts0:clock=mono:"
    "onmatch(sched.sched_waking).pw_woken($lat,next_pid,next_comm)",
}
"""What fires the synthetic event. Without `clock` they would switch the instance's clock to the global one."""
STAMPED = """
import os, time
for _ in range(13):
    time.sleep(0.02)
    try:
        os.open(f"/none/{time.monotonic_ns() // 1000}", os.O_RDONLY)
    except OSError:
        pass
"""
THEIRS = f"{TRACING}/instances/theirs"
WORKLOAD = (
    "cd /; cat /proc/version >/dev/null; readlink /proc/self/exe >/dev/null; sleep 0.1; "
    "[ ! -x /tmp/runs ] || /tmp/runs; python3 -c '"
    'import os; os.putenv("PW_A", "first"); os.putenv("PX", "none"); os.putenv("PW_B", "second"); print(os.getppid())'
    "'"
)


class Side(NamedTuple):
    """What both sides saw of one run."""

    watch: Watch
    ours: list[Event]
    theirs: list[Event]
    told: str
    """What the workload printed."""
    fired: tuple[list[Event], list[Event]]
    """Synthetic events, ours and the kernel's."""
    opened: list[tuple[int, int, bool]]
    """When a file was opened, in microseconds: by the event's stamp, and by the name of the file; and whether the
    stamp is that of the record before it on its CPU.
    """
    losses: dict[str, tuple[str, ...]]
    """By event."""

    def of(self, name: str) -> list[str]:
        """Texts of one event."""
        return [event.text for event in self.ours if event.text.startswith(f"{name}: ")]


@pytest.fixture(scope="module")
def guest(request: pytest.FixtureRequest, saved: SavedGuests) -> Iterator[Guest]:
    kernel = str(request.param)
    prepared(kernel)
    with saved.lent(kernel) as machine:
        if machine.kernel.arch == "amd64":
            with tarfile.open(PROGRAMS) as archive:
                runs = archive.extractfile("runs")
                assert runs is not None
                command = [*machine.ssh_command, "cat >/tmp/runs && chmod 755 /tmp/runs"]
                subprocess.run(command, input=runs.read(), check=True)
        yield machine


@pytest.fixture(scope="module")
def side(guest: Guest) -> Iterator[Side]:
    """All kinds armed, the workload run, and the buffer read by both."""
    target = connect(guest, "guest")
    held = hold(target)
    watch = Watch(Planner(KernelInfo(target)))
    try:
        losses = _arm(guest, watch)
        session = watch.session
        assert isinstance(session, Session)
        place = session.instance.path
        guest.run(f"cd {place}; echo 8192 >buffer_size_kb")
        told = guest.run(f"echo >{place}/trace; {WORKLOAD}; echo 0 >{place}/tracing_on").decode()
        theirs = kernel_side(guest, place)
        held[0].let_go()
        ours = _events(watch, 0)
        fired = _fire(guest, watch, place)
        yield Side(watch, [event for _, event in ours], theirs, told, *fired, losses)
    finally:
        assert watch.close() == []
        watch.info.close()
    assert guest.run(f"cat {TRACING}/dynamic_events; ls {TRACING}/instances") == b""


def _fire(
    guest: Guest, watch: Watch, place: str
) -> tuple[tuple[list[Event], list[Event]], list[tuple[int, int, bool]]]:
    """Have the synthetic event fired, for us and for an instance that the kernel prints."""
    store = watch.store
    assert store is not None
    first = store.next_seq
    triggers = [(f"{place}/events/{event}/trigger", text) for event, text in TRIGGERS.items()]
    enable = f"{THEIRS}/events/synthetic/pw_woken/enable"
    guest.run("\n".join(["set -e", f"mkdir {THEIRS}", *(f"echo '{text}' >>{path}" for path, text in triggers)]))
    guest.run(f"echo 1 >{enable}; echo 1 >{place}/tracing_on; python3 -c '{STAMPED}'; echo 0 >{place}/tracing_on")
    undo = [f"echo '!{text}' >>{path}" for path, text in reversed(triggers)]
    guest.run("\n".join(["set -e", f"echo 0 >{enable}", *undo]))
    theirs = kernel_side(guest, THEIRS)
    guest.run(f"rmdir {THEIRS}")
    ours = _events(watch, first)
    fired = [event._replace(stamp=0) for record, event in ours if record.event == "synthetic/pw_woken"]
    opened, last = [], dict[int, int]()
    for record, _ in ours:
        name = str(record.values["filename"]) if record.event.endswith("/opened") else ""
        if name.startswith("/none/"):
            opened.append((record.ts // 1000, int(name.removeprefix("/none/")), record.ts == last.get(record.cpu)))
        last[record.cpu] = record.ts
    return (fired, [event._replace(stamp=0) for event in theirs]), opened


def _arm(guest: Guest, watch: Watch) -> dict[str, tuple[str, ...]]:
    libc = guest.run("ls /lib/*/libc.so.6").decode().strip()
    register = "x0" if guest.kernel.arch == "arm64" else "sp"
    entry = _entry(watch.info.target.read("/bin/busybox"))
    losses = {}
    for spec in (*SPECS, OPENED, *((STATIC,) if guest.kernel.arch == "amd64" else ())):
        text = spec.replace("LIBC", libc).replace("ENTRY", hex(entry)).replace("%sp", f"%{register}")
        checked = watch.planner.check(parse_armable(text)).verdict
        assert checked.ok, (text, checked)
        armed = watch.armed.arm(parse_armable(text))
        losses[armed.plan.events[0].event] = armed.plan.losses
    return losses


def _entry(data: bytes) -> int:
    """Where in the file a program begins: busybox is stripped, its header says it."""
    (address,) = struct.unpack_from("<Q", data, 24)
    segment = next(s for s in read_program(data).segments if s.executable)
    return int(address) - segment.address + segment.offset


def _events(watch: Watch, first: int) -> list[tuple[Record, Event]]:
    """Our side from row `first` on, once nothing more comes."""
    session, store = watch.session, watch.store
    assert isinstance(session, Session) and store is not None
    bring_in(watch)
    watch.intake.know_names(watch.names())
    assert (watch.error, store.undecodable, dict(store.overrun)) == (None, 0, {})
    records = [store.record(seq) for seq in range(max(first, store.first_seq), store.next_seq)]
    return [(record, _text(watch, record)) for record in records]


def _text(watch: Watch, record: Record) -> Event:
    planned = next(e for armed in watch.armed.probes for e in armed.plan.events if e.path == record.event)
    letter, place = planned.line[0], planned.line.split()[1]
    text = kernel_text(
        record,
        watch.info.symbols.current,
        attached=place if letter == "e" else "",
        user=letter in "pr" and "/" in place,
    )
    return Event((record.ts + 500) // 1000, record.cpu, record.pid, record.comm, text)


def _planned(side: Side, name: str) -> PlannedEvent:
    return next(e for armed in side.watch.armed.probes for e in armed.plan.events if e.event == name)


@pytest.mark.parametrize("guest", KERNELS, indirect=True, scope="module")
class TestKinds:
    def test_every_event_is_the_kernels_own(self, side: Side) -> None:
        ours, theirs = by_cpu(side.ours), by_cpu(side.theirs)
        assert_same(
            [event._replace(stamp=0) for event in side.ours], [event._replace(stamp=0) for event in side.theirs]
        )
        assert ours.keys() == theirs.keys()
        for cpu, events in ours.items():
            assert [event._replace(stamp=0) for event in events] == [e._replace(stamp=0) for e in theirs[cpu]]
            assert events == sorted(events, key=operator.attrgetter("stamp"))
            # A filter makes the kernel throw records away that it has begun; when it prints, it forgets what they
            # took of the time.
            assert all(one.stamp >= other.stamp - 1 for one, other in zip(events, theirs[cpu], strict=True))
        seen = {event.text.partition(":")[0] for event in side.ours}
        planned = {e.event for armed in side.watch.armed.probes for e in armed.plan.events}
        assert planned - seen == {"pw_woken"}  # nothing fires it yet

    def test_tracepoint(self, side: Side) -> None:
        new = side.watch.info.facts.has(Feature.TPROBE_EVENTS)
        assert _planned(side, "tp").line[0] == ("t" if new else "e")
        assert bool(side.losses["tp"]) is not new
        found = re.compile(r'tp: \(\S+\) comm="?(.+?)"? pid=(\d+) next_comm="?(.+?)"? next_pid=(\d+)$')
        pairs = [found.match(text) for text in side.of("tp")]
        assert all(pairs) and len(pairs) > 5
        assert {("swapper", "0")} >= {(m[3][:7], m[4]) for m in pairs if m and m[4] == "0"}
        assert all(m[2] != "0" for m in pairs if m)

    def test_event(self, side: Side) -> None:
        texts = side.of("ev")
        assert texts and all(" next_pid=0 " in text for text in texts)
        # Both tell of each switch, one after the other; the buffer is emptied, and switched off, between two of them.
        told: dict[int, list[str]] = {}
        for event in side.ours:
            name, _, text = event.text.partition(": ")
            if (name == "tp" and text.endswith("next_pid=0")) or (name == "ev" and " prev_pid=0 " not in text):
                told.setdefault(event.cpu, []).append(name)
        assert sum(map(len, told.values())) > 20
        assert all(one != other for names in told.values() for one, other in pairwise(names))
        assert all(re.search(r"dfd=-100 flags=\d+$", text) for text in side.of("call"))
        names = {dict(side.watch.event_fields.values(r)).get("mode", "") for r in _records(side, "timer")}
        # As decode_hrtimer_mode of include/trace/events/timer.h prints them.
        assert names and all(re.fullmatch(r"(ABS|REL)(\|(PINNED|SOFT|HARD))*", name) for name in names), names

    def test_program(self, side: Side) -> None:
        (parent,) = side.of("parent_is")
        assert parent.endswith(f" ret={side.told.strip()}")
        assert len(side.of("parent")) == 1
        values = [text.partition(") ")[2] for text in side.of("set")]
        assert values == [
            'arg1="PW_A" arg2="first" overwrite=1',
            'arg1="PW_B" arg2="second" overwrite=1',
        ]
        assert len(side.of("box")) >= 2

    def test_static_probe(self, side: Side, guest: Guest) -> None:
        if guest.kernel.arch != "amd64":
            pytest.skip("the program is one for x86-64")
        assert [text.partition(") ")[2] for text in (*side.of("static"), *side.of("static_2"))] == [
            "di=0x2a",
            "di=0x2b",
        ]

    def test_pattern(self, side: Side) -> None:
        fprobes = side.watch.info.facts.has(Feature.FPROBE_EVENTS)
        entry = _planned(side, "many__entry")
        assert (entry.line[0], bool(entry.more)) == (("f", False) if fprobes else ("p", True))
        functions = {text.partition("(")[2].partition("+")[0] for text in side.of("many__entry")}
        assert {"vfs_read", "vfs_readlink"} <= functions
        assert {"<- vfs_readlink", "<- vfs_read"} <= {m[0] for t in side.of("many__exit") for m in [_caller(t)]}

    def test_synthetic(self, side: Side) -> None:
        ours, theirs = side.fired
        assert len(ours) > 5
        # It goes on firing in the other instance while ours is stopped.
        assert Counter(ours) - Counter(theirs) == Counter()
        assert all(re.fullmatch(r"pw_woken: lat=\d+ pid=\d+ comm=.+", event.text) for event in ours)

    def test_stamps_beside_records_that_were_thrown_away(self, side: Side) -> None:
        """Each open lies between the time that it was told and the time that the next one was.

        Or it has the stamp of the record before it: where an interrupt came while the kernel made room for it, and
        the interrupt's own record was thrown away, the time is not known (__rb_reserve_next in ring_buffer.c).
        """
        assert len(side.opened) == 13
        apart = 1000  # the clock of NMIs is adjusted apart from the one that a process reads
        inside = [named - apart < stamp < after + apart for (stamp, named, _), (_, after, _) in pairwise(side.opened)]
        assert sum(inside) > 6
        assert all(at or copied for at, (*_, copied) in zip(inside, side.opened, strict=False)), side.opened

    @pytest.mark.parametrize(
        "specs",
        [
            ("p:x/two vfs_read $arg3", "p:x/two vfs_write $arg3"),
            ("r:x/three vfs_read $retval", "r:x/three vfs_write $retval"),
        ],
        ids=lambda specs: specs[0].split()[1],
    )
    def test_probes_that_share_an_event_go_one_by_one(self, side: Side, guest: Guest, specs: tuple[str, str]) -> None:
        name = specs[0].split()[0].rpartition("/")[2]  # each its own: another probe's rows keep their name
        listed = f"grep '/{name} ' {TRACING}/dynamic_events || true"
        first, second = (side.watch.armed.arm(parse_armable(text)) for text in specs)
        both = guest.run(listed).splitlines()
        assert side.watch.armed.disarm(first) == []
        (line, *_) = left = guest.run(listed).splitlines()
        assert set(left) < set(both) and line.split()[1] != both[0].split()[1]
        assert side.watch.armed.disarm(second) == []
        # Others record: the last of it is off, and goes when no record can be lost with it
        # (`kernel.session.parked_events`).
        assert guest.run(listed).splitlines() == left
        assert guest.run(f"cat {TRACING}/instances/probewright-*/events/pw_*/{name}/enable") == b"0\n"

    def test_commands_take_every_kind(
        self, side: Side, guest: Guest, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        env = ssh_to(guest, tmp_path_factory.mktemp("ssh"))
        libc = guest.run("ls /lib/*/libc.so.6").decode().strip()
        specs = ("t sched_waking $$args", "e sched.sched_switch $next_pid", f"p {libc}:getppid", "s:pw_other u64 a")
        some = run("check", *specs, f"p {libc}:getppidd", "--target", address(guest), "--json", env=env)
        *good, bad = some.objects
        assert [one["ok"] for one in good] == [True] * 4, some
        letters = "".join(one["lowered"][0][0] for one in good)
        assert letters == f"{'t' if side.watch.info.facts.has(Feature.TPROBE_EVENTS) else 'e'}eps"
        assert (bad["ok"], bad["error"]["code"]) == (False, "no_such_symbol")
        assert bad["spec"][bad["error"]["column"] :] == "getppidd"
        made = tmp_path_factory.mktemp("made") / "kinds.pwr"
        words = ["--target", address(guest), "--count", "3"]
        done = run("record", *specs[1:2], "s:pw_other u64 a", *words, "-o", str(made), env=env)
        assert done.status == 0, done
        again = run("run", *specs[1:2], "--target", str(made), "--count", "3", "--json", env=env)
        assert [one["event"].rpartition("/")[2] for one in again.objects] == ["sched_switch"] * 3, again
        assert all(set(one["values"]) == {"next_pid"} for one in again.objects)


def by_cpu(events: list[Event]) -> dict[int, list[Event]]:
    """The events of each CPU, in their order."""
    found: dict[int, list[Event]] = {}
    for event in events:
        found.setdefault(event.cpu, []).append(event)
    return found


def _records(side: Side, name: str) -> list[Record]:
    store = side.watch.store
    assert store is not None
    records = (store.record(seq) for seq in range(store.first_seq, store.next_seq))
    return [record for record in records if record.event.endswith(f"/{name}")]


def _caller(text: str) -> re.Match[str]:
    found = re.search(r"<- \w+", text)
    assert found is not None
    return found
