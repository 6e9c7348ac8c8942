"""Three guests as three hosts: one preset, one list of events, one line cut, one guest killed; nothing is left."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from events.store.outage_mark import OUTAGE_EVENT
from kernel.lab.guest import Guest
from tests.json_reader import read_line
from tests.real.command import Done, start
from tests.real.conftest import prepared
from tests.real.processes import PATIENCE, descendants, remains
from tests.real.saved import SavedGuests
from tests.real.test_ssh_guest import is_clean, left
from tests.real.tmux import Tmux

KERNELS = {"alpha": "7.2", "beta": "7.2", "gamma": "6.1"}
PRESET = ("file-position",)
UNSURE = 1_000_000_000
"""Nanoseconds that a host's clock may be off by at most."""
ENOUGH = 6
"""Events of a host that show that it goes on."""


@pytest.fixture(scope="module")
def machines(saved: SavedGuests) -> Iterator[dict[str, Guest]]:
    """Guests at work, by their names as hosts; tests may end any of them."""
    with contextlib.ExitStack() as ends:
        made: dict[str, Guest] = {}
        for name, kernel in KERNELS.items():
            prepared(kernel)
            made[name] = ends.enter_context(saved.lent(kernel))
            made[name].workload(True)
        yield made


@pytest.fixture
def guests(machines: dict[str, Guest], saved: SavedGuests) -> Iterator[dict[str, Guest]]:
    """All of them; another guest stands in for one that a test has ended."""
    with contextlib.ExitStack() as ends:
        for name, guest in machines.items():
            if not guest.alive:
                machines[name] = ends.enter_context(saved.start(KERNELS[name]))
                machines[name].workload(True)
        yield machines


