"""Events that programs define, on the kernel that has user_events, and on one that has not."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from events.format import parse_format
from kernel.lab.guest import Guest
from tests.json_reader import read_line
from tests.real.processes import until

HERE = Path(__file__).parent
MODULE = (HERE.parents[1] / "probewright_events.py").read_text()
STATUS = "cat /sys/kernel/tracing/user_events_status"


def run_inside(guest: Guest, program: str) -> list[dict[str, Any]]:
    """Run a program in the guest, beside the module; return the objects that it tells."""
    for name, text in (("probewright_events", MODULE), ("program", program)):
        subprocess.run([*guest.ssh_command, f"cat >/tmp/{name}.py"], input=text.encode(), check=True)
    done = subprocess.run([*guest.ssh_command, "cd /tmp && python3 -X dev -W error program.py"], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr.decode() == ""
    return [read_line(line) for line in done.stdout.decode().splitlines()]


@pytest.fixture(scope="module")
def told(guest: Guest) -> Iterator[dict[str, dict[str, Any]]]:
    """What the program inside tells, by the name of each part."""
    yield {one.pop("test"): one for one in run_inside(guest, (HERE / "program_events_inside.py").read_text())}
    until(lambda: b"Active: 0" in guest.run(STATUS))


on_full = pytest.mark.parametrize("guest", ["full"], indirect=True, scope="module")


@on_full
def test_a_life(told: dict[str, dict[str, Any]]) -> None:
    assert told["life"] == {"before": False, "unheard": False, "listed": True}
    assert told["on"] == {"enabled": True, "problem": ""}
    assert told["written"] == {"taken": [True, True]}
    assert told["off"] == {"enabled": False, "taken": False}
    assert told["closed"] == {"gone": True}
    assert told["again"] == {"registered": True, "listed": True}


@on_full
def test_the_kernel_reads_what_was_written(told: dict[str, dict[str, Any]]) -> None:
    seen = told["seen"]
    # it prints numbers of 16 bits as if they had no sign (print_fields)
    assert seen["first"] == "length=0x5 (5) verb=GETGETG path=/x more= n=0xfffd (65533)"
    assert seen["second"].startswith("length=0x2 (2) verb= path=yyyy")
    assert seen["number"] == 2
    assert 1000 < seen["longest"] < 4000  # cut at what a page holds


@on_full
def test_the_format_is_read_whatever_the_kernel_prints_as_the_bound_of_an_array(
    told: dict[str, dict[str, Any]],
) -> None:
    fields = {one.name: one for one in parse_format(told["format"]["text"], "user_events").fields}
    assert fields["verb"].type in ("char[]", "char[8]")
    assert (fields["verb"].size, fields["verb"].kind) == (8, "string")
    assert fields["path"].type == "__rel_loc char[]"
    assert fields["path"].kind == fields["more"].kind == "string"
    assert (fields["n"].size, fields["n"].signed, fields["length"].signed) == (2, True, False)


@on_full
def test_values_that_do_not_fit(told: dict[str, dict[str, Any]]) -> None:
    assert told["mistaken"] == {"taken": False, "problem": "pw_life has 5 fields, 1 values were given"}


@on_full
def test_threads_and_children(told: dict[str, dict[str, Any]]) -> None:
    assert told["thread"] == {"enabled": True, "taken": True}
    assert told["writers"] == {"number": 1000}
    assert told["fork"] == {"forked": [True, True], "seen": ["n=0x4d", "n=0x4e", "n=0x4f"]}
    assert told["grandchild"] == {"taken": True}
    assert told["child closes"] == {"taken": True, "still": True}
    assert told["closed elsewhere"] == {"works": True}
    assert told["thread closed"] == {"gone": True}


@on_full
def test_a_daemon_that_closes_all_files(told: dict[str, dict[str, Any]]) -> None:
    """No event goes into a file of somebody else, nor into another event."""
    daemon = told["daemon"]
    assert daemon["taken"] == [True, True, True]
    assert daemon["reused"]
    assert daemon["scratch"] == ""
    assert daemon["one"] == ["n=0x6 (6)"]
    assert daemon["other"] == ["n=0x5 (5)", "n=0x7 (7)"]
    assert told["closed blindly"] == {"works": True}


@on_full
def test_what_the_kernel_refuses(told: dict[str, dict[str, Any]]) -> None:
    problem = "the kernel has an event of this name with other fields"
    assert told["twins"] == {"first": True, "second": False, "problem": problem, "same": True}
    assert told["twin freed"] == {"second": True, "problem": ""}
    assert told["too many"] == {"taken": False, "problem": "the kernel says: Too many open files"}


@on_full
def test_rights(told: dict[str, dict[str, Any]]) -> None:
    refused = "no rights to write /sys/kernel/tracing/user_events_data"
    assert told["rights"] == {"old": True, "new": False, "problem": refused, "child": True}
    assert told["unprivileged"] == {"registered": True, "problem": "", "enabled": False}


@on_full
def test_the_longest_event_is_recorded(told: dict[str, dict[str, Any]]) -> None:
    assert told["sizes"] == {"taken": [True] * 4, "seen": 4}
    assert told["end"]["open"] == 0


KILLED = """\
import json, os, signal
from probewright_events import Event
event = Event("pw_killed", "int n")
pid = os.fork()
if not pid:
    assert event.register()
    with open("/sys/kernel/tracing/user_events_status") as file:
        print(json.dumps({"listed": event.name in file.read()}), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
os.waitpid(pid, 0)
"""


@on_full
def test_nothing_stays_of_a_program_that_was_killed(guest: Guest) -> None:
    assert run_inside(guest, KILLED) == [{"listed": True}]
    until(lambda: b"pw_killed" not in guest.run(STATUS))
    assert b"pw_killed" not in guest.run(STATUS)


def test_a_kernel_without_user_events(guest_72: Guest) -> None:
    program = (
        "import json\nfrom probewright_events import Event\nevent = Event('pw_none', 'int n')\n"
        "taken, enabled = event.write(1), event.enabled\n"
        "print(json.dumps(dict(taken=taken, enabled=enabled, has=event.register(), problem=event.problem)))\n"
    )
    problem = "no user_events: the kernel has no CONFIG_USER_EVENTS, or tracefs is not mounted"
    assert run_inside(guest_72, program) == [{"taken": False, "enabled": False, "has": False, "problem": problem}]
