"""The index of functions against one name looked up after the other, and against a walk type by type."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btf.btf import Btf
from btf.errors import BtfError
from btf.header import ByteOrder, parse_header
from btf.index import MAX_TYPES, walk
from btf.kinds import MAX_NAME, SHAPE, Kind
from tests.btf_writer import Writer

_WORDS = st.sampled_from(["a", "read", "vfs_read", "sch\u00f6n", "x" * (MAX_NAME - 1), "y" * MAX_NAME, "z" * 5000])


def _functions(writer: Writer, offsets: list[int]) -> None:
    """Add a function for each offset of a name."""
    proto = writer.add(Kind.FUNC_PROTO)
    for offset in offsets:
        writer.add(Kind.FUNC, "", proto)
        writer.words[-3] = offset


@st.composite
def _files(draw: st.DrawFn) -> Writer:
    """BTF whose functions have names in any order: starts of strings, places inside of them, places behind all."""
    writer = Writer(draw(st.sampled_from(["little", "big"])))
    starts = [writer.name(f"{word}{number}") for number, word in enumerate(draw(st.lists(_WORDS, max_size=12)))]
    inside = st.integers(0, len(writer.strings) + 2)
    offsets = draw(st.lists(st.sampled_from(starts) | inside if starts else inside, max_size=24))
    in_order = starts[draw(st.integers(0, 12)) :]
    _functions(writer, [*in_order, *offsets, *in_order])
    return writer


@given(_files())
def test_names_are_those_that_each_offset_has(writer: Writer):
    b = Btf.load(writer.data())
    try:
        expected = [b.name(b.index.words[at]) for at in b.index.functions]
    except BtfError as error:
        with pytest.raises(BtfError) as raised:
            _ = b.functions
        assert str(raised.value) == str(error)
    else:
        assert b.functions == expected


@given(_files(), st.lists(st.sampled_from(["open", "close", "read1", "sch\u00f6n"]), unique=True))
def test_names_of_split_btf_are_its_own_and_the_base_s(base: Writer, names: list[str]):
    kernel = Btf.load(base.data())
    writer = Writer(base.byteorder, kernel.end_id, kernel.strings_end)
    offsets = [writer.name(name) for name in names]
    _functions(writer, [0, *offsets, *reversed(offsets)])
    module = Btf.load(writer.data(), kernel)
    assert module.functions == ["", *names, *reversed(names)]


@pytest.mark.parametrize("beyond", [0, 1, 100])
def test_a_name_behind_the_last_string_is_none(beyond: int):
    writer = Writer()
    first = writer.name("first")
    _functions(writer, [first, len(writer.strings) + beyond])
    with pytest.raises(BtfError, match="outside the strings"):
        _ = Btf.load(writer.data()).functions


@given(
    st.sampled_from(["little", "big"]),
    st.lists(st.tuples(st.sampled_from(sorted(SHAPE)), st.integers(0, 3) | st.just(300), st.booleans()), max_size=20),
)
def test_positions_are_those_of_a_walk_type_by_type(byteorder: ByteOrder, types: list[tuple[Kind, int, bool]]):
    writer, expected, functions = Writer(byteorder), list[int](), list[int]()
    for kind, vlen, flag in types:
        fixed, each = SHAPE[kind]
        at = len(writer.words)
        expected.append(at)
        functions += [at] if kind == Kind.FUNC and not flag else []
        writer.words += [0, int(flag) << 31 | kind << 24 | vlen, 0, *([0] * (fixed + each * vlen))]
    data = writer.data()
    index = walk(data, parse_header(data))
    assert index.words.tolist() == writer.words
    assert [*index.positions] == expected
    assert [*index.functions] == functions
    for missing in {1, 2} if types else ():
        header = parse_header(data)
        with pytest.raises(BtfError) as raised:
            walk(data, header._replace(types_end=header.types_end - 4 * missing))
        assert "cut off" in str(raised.value)
        assert f"{header.types + expected[-1] * 4}" in str(raised.value)


def test_types_are_bounded() -> None:
    writer = Writer()
    writer.words += [0, Kind.FWD << 24, 0] * (MAX_TYPES + 1)
    data = writer.data()
    with pytest.raises(BtfError, match="524,289 types, at most 524,288"):
        walk(data, parse_header(data))
