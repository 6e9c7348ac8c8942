"""Events of programs that probewright itself defines: recorded, held, and gone at the end, however that comes."""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernel.lab.guest import Guest
from tests.real.code_inside import CORE, put_code
from tests.real.command import Done, address, finish, run, ssh_to, start
from tests.real.processes import PATIENCE, until
from tui.cli.status import UNUSABLE

TRACING = "/sys/kernel/tracing"
MODULE = (Path(__file__).parents[2] / "probewright_events.py").read_text()
SPEC = "u:pw_request u64 length; char[16] verb; __rel_loc char[] path if length > 3"
WRITER = """\
import select, sys
from probewright_events import Event
event = Event("pw_request", "u64 length", "char[16] verb", "__rel_loc char[] path")
event.register()
print("registered", flush=True)
while not select.select([sys.stdin], [], [], 0.02)[0]:
    for length in range(1, 8):
        event.write(length, "GET", f"/{length}")
"""
ROWS = [{"length": length, "verb": "GET", "path": f"/{length}"} for length in range(4, 8)]
on_full = pytest.mark.parametrize("guest", ["full"], indirect=True)


def put(guest: Guest, name: str, text: str) -> None:
    subprocess.run([*guest.ssh_command, f"cat >/tmp/{name}"], input=text.encode(), check=True)


def listed(guest: Guest) -> bool:
    return b"pw_request" in guest.run(f"cat {TRACING}/dynamic_events")


def is_clean(guest: Guest) -> bool:
    return not listed(guest) and b"probewright" not in guest.run(f"ls {TRACING}/instances")


