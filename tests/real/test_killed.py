"""However the application ends, nothing of it stays: neither here nor in the kernel it watched."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from kernel.lab.guest import Guest, boot
from tests.real import command
from tests.real.code_inside import PROGRAM, put_code
from tests.real.command import SPEC, address, finish, ssh_to, start
from tests.real.conftest import prepared
from tests.real.processes import descendants, ended, remains, until
from tests.real.saved import SavedGuests
from tests.real.test_ssh_guest import is_clean, left
from tests.real.test_terminal import PROBEWRIGHT, ROW, pick
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
    assert "cut" in done.err
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
    with boot("7.2", workload=False) as guest:
        assert guest.alive
        folders = [path for path in remains(terminal.pid, below) if "/pw-" not in path]
        assert folders == []


HOLD = b"""
import time
from kernel.local import LocalTarget
from kernel.session_start import open_session
from probes.plan import Plan, PlannedEvent
from probes.probe import Place, Probe
session = open_session(LocalTarget())
path = f"{session.group}/read"
event = PlannedEvent(session.group, "read", f"p:{path} vfs_read", f"-:{path}")
session.arm(Plan(Probe(Place("vfs_read")), (event,)))
while True:
    if session.pump.drain():
        print("vfs_read", flush=True)
    time.sleep(0.1)
"""
"""A session on the machine it runs on; what it shows, nobody decodes: numpy is not there."""


def _begin(guest: Guest, what: str) -> int:
    """Run something there until events come; gives its process."""
    script = f"({what}) </dev/null >/tmp/out 2>&1 & echo $!"
    pid = int(guest.run(script))
    # One command that waits there: each of its own would take more of the processor than what is waited for.
    waits = f"until grep -q vfs_ /tmp/out{pid} || [ ! -e /proc/{pid} ]; do sleep 1; done"
    said = guest.run(f"mv /tmp/out /tmp/out{pid}; {waits}; cat /tmp/out{pid}").decode()
    assert "vfs_" in said, said
    return pid


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
    tui = "cd /pw && exec python3 -m tui"
    guest.workload(True)
    dead, living = (_begin(guest, "cd /pw && exec python3 hold.py") for _ in range(2))
    _end(guest, dead)
    state = f"cat {TRACING}/dynamic_events; ls {TRACING}/instances"
    assert f"probewright-{dead}_" in guest.run(state).decode()
    # A session that lives is left alone, whoever looks: over ssh,
    env = ssh_to(guest, tmp_path)
    doctor = command.run("doctor", "--target", address(guest), "--json", env=env)
    assert doctor.status == 0, doctor
    (group,) = doctor.objects[0]["leftovers"]
    assert group.startswith(f"pw_{dead}_")
    done = command.run("clean", "--target", address(guest), "--json", env=env)
    assert done.status == 0, done
    assert done.objects == [{"group": group, "removed": True, "errors": []}]
    after = guest.run(state).decode()
    assert f"_{dead}_" not in after and f"-{dead}_" not in after
    assert f"probewright-{living}_" in after
    # and from within; and its events go on to come.
    assert guest.run(f"{tui} clean") == b"nothing was left behind\n"
    size = f"$(wc -c </tmp/out{living})"
    guest.run(f"size={size}; until [ $size != {size} ]; do sleep 1; done")
    _end(guest, living)
    cleaned = guest.run(f"{tui} clean").decode()
    assert re.fullmatch(rf"pw_{living}_\w+: removed\n", cleaned)
    assert guest.run(state) == b""


def test_terminal_that_goes_away_takes_the_probes_along(inside: Guest, tmp_path: Path) -> None:
    """The application on a terminal whose window is closed: SIGHUP, and nowhere to draw."""
    env = ssh_to(inside, tmp_path)
    with Tmux(["env", f"PATH={env['PATH']}", sys.executable, "-m", "tui", "--target", address(inside)]) as terminal:
        terminal.wait(lambda screen: re.search(r"part of a name +\d\d,\d{3}", screen))
        inside.workload(True)
        pick(terminal)
        terminal.wait(ROW.search)
        assert "pw_" in left(inside)
        below = descendants(terminal.pid)
    assert until(lambda: ended(terminal.pid))
    assert remains(terminal.pid, below) == []
    inside.workload(False)
    assert is_clean(inside), left(inside)
