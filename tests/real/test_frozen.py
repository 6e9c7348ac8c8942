"""Commands with a silent remote host on a real guest: a signal ends them in the documented time, with status 3."""

from __future__ import annotations

import select
import signal
from pathlib import Path

import pytest

from kernel.lab.guest import Guest
from tests.real import command
from tests.real.processes import PATIENCE, until

LINE = ("--json", "--reconnect", "0")


@pytest.mark.parametrize(
    "words",
    [
        # To hook all functions, and to let them go again, takes an emulated processor half a minute.
        pytest.param(["graph", "vfs_read", *LINE], id="graph", marks=pytest.mark.matrix),
        pytest.param(["run", "f vfs_read", *LINE], id="run"),
    ],
)
def test_a_command_ends_when_the_agent_was_stopped(guest_72: Guest, tmp_path: Path, words: list[str]) -> None:
    agents = "pidof python3"
    there = guest_72.run(f"{agents} || true").decode().split()
    process = command.start(*words, "-t", command.address(guest_72), env=command.ssh_to(guest_72, tmp_path))
    mine: list[str] = []
    try:
        assert process.stdout is not None
        out = process.stdout

        def is_armed() -> bool:
            guest_72.run("cat /proc/version")
            return bool(select.select([out], [], [], 0.5)[0])

        assert until(is_armed)
        mine = [pid for pid in guest_72.run(agents).decode().split() if pid not in there]
        assert mine
        guest_72.run(f"kill -STOP {' '.join(mine)}")
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 3, said
        assert said.count(b"did not answer for") == 1 and b"Traceback" not in said, said
    finally:
        if mine:
            guest_72.run(f"kill -CONT {' '.join(mine)}")
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
    assert until(lambda: not guest_72.run("ls /sys/kernel/tracing/instances").strip())
