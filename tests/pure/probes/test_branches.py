"""Branches in machine code: what was put in is found, and what a search of every byte finds; nothing else."""

from __future__ import annotations

import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.attaching.branches import branches_to
from probes.code.architectures import riscv64
from probes.code.decoded import Branch

KERNEL = 0xFFFFFFFF81000000


def slowly_x86(code: bytes, start: int, targets: set[int]) -> list[Branch]:
    """By looking at every byte."""
    found = []
    for at in range(len(code)):
        lead = 1 if code[at] in (0xE8, 0xE9) else 2 if code[at] == 0x0F and code[at + 1 : at + 2] in OPCODES else 0
        if lead and at + lead + 4 <= len(code):
            (distance,) = struct.unpack_from("<i", code, at + lead)
            if start + at + lead + 4 + distance in targets:
                found.append(Branch(start + at, start + at + lead + 4 + distance, code[at] == 0xE8))
    return found


OPCODES = {bytes([code]) for code in range(0x80, 0x90)}


def slowly_arm(code: bytes, start: int, targets: set[int]) -> list[Branch]:
    found = []
    for at in range(0, len(code) - 3, 4):
        (word,) = struct.unpack_from("<I", code, at)
        if word >> 26 in (0b000101, 0b100101):
            distance = word & 0x3FFFFFF
            distance -= (distance >> 25) << 26
            if start + at + 4 * distance in targets:
                found.append(Branch(start + at, start + at + 4 * distance, word >> 31 == 1))
    return found


def x86_call(at: int, target: int, lead: bytes = b"\xe8") -> bytes:
    return lead + struct.pack("<i", target - at - len(lead) - 4)


def arm_call(at: int, target: int, link: bool = True) -> bytes:
    return struct.pack("<I", (0x94000000 if link else 0x14000000) | ((target - at) >> 2 & 0x3FFFFFF))


@given(st.integers(0, 1 << 32), st.lists(st.integers(0, 140_000), min_size=1, max_size=12), st.integers(0, 1 << 32))
@settings(max_examples=12)
def test_x86_calls_are_found_wherever_they_stand(far: int, places: list[int], seed: int) -> None:
    """Calls across the bounds of stretches too; between them stands what looks like calls."""
    rng = random.Random(seed)
    code = bytearray(rng.choices(b"\xe8\xe9\x0f\x84\x00\xff\x90", k=140_020))
    targets = {KERNEL + far % (1 << 30), KERNEL + 70_000, KERNEL - 65_536 * rng.randrange(1, 40)}
    for place in places:
        call = x86_call(KERNEL + place, rng.choice(sorted(targets)), rng.choice([b"\xe8", b"\xe9", b"\x0f\x85"]))
        code[place : place + len(call)] = call
    assert branches_to(targets, bytes(code), KERNEL, "x86_64") == slowly_x86(bytes(code), KERNEL, targets)


@pytest.mark.parametrize("place", [65_531, 65_532, 65_535, 65_536, 131_071])
def test_x86_at_every_bound(place: int) -> None:
    for lead in (b"\xe8", b"\x0f\x8f"):
        for target in (KERNEL, KERNEL + 65_536, KERNEL + (1 << 31) - 200_000, KERNEL - (1 << 30)):
            code = bytearray(150_000)
            code[place : place + len(lead) + 4] = x86_call(KERNEL + place, target, lead)
            assert branches_to([target], bytes(code), KERNEL, "x86_64") == [
                Branch(KERNEL + place, target, lead == b"\xe8")
            ]


@given(st.lists(st.tuples(st.integers(0, 70_000), st.booleans()), min_size=1, max_size=12), st.integers(0, 1 << 32))
@settings(max_examples=12)
def test_arm_branches_are_found_wherever_they_stand(places: list[tuple[int, bool]], seed: int) -> None:
    rng = random.Random(seed)
    code = bytearray(rng.choices(b"\x94\x14\x97\x00\xff", k=4 * 70_001))
    base = 0xFFFF800080010000
    targets = {base + 4 * rng.randrange(-(1 << 25), 1 << 25), base + 4 * 66_000, base}
    for place, link in places:
        at = base + 4 * place
        near = [target for target in targets if -(1 << 27) <= target - at < 1 << 27]
        code[4 * place : 4 * place + 4] = arm_call(at, rng.choice(near), link)
    assert branches_to(targets, bytes(code), base, "aarch64") == slowly_arm(bytes(code), base, targets)


