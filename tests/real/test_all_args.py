"""`$$args` on a sample of functions of each kernel: what is written the kernel takes, and what we refuse it refuses.

`make all-args` does it for every function (`all_arguments.py`).
"""

from __future__ import annotations

import random

import pytest

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from tests.real.all_arguments import KERNELS, known_names, survey

SAMPLE = 200
REGISTERED = 8
"""Of these the events are made: Linux 6.12 takes a fifth of a second for an fprobe, in an emulator."""
ODD = ("vfs_read", "do_mmap", "from_kuid", "vfs_rename", "tcp_sendmsg", "wake_up_new_task", "ZSTD_buildCTable")
"""Structs by value, more arguments than registers, more than an exit probe keeps."""


@pytest.mark.parametrize("guest", KERNELS, indirect=True)
def test_sample(guest: Guest) -> None:
    planner = Planner(KernelInfo(connect(guest, "all")))
    try:
        names = known_names(planner)
        sample = dict.fromkeys([*(set(ODD) & set(names)), *random.Random(11).sample(names, SAMPLE)])
        found = survey(guest, planner, list(sample), register=REGISTERED)
    finally:
        planner.info.close()
    assert found.wrong == [], str(found)
    assert found.with_btf >= SAMPLE
    assert found.lowered > 0.97 * found.with_btf
    assert found.fields > 2 * found.lowered
