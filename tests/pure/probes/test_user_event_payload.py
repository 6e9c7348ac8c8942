"""Values of user events: by hand the same bytes as from the module for programs, and what does not fit is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.user_events.kernel_reading import KernelDefinition, read_definition
from probes.user_events.payload import BadFieldValue, encode_values, split_values
from probewright_events import Event

FIELDS = (
    ("u8", st.integers(0, 255)),
    ("s16", st.integers(-(1 << 15), (1 << 15) - 1)),
    ("unsigned int", st.integers(0, (1 << 32) - 1)),
    ("s64", st.integers(-(1 << 63), (1 << 63) - 1)),
    ("char[16]", st.text(st.characters(codec="ascii", exclude_characters="\0"), max_size=15)),
    ("__rel_loc char[]", st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)),
    ("__data_loc char[]", st.text(st.characters(codec="ascii", exclude_characters="\0"), max_size=40)),
    ("__rel_loc u8[]", st.binary(max_size=20)),
)


def text_of(value: int | str | bytes) -> str:
    return f"0x{value.hex()}" if isinstance(value, bytes) else str(value)


@given(
    st.lists(st.sampled_from(FIELDS), min_size=1, max_size=6).flatmap(
        lambda fields: st.tuples(st.just([kind for kind, _ in fields]), st.tuples(*(values for _, values in fields)))
    )
)
def test_the_bytes_are_those_of_a_program(drawn: tuple[list[str], tuple[int | str | bytes, ...]]) -> None:
    kinds, values = drawn
    fields = [f"{kind} f{number}" for number, kind in enumerate(kinds)]
    event = Event("e", *fields)
    texts = {f"f{number}": text_of(value) for number, value in enumerate(values)}
    assert encode_values(read_definition(event.definition), texts) == event.payload(*values)[4:]


@pytest.mark.parametrize(
    ("field", "text", "reason"),
    [
        ("u8 a", "256", "u8 holds 0 to 255"),
        ("s8 a", "-129", "holds -128 to 127"),
        ("u32 a", "-1", "holds 0 to"),
        ("u32 a", "x", "no number"),
        ("char[4] a", "four", "a text of 3 bytes"),
        ("struct foo a 4", "0x00", "has 4 bytes, 1 are given"),
        ("struct foo a 4", "zero", "two digits each"),
        ("__rel_loc u8[] a", "0x0", "two digits each"),
        ("__rel_loc char[] a", "x" * 3900, "would not be recorded"),
        ("__rel_loc char[] a", "x" * 66000, "too long"),
    ],
)
def test_what_does_not_fit(field: str, text: str, reason: str) -> None:
    with pytest.raises(BadFieldValue, match=reason):
        encode_values(read_definition(f"e {field}"), {"a": text})


def test_each_field_has_one_value() -> None:
    definition = read_definition("e u32 a; char[4] b")
    assert encode_values(definition, split_values(["a=0x10", "b="])) == b"\x10\0\0\0\0\0\0\0"
    assert encode_values(definition, {"a": "1", "b": "x"}, "big") == b"\0\0\0\1x\0\0\0"
    assert encode_values(KernelDefinition("mark", ()), {}) == b""
    for words, reason in (
        (["a=1"], "no value for char"),
        (["a=1", "b=", "c=1"], "the fields of e are u32 a; char"),
        (["a"], "FIELD=VALUE"),
        (["a=1", "a=2"], "twice"),
    ):
        with pytest.raises(BadFieldValue, match=reason):
            encode_values(definition, split_values(words))
