"""The fault drill: kill -9 of the application, of its agent, of ssh and of the guest at random moments of a session.

Sessions with probes, and on the kernel with every tracer those with sources and an event of programs.
After the next start nothing of it is left on the kernel, no setting of someone else's is changed, and a recording can
be read up to the cut. Five moments by default; `PROBEWRIGHT_DRILL=50` (`make drill`) has fifty, and
`PROBEWRIGHT_DRILL_SEED` others than the usual.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from events.recording.reader import Recording
from kernel.lab.guest import Guest
from tests.real.code_inside import CORE, put_code
from tests.real.command import TOP
from tests.real.conftest import prepared
from tests.real.processes import descendants, ended, remains, until
from tests.real.saved import SavedGuests
from tests.real.test_killed import machine_of
from tests.real.test_ssh_guest import is_clean, left

MOMENTS = int(os.environ.get("PROBEWRIGHT_DRILL", "5"))
SEED = int(os.environ.get("PROBEWRIGHT_DRILL_SEED", "20"))
SHARES = {"local": 4, "agent": 3, "near": 1, "application": 1, "ssh": 2, "guest": 1}
"""Of twelve moments."""
LATEST = 0.03
"""Seconds after a step until it is killed: less than most steps take in a guest."""
STEPS = 95
"""Of a life, about; the drill in the guest counts them."""
TOO_MANY = 10_000
"""Steps; a life has fewer, so that it is not killed."""


pytestmark = pytest.mark.timeout(600 + 20 * MOMENTS)


def share(victim: str) -> int:
    return max(1, round(SHARES[victim] * MOMENTS / sum(SHARES.values())))


def moments(victim: str, steps: int) -> list[tuple[str, int, float]]:
    """Spread over all steps of a life, each at random within its part; the same for a seed."""
    chance, count = random.Random(f"{SEED} {victim}"), share(victim)
    edges = [round(1 + number * (steps - 1) / count) for number in range(count + 1)]
    return [
        (victim, chance.randint(low, max(low, high - 1)), chance.uniform(0, LATEST)) for low, high in pairwise(edges)
    ]


@pytest.fixture(scope="module")
def drilled(guest_72: Guest) -> Iterator[Guest]:
    """A guest with the application's files in it, and a process that reads now and then.

    The workload of guests would take more of an emulated processor than the lives that are tried.
    """
    put_drill(guest_72)
    reads = "while :; do cat /proc/version; sleep 0.5; done"
    pid = int(guest_72.run(f"sh -c '{reads}' </dev/null >/dev/null 2>&1 & echo $!"))
    yield guest_72
    guest_72.run(f"kill {pid}")


def put_drill(guest: Guest) -> None:
    own = ("tests/__init__", "tests/real/__init__", "tests/real/life", "tests/real/drill_inside")
    put_code(guest, CORE, {f"{name}.py": TOP / f"{name}.py" for name in own})


def begin(guest: Guest, recording: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.real.life", json.dumps(guest.ssh_options), str(recording)]
    return subprocess.Popen(command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def follow(process: subprocess.Popen[str], step: int) -> list[str]:
    """Wait for a step; gives what was told on the way."""
    assert process.stdout is not None
    told: list[str] = []
    while told.count("step") < step and (line := process.stdout.readline()):
        told.append(line.strip())
    return told


def is_readable(path: Path, told: list[str]) -> bool:
    """Whether a recording that was begun can be read, as far as it was written."""
    if "recording" not in told:
        return True
    recording = Recording.open(path)
    return recording.btf() is not None and list(recording.timeline()) is not None


def test_killed_application_and_killed_ssh_leave_nothing(drilled: Guest, tmp_path: Path) -> None:
    for number, (victim, step, seconds) in enumerate([*moments("application", STEPS), *moments("ssh", STEPS)]):
        path = tmp_path / f"{number}.pwr"
        process = begin(drilled, path)
        told = follow(process, step)
        below = descendants(process.pid)
        masters = [pid for pid, name in below.items() if name == "ssh"]
        until(lambda: False, seconds)
        with contextlib.suppress(ProcessLookupError):  # ssh has ended by itself
            os.kill(min(masters) if victim == "ssh" and masters else process.pid, signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL or victim == "ssh"
        assert until(lambda: all(map(ended, below))), below  # noqa: B023
        assert is_clean(drilled), left(drilled)
        assert is_readable(path, told)
        assert remains(process.pid, below) == [] or victim == "application"


@pytest.mark.matrix  # a guest is killed under commands in test_killed and test_hosts
@pytest.mark.parametrize("number", range(share("guest")))
def test_killed_guest_ends_the_session_and_leaves_nothing_here(
    number: int, tmp_path: Path, saved: SavedGuests
) -> None:
    prepared("7.2")
    _, step, seconds = moments("guest", STEPS)[number]
    with saved.start("7.2") as guest:
        guest.workload(True)
        process = begin(guest, tmp_path / "guest.pwr")
        told = follow(process, step)
        below = descendants(process.pid)
        until(lambda: False, seconds)
        os.kill(machine_of(guest), signal.SIGKILL)
        process.communicate()
    assert remains(process.pid, below) == []
    assert is_readable(tmp_path / "guest.pwr", told)


@contextlib.contextmanager
def drill(guest: Guest, life: str) -> Iterator[subprocess.Popen[str]]:
    """The drill within a guest; other tests look whether any process is left there, so it ends with each."""
    command = [*guest.ssh_command, f"cd /pw && exec python3 -m tests.real.drill_inside {life}"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield process
    process.communicate()
    assert process.returncode == 0


@pytest.fixture
def inside(drilled: Guest) -> Iterator[subprocess.Popen[str]]:
    with drill(drilled, "probes") as process:
        yield process


def play(inside: subprocess.Popen[str], victim: str, step: int, seconds: float) -> dict[str, Any]:
    assert inside.stdin is not None and inside.stdout is not None
    inside.stdin.write(json.dumps([victim, step, seconds]) + "\n")
    inside.stdin.flush()
    answer = inside.stdout.readline()
    assert answer, "the drill in the guest broke"
    found: dict[str, Any] = json.loads(answer)
    return found


@pytest.fixture(scope="module")
def whole_lives() -> dict[bool, int]:
    """Steps of a life with probes that nobody ends, by whether it has an agent; those that were played."""
    return {}


@pytest.fixture(scope="module")
def source_lives() -> dict[bool, int]:
    """The same of lives with sources."""
    return {}


VICTIMS = pytest.mark.parametrize("victim", ["local", "agent", "near"])


@VICTIMS
def test_what_is_killed_in_the_guest_leaves_nothing(
    inside: subprocess.Popen[str], whole_lives: dict[bool, int], victim: str
) -> None:
    """Beside someone else's tracer, instance, events and settings."""
    kill_and_look(inside, victim, whole_lives)
    assert abs(whole_lives[victim != "local"] - STEPS) < 30


