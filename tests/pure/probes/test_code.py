"""A function's instructions, where they go, and which of them take a kprobe."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.code import decode as decoding
from probes.code.architectures import arm64, riscv64, x86_64
from probes.code.architectures.table import ARCHITECTURES
from probes.code.body import FunctionBody, InstructionKind
from probes.code.decode import Decoded, NoCapstone, decode, require_capstone
from probes.code.make_body import CodeContext, PartCode, make_parts
from probes.code.patched_sites import PATCHED_EVERYWHERE, EntryLayout, PatchedSite, table_sites
from probes.code.recover import InstalledKprobe, recover
from probes.code.rows import code_rows, summary_text
from probes.code.ways_out import ways_out, ways_out_text
from probes.probe import ProbePlace, SymbolBase

START = 0xFFFFFFFF81000000
NAMES = {
    START + 0x1000: "other",
    START + 0x2000: "__x86_return_thunk",
    START + 0x3000: "__x86_indirect_thunk_rax",
    START + 0x5000: "f.cold",
}
MACHINES = st.sampled_from(sorted(ARCHITECTURES))


def x86(text: str) -> bytes:
    return bytes.fromhex(text)


def arm(*words: int) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in words)


def part(
    code: bytes,
    machine: str = "x86_64",
    sites: tuple[PatchedSite, ...] = (),
    *,
    ftrace: bool = True,
    cold: bytes = b"",
):
    parts = [PartCode("f", ProbePlace("f"), START, code)]
    parts += [PartCode("f.cold", ProbePlace("f.cold"), START + 0x5000, cold)] if cold else []
    return make_parts(parts, CodeContext(machine, lambda address: NAMES.get(address, ""), sites, ftrace))[0]


def branch(opcode: str, at: int, target: int) -> bytes:
    """A branch of five or six bytes at an offset of the function."""
    head = x86(opcode)
    return head + (target - START - at - len(head) - 4).to_bytes(4, "little", signed=True)


@given(st.binary(max_size=64), MACHINES)
def test_every_byte_is_in_one_instruction(code: bytes, machine: str) -> None:
    found = decode(code, START, machine)
    assert b"".join(one.code for one in found) == code
    at = 0
    for one in found:
        assert one.offset == at
        assert one.code and one.mnemonic
        at += len(one.code)


@given(st.binary(min_size=1, max_size=64), MACHINES)
def test_any_bytes_make_a_body(code: bytes, machine: str) -> None:
    made = part(code, machine, (PatchedSite(START + 1, START + 6, "a static call"),), ftrace=False)
    assert made.size <= len(code)
    body = FunctionBody("f", "", machine, (made,))
    assert len(code_rows(body)) == len(made.instructions)
    assert ways_out_text(body) and summary_text(body)


RELATIVE = [("0x10(%rip), %rax", 0x10), ("%gs:-0x2a(%rip)", -0x2A), ("*(%rip)", 0), ("$5, 8(%rip)", 8)]


@pytest.mark.parametrize(("operands", "distance"), RELATIVE)
def test_operands_relative_to_the_instruction(operands: str, distance: int) -> None:
    assert x86_64.target_of([Decoded(2, b"\x90" * 7, "movq", operands)], 0, START) == START + 9 + distance


# What capstone alone does not decode, or in another length than the kernel and objdump; the last is an ordinary one.
RARE = [
    ("0fb93a", "ud1"),
    ("6748 0fb93a", "ud1"),
    ("480fb93c2500000000", "ud1"),
    ("0fb97b10", "ud1"),
    ("0fffc1", "ud0"),
    ("0f01e8", "serialize"),
    ("0f01fe", "invlpgb"),
    ("0f01ff", "tlbsync"),
    ("f20f00f7", "system"),
    ("4889f8", "movq"),
]


@pytest.mark.parametrize(("code", "mnemonic"), RARE)
def test_rare_instructions_have_their_length(code: str, mnemonic: str) -> None:
    first, second = decode(x86(code) + b"\xc3", START, "x86_64")
    assert (first.code, first.mnemonic) == (x86(code), mnemonic)
    assert second.mnemonic == "retq"


@pytest.mark.skipif(shutil.which("objdump") is None, reason="no objdump here")
def test_objdump_sees_the_same_boundaries(tmp_path) -> None:
    code = b"".join(x86(text) for text, _ in RARE if not text.startswith("f20f00")) + x86(
        "e800000000 f30f1efa 0f0b c3"
    )
    (tmp_path / "code").write_bytes(code)
    words = ["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "--insn-width=16", str(tmp_path / "code")]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    theirs = [int(at, 16) for at in re.findall(r"^ *([0-9a-f]+):\t", text, re.MULTILINE)]
    assert theirs == [one.offset for one in decode(code, 0, "x86_64")]


def test_unknown_words_of_arm_are_single_instructions() -> None:
    found = decode(arm(0xFFFFFFFF, 0xD65F03C0) + b"\x01\x02", START, "aarch64")
    assert [(one.mnemonic, len(one.code)) for one in found] == [("(bad)", 4), ("ret", 4), ("(bad)", 2)]


def test_a_missing_capstone_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "capstone", None)
    with pytest.raises(NoCapstone, match=r"the extra `code` of probewright"):
        require_capstone()
    decoding._decoder.cache_clear()
    with pytest.raises(NoCapstone):
        decode(b"\xc3", START, "x86_64")


KINDS = [
    ("callq", branch("e8", 0, START + 0x1000), InstructionKind.CALL, "other", False),
    ("callq", x86("ffd0"), InstructionKind.CALL, "", True),
    ("callq", branch("e8", 0, START + 0x3000), InstructionKind.CALL, "__x86_indirect_thunk_rax", True),
    ("jmp", x86("eb00"), InstructionKind.JUMP, "", False),
    ("je", x86("7400"), InstructionKind.JUMP, "", False),
    ("jmp", branch("e9", 0, START + 0x1000), InstructionKind.TAIL_CALL, "other", False),
    ("je", branch("0f84", 0, START + 0x1000), InstructionKind.TAIL_CALL, "other", False),
    ("jmp", branch("e9", 0, START + 0x3000), InstructionKind.TAIL_CALL, "__x86_indirect_thunk_rax", True),
    ("jmpq", x86("ffe0"), InstructionKind.TAIL_CALL, "", True),
    ("jmpq", x86("ff24c500000000"), InstructionKind.JUMP, "", True),
    ("jne", branch("0f85", 0, START + 0x5000), InstructionKind.JUMP, "f.cold", False),
    ("jmp", branch("e9", 0, START + 0x2000), InstructionKind.RETURN, "__x86_return_thunk", False),
    ("retq", x86("c3"), InstructionKind.RETURN, "", False),
    ("movq", branch("488b05", 0, START + 0x1000), InstructionKind.OTHER, "other", False),
]


@pytest.mark.parametrize(("mnemonic", "code", "kind", "name", "pointer"), KINDS)
def test_where_instructions_of_x86_go(mnemonic, code, kind, name, pointer) -> None:
    first, last = part(code + b"\xc3", cold=b"\xc3").instructions
    assert (first.mnemonic, first.kind, first.target_name, first.is_indirect) == (
        mnemonic,
        kind,
        name,
        pointer,
    )
    assert (last.kind, last.offset) == (InstructionKind.RETURN, len(code))


ARM_KINDS = [
    (0x94000400, InstructionKind.CALL, "other"),
    (0x14000400, InstructionKind.TAIL_CALL, "other"),
    (0x54008001, InstructionKind.TAIL_CALL, "other"),
    (0x14000001, InstructionKind.JUMP, ""),
    (0xB4000021, InstructionKind.JUMP, ""),
    (0x36180021, InstructionKind.JUMP, ""),
    (0xD61F0200, InstructionKind.TAIL_CALL, ""),
    (0xD63F0000, InstructionKind.CALL, ""),
    (0xD65F03C0, InstructionKind.RETURN, ""),
    (0x10008001, InstructionKind.OTHER, "other"),
    (0x58008000, InstructionKind.OTHER, "other"),
]


@pytest.mark.parametrize(("word", "kind", "name"), ARM_KINDS)
def test_where_instructions_of_arm_go(word, kind, name) -> None:
    first, _ = part(arm(word, 0xD65F03C0), "aarch64").instructions
    assert (first.kind, first.target_name) == (kind, name)


# Bytes of clang's assembler: the kind, the distance of the target, and whether it is always taken.
RISCV_KINDS = [
    ("ef100000", InstructionKind.CALL, 0x1000, True),  # jal 0x1000
    ("6f100000", InstructionKind.TAIL_CALL, 0x1000, True),  # j 0x1000
    ("01a1", InstructionKind.TAIL_CALL, 0x400, True),  # c.j 0x400
    ("09a0", InstructionKind.JUMP, 2, True),  # c.j 2
    ("09c1", InstructionKind.JUMP, 2, False),  # c.beqz a0, 2
    ("e31fb57e", InstructionKind.TAIL_CALL, 0xFFE, False),  # bne a0, a1, 0xffe
    ("c5f0", InstructionKind.TAIL_CALL, -0x60, False),  # c.bnez s1, -0x60
    ("01b8", InstructionKind.TAIL_CALL, -0x7F0, True),  # c.j -0x7f0
    ("e3f7f281", InstructionKind.TAIL_CALL, -0x7F2, False),  # bgeu t0, t6, -0x7f2
    ("ef02208f", InstructionKind.CALL, -0xFFF0E, True),  # jal t0, -0xfff0e
    ("8280", InstructionKind.RETURN, None, True),  # ret
    ("67800000", InstructionKind.RETURN, None, True),  # ret in four bytes
    ("73002010", InstructionKind.RETURN, None, True),  # sret
    ("8287", InstructionKind.TAIL_CALL, None, True),  # jr a5
    ("8297", InstructionKind.CALL, None, True),  # jalr a5
    ("13000000", InstructionKind.OTHER, None, True),  # nop
]


@pytest.mark.parametrize(("code", "kind", "distance", "always"), RISCV_KINDS)
def test_where_instructions_of_riscv_go(code, kind, distance, always) -> None:
    first, last = part(bytes.fromhex(f"{code} 8280"), "riscv64").instructions
    assert (first.kind, first.target) == (kind, None if distance is None else START + distance)
    assert first.is_conditional is not always
    assert first.is_indirect is (distance is None and kind in (InstructionKind.CALL, InstructionKind.TAIL_CALL))
    assert (last.kind, last.offset, last.is_indirect) == (InstructionKind.RETURN, len(bytes.fromhex(code)), False)
    assert distance is None or first.operands.endswith(f"{START + distance:#x}"), "the address, not the distance"


RISCV_PAIRS = [
    ("97100000 e7800000", InstructionKind.CALL, 0x1000),  # auipc ra, 1; jalr ra
    ("17130000 67000300", InstructionKind.TAIL_CALL, 0x1000),  # auipc t1, 1; jr t1
    ("17150000 13050580", InstructionKind.OTHER, 0x800),  # auipc a0, 1; addi a0, a0, -0x800
    ("17150000 03350500", InstructionKind.OTHER, 0x1000),  # auipc a0, 1; ld a0, 0(a0)
    ("17150000 83b50500", InstructionKind.OTHER, None),  # auipc a0, 1; ld a1, 0(a1)
]


@pytest.mark.parametrize(("code", "kind", "distance"), RISCV_PAIRS)
def test_riscv_makes_an_address_by_two_instructions(code, kind, distance) -> None:
    first, second, _ = part(bytes.fromhex(f"{code} 8280"), "riscv64").instructions
    assert (first.kind, first.target) == (InstructionKind.OTHER, None)
    assert (second.kind, second.target) == (kind, None if distance is None else START + distance)
    assert second.target_name == ("other" if distance == 0x1000 else "") and not second.is_indirect


RISCV_REFUSALS = [
    ("0f003003", "barrier"),  # fence rw, rw
    ("73250010", "system"),  # csrr a0, sstatus
    ("73701110", "system"),  # csrci sstatus, 2
    ("73001000", "system"),  # ebreak
    ("73000000", "system"),  # ecall
    ("0290", ""),  # c.ebreak
    ("2fb50510", ""),  # lr.d a0, (a1)
    ("33f5c540", ""),  # andn a0, a1, a2
    ("8280", ""),
]


@pytest.mark.parametrize(("code", "word"), RISCV_REFUSALS)
def test_encodings_of_riscv_that_take_no_kprobe(code, word) -> None:
    first, _ = part(bytes.fromhex(f"{code} 8280"), "riscv64").instructions
    assert (word in first.refusal) if word else not first.refusal


def test_instructions_of_extensions_are_written_as_objdump_writes_them() -> None:
    """Their size is in their first bits; what is cut is no instruction."""
    found = decode(bytes.fromhex("33f5c540 8280 33f5"), START, "riscv64")
    assert [(one.offset, one.mnemonic, one.operands) for one in found] == [
        (0, ".insn", "4, 0x40c5f533"),
        (4, "c.jr", "ra"),
        (6, "(bad)", "0xf533"),
    ]


@pytest.mark.parametrize("size", [2, 4])
def test_a_kprobe_of_riscv_has_the_size_of_its_instruction(size: int) -> None:
    code = bytes.fromhex("0111 06ec 22e8" if size == 2 else "b3858500 06ec")
    memory = bytes.fromhex("0290" if size == 2 else "73001000") + code[size:]
    probes = [InstalledKprobe(START, code[:4])]
    assert recover(memory, START, probes, riscv64) == code
    assert recover(code, START, probes, riscv64) == code, "it is not armed"


def test_padding_behind_the_last_instruction_is_left_out() -> None:
    assert [one.mnemonic for one in part(x86("90c3 cc cc 0f1f4000 9090")).instructions] == ["nop", "retq"]
    assert [one.mnemonic for one in part(arm(0xD503201F, 0xD65F03C0, 0xD503201F, 0), "aarch64").instructions] == [
        "nop",
        "ret",
    ]
    pointer = (0xFFFFA1D80E4277D0).to_bytes(8, "little")
    assert part(arm(0xD503201F, 0xD65F03C0) + pointer, "aarch64").size == 8, "of the next function, for ftrace"
    riscv = bytes.fromhex("0100 8280 0100 13000000 0000") + bytes(4)
    assert [one.mnemonic for one in part(riscv, "riscv64").instructions] == ["c.nop", "c.jr"]
    kept = bytes.fromhex("13051500 8280 0100") + (0xFFFFFFFF80B2F0C8).to_bytes(8, "little")
    assert part(kept, "riscv64").size == 6, "a pointer of the next function, as on arm64"
    assert part(x86("90cc90")).size == 3, "a function of nothing else is shown"


# Encodings and a word of the reason why the kernel refuses them; empty: it takes them.
X86_REFUSALS = [
    ("cc", "breakpoint"),
    ("ff10", "memory"),
    ("ff1500000000", "memory"),
    ("ff2500000000", "memory"),
    ("41ff63 10", "memory"),
    ("ffd0", ""),
    ("41ffe3", ""),
    ("ff18", "far"),
    ("48cf", "interrupt"),
    ("8ed0", "interrupts off"),
    ("8ed8", ""),
    ("0f01c1", "virtual machines"),
    ("0f01ca", ""),
    ("0f0b", ""),
    ("fa", ""),
    ("c3", ""),
    ("e800000000", ""),
    ("f348ab", ""),
]


@pytest.mark.parametrize(("code", "word"), X86_REFUSALS)
def test_encodings_of_x86_that_take_no_kprobe(code, word) -> None:
    found = x86_64.encoding_refusal([x86(code)], 0)
    assert (word in found) if word else not found


ARM_REFUSALS = [
    (0xD4210000, "exception"),
    (0xD4000001, "exception"),
    (0xD69F03E0, "exception"),
    (0xD503245F, ""),  # bti c
    (0xD503233F, ""),  # paciasp
    (0xD50323BF, "hint"),  # autiasp
    (0xD503201F, ""),
    (0xD503207F, "hint"),  # wfi
    (0xD53B4220, "interrupt mask"),  # mrs x0, daif
    (0xD5384100, ""),  # mrs x0, sp_el0
    (0xD5184100, "system register"),
    (0xD50342DF, "processor state"),  # msr daifset
    (0xC85F7C20, "exclusive"),
    (0x88DFFC20, ""),  # ldar
    (0xD65F0BFF, "authenticated"),
    (0xD65F03C0, ""),
    (0x94000400, ""),
    (0x90000001, ""),
    (0x58000040, ""),
    (0xD8000000, "prefetch"),
    (0xF9400020, ""),
]


@pytest.mark.parametrize(("word", "reason"), ARM_REFUSALS)
def test_encodings_of_arm_that_take_no_kprobe(word, reason) -> None:
    found = arm64.encoding_refusal([arm(word)], 0)
    assert (reason in found) if reason else not found


@given(st.integers(0, 40))
def test_the_kernel_looks_back_for_an_exclusive_load(between: int) -> None:
    codes = [arm(0xC85F7C20), *[arm(0xD503201F)] * between, arm(0xF9400020)]
    assert bool(arm64.encoding_refusal(codes, len(codes) - 1)) is (between < 32)
    codes[-1:] = [arm(0xC8027C20), arm(0xF9400020)]
    assert not arm64.encoding_refusal(codes, len(codes) - 1), "the store ends it"


def test_behind_a_load_acquire_some_kernels_refuse() -> None:
    codes = [arm(0x88DFFC20), arm(0xF9400020)]
    assert "some kernels" in arm64.encoding_refusal(codes, 1)
    assert not arm64.encoding_refusal([codes[0], arm(0x889FFC20), codes[1]], 2), "a store-release"


def test_places_that_the_kernel_patches_take_none() -> None:
    sites = (PatchedSite(START + 1, START + 2, "a static branch"), PatchedSite(START + 3, START + 8, "a static call"))
    refused = {one.offset: one.refusal for one in part(x86("90 6690 31c0 6690 c3 90 c3"), sites=sites).instructions}
    assert refused == {
        0: "",
        1: "a static branch",
        3: "a static call",
        5: "a static call",
        7: "a static call",
        8: "",
        9: "",
    }


FTRACE = [
    ("x86_64", x86("e800000000 c3"), 0),
    ("x86_64", x86("f30f1efa 0f1f440000 c3"), 1),
    ("x86_64", x86("4889f8 c3"), None),
    ("aarch64", arm(0xD503201F, 0xD503201F, 0xD65F03C0), 1),
    ("aarch64", arm(0xD503245F, 0xAA1E03E9, 0x94000400, 0xD65F03C0), 2),
    ("aarch64", arm(0xF9400020, 0xD503201F, 0xD65F03C0), None),
    ("riscv64", bytes.fromhex("9702ba0f 13000000 8280"), 1),  # auipc t0; nop; ret
    ("riscv64", bytes.fromhex("13000000 13000000 8280"), 1),
    ("riscv64", bytes.fromhex("97020000 e7828200 8280"), 1),  # auipc t0; jalr t0, 8(t0); ret
    ("riscv64", bytes.fromhex("0111 13000000 8280"), None),
]


@pytest.mark.parametrize(("machine", "code", "place"), FTRACE)
def test_the_place_of_ftrace_where_kprobes_do_not_share_it(machine, code, place) -> None:
    refused = [index for index, one in enumerate(part(code, machine, ftrace=False).instructions) if one.refusal]
    assert refused == ([] if place is None else [place])
    assert not any(one.refusal for one in part(code, machine).instructions)


@given(
    st.lists(st.integers(-(2**31), 2**31 - 1), max_size=20),
    st.integers(0, 8),
    st.integers(4, 12),
    st.binary(max_size=3),
)
def test_tables_of_distances(distances, offset, gap, rest) -> None:
    layout = EntryLayout(offset + gap, offset)
    data = b"".join(bytes(offset) + value.to_bytes(4, "little", signed=True) + bytes(gap - 4) for value in distances)
    found = list(table_sites(data + rest, START, layout, PATCHED_EVERYWHERE[0]))
    assert [site.start for site in found] == [
        START + index * layout.size + offset + value for index, value in enumerate(distances)
    ]
    assert {site.end - site.start for site in found} <= {1}


def test_a_table_of_pointers() -> None:
    data = bytes(8) + START.to_bytes(8, "little")
    assert [site.start for site in table_sites(data, 0x1000, EntryLayout(16, 8, 8), PATCHED_EVERYWHERE[2])] == [START]


@given(st.data(), st.sampled_from(["x86_64", "aarch64"]))
@settings(max_examples=60)
def test_code_under_kprobes_is_recovered(data: st.DataObject, machine: str) -> None:
    code = data.draw(st.binary(min_size=24, max_size=48).map(lambda b: b[: len(b) // 4 * 4]))
    width = 1 if machine == "x86_64" else 4
    places = data.draw(st.sets(st.integers(0, len(code) // 8 - 1), max_size=3))
    optimised = data.draw(st.booleans()) and machine == "x86_64"
    first = data.draw(st.sampled_from([b"\xe9", b"\xcc"]))  # while the kernel writes the jump
    memory, probes = bytearray(code), []
    for place in places:
        at = place * 8  # an optimised one takes five bytes
        detour = START + at + 5 + int.from_bytes(b"abcd", "little")
        probes.append(InstalledKprobe(START + at, code[at : at + width], code[at + 1 : at + 5], detour))
        memory[at : at + width] = b"\xcc" if width == 1 else arm(0xD4200080)
        if optimised:
            memory[at : at + 5] = first + b"abcd"
    probes.append(InstalledKprobe(START - 64, b"x" * width))
    assert recover(bytes(memory), START, probes, ARCHITECTURES[machine]) == code


def test_a_kprobe_without_a_breakpoint_changes_nothing() -> None:
    """It is not armed, or is one of ftrace, or a jump that stands there is none of it."""
    jump = b"\xe9abcd"
    assert recover(jump, START, [InstalledKprobe(START, b"\x90", bytes(4), START + 8)], x86_64) == jump
    probes = [InstalledKprobe(START, b"\0"), InstalledKprobe(START + 5, b"\x90")]
    assert recover(b"\xe8abcd\xc3", START, probes, x86_64) == b"\xe8abcd\xc3"


def test_places_are_named_as_a_kprobe_names_them() -> None:
    [one] = make_parts([PartCode("f", ProbePlace("f"), START, b"\xc3")], CodeContext("x86_64", lambda _: ""))
    assert [one.place_at(0), one.place_at(0x1F)] == ["f", "f+0x1f"]
    assert one._replace(place=ProbePlace("f", "mod")).place_at(1) == "mod:f+0x1"
    assert one._replace(place=ProbePlace("f", base=SymbolBase("_text", 16))).place_at(2) == "_text+18"
    assert one._replace(place=ProbePlace(f"{START:#x}")).place_at(2) == f"{START + 2:#x}"


OUT = [
    (x86("c3"), b"", "1 way out: it returns at +0x0"),
    (x86("7401 c3 90 c3"), b"", "2 ways out: all return at +0x2, +0x4"),
    (x86("c3"), x86("c3"), "2 ways out: all return at +0x0, .cold+0x0"),
    (x86("c3 ffe0"), b"", "1 of 2 ways out return (+0x0); +0x1 jumps through a pointer"),
    (x86("90") + branch("e9", 1, START + 0x1000), b"", "no return of its own; +0x1 jumps to other"),
    (branch("e9", 0, START + 0x2000), b"", "1 way out: it returns at +0x0"),
    (x86("0f0b"), b"", "no way out: it does not return"),
]


@pytest.mark.parametrize(("code", "cold", "text"), OUT)
def test_the_ways_out_of_a_function(code, cold, text) -> None:
    codes = [PartCode("f", ProbePlace("f"), START, code)]
    codes += [PartCode("f.cold", ProbePlace("f.cold"), START + 0x5000, cold)] if cold else []
    body = FunctionBody("f", "", "x86_64", make_parts(codes, CodeContext("x86_64", lambda at: NAMES.get(at, ""))))
    assert ways_out_text(body) == text
    assert [way.place for way in ways_out(body) if way.is_return] == [
        f"{part.name}+{one.offset:#x}" if one.offset else part.name
        for part, one in body.instructions()
        if one.kind is InstructionKind.RETURN
    ]


INSIDE = {
    ("x86_64", False, True): [1, 2, 3, 4],
    ("x86_64", True, True): [1, 2, 3, 5, 6, 7, 8],
    ("x86_64", False, False): [],
    ("aarch64", False, True): [1, 2, 3, 5, 6, 7, 9, 10, 11],
    ("riscv64", False, True): [1, 3, 5, 7, 9, 11],
}
"""Offsets below 12 that are within an instruction, by machine, mark at the entry, and ftrace's call."""


@pytest.mark.parametrize("case", INSIDE)
def test_offsets_within_an_instruction_of_any_function(case: tuple[str, bool, bool]) -> None:
    machine, mark, call = case
    is_inside = ARCHITECTURES[machine].is_inside
    assert [at for at in range(12) if is_inside(at, has_mark=mark, has_ftrace_call=call)] == INSIDE[case]
