"""Arguments of static probes: each operand of an assembler becomes the kernel's word for the same value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.programs.static_arguments import MOST_ARGUMENTS, read_arguments


def words(text: str, machine: str) -> list[str]:
    found = read_arguments(text, machine)
    return [f"{one.expression}:{one.type}" if one.expression is not None else f"({one.written})" for one in found]


@pytest.mark.parametrize(
    ("text", "machine", "expected"),
    [
        ("8@%rbx 8@%r15", "x86_64", ["%bx:u64", "%r15:u64"]),
        ("-4@112(%rsp)", "x86_64", ["+112(%sp):s32"]),
        ("8@%r14 8@%rax -4@%ebp", "x86_64", ["%r14:u64", "%ax:u64", "%bp:s32"]),
        ("4@$5 -8@-16(%rbp) 8@(%rdi)", "x86_64", ["\\5:u32", "-16(%bp):s64", "+0(%di):u64"]),
        ("1@%dil 2@%r8w 4@%r10d 1@%al", "x86_64", ["%di:u8", "%r8:u16", "%r10:u32", "%ax:u8"]),
        (
            "8@%ah 8f@%xmm0 8@8(%rax,%rbx,4) 8@name(%rip)",
            "x86_64",
            ["(8@%ah)", "(8f@%xmm0)", "(8@8(%rax,%rbx,4))", "(8@name(%rip))"],
        ),
        (
            "8@x0 -4@w19 8@[sp, 16] 4@[x3] 8@[x29, -8] 4@7",
            "aarch64",
            ["%x0:u64", "%x19:s32", "+16(%sp):u64", "+0(%x3):u32", "-8(%x29):u64", "\\7:u32"],
        ),
        ("8@a0 -8@-24(s0)", "riscv64", ["%a0:u64", "-24(%s0):s64"]),
        ("8@%rax", "s390x", ["(8@%rax)"]),
        ("", "x86_64", []),
    ],
)
def test_an_operand_becomes_a_word_of_the_kernel(text: str, machine: str, expected: list[str]) -> None:
    assert words(text, machine) == expected


@given(
    st.text(alphabet="-148f@%$()[],.rax0x sp#", max_size=60), st.sampled_from(["x86_64", "aarch64", "riscv64", ""])
)
def test_any_text_is_read_in_bounds(text: str, machine: str) -> None:
    found = read_arguments(text, machine)
    assert len(found) <= MOST_ARGUMENTS and all(one.written in text for one in found)
