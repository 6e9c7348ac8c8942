"""However the application ends, nothing of it stays: neither here nor in the kernel it watched."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from events.store.outage_mark import OUTAGE_EVENT
from kernel.lab import cache
from kernel.lab.guest import Guest
from tests.real import command
from tests.real.code_inside import PROGRAM, put_code
from tests.real.command import SPEC, address, finish, screen_on, ssh_to, start
from tests.real.conftest import prepared
from tests.real.processes import descendants, ended, remains, until
from tests.real.saved import SavedGuests
from tests.real.test_ssh_guest import is_clean, left
from tests.real.test_terminal import PROBEWRIGHT, READY, ROW, pick
from tests.real.tmux import Tmux

TRACING = "/sys/kernel/tracing"
DIALECTS = pytest.mark.parametrize("guest", ["7.2", "7.2-sh"], indirect=True)


@pytest.fixture
def env(guest: Guest, tmp_path: Path) -> dict[str, str]:
    return ssh_to(guest, tmp_path)


def kill(process: subprocess.Popen[bytes]) -> dict[int, str]:
    """kill -9; gives what ran below it at that moment."""
    process.send_signal(signal.SIGSTOP)
    below = descendants(process.pid)
    process.kill()
    finish(process)
    return below


def all_ended(pids: Iterable[int]) -> bool:
    """Whether all of them end in time."""
    return until(lambda: all(map(ended, pids)))


def follow(guest: Guest, env: dict[str, str]) -> subprocess.Popen[bytes]:
    """`probewright run` on a guest, from which events come."""
    process = start("run", "--target", address(guest), "--reconnect", "0", "--json", SPEC, "p vfs_open", env=env)
    assert process.stdout is not None
    guest.workload(True)
    first = process.stdout.readline()
    guest.workload(False)
    assert first.startswith(b"{"), finish(process)
    return process


def machine_of(guest: Guest) -> int:
    """QEMU's process."""
    for pid, name in descendants(os.getpid()).items():
        if name.startswith("qemu") and f":{guest.port}-".encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
    raise AssertionError("no machine")


@DIALECTS
def test_kill_9_at_any_moment(guest: Guest, env: dict[str, str], request: pytest.FixtureRequest) -> None:
    """Of the command, by either dialect; `test_fault_drill.py` takes the agent's sessions step by step."""
    by_shell = request.node.callspec.params["guest"].endswith("-sh")
    began = time.monotonic()
    kill(follow(guest, env))
    whole = time.monotonic() - began
    assert is_clean(guest), left(guest)
    seen: set[str] = set()

    def look() -> None:
        found = left(guest)
        seen.update(word for word in ("probewright-", "pw_", "python3", "dd") if word in found)

    for tenths in (3, 7, 11) if by_shell else (6,):
        process = start("run", "--target", address(guest), SPEC, "f vfs_open%both $$args", env=env)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(whole * tenths / 10)
        look()
        below = kill(process)
        assert all_ended(below), below
        assert is_clean(guest), left(guest)
    process = follow(guest, env)
    look()
    assert {"probewright-", "pw_"} < seen
    process.terminate()  # and while everything is taken away again
    below = kill(process)
    assert all_ended(below), below
    assert is_clean(guest), left(guest)
    # The next start sweeps away what lay in folders here; there is nothing else to do.
    done = command.run("clean", "--target", address(guest), env=env)
    assert (done.status, done.out) == (0, "nothing was left behind\n")
    assert remains(process.pid, below) == []


@DIALECTS
def test_cut_line_ends_the_command_and_leaves_nothing(guest: Guest, env: dict[str, str]) -> None:
    process = follow(guest, env)
    below = descendants(process.pid)
    master = min(pid for pid, name in below.items() if name == "ssh")
    os.kill(master, signal.SIGKILL)
    done = finish(process)
    assert done.status == 3, done
    assert "Traceback" not in done.err
    assert "the connection was lost" in done.err
    *_, last = done.objects
    assert last["event"] == OUTAGE_EVENT and "not reconnected" in last["values"]["note"], last
    assert remains(process.pid, below) == []
    assert is_clean(guest), left(guest)


def test_vanished_guest_ends_the_command_and_leaves_nothing(tmp_path: Path, saved: SavedGuests) -> None:
    prepared("7.2")
    with saved.start("7.2") as guest:
        process = follow(guest, ssh_to(guest, tmp_path))
        below = descendants(process.pid)
        os.kill(machine_of(guest), signal.SIGKILL)
        done = finish(process)
        assert done.status == 3, done
        assert "Traceback" not in done.err
        assert remains(process.pid, below) == []