@contextlib.contextmanager
def writing(guest: Guest) -> Iterator[None]:
    """A program in the guest that has registered the event, and writes seven of them again and again."""
    command = [*guest.ssh_command, "cd /tmp; python3 writer.py"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"registered\n"
        try:
            yield
        finally:
            writer.communicate(b"end")


def rows(done: Done) -> list[dict[str, Any]]:
    return [one["values"] for one in done.objects if one["event"] == "user_events/pw_request"]


@pytest.fixture
def env(guest: Guest, tmp_path: Path) -> Iterator[dict[str, str]]:
    put(guest, "probewright_events.py", MODULE)
    put(guest, "writer.py", WRITER)
    yield ssh_to(guest, tmp_path)
    assert until(lambda: is_clean(guest)), guest.run(f"cat {TRACING}/dynamic_events; ls {TRACING}/instances")


@on_full
def test_what_a_program_writes_is_recorded_and_nothing_stays(guest: Guest, env: dict[str, str]) -> None:
    process = start("run", SPEC, "--target", address(guest), "--json", "--count", "40", env=env)
    assert until(lambda: listed(guest)), finish(process)
    with writing(guest):
        process.wait(PATIENCE)
    done = finish(process)
    assert done.status == 0, done
    assert len(rows(done)) == 40, done
    assert all(row in ROWS for row in rows(done)), done
    assert [row for row in ROWS if row not in rows(done)] == []


@on_full
def test_an_event_that_a_program_holds_stays_and_is_told(guest: Guest, env: dict[str, str]) -> None:
    with writing(guest):
        done = run("run", SPEC, "--target", address(guest), "--json", "--count", "4", env=env)
        assert done.status == 0, done
        assert all(row in ROWS for row in rows(done)), done
        assert "user_events/pw_request stays as long as a program, or another tool, holds it" in done.err
        assert listed(guest)
        other = run("run", "u:pw_request u64 length", "--target", address(guest), "--for", "1", env=env)
        assert other.status == 1, other
        assert "with other fields: u:pw_request u64 length; char[16] verb; __rel_loc char[] path" in other.err


@on_full
def test_they_are_listed_and_shown_and_written_by_hand(guest: Guest, env: dict[str, str]) -> None:
    where = ("--target", address(guest))
    with writing(guest):
        listing = run("list", "user_events/", *where, env=env)
        assert listing.out.split("  ")[0] == "user_events/pw_request", listing
        assert "u64 length; char[16] verb; __rel_loc char[] path" in listing.out
        [event] = run("show", "user_events/pw_request", *where, "--json", env=env).objects
        assert [field["size"] for field in event["fields"]] == [8, 16, 4]
        values = ("length=4711", "verb=PUT", "path=/by hand")
        unheard = run("write", "pw_request", *values, *where, env=env)
        assert unheard.status == 3, unheard
        assert "nobody records it" in unheard.err
        wrong = run("write", "pw_request", "length=-1", *values[1:], *where, env=env)
        assert (wrong.status, wrong.err) == (2, "probewright: length: u64 holds 0 to 18446744073709551615\n")
        spec = "on user_events/pw_request if length == 4711"
        process = start("run", spec, *where, "--json", "--count", "1", env=env)
        recorded = b"pw_request # Used by ftrace"
        assert until(lambda: recorded in guest.run(f"cat {TRACING}/user_events_status")), finish(process)
        while process.poll() is None:
            assert run("write", "pw_request", *values, *where, env=env).status in (0, 3)
        done = finish(process)
        assert rows(done) == [{"length": 4711, "verb": "PUT", "path": "/by hand"}], done
    assert run("list", "user_events/", *where, env=env).status == 1


@on_full
def test_kill_9_leaves_nothing(guest: Guest, env: dict[str, str]) -> None:
    process = start("run", SPEC, "--target", address(guest), env=env)
    assert until(lambda: listed(guest)), finish(process)
    process.kill()
    finish(process)


@on_full
def test_the_agent_killed_leaves_no_event(guest: Guest, env: dict[str, str]) -> None:
    process = start("run", SPEC, "--target", address(guest), "--reconnect", "0", env=env)
    assert until(lambda: listed(guest)), finish(process)
    instances = guest.run(f"ls {TRACING}/instances").decode().split()
    [agent] = [re.match("[0-9]+", name.removeprefix("probewright-")) for name in instances if "probewright-" in name]
    assert agent is not None
    guest.run(f"kill -9 {agent[0]}")
    done = finish(process)
    assert done.status == UNUSABLE, done
    cleaned = run("clean", "--target", address(guest), env=env)  # the instance, whose switch holds the event
    assert cleaned.status == 0, cleaned


@on_full
def test_in_the_machine_itself(guest: Guest, env: dict[str, str]) -> None:
    """The local target: an event is held by this process, and goes with it."""
    put_code(guest, CORE, {"local.py": LOCAL.encode()})
    for ending, said in (("end", b"held\nleft []\n"), ("kill", b"held\n")):
        done = subprocess.run([*guest.ssh_command, f"cd /pw; python3 local.py {ending}"], capture_output=True)
        assert done.stdout == said, done.stderr.decode()
        # The instance of a process that was killed goes with the next start, and with it what it has switched on.
    run("clean", "--target", address(guest), env=env)


LOCAL = """\
import os, sys
sys.path.insert(0, ".")
from kernel.local.target import LocalTarget
from kernel.session.start import open_session
from probes.command import parse_armable
from probes.lowering.lower import lower

def listed():
    return "u:pw_request" in open("/sys/kernel/tracing/dynamic_events").read()

target = LocalTarget()
plan = lower(parse_armable("u:pw_request u64 length"), None, target.facts(), "probewright")
session = open_session(target)
session.probes.arm(plan)
print("held" if listed() else "none", flush=True)
if sys.argv[1] == "kill":
    os.kill(os.getpid(), 9)
left = session.close()
print("left", left)
target.close()
"""


def test_a_kernel_without_user_events(guest_72: Guest, tmp_path: Path) -> None:
    done = run("check", "u:pw_request u64 length", "--target", address(guest_72), env=ssh_to(guest_72, tmp_path))
    assert done.status == 1, done
    assert "CONFIG_USER_EVENTS" in done.out + done.err