@VICTIMS
@pytest.mark.parametrize("guest", ["full"], indirect=True)
def test_killed_sources_leave_nothing(guest: Guest, source_lives: dict[bool, int], victim: str) -> None:
    """Timerlat, osnoise, hwlat and wakeups, and an event of programs; beside someone else's settings."""
    put_drill(guest)
    with drill(guest, "sources") as inside:
        kill_and_look(inside, victim, source_lives)


def kill_and_look(inside: subprocess.Popen[str], victim: str, whole_lives: dict[bool, int]) -> None:
    """Kill sessions at moments of their lives; the next start leaves nothing."""
    has_agent = victim != "local"
    if has_agent not in whole_lives:
        whole = play(inside, victim, TOO_MANY, 0)
        assert (whole["left"], whole["after"]) == ([], []), "a life that nobody ends leaves nothing by itself"
        whole_lives[has_agent] = whole["steps"]
    played = [play(inside, *moment) for moment in moments(victim, whole_lives[has_agent])]
    for one in played:
        assert (one["after"], one["failed"], one["told"], one["ended"]) == ([], [], [], True), one
        assert victim != "near" or not one["left"], one
    if victim != "near":
        assert any(one["left"] for one in played), "the kills came too early or too late"
        assert MOMENTS < 50 or any(one["settings"] for one in played)
