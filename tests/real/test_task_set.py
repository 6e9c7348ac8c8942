"""Set of tasks in a BPF map: those that a task makes come in, and those that end go out."""

from __future__ import annotations

import contextlib

import pytest

from kernel.bpf import calls
from kernel.bpf.task_set import TaskSet, pid_offset, task_functions
from kernel.connection.kernel_info import KernelInfo
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from probes.bpf.registers import SAVED_REGISTERS
from tests.real.processes import until

FORKS = 40
SHELL = f"""\
i=0; while [ ! -e /tmp/go ]; do sleep 0.2; done
while [ $i -lt {FORKS} ]; do i=$((i+1)); (:); done
sleep 4321 & echo $! >/tmp/child; touch /tmp/done
while :; do sleep 4321; done
"""


@pytest.mark.parametrize("guest", ["7.2", "6.12", "6.1", "arm64:6.12"], indirect=True)
def test_tasks_that_ended_are_in_it_no_more(guest: Guest) -> None:
    with contextlib.closing(KernelInfo(connect(guest, guest.kernel.release))) as info:
        target, btf = info.target, info.btf
        assert btf is not None
        shell = int(guest.run(f"setsid sh -c '{SHELL}' >/dev/null 2>&1 & echo $!"))
        tasks = TaskSet(target, SAVED_REGISTERS[info.facts.machine], pid_offset(btf), [shell], task_functions(btf))
        try:
            guest.run("touch /tmp/go")
            assert until(lambda: b"done" in guest.run("ls /tmp"))
            child = int(guest.run("cat /tmp/child"))
            held = [int.from_bytes(key, "little") for key, _ in calls.read_elements(target, tasks.file, 4, 8)]
            # The sleep that waited for the beginning may be there, and the last one is.
            assert {shell, child} <= set(held) and len(held) <= 5, held
        finally:
            tasks.close()
            guest.run(f"pkill -KILL -s {shell}; rm -f /tmp/go /tmp/done /tmp/child")