def test_kill_9_of_the_application_ends_its_lab() -> None:
    prepared("7.2")
    with Tmux([*PROBEWRIGHT, "--target", "lab"]) as terminal:
        terminal.wait(lambda screen: re.search(r"lab · Linux 7\.\S+ .*\d\d,\d{3} functions", screen))
        pick(terminal)
        terminal.wait(ROW.search)
        below = descendants(terminal.pid)
        assert {"ssh", "qemu"} <= {name.partition("-")[0] for name in below.values()}
        os.kill(terminal.pid, signal.SIGKILL)
        assert until(lambda: all(map(ended, below))), below
    # Folders stay until the next start of a lab or of ssh, which take those of the dead along.
    shutil.rmtree(cache.run_folder())
    folders = [path for path in remains(terminal.pid, below) if "/pw-" not in path]
    assert folders == []


HOLD = b"""
import os, time
from kernel.local.target import LocalTarget
from kernel.session.start import open_session
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbePlace
os.fork()
session = open_session(LocalTarget())
path = f"{session.group}/read"
event = PlannedEvent(session.group, "read", f"p:{path} vfs_read", f"-:{path}")
session.probes.arm(Plan(Probe(ProbePlace("vfs_read")), (event,)))
with open(f"/tmp/out{os.getpid()}", "w", buffering=1) as out:
    while True:
        if session.pump.drain():
            print("vfs_read", file=out)
        time.sleep(0.1)
"""
"""Two sessions on the machine it runs on; what they see, nobody decodes: numpy is not there."""


def _two_sessions(guest: Guest) -> list[int]:
    """Start two sessions there and wait until events come; gives their processes, the parent first."""
    parent = int(guest.run("cd /pw && python3 hold.py </dev/null >/tmp/said 2>&1 & echo $!"))
    # One command that waits there: each of its own would take more of the processor than what is waited for. It reads
    # files itself; another process that does would take as much again.
    ready = "[ $(grep -l vfs_read /tmp/out* 2>/dev/null | wc -l) = 2 ]"
    found = guest.run(f"until {ready} || [ ! -e /proc/{parent} ]; do sleep 1; done; ls /tmp/out* || cat /tmp/said")
    pids = [int(word.removeprefix("/tmp/out")) for word in found.decode().split()]
    assert len(pids) == 2 and parent in pids, found
    return sorted(pids, key=lambda pid: pid != parent)


def _end(guest: Guest, pid: int) -> None:
    """Kill a process there, and wait until its parent has taken note of it."""
    guest.run(f"kill -9 {pid}; while [ -e /proc/{pid} ]; do usleep 100000; done")


@pytest.fixture(scope="module")
def inside(guest_72: Guest) -> Guest:
    """A guest with the command line in it."""
    put_code(guest_72, PROGRAM, {"hold.py": HOLD})
    return guest_72


def test_what_a_killed_local_session_leaves_is_found_and_removed(inside: Guest, tmp_path: Path) -> None:
    """There is nobody who could undo it before the next start."""
    guest = inside
    dead, living = _two_sessions(guest)
    _end(guest, dead)
    state = f"cat {TRACING}/dynamic_events; ls {TRACING}/instances"
    assert f"probewright-{dead}_" in guest.run(state).decode()
    # A session that lives is left alone, whoever looks: over ssh, or from within; and its events go on to come.
    env = ssh_to(guest, tmp_path)
    doctor = command.run("doctor", "--target", address(guest), "--json", env=env)
    assert doctor.status == 0, doctor
    (group,) = doctor.objects[0]["leftovers"]
    assert group.startswith(f"pw_{dead}_")
    assert guest.run("cd /pw && exec python3 -m tui clean").decode() == f"{group}: removed\n"
    after = guest.run(state).decode()
    assert f"_{dead}_" not in after and f"-{dead}_" not in after
    assert f"probewright-{living}_" in after
    size = f"$(wc -c </tmp/out{living})"
    guest.run(f"size={size}; until [ $size != {size} ]; do sleep 1; done")
    _end(guest, living)
    done = command.run("clean", "--target", address(guest), "--json", env=env)
    assert done.status == 0, done
    (cleaned,) = done.objects
    assert cleaned["group"].startswith(f"pw_{living}_")
    assert (cleaned["removed"], cleaned["errors"]) == (True, [])
    assert guest.run(state) == b""


LATENCY = "lat:slow {f vfs_read count} to {f vfs_read%return} by common_pid"


def _killed_with_latencies(guest: Guest, env: dict[str, str]) -> str:
    """Kill what serves a session there whose triggers have variables; gives the group of its events."""
    process = start("run", "--target", address(guest), "--reconnect", "0", "--json", LATENCY, env=env)
    assert process.stdout is not None
    guest.workload(True)
    first = process.stdout.readline()
    guest.workload(False)
    assert first.startswith(b"{"), finish(process)
    (name,) = guest.run(f"ls {TRACING}/instances").decode().split()
    _end(guest, int(name.removeprefix("probewright-").partition("_")[0]))
    done = finish(process)
    assert done.status == 3, done
    return f"pw_{name.removeprefix('probewright-')}"


