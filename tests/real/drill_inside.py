"""Runs inside a guest: kills sessions there at given moments, and looks at what the next start leaves.

    python -m tests.real.drill_inside LIFE              of probes, or of sources

Not a test by itself: `test_fault_drill.py` sends it there. Standard input has one moment a line, as JSON:
`[victim, step, seconds]`; for each an object comes back. Victims:

    local       the session on the machine's own kernel: nobody is left to undo anything
    agent       the remote host's agent, which a session talks to
    near        the session that talks to the agent
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from kernel.cleanup import leftovers
from kernel.errors import KernelError
from kernel.local import files
from kernel.local.target import LocalTarget
from kernel.remote.bootstrap import boot_agent
from kernel.remote.protocol.agent_dialect import AgentDialect
from kernel.remote.protocol.dialect import RemoteConnection
from kernel.remote.target import RemoteTarget
from kernel.target import Effect, Step, Target
from tests.real.life import Record, live, live_with_sources

TRACING = "/sys/kernel/tracing"
PATIENCE = 300.0
HAS_SOURCES = sys.argv[1:] == ["sources"]
SETTINGS = ("osnoise", "hwlat_detector")
"""Folders with settings of sources."""
FILES = (
    *("dynamic_events", "set_graph_function", "set_graph_notrace", "max_graph_depth", "tracing_thresh"),
    *("current_tracer", "trace_options", "tracing_on", "trace_clock", "buffer_size_kb", "set_event", "kprobe_events"),
    *("set_ftrace_filter", "enabled_functions"),
)
FOREIGN = {
    "max_graph_depth": "7\n",
    "set_graph_function": "vfs_write\nvfs_statx\n",
    "set_ftrace_filter": "vfs_rmdir\n",
    "current_tracer": "function",
    "instances/theirs/trace_clock": "global",
    "instances/theirs/events/theirs/open/enable": "1",
    "instances/theirs/events/theirs/open/filter": "common_pid > 0",
    "instances/theirs/events/sched/sched_switch/enable": "1",
}
"""What someone else has set, on the same kernel."""
FOREIGN_SETTINGS = {
    "osnoise/runtime_us": "800000\n",
    "osnoise/period_us": "900000\n",
    "osnoise/timerlat_period_us": "2000\n",
    "osnoise/stop_tracing_us": "70000000\n",
    "osnoise/cpus": "0\n",
    "hwlat_detector/width": "300000\n",
    "tracing_thresh": "11\n",
}
"""Of sources, beside; the running time comes before the period, which is never less, and goes back after it."""
ORDINARY = {"current_tracer": "nop", "max_graph_depth": "0\n", "set_graph_function": "\n", "set_ftrace_filter": "\n"}
"""The kernel's own of it. The tracer goes first: without its filter it would be at every function for a moment."""


def whole(path: str) -> str:
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError as error:
        return os.strerror(error.errno or 0)


def foreign() -> dict[str, str]:
    """Settings of someone else on this kernel."""
    return {**FOREIGN, **FOREIGN_SETTINGS} if HAS_SOURCES else FOREIGN


def prepare() -> None:
    """Someone else is at work: with an instance, events, a tracer and settings of the whole kernel."""
    os.mkdir(f"{TRACING}/instances/theirs")
    for line in ("p:theirs/open do_sys_openat2", "s:synthetic/their_took u64 a"):
        files.perform(Step(Effect.APPEND, f"{TRACING}/dynamic_events", f"{line}\n".encode()))
    for name, text in foreign().items():
        files.perform(Step(Effect.WRITE, f"{TRACING}/{name}", text.encode()))


def restore(ordinary: dict[str, str]) -> None:
    """Take away what `prepare` made, and give sources the settings that were there."""
    theirs = f"{TRACING}/instances/theirs"
    for name in FOREIGN:
        if name.endswith("/enable"):
            files.perform(Step(Effect.WRITE, f"{TRACING}/{name}", b"0"))
    files.perform(Step(Effect.RMDIR, theirs))
    for line in ("-:synthetic/their_took", "-:theirs/open"):
        files.perform(Step(Effect.APPEND, f"{TRACING}/dynamic_events", f"{line}\n".encode()))
    for name, text in (ORDINARY | dict(reversed(ordinary.items()))).items():
        files.perform(Step(Effect.WRITE, f"{TRACING}/{name}", text.encode()))


