"""Functions that may return errors by their types, the entries of system calls, and calls in machine code."""

from __future__ import annotations

import functools
import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btf.btf import Btf
from btf.functions.error_returns import ErrorReturn, error_return, may_pass_errors_on
from probes.attaching.branches import branches_to
from probes.attaching.entry_points import entry_names, entry_points, nearest_entry_points
from probes.bpf.exclusions import exclusion_reason
from probes.bpf.tracing.traced_functions import traced_functions
from probes.code.architectures.table import ARCHITECTURES
from probes.functions.function_index import index_of
from tests.btf_writer import stored
from tests.probes_data import kernel
from tests.pure.probes.test_branches import KERNEL, arm_call, x86_call


@functools.cache
def types() -> Btf:
    return Btf.load(stored("btf-7.2"))


@pytest.mark.parametrize(
    ("function", "form", "passes_on"),
    [
        ("vfs_open", ErrorReturn.INT, True),
        ("vfs_read", ErrorReturn.LONG, True),
        ("vfs_llseek", ErrorReturn.LONG, True),
        ("filp_open", ErrorReturn.LONG, True),
        ("do_mmap", ErrorReturn.LONG, True),
        ("ns_capable", ErrorReturn.NONE, True),
        ("kfree", ErrorReturn.NONE, False),
        ("get_random_u32", ErrorReturn.NONE, False),
        ("no_such_function", ErrorReturn.UNKNOWN, True),
    ],
)
def test_the_form_of_a_functions_errors(function: str, form: ErrorReturn, passes_on: bool) -> None:
    btf = types()
    assert (error_return(btf, function), may_pass_errors_on(btf, function)) == (form, passes_on)
    assert error_return(btf, f"{function}.isra.0") is form
    assert error_return(None, function) is ErrorReturn.UNKNOWN


def test_a_system_call_is_found_by_its_name() -> None:
    facts = kernel("7.2").facts
    index = index_of(facts)
    assert "__x64_sys_newuname" in entry_names("uname")
    assert "__arm64_sys_openat" in entry_names("sys_openat") == entry_names("openat")
    assert entry_points("vfs_read", facts) == ("vfs_read",)
    assert entry_points("no_such_call", facts) == ()
    found = entry_points("vfs_*", facts)
    assert set(found) == {name for name in index.modules if name.startswith("vfs_")}
    calls = [name for name in index.modules if name.startswith("__x64_sys_")]
    assert calls
    for name in calls[:20]:
        assert entry_points(name.removeprefix("__x64_sys_"), facts) == (name,)
    assert nearest_entry_points(calls[0].removeprefix("__x64_sys_")[:-1], facts)[0] in calls[0]


def test_functions_with_errors_are_traced_but_roots_and_those_of_the_machinery() -> None:
    known = kernel("7.2")
    index = index_of(known.facts)
    lone = [name for name in index.modules if index.count(name) == 1]
    found = traced_functions(known.facts, known.btf, frozenset({"vfs_read"}), lone)
    assert "vfs_open" in found
    assert "vfs_read" not in found
    for name in found:
        assert not exclusion_reason(name)
        assert error_return(known.btf, name) is not ErrorReturn.NONE
        assert not name.startswith("__x64_sys_")


@given(st.lists(st.integers(0, 3000), max_size=8), st.integers(0, 1 << 32), st.sampled_from(["x86_64", "aarch64"]))
def test_each_branch_of_a_search_is_among_the_targets(places: list[int], seed: int, machine: str) -> None:
    rng = random.Random(seed)
    code = bytearray(rng.randbytes(3100))
    planted = set()
    for place in places:
        at = KERNEL + place - place % 4
        target = KERNEL + 4 * rng.randrange(0, 1 << 20)
        call = x86_call(at, target) if machine == "x86_64" else arm_call(at, target)
        code[at - KERNEL : at - KERNEL + len(call)] = call
        planted.add(target)
    found = ARCHITECTURES[machine].branch_targets(bytes(code), KERNEL)
    assert {one.target for one in branches_to(planted, bytes(code), KERNEL, machine)} == found & planted


@pytest.mark.parametrize(
    ("code", "machine", "calls"),
    [
        (b"\xff\xd0", "x86_64", True),  # call *%rax
        (b"\x41\xff\xd3", "x86_64", True),  # call *%r11
        (b"\xff\x50\x18", "x86_64", True),  # call *0x18(%rax)
        (x86_call(KERNEL + 0x100, KERNEL) + b"\x90", "x86_64", False),
        (b"\xff\x25\x00\x00\x00\x00", "x86_64", False),  # jmp *(%rip)
        (b"\x90" * 16, "x86_64", False),
        (struct.pack("<II", 0xD503201F, 0xD63F0060), "aarch64", True),  # nop; blr x3
        (struct.pack("<II", 0xD503201F, 0xD65F03C0), "aarch64", False),  # nop; ret
        (bytes.fromhex("8297"), "riscv64", True),  # jalr a5
        (bytes.fromhex("97001000e78000ff"), "riscv64", False),  # auipc ra, 256; jalr -16(ra)
        (bytes.fromhex("97001000e7800700"), "riscv64", True),  # auipc ra, 256; jalr a5, in four bytes
        (bytes.fromhex("82878280"), "riscv64", False),  # jr a5; ret
    ],
)
def test_calls_through_pointers(code: bytes, machine: str, calls: bool) -> None:
    assert ARCHITECTURES[machine].may_call_pointers(code, KERNEL) == calls
