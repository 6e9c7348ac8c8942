"""Sessions of the local target on real kernels: our code runs inside the guest, its answers are looked at here."""

import json
import subprocess
from typing import Any

import pytest

from kernel.lab.guest import Guest
from tests.real.code_inside import CORE, put_code
from tests.real.command import TOP

KERNELS = ["6.1", "6.12", "7.2", "arm64:6.12", "riscv64:7.2"]


@pytest.fixture(scope="module")
def answers(guest: Guest) -> dict[str, Any]:
    put_code(guest, CORE, {"session_inside.py": TOP / "tests/real/session_inside.py"})
    command = "cd /pw && python3 session_inside.py"
    done = subprocess.run([*guest.ssh_command, command], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


pytestmark = pytest.mark.parametrize("guest", KERNELS, indirect=True)


def test_facts_are_those_of_the_kernel(answers, guest):
    facts = answers["facts"]
    assert facts["release"] == guest.kernel.release == facts["uname"][0]
    assert facts["machine"] == facts["uname"][1]
    assert facts["page_size"] == facts["sysconf"]
    assert facts["cpus"][0] == facts["cpus"][1]
    assert facts["functions"] > 20_000
    assert facts["blacklist"] > 100
    assert facts["usable"], facts["troubles"]
    old, arm = guest.kernel.release.startswith("6.1."), guest.kernel.arch == "arm64"
    expected = {
        "kprobe_events": True,
        "event probes": True,
        "BTF arguments": not old,
        "entry arguments at exit": not old,
        "fprobe_events": not old and not arm,
        "tracepoint probes": not old and not arm,
        "sub-buffer size": not old,
    }
    assert {name: name in facts["features"] for name in expected} == expected


def test_events_of_others_arrive_and_ours_do_not(answers):
    live = answers["live"]
    assert live["others"] > 100
    assert live["ours"] == {"main": 0, "pump": 0, "thread": 0, "child": 0}
    assert not any(live["our_pids"])
    # Without the filter they would: what keeps them out is the filter.
    assert live["let_in"]["main"] >= 500
    assert live["let_in"]["child"] >= 500
    assert live["let_in"]["pump"] > 0
    assert "[mono]" in live["clock"]
    assert live["drained"]
    assert live["cmdline"].startswith("python3")


def test_in_silence_nothing_comes(answers):
    # Whose own reading made events would read without end.
    assert answers["live"]["silent"]


def test_disarm_and_close_leave_nothing(answers):
    live = answers["live"]
    assert live["failures"] == 0
    assert live["after"] == ""
    assert len(live["formats"]) == 1
    assert answers["close"] == 0
    assert answers["left_by_refusals"] == ""
    assert answers["stack_close"] == []
    assert answers["left"] == {"events": "", "instances": []}


def test_refusals_carry_code_caret_and_token(answers, guest):
    found = {line: rest for line, *rest in answers["refusals"]}
    code, message, column, token, command = found["p no_such_function"]
    assert code == "BAD_PROBE_ADDR"
    assert message == "Invalid probed address or symbol"
    assert command[column:] == token == "no_such_function"
    code, _, column, token, command = found["p vfs_read  x=%nope   y=%di"]
    assert code == "BAD_REG_NAME"
    assert command.endswith(" vfs_read x=%nope y=%di")
    assert command[column:].startswith("%nope")
    assert token == "%nope"
    code, message, column, _, command = answers["refusals"][2][1:]
    assert (code, message, command) == ("FIELD_NOT_FOUND", "Field not found", "y > 1")
    assert column is not None
    assert answers["refusals"][3][1] == "refused"
    assert "EINVAL" in answers["refusals"][3][2]
    code, _, column, token, command = found["f vfs_read file->f_poss"]
    if "BTF arguments" in answers["facts"]["features"] and "fprobe_events" in answers["facts"]["features"]:
        assert code == "NO_BTF_FIELD"
        assert command[column:] == token == "f_poss"
    else:
        assert code != "armed"


def test_losses_are_counted_apart(answers):
    losses = answers["losses"]
    assert sum(losses["lost"].values()) > 0
    assert losses["lost"] == losses["stats"]
    # Removing an event empties the buffer and its counts; ours go on.
    assert all(losses["after"][cpu] >= count for cpu, count in losses["lost"].items())
    assert answers["nmissed"]["slow"] >= 1
    if "fprobe_events" in answers["facts"]["features"]:
        assert answers["nmissed"]["fast"] is None
    else:
        assert answers["nmissed"]["fast"] == 0
    assert "ftrace/kernel_stack" in answers["stack_formats"]


def test_sub_buffers_of_another_size(answers):
    if "sub-buffer size" not in answers["facts"]["features"]:
        assert "big_pages" not in answers
        return
    size, rests, events = answers["big_pages"]
    assert (size, rests) == (65536, [0])
    assert events > 50


def test_dead_sessions_are_found_and_removed_and_living_ones_are_not(answers):
    left = answers["leftovers"]
    assert left["before"] == []
    assert left["found"] == [[True, True, 1]]
    assert left["removed"] == [[]]
    assert left["after"] == []
    assert len(left["alive"]) == 1
    assert "in use" in left["alive"][0]
    assert left["still"] == "1"
