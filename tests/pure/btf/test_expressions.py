"""Location expressions of each kind that compilers write, as fetchargs, or with the reason why they are none."""

from __future__ import annotations

import pytest

from btf.debug.expressions import COMPUTED, OPTIMISED_OUT, REGISTERS, Narrow, NoValue, Surroundings, Value, evaluate
from btf.debug.variable_types import VariableType
from btf.debug.variables import LocalVariable
from probes.readable.variables import place_variables

LONG, POINTER = VariableType("long", 8, "s"), VariableType("struct file *", 8, "x")
TYPES = {0: None, 1: Narrow(4, is_signed=True), 2: Narrow(8, is_signed=True), 3: Narrow(2, is_signed=False)}
AROUND = Surroundings(
    REGISTERS["EM_X86_64"],
    lambda: Value("bp", (16,)),
    lambda: Value("sp", (48,)),
    TYPES.__getitem__,
    lambda number: 0x1000 + number,
)


def text(code: str, kind: VariableType = LONG) -> str:
    try:
        value, reason = evaluate(bytes.fromhex(code), AROUND), ""
    except NoValue as error:
        value, reason = None, str(error)
    [one] = place_variables([LocalVariable("x", (), kind, value, reason)], hex)
    return one.text.removeprefix("x=").removeprefix("not readable: ")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("55", "%di:s64"),
        ("5d", "%r13:s64"),
        ("9005", "%di:s64"),  # DW_OP_regx
        ("7710", "+0x10(%sp):s64"),  # breg7 +16
        ("92077f", "below the stack pointer, where a probe itself writes"),  # bregx 7, -1
        ("9168", "-0x8(%bp):s64"),  # fbreg -24, from %bp + 16
        ("9c", "+0x30(%sp):s64"),  # call_frame_cfa
        ("771006", "+0(+0x10(%sp)):s64"),  # ... deref
        ("77100623089f", "+0x10(%sp) + 0x8: no fetcharg adds"),  # ... deref, plus_uconst 8, stack_value
        ("7710062308", "+0x8(+0x10(%sp)):s64"),
        ("75009f", "%di:s64"),  # breg5 0, stack_value
        ("319f", r"\1:s64"),  # lit1, stack_value
        ("09ea9f", r"\-22:s64"),  # const1s -22
        ("9e0405000000", r"\5:s64"),  # implicit_value of 4 bytes
        ("75000cffffffff1a9f", "%di:u32"),  # breg5, const4u, and
        ("a50301a8029f", "%bx:s32"),  # regval_type, convert to long
        ("7500a803a8029f", "%di:u16"),
        ("770a9402a8029f", "+0xa(%sp):u16"),  # deref_size 2
        ("032000000000000000", "@0x20:s64"),  # addr
        ("a105", "@0x1005:s64"),  # addrx
        ("7500a80122019f", "an expression that makes no sense"),
        ("75007400229f", COMPUTED),  # breg5, breg4, plus
        ("a301559f", "what %di had at the function's entry, which is not kept: probe it there"),
        ("a3015523089f", "computed from what %di had at the function's entry, which is not kept: probe it there"),
        ("559308549308", "in pieces, each in a place of its own"),
        ("61", "in register 17 of DWARF, which no probe reads"),
        ("f20000000000", "a pointer that was optimised out; the compiler kept what it points to"),
        ("", OPTIMISED_OUT),
        ("0c0000", "an expression without its end"),
        ("9f", "an expression that makes no sense"),
        ("31" * 2000, "an expression of 2000 bytes"),
    ],
)
def test_each_kind(code: str, said: str) -> None:
    assert text(code) == said


def test_a_sum_that_is_a_pointer_tells_the_memory() -> None:
    assert text("75089f", POINTER) == "%di + 0x8: what it points to is +0x8(%di)"
    assert text("77709f", POINTER).startswith("%sp - ")


def test_constants_have_the_spelling_of_their_type() -> None:
    for kind, said in (
        (VariableType("int", 4, "s"), r"\-1:s32"),
        (VariableType("unsigned char", 1, "u"), r"\255:u8"),
        (POINTER, r"\0xffffffffffffffff:x64"),
    ):
        assert text("09ff9f", kind) == said