def riscv_call(at: int, target: int, register: int = 1) -> bytes:
    """Return `auipc ra; jalr ra` for register 1, `auipc t1; jr t1` for 6."""
    high = target - at + 0x800 >> 12 & 0xFFFFF
    low = target - at & 0xFFF
    return struct.pack(
        "<II", high << 12 | register << 7 | 0x17, low << 20 | register << 15 | (register == 1) << 7 | 0x67
    )


def riscv_near(at: int, target: int, link: bool = True) -> bytes:
    """`jal`."""
    far = target - at
    bits = (far >> 20 & 1) << 31 | (far >> 1 & 0x3FF) << 21 | (far >> 11 & 1) << 20 | far & 0xFF000
    return struct.pack("<I", bits | link << 7 | 0x6F)


def test_the_assembler_writes_the_same_calls_of_riscv() -> None:
    assert riscv_call(0, 0x100000 - 0x10) == bytes.fromhex("97001000e78000ff")
    assert riscv_near(0, 0x1000) == bytes.fromhex("ef100000")
    assert riscv_near(0, -0x1A) == bytes.fromhex("eff07ffe")


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 3)), min_size=1, max_size=12), st.integers(0, 1 << 32))
@settings(max_examples=30)
def test_riscv_branches_are_found_wherever_they_stand(places: list[tuple[int, int]], seed: int) -> None:
    """Pairs and near ones, across the bound of a stretch; between them two bytes are an instruction each."""
    rng = random.Random(seed)
    begin = (1 << 18) - 12_004
    code = bytearray(b"\x01\x00" * 140_000)
    targets = sorted({KERNEL + 2 * rng.randrange(-(1 << 29), 1 << 29), KERNEL + begin + 200, KERNEL - 4, KERNEL + 2})
    planted = {}
    for place, kind in places:
        at = begin + 8 * place
        near = [one for one in targets if kind < 2 or abs(one - KERNEL - at) < 1 << 20]
        target = rng.choice(near)
        far = kind < 2
        call = riscv_call(KERNEL + at, target, (1, 6)[kind]) if far else riscv_near(KERNEL + at, target, kind == 2)
        code[at : at + 8] = call if far else call + b"\x01\x00" * 2
        planted[at] = Branch(KERNEL + at, target, kind in (0, 2))
    expected = [planted[at] for at in sorted(planted)]
    assert branches_to(targets, bytes(code), KERNEL, "riscv64") == expected
    assert riscv64.branch_targets(bytes(code[begin:]), KERNEL + begin) == {one.target for one in expected}
    assert not riscv64.may_call_pointers(bytes(code[begin:]), KERNEL + begin)


def test_the_nearest_jumps_of_riscv_are_found() -> None:
    code = bytes.fromhex("0100 01a1 0100")  # c.j 0x400
    assert branches_to([KERNEL + 0x402], code, KERNEL, "riscv64") == [Branch(KERNEL + 2, KERNEL + 0x402, False)]
    assert branches_to([KERNEL + 0x404], code, KERNEL, "riscv64") == []


def test_what_is_too_far_away_is_not_looked_for() -> None:
    assert branches_to([KERNEL + (1 << 40)], bytes(100), KERNEL, "x86_64") == []
    assert branches_to([KERNEL + (1 << 40)], bytes(100), KERNEL, "aarch64") == []
    assert branches_to([KERNEL + (1 << 40)], bytes(100), KERNEL, "riscv64") == []
    assert branches_to([], b"\xe8\0\0\0\0", KERNEL, "x86_64") == []


def test_other_machines_are_not_known() -> None:
    with pytest.raises(KeyError):
        branches_to([1], b"", 0, "s390x")