def snapshot() -> dict[str, object]:
    """All that a session may leave behind or change."""
    theirs = f"{TRACING}/instances/theirs"
    paths = [f"{TRACING}/{name}" for name in (*FILES, *(f"options/{o}" for o in os.listdir(f"{TRACING}/options")))]
    paths += [f"{theirs}/{name}" for name in ("current_tracer", "trace_options", "trace_clock", "set_event")]
    paths += [f"{theirs}/events/theirs/open/{name}" for name in ("enable", "filter", "trigger")]
    if HAS_SOURCES:
        paths += [f"{TRACING}/{folder}/{name}" for folder in SETTINGS for name in os.listdir(f"{TRACING}/{folder}")]
        paths.append(f"{TRACING}/user_events_status")
    found: dict[str, object] = {path: sorted(whole(path).splitlines()) for path in paths}
    found["instances"] = sorted(os.listdir(f"{TRACING}/instances"))
    found["journals"] = sorted(os.listdir("/run/probewright")) if os.path.isdir("/run/probewright") else []
    found["processes"] = processes()
    return found


def processes() -> int:
    """Number of processes that run Python."""
    return sum(whole(f"/proc/{pid}/comm") == "python3\n" for pid in os.listdir("/proc") if pid.isdigit())


def difference(before: dict[str, object], now: dict[str, object]) -> list[str]:
    return [f"{name}: {before.get(name)} -> {now.get(name)}" for name in now if before.get(name) != now[name]]


class Beside(RemoteTarget):
    """A remote host that is this very machine: what we read from it must not make events there."""

    def our_pids(self) -> Sequence[int]:
        return (*super().our_pids(), *map(int, os.listdir("/proc/self/task")))


def far() -> RemoteTarget:
    process = subprocess.Popen(["sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    boot_agent(process, lambda program: f"exec python3 -I -S -c {json.dumps(program)}")

    def hang_up() -> None:
        process.kill()
        process.wait()

    return Beside(RemoteConnection(AgentDialect(process), "agent", hang_up=hang_up), "agent")


def begin(victim: str) -> tuple[int, int]:
    """Fork a session; gives its process, and where it tells its steps."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    os.close(reading)
    status = 1
    try:
        tell = lambda: os.write(writing, b"step\n")  # noqa: E731
        target: Target = LocalTarget()
        if victim != "local":
            target = far()
            os.write(writing, f"agent {target.owner.partition('_')[0]}\n".encode())
        try:
            drain: Record = lambda session: session.pump.drain  # noqa: E731
            (live_with_sources if HAS_SOURCES else live)(target, tell, drain)
            status = 0
        finally:
            target.close()
    except KernelError:
        status = 3  # the connection was lost
    finally:
        os._exit(status)


def until(seen: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while not seen():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def play(victim: str, step: int, seconds: float, before: dict[str, object]) -> dict[str, object]:
    """One moment: kill, let the next start clean, and compare."""
    pid, reading = begin(victim)
    seen, agent = 0, 0
    with os.fdopen(reading) as lines:
        for line in lines:
            words = line.split()
            agent = int(words[1]) if words[0] == "agent" else agent
            seen += words[0] == "step"
            if seen == step:
                time.sleep(seconds)
                os.kill(agent if victim == "agent" else pid, signal.SIGKILL)
                break
        else:
            lines.close()
    ended = until(lambda: os.waitpid(pid, os.WNOHANG)[0] == pid)
    if victim == "near":  # the agent is there to undo all of it
        until(lambda: not difference(before, snapshot()))
    until(lambda: processes() == before["processes"])  # whose parent has died, init takes note of
    left = difference(before, snapshot())
    told: list[str] = []
    failed: list[str] = []
    target = LocalTarget()
    found = leftovers.find(target) if victim != "near" else []
    for leftover in found:
        failed += leftovers.remove(target, leftover, told.append)
    after = difference(before, snapshot())
    return {
        "victim": victim,
        "step": step,
        "steps": seen,
        "ended": ended,
        "left": left,
        "settings": sum(leftover.settings for leftover in found),
        "failed": failed,
        "told": told,
        "after": after,
    }


def main() -> None:
    os.chdir("/")
    ordinary = {name: whole(f"{TRACING}/{name}") for name in FOREIGN_SETTINGS} if HAS_SOURCES else {}
    prepare()
    try:
        before = snapshot()
        for line in sys.stdin:
            victim, step, seconds = json.loads(line)
            print(json.dumps(play(victim, step, seconds, before)), flush=True)
    finally:
        restore(ordinary)


if __name__ == "__main__":
    main()
