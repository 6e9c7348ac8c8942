"""Probes on the return instructions and tail calls of a function, with its code from saved memory."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import open_target
from kernel.connection.planner import Planner
from probes.check import CheckResult
from tests.pure.kernel.test_function_body import COLD, DATA, folder, memory
from tests.small_kernel import TEXT, core_file

__all__ = ["folder"]
CODE = bytes.fromhex(
    "0f1f440000"  # +0 ftrace
    "0f1f440000"  # +5 a static branch
    "7401"  # +a over the return
    "c3"  # +c
    "4889f8"  # +d
    "0f8467ffffff"  # +10 to the cold part
    "e9e5010000"  # +16 a tail call to `twin`
    "c3cc"  # +1b
)


@pytest.fixture
def planner(folder: Path) -> Planner:
    return planner_of(folder, CODE, bytes.fromhex("90c3cccccccc"))


def planner_of(folder: Path, code: bytes, cold: bytes = COLD) -> Planner:
    segments = memory({})
    text = bytearray(segments[TEXT])
    text[0x100:0x120] = code.ljust(0x20, b"\xcc")
    text[0x80 : 0x80 + len(cold)] = cold
    data = bytearray(segments[DATA])
    for at in (0x40, 0x80):  # no static call, no trap
        struct.pack_into("<i", data, at, 0)
    (folder / "kcore").write_bytes(core_file({TEXT: bytes(text), DATA: bytes(data)}))
    return Planner(KernelInfo(open_target(str(folder))))


def accepted(checked: CheckResult) -> list[str]:
    assert checked.verdict.ok, checked.verdict
    assert checked.plan is not None
    return list(checked.plan.lines)


def test_one_event_has_a_kprobe_on_each_return(planner: Planner) -> None:
    checked = planner.check_typed("p ksys_write%retinsn $retval")
    assert accepted(checked) == [
        "p:probewright/ksys_write__ret ksys_write+0xc offset=\\0xc:x32 ret=%ax:s64",
    ]
    print(checked)