@pytest.fixture
def env(machines: dict[str, Guest], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A home in which ssh knows the guests by their names, and a group has them, and one that is not there."""
    home = tmp_path_factory.mktemp("home")
    (home / ".ssh").mkdir()
    config = home / ".ssh" / "config"
    config.write_text("".join(_host(name, guest) for name, guest in machines.items()) + "Host gone\n  Port 9\n")
    with config.open("a") as file:
        file.write("  HostName 127.0.0.1\n  BatchMode yes\n")
    groups = home / ".config" / "probewright"
    groups.mkdir(parents=True)
    (groups / "config.toml").write_text('[hosts.lab]\ntargets = ["ssh://alpha", "ssh://gone"]\nssh = "[bg][ea]*a"\n')
    binary = shutil.which("ssh")
    hold = f"while [ -e {home}/hold ]; do sleep 0.1; done"  # nobody is reached as long as it is there
    (home / "ssh").write_text(f'#!/bin/sh\n{hold}\nexec {binary} -F {config} "$@"\n')
    (home / "ssh").chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    return {**kept, "HOME": str(home), "PATH": f"{home}:{os.environ['PATH']}"}


def _host(name: str, guest: Guest) -> str:
    """What ssh's configuration says of a guest, by the options that reach it."""
    words = guest.ssh_options
    options = [word.replace("=", " ", 1) for before, word in pairwise(words) if before == "-o"]
    options += [f"IdentityFile {words[words.index('-i') + 1]}", f"Port {guest.port}", "User root"]
    return f"Host {name}\n  HostName 127.0.0.1\n" + "".join(f"  {option}\n" for option in options)


class Reader(threading.Thread):
    """What a command prints, as it does."""

    def __init__(self, process: Popen[bytes]) -> None:
        super().__init__(daemon=True)
        self._process = process
        self._lines: queue.Queue[dict[str, Any]] = queue.Queue()
        self.objects: list[dict[str, Any]] = []
        self.start()

    def run(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as out:
            for line in out:
                self._lines.put(read_line(line))

    def more(self, *hosts: str) -> None:
        """Wait until each of these hosts has given some events that are of a later time than this, for any clock."""
        wanted, since = dict.fromkeys(hosts, ENOUGH), time.time_ns() + UNSURE
        end = time.monotonic() + PATIENCE
        while any(count > 0 for count in wanted.values()):
            ended = not self.is_alive() and self._lines.empty()
            assert not ended, self.errors()
            assert time.monotonic() < end, wanted
            self._take(wanted, since)

    def mark(self, host: str) -> None:
        """Wait until the host is reconnected."""
        end = time.monotonic() + PATIENCE
        while not any(one["host"] == host and one.get("event") == OUTAGE_EVENT for one in self.objects):
            assert self.is_alive() or not self._lines.empty(), self.errors()
            assert time.monotonic() < end, self.objects[-3:]
            self._take({})

    def rest(self) -> None:
        """All until the end."""
        self.join(PATIENCE)
        while not self._lines.empty():
            self._take({})

    def errors(self) -> bytes:
        """What it said on standard error, once it has ended."""
        assert self._process.stderr is not None
        with self._process.stderr as file:
            return file.read()

    def _take(self, wanted: dict[str, int], since: int = 0) -> None:
        try:
            one = self._lines.get(timeout=1)
        except queue.Empty:
            return
        self.objects.append(one)
        if one["host"] in wanted and "event" in one and one["time"] > since:
            wanted[one["host"]] -= 1


def began_at(guest: Guest) -> tuple[float, float]:
    """When the guest's clock began by ours, in seconds since 1970, and how far that may be off."""
    before = time.time()
    uptime = float(guest.run("cat /proc/uptime").split()[0])
    after = time.time()
    return (before + after) / 2 - uptime, (after - before) / 2 + 0.02


def cut_line(below: dict[int, str], host: str) -> None:
    """End the ssh that leads to a host."""
    words = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid, name in below.items() if name == "ssh"}
    (pid,) = (pid for pid, line in words.items() if host.encode() in line.split(b"\0"))
    os.kill(pid, signal.SIGKILL)


def test_one_preset_on_three_hosts_of_which_one_comes_back_and_one_dies(
    guests: dict[str, Guest], env: dict[str, str]
) -> None:
    began = {name: [began_at(guest)] for name, guest in guests.items()}
    process = start("run", *PRESET, "--group", "lab", "--json", env=env)
    below: dict[int, str] = {}
    try:
        reader = Reader(process)
        reader.more(*KERNELS)
        below = descendants(process.pid)
        assert list(below.values()).count("ssh") == 3, below
        hold = Path(env["HOME"]) / "hold"
        hold.touch()
        cut_line(below, "alpha")
        reader.more("beta", "gamma")
        hold.unlink()
        reader.mark("alpha")
        reader.more(*KERNELS)
        below = descendants(process.pid)
        assert list(below.values()).count("ssh") == 3, below
        killed = time.time_ns()
        guests["beta"].close()
        gone = time.time_ns()
        reader.more("alpha", "gamma")
        process.send_signal(signal.SIGINT)
        reader.rest()
        process.wait(PATIENCE)
        err = reader.errors()
    finally:
        process.kill()
        process.wait()
    done = Done(process.returncode, b"", err)
    assert done.status == 4, done
    events = [one for one in reader.objects if "event" in one]
    hosts = {one["host"]: one for one in reader.objects if "state" in one}
    assert {name: one["state"] for name, one in hosts.items()} == {
        "alpha": "closed",
        "beta": "lost",
        "gamma": "closed",
        "gone": "unreachable",
    }
    # One list, in order but for what is marked, by clocks that were measured rightly.
    times = [one["time"] for one in events if not one.get("late")]
    assert times == sorted(times)
    assert len(events) - len(times) == sum(one["late"] for one in hosts.values())
    for name in ("alpha", "gamma"):
        began[name].append(began_at(guests[name]))  # an emulated clock goes on at its own pace
    for name, measured in began.items():
        clock = hosts[name]["clock"]
        offset, unsure = clock["offset"] / 1e9, clock["uncertainty"] / 1e9
        earliest = min(seconds - apart for seconds, apart in measured)
        latest = max(seconds + apart for seconds, apart in measured)
        assert earliest - unsure <= offset <= latest + unsure, (name, clock, began)
        assert 0 < clock["uncertainty"] < UNSURE
        assert {one["time"] - one["ts"] for one in events if one["host"] == name}, name
    # Each kernel says its own, and the values are those of what runs there: `head` reads by 1024 bytes.
    for name in KERNELS:
        assert len(hosts[name]["lowered"]) == 2 and KERNELS[name] in hosts[name]["kernel"], hosts[name]
        own = [one for one in events if one["host"] == name]
        assert len(own) == hosts[name]["events"] >= ENOUGH
        ends = [one for one in own if one["event"].endswith("__exit") and one["comm"] == "head"]
        # 6.1 has no argument at the exit.
        assert ends and all(one["values"]["ret"] <= one["values"].get("count", 1024) == 1024 for one in ends), ends
        assert all(("count" in one["values"]) == (name != "gamma") for one in ends)
    # The host whose connection was lost has a mark where it goes on, and no event between; the others went on. The
    # mark is late if the next event is: on a busy machine measuring the clock anew takes longer than others wait.
    alpha = [one for one in events if one["host"] == "alpha"]
    (mark,) = (one for one in alpha if one["event"] == OUTAGE_EVENT)
    assert mark["values"]["note"].endswith("events of that time are lost")
    assert mark["comm"] == "" and mark["values"]["seconds"] == hosts["alpha"]["gaps"][0]
    assert len(hosts["alpha"]["gaps"]) == 1 and not hosts["gamma"]["gaps"]
    names = [{one["event"] for one in part} for part in around(alpha, mark)]
    assert names[0] & names[1] and not any("/" in name for name in names[0] | names[1]), (
        "without the groups of sessions"
    )
    before = max(one["time"] for one in around(alpha, mark)[0])
    assert {one["host"] for one in events if before < one["time"] < mark["time"]} == {"beta", "gamma"}
    # The death of one is told with the way out, and it has no events from after it.
    assert re.search(r"beta: lost: .*\n  .*removes its probes by itself", done.err), done
    assert re.search(r"gone: unreachable: .*\n  \w", done.err), done
    beta = [one for one in events if one["host"] == "beta"]
    assert max(one["time"] for one in beta if one["event"] != OUTAGE_EVENT) < gone + UNSURE
    assert [one["event"] for one in beta].count(OUTAGE_EVENT) == 1 and "not reconnected" in beta[-1]["values"]["note"]
    for name in ("alpha", "gamma"):
        assert max(one["time"] for one in events if one["host"] == name) > killed
        assert hosts[name]["left"] == [] and hosts[name]["unshown"] == 0
        assert is_clean(guests[name]), left(guests[name])
    assert remains(process.pid, below) == []


def around(events: list[dict[str, Any]], mark: dict[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    at = events.index(mark)
    return events[:at], events[at + 1 :]


def test_the_others_on_the_screen_of_a_terminal(machines: dict[str, Guest], env: dict[str, str]) -> None:
    """One of the three is dead, and is said to be."""
    machines["beta"].close()
    words = [sys.executable, "-m", "tui", "-g", "ssh:*a"]
    row = re.compile(r"^.?\d\d:\d\d:\d\d\.\d{6} +(alpha|gamma) ", re.MULTILINE)
    passed = [f"{name}={env[name]}" for name in ("HOME", "PATH")]
    with Tmux(["env", "-u", "XDG_CONFIG_HOME", *passed, *words], columns=80, rows=24) as terminal:
        terminal.wait(lambda screen: screen.count("○ open") == 2 and "✗ unreachable" in screen)
        below = descendants(terminal.pid)
        terminal.press("F5")
        terminal.wait(lambda screen: "╭─ presets" in screen)
        terminal.press(*"file-po")
        terminal.wait(lambda screen: "accepted by" in screen)
        terminal.press("Enter")
        terminal.wait(lambda screen: "enter Done" in screen)
        terminal.press("Enter")
        armed = "2 of 3 armed, 1 failed: file-position"
        screen = terminal.wait(lambda screen: armed in screen and {"alpha", "gamma"} <= set(row.findall(screen)))
        assert all(len(line) <= 80 for line in screen.splitlines())
        terminal.press("C-q")
        assert terminal.status() == 0
        assert remains(terminal.pid, below) == []
        assert "Traceback" not in terminal.screen()
    for name in ("alpha", "gamma"):
        assert is_clean(machines[name]), left(machines[name])
