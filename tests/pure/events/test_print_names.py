"""Names of numbers in print formats, as kernels have them; their constants as C computes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btf.enumerators import enumerator_value, enumerators_of
from events.format import parse_format
from events.names.number_names import NamedNumber, NumberNames
from events.names.print_names import constant_value, field_of_names, parse_names
from events.names.value_names import Namer
from tests.probes_data import kernel

SOFTIRQ = '__print_symbolic(REC->vec, { 0, "HI" }, { 1, "TIMER" }, { 2, "NET_TX" })'
GFP = (
    '(REC->gfp_flags) ? __print_flags(REC->gfp_flags, "|", '
    "{( unsigned long)(((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))) | (( gfp_t)((((1UL))) << (6))) | "
    '(( gfp_t)((((1UL))) << (7))))), "GFP_KERNEL"}, {( unsigned long)(( gfp_t)((((1UL))) << (6))), "__GFP_IO"}, '
    '{( unsigned long)(( gfp_t)0x100u), "__GFP_ZERO"}) : "none"'
)
FORMAT = f"""name: test
ID: 7
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;

\tfield:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;
\tfield:unsigned long gfp_flags;\toffset:16;\tsize:8;\tsigned:0;
\tfield:int cpu;\toffset:24;\tsize:4;\tsigned:1;

print fmt: "vec=%u [action=%s] gfp_flags=%s cpu=%d", REC->vec, {SOFTIRQ}, {GFP}, REC->cpu
"""


def test_the_fields_of_a_format_have_their_names() -> None:
    fmt = parse_format(FORMAT, "irq")
    vec, gfp, cpu = fmt.fields
    namer = Namer()
    assert [namer.text(number, field=vec) for number in (0, 2, 3)] == ["HI", "NET_TX", "3"]
    texts = {
        0: "none",
        0xCC0: "GFP_KERNEL",
        0xDC0: "GFP_KERNEL|__GFP_ZERO",
        0x40: "__GFP_IO",
        0x1040: "__GFP_IO|0x1000",
    }
    assert {number: namer.text(number, field=gfp) for number in texts} == texts
    assert namer.text(0x1000, field=gfp) == "4096" and namer.text(1, field=cpu) == "1"
    assert namer.enumerators(None, vec) == (("HI", 0), ("TIMER", 1), ("NET_TX", 2))
    names = namer.reading(None, False, vec).names
    assert names is not None and names(1) == "TIMER"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x20u", 32), ("(1 << 5)", 32), ("((((1UL))) << (31))", 1 << 31), ("010", 8), ("0", 0), ("-1", -1),
        ("( unsigned long)(( gfp_t)0x400u|( gfp_t)0x800u)", 0xC00),
        ("~(1 << 2) & 0xff", 0xFB), ("1 + 2 << 3 - 1", 12),
        ("(u32)((((1UL))) << (31))", 1 << 31), ("1 << 3 | 1 << 2 & 4", 12), ("( int) (( __kernel_rwf_t)0x8)", 8),
        ("", None), ("(1", None), ("1)", None), ("1 2", None), ("NAME", None), ("1 << 64", None), ("1 << -1", None),
        ("f(1)", None), ("1 ? 2 : 3", None), ("(" * 1_900 + "1" + ")" * 1_900, None), ("1|" * 1_999 + "1", 1),
        ("-" * 3_000 + "1", None), ("1" * 5_000, None), ("09", None),
    ],
)  # fmt: skip
def test_constants_of_c(text: str, value: int | None) -> None:
    assert constant_value(text) == value


EXPRESSIONS = st.recursive(
    st.integers(0, 255).map(str),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["|", "&", "+"]), inner).map(" ".join),
        st.tuples(inner, st.integers(0, 5)).map(lambda parts: f"(({parts[0]}) << {parts[1]})"),
        inner.map(lambda text: f"({text})"),
    ),
    max_leaves=12,
)


@given(EXPRESSIONS)
def test_operators_bind_as_in_c(text: str) -> None:
    """Those of Python bind alike, of these."""
    value = constant_value(text)
    assert value is not None and (value - eval(text)) % 2**64 == 0


@given(st.text(alphabet="()|&<<+-~0x1uUL NAME_t", max_size=60))
def test_any_text_is_a_constant_or_none(text: str) -> None:
    assert constant_value(text) is None or isinstance(constant_value(text), int)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (SOFTIRQ, "vec"), (GFP, "gfp_flags"), ("REC->vec", ""), ("__print_symbolic(REC->status & 7, {0, \"A\"})", ""),
        ("__print_flags(1 << REC->type, \"|\", {1, \"A\"})", ""), ("__print_symbolic((int)REC->a, {0, \"A\"})", "a"),
        ("__print_array(REC->a, 1, 4)", ""),
    ],
)  # fmt: skip
def test_only_names_of_a_whole_field_are_its_names(text: str, field: str) -> None:
    assert field_of_names(text) == field
    assert field or parse_names(text) is None


def test_names_that_the_kernel_left_are_enumerators() -> None:
    btf = kernel("7.2").btf
    assert btf is not None
    name, values = next((name, found) for name, found in enumerators_of(btf).items() if len(found) == 1)
    argument = f'__print_symbolic(REC->state, {{ {name}, "known" }}, {{ NO_SUCH_NAME, "unknown" }}, {{ 77, "last" }})'
    named = parse_names(argument, lambda text: enumerator_value(btf, text))
    assert named is not None and named.named == (NamedNumber(values[0].value, "known"), NamedNumber(77, "last"))
    assert parse_names('__print_symbolic(REC->state, { NO_SUCH_NAME, "unknown" })') is None


def test_of_numbers_with_two_names_the_first_counts() -> None:
    names = NumberNames((NamedNumber(1, "one"), NamedNumber(1, "uno"), NamedNumber(2, "two"), NamedNumber(3, "one")))
    assert (names.text(1), names.text(4), dict(names.numbers)) == ("one", None, {"one": 1, "uno": 1, "two": 2})