MADE_BY_HAND = f"""cd {TRACING}; i=instances/probewright-9999_zz; mkdir $i
echo 'f:pw_9999_zz/b vfs_read' >>dynamic_events; echo 'f:pw_9999_zz/e vfs_read%return' >>dynamic_events
echo 's:pw_9999_zz__x u64 lat' >>dynamic_events; echo 1 >$i/events/synthetic/pw_9999_zz__x/enable
echo 'hist:keys=common_pid:t=common_timestamp' >>$i/events/pw_9999_zz/b/trigger
cd $i/events/pw_9999_zz/e
echo 'hist:keys=common_pid:lat=common_timestamp-$t:onmatch(pw_9999_zz.b).pw_9999_zz__x($lat)' >>trigger
cd {TRACING}
rmdir $i 2>/dev/null || echo busy
"""


@DIALECTS
def test_clean_takes_away_triggers_that_keep_their_instance(guest: Guest, env: dict[str, str]) -> None:
    assert guest.run(MADE_BY_HAND) == b"busy\n"
    done = command.run("clean", "--target", address(guest), env=env)
    assert (done.status, done.out) == (0, "pw_9999_zz: removed\n"), done
    assert is_clean(guest), left(guest)


@pytest.mark.parametrize("guest", ["7.2", "6.1", "6.12"], indirect=True)
def test_clean_takes_away_a_killed_session_with_latencies(guest: Guest, env: dict[str, str]) -> None:
    """Its own triggers keep its instance, though nobody has a file of it open."""
    group = _killed_with_latencies(guest, env)
    assert guest.run(f"! rmdir {TRACING}/instances/* 2>&1").strip().endswith(b"Device or resource busy")
    done = command.run("clean", "--target", address(guest), env=env)
    assert (done.status, done.out) == (0, f"{group}: removed\n"), done
    assert is_clean(guest), left(guest)


@DIALECTS
def test_clean_takes_away_a_synthetic_event_that_was_written_down(
    guest: Guest, env: dict[str, str], request: pytest.FixtureRequest
) -> None:
    """By a killed agent; a shell writes nothing down, as docs/losses.md has it, and the event stays."""
    by_shell = request.node.callspec.params["guest"].endswith("-sh")
    words = ("--target", address(guest), "--reconnect", "0", "--json")
    process = start("run", *words, "s:mine u64 lat", SPEC, env=env)
    assert process.stdout is not None
    guest.workload(True)
    first = process.stdout.readline()
    guest.workload(False)
    assert first.startswith(b"{"), finish(process)
    (name,) = guest.run(f"ls {TRACING}/instances").decode().split()
    _end(guest, int(name.removeprefix("probewright-").partition("_")[0]))
    done = finish(process)
    assert done.status == 3, done
    events = f"cat {TRACING}/dynamic_events"
    mine = b"s:synthetic/mine\tu64 lat\n"
    assert mine in guest.run(events)
    done = command.run("clean", "--target", address(guest), env=env)
    group = f"pw_{name.removeprefix('probewright-')}"
    assert (done.status, done.out) == (0, f"{group}: removed\n"), done
    assert guest.run(events) == (mine if by_shell else b"")
    if by_shell:
        guest.run(f"echo '-:synthetic/mine' >> {TRACING}/dynamic_events")
    assert is_clean(guest), left(guest)


@pytest.mark.matrix  # over ssh, and there other leftovers, are in the tests above
def test_clean_on_the_machine_itself_takes_away_latencies(inside: Guest, tmp_path: Path) -> None:
    group = _killed_with_latencies(inside, ssh_to(inside, tmp_path))
    assert inside.run("cd /pw && exec python3 -m tui clean").decode() == f"{group}: removed\n"
    assert is_clean(inside), left(inside)


def test_terminal_that_goes_away_takes_the_probes_along(inside: Guest, tmp_path: Path) -> None:
    """The application on a terminal whose window is closed: SIGHUP, and nowhere to draw."""
    with Tmux(screen_on(inside, tmp_path)) as terminal:
        terminal.wait(READY.search)
        inside.workload(True)
        pick(terminal)
        terminal.wait(ROW.search)
        assert "pw_" in left(inside)
        below = descendants(terminal.pid)
    assert until(lambda: ended(terminal.pid))
    assert remains(terminal.pid, below) == []
    inside.workload(False)
    assert is_clean(inside), left(inside)
