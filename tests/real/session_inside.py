"""Runs inside a guest, on the local target there: plays sessions and prints what happened as one JSON object.

Not a test by itself: `test_session_guest.py` sends it there and looks at the answers.
"""

import json
import os
import signal
import struct
import subprocess
import threading
import time
from collections.abc import Callable

from events import subbuffer
from events.batch import Batch
from kernel.cleanup import leftovers
from kernel.errors import ProbeRefused
from kernel.local.stream import LocalStream
from kernel.local.target import LocalTarget
from kernel.session.session import Session
from kernel.session.start import open_session
from kernel.target import Effect, Step
from kernel.tracefs import Tracefs
from probes.facts.facts import Feature
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbePlace

ANSWERS: dict[str, object] = {}


def read_some(count: int) -> None:
    fd = os.open("/proc/version", os.O_RDONLY)
    for _ in range(count):
        os.pread(fd, 10, 0)
    os.close(fd)


def someone_else() -> int:
    """A process that reads and reads; made before any session, so it is none of ours."""
    pid = os.fork()
    if not pid:
        while True:
            read_some(50)
            time.sleep(0.02)
    return pid


def plan(session: Session, name: str, line: str, **more: object) -> Plan:
    path = f"{session.group}/{name}"
    letter, _, rest = line.partition(" ")
    event = PlannedEvent(session.group, name, f"{letter}:{path} {rest}", f"-:{path}", **more)
    return Plan(Probe(ProbePlace(rest)), (event,))


def pids(session: Session, batches: list[Batch]) -> dict[int, int]:
    """common_pid -> number of records."""
    size = session.header.page_size
    found: dict[int, int] = {}
    for data in (chunk.data for batch in batches for chunk in batch.chunks):
        for start in range(0, len(data), size):
            page = data[start : start + size]
            for _, offset, _ in subbuffer.walk(page, session.header):
                pid = struct.unpack_from("<i", page, offset + 4)[0]
                found[pid] = found.get(pid, 0) + 1
    return found


def until(seen: Callable[[], bool], seconds: float = 300.0) -> bool:
    """Whether it becomes true in time."""
    end = time.monotonic() + seconds
    while not seen():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def batches_with(session: Session, pid: int, number: int) -> list[Batch]:
    """All that came until there were more than so many events of a process, or until none are waited for any more."""
    batches: list[Batch] = []

    def enough() -> bool:
        batches.extend(session.pump.drain())
        return pids(session, batches).get(pid, 0) > number

    until(enough)
    return batches


def falls_silent(session: Session) -> bool:
    """Whether there comes a second in which not a byte arrives; what else lives in the guest may read before it."""

    def silent() -> bool:
        before = session.pump.received_bytes
        time.sleep(1)
        return session.pump.received_bytes == before

    return until(silent)


def our_reads(session: Session, least: int = 0) -> dict[str, int]:
    """Read from this thread, a thread and a child that are younger than the probe; events of each.

    It is waited for `least` of this thread and of the child.
    """
    tids = {}

    def in_thread() -> None:
        tids["thread"] = threading.get_native_id()
        read_some(500)

    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    tids["child"] = os.fork()
    if not tids["child"]:
        read_some(500)
        os._exit(0)
    os.waitpid(tids["child"], 0)
    read_some(500)
    tids["main"] = threading.get_native_id()
    tids["pump"] = session.pump._thread.native_id or 0 if session.pump._thread else 0
    session.pump.settle(300)
    found: dict[int, int] = {}

    def enough() -> bool:
        for tid, number in pids(session, session.pump.drain()).items():
            found[tid] = found.get(tid, 0) + number
        return all(found.get(tids[who], 0) >= least for who in ("main", "child"))

    until(enough)
    return {who: found.get(tid, 0) for who, tid in tids.items()}


def look(target: LocalTarget) -> None:
    facts = target.facts()
    ANSWERS["facts"] = {
        "machine": facts.machine,
        "release": facts.release,
        "page_size": facts.page_size,
        "uname": list(os.uname()[2:5:2]),
        "sysconf": os.sysconf("SC_PAGE_SIZE"),
        "cpus": [facts.cpus, os.cpu_count()],
        "functions": len(facts.functions),
        "blacklist": len(facts.blacklist),
        "features": sorted(facts.features),
        "usable": facts.usable,
        "troubles": [trouble.what for trouble in facts.troubles],
        "libbpf": facts.libbpf,
    }


def live(target: LocalTarget, line: str, other: int) -> None:
    with open_session(target) as session:
        armed = session.probes.arm(plan(session, "rd", line))
        ours = our_reads(session)
        batches = batches_with(session, other, 100)
        found = pids(session, batches)
        os.kill(other, signal.SIGSTOP)
        session.pump.settle(300)
        session.pump.drain()
        silent = falls_silent(session)
        os.kill(other, signal.SIGCONT)
        clock = session.instance.read("trace_clock")
        # The control: let us in, and our own reading is seen. Each pass is bounded, so it ends all the same.
        target.perform(session.instance.write("set_event_notrace_pid", " "))
        let_in = our_reads(session, 500)
        failures = session.probes.disarm(armed)
        ANSWERS["live"] = {
            "formats": {str(number): found.path for number, found in armed.formats.items()},
            "ours": ours,
            "others": found.get(other, 0),
            "our_pids": [found.get(pid, 0) for pid in target.our_pids()],
            "let_in": let_in,
            "silent": silent,
            "clock": clock,
            "drained": any(batch.drained for batch in batches),
            "failures": len(failures),
            "cmdline": session.cmdlines().get(other, ""),
            "after": Tracefs(target, target.facts().tracefs).read("dynamic_events"),
        }
        again = session.probes.arm(plan(session, "again", line))
        ANSWERS["ids"] = [next(iter(armed.formats)), next(iter(again.formats))]
        ANSWERS["close"] = len(session.close())


def refusals(target: LocalTarget) -> None:
    found: list[list[object]] = []
    with open_session(target) as session:
        for line, more in (
            ("p no_such_function", {}),
            ("p vfs_read  x=%nope   y=%di", {}),
            ("p vfs_read x=$arg1", {"filter": "y > 1"}),
            ("p vfs_read x=$arg1", {"triggers": ("nonsense",)}),
            ("f vfs_read file->f_poss", {}),
        ):
            try:
                session.probes.arm(plan(session, "bad", line, **more))
                found.append([line, "armed"])
            except ProbeRefused as error:
                refusal = error.verdict.error
                assert refusal
                found.append(
                    [line, refusal.code, refusal.message, refusal.column, refusal.token, error.verdict.command]
                )
        ANSWERS["left_by_refusals"] = Tracefs(target, target.facts().tracefs).read("dynamic_events")
    ANSWERS["refusals"] = found


class Sleeper(LocalTarget):
    """Its stream reads nothing while `asleep` is set."""

    asleep = threading.Event()

    def stream(self, instance: str) -> LocalStream:
        stream = super().stream(instance)
        read = stream.read

        def slow(timeout: float) -> Batch | None:
            if self.asleep.is_set():
                time.sleep(0.05)
                return None
            return read(timeout)

        stream.read = slow
        return stream


def losses(line: str) -> None:
    target = Sleeper()
    target.asleep.set()
    with open_session(target, buffer_kb=16) as session:
        armed = session.probes.arm(plan(session, "rd", line))
        until(lambda: session.counts().lost > 0)
        target.perform(session.instance.enable(f"{session.group}/rd", False))
        lost = session.counts().overrun
        stats = {cpu: stats.overrun for cpu, stats in session.instance.stats().items()}
        session.probes.disarm(armed)
        session.probes.arm(plan(session, "other", "p vfs_open"))
        ANSWERS["losses"] = {"lost": lost, "stats": stats, "after": session.counts().overrun}
    with open_session(LocalTarget()) as session:
        session.probes.arm(plan(session, "slow", "r1 do_sys_poll"))
        session.probes.arm(plan(session, "fast", line))
        # Two of them in it at once is one too many for `r1`; each stays there until its input ends.
        wait = "import select; one = select.poll(); one.register(0); one.poll()"
        sleepers = [subprocess.Popen(["python3", "-S", "-c", wait], stdin=subprocess.PIPE) for _ in range(3)]
        until(lambda: bool(session.counts().nmissed[f"{session.group}/slow"]))
        for sleeper in sleepers:
            sleeper.communicate()
        missed = session.counts().nmissed
        ANSWERS["nmissed"] = {path.split("/")[1]: count for path, count in missed.items()}
        stack = session.probes.arm(plan(session, "stack", line, triggers=("stacktrace",)))
        ANSWERS["stack_formats"] = sorted(found.path for found in stack.formats.values() if found.system == "ftrace")
        ANSWERS["stack_close"] = [str(failure.error) for failure in session.close()]


class BigPages(LocalTarget):
    """Its instances have sub-buffers of 64 KB."""

    def stream(self, instance: str) -> LocalStream:
        self.perform(Step(Effect.WRITE, f"{instance}/buffer_subbuf_size_kb", b"64"))
        return super().stream(instance)


def big_pages(line: str, other: int) -> None:
    with open_session(BigPages()) as session:
        session.probes.arm(plan(session, "rd", line))
        batches = batches_with(session, other, 50)
        sizes = {len(chunk.data) % 65536 for batch in batches for chunk in batch.chunks}
        found = pids(session, batches)
        ANSWERS["big_pages"] = [session.header.page_size, sorted(sizes), found.get(other, 0)]


def dead_and_alive(target: LocalTarget, line: str) -> None:
    ready, done = os.pipe()
    child = os.fork()
    if not child:
        session = open_session(LocalTarget())
        session.probes.arm(plan(session, "rd", line))
        os.write(done, b"x")
        time.sleep(600)
    os.read(ready, 1)
    with open_session(target) as living:
        living.probes.arm(plan(living, "rd", line))
        before = [found.name for found in leftovers.find(target)]
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found = leftovers.find(target)
        removed = [list(leftovers.remove(target, one)) for one in found]
        after = [one.name for one in leftovers.find(target)]
        # As if we could not see its process (another PID name space): the kernel itself says that it lives.
        stranger = LocalTarget()
        stranger.owner = "1_0"
        name = living.group.removeprefix("pw_")
        alive = leftovers.remove(stranger, leftovers.Leftover(name, living.instance.path, (f"{living.group}/rd",)))
        still = living.instance.read(f"events/{living.group}/rd/enable").strip()
        ANSWERS["leftovers"] = {
            "before": before,
            "found": [[one.name.split("_")[0] == str(child), bool(one.instance), len(one.events)] for one in found],
            "removed": removed,
            "after": after,
            "alive": list(alive),
            "still": still,
        }


def main() -> None:
    other = someone_else()
    try:
        target = LocalTarget()
        look(target)
        line = "f vfs_read" if target.facts().has(Feature.FPROBE_EVENTS) else "p vfs_read"
        live(target, line, other)
        refusals(target)
        losses(line)
        if target.facts().has(Feature.SUBBUF_SIZE):
            big_pages(line, other)
        dead_and_alive(target, line)
        tracefs = Tracefs(target, target.facts().tracefs)
        ANSWERS["left"] = {"events": tracefs.read("dynamic_events"), "instances": list(tracefs.instances())}
        target.close()
    finally:
        os.kill(other, signal.SIGKILL)
    print(json.dumps(ANSWERS))


if __name__ == "__main__":
    main()
