"""Damaged and lying BTF: a BtfError that names the place, soon, and nothing else."""

import contextlib
import struct
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from btf import layout, render, values, walk
from btf.btf import Btf
from btf.elf import read_elf
from btf.errors import BtfError
from btf.functions.functions_of_type import functions_using
from btf.kinds import Kind
from btf.types import Func, Struct
from tests.btf_writer import Writer, every_kind, stored
from tests.steps import at_most

BOUND = 1_000_000
"""Calls of functions for one question, or for all about one small file; an honest file takes 20,000."""


def use(data: bytes, base: Btf | None = None) -> int:
    """All that this package does, on each type; only BtfError may come out. Gives the number of answers."""
    answered = 0

    def ask(question: Callable[..., Any], *arguments: Any) -> Any:
        nonlocal answered
        try:
            answer = question(*arguments)
        except BtfError as error:
            assert error.offset >= 0
            assert str(error.offset) in str(error)
            return None
        except layout.PathError as error:
            assert error.code in ("NO_PTR_STRCT", "NOSUP_DAT_ARG", "NO_BTF_FIELD", "BAD_BTF_TID")
            return None
        answered += 1
        return answer

    b = ask(Btf.load, data, base)
    if b is None:
        return answered
    for name in ask(lambda: b.functions) or ():
        func = ask(b.function, name)
        if isinstance(func, Func):
            ask(render.prototype, b, func)
            ask(render.prototype, b, func, False)
    for i in range(b.start_id, b.end_id + 2):
        thing = ask(b.type, i)
        for question in (walk.strip, walk.size_of, layout.fields, layout.children):
            ask(question, b, i)
        ask(render.definition, b, i)
        ask(render.struct, b, i)
        ask(render.c_type, b, i)
        ask(values.enum_name, b, i, 5)
        if isinstance(thing, Struct):
            for member in thing.members[:4]:
                ask(layout.resolve, b, i, [("->", member.name)])
                ask(layout.find_field, b, i, member.name)
        ask(layout.resolve, b, i, [("->", "next"), ("->", "value"), ("[]", "1"), (".", "x")])
    for name in ("record", "node", "size_t", "struct record"):
        ask(b.find, name)
        ask(b.names_of, Kind.STRUCT)
        ask(functions_using, b, name)
    return answered


def refused(data: bytes) -> BtfError:
    """The error of a file that must not load."""
    with pytest.raises(BtfError) as caught:
        Btf.load(data)
    return caught.value


def test_an_honest_file_answers():
    assert use(every_kind()) > 400


def test_each_beginning_of_a_file():
    """Cut anywhere, and in the type section also with a header that admits to the cut."""
    data = every_kind()
    for end in range(len(data)):
        assert refused(data[:end]).offset <= max(end, 24)
    words = len(Btf.load(data).index.words)
    whole = 0
    for length in range(0, words * 4, 4):
        cut = data[: 24 + length] + b"\0"
        header = struct.pack("<IIII", 0, length, length, 1)
        try:
            Btf.load(data[:8] + header + cut[24:])
            whole += 1
        except BtfError as error:
            assert "cut off" in error.message
            assert 24 <= error.offset < 24 + length
    assert whole == len(Btf.load(data)) - 1


@pytest.mark.parametrize("kind", [0, 20, 31])
def test_an_unknown_kind_names_its_place(kind):
    writer = Writer()
    writer.integer("int", 4)
    writer.add(kind, "new", 4)
    error = refused(writer.data())
    assert f"unknown kind {kind}" in error.message
    assert error.offset == 24 + 16 + 4


@pytest.mark.parametrize(
    ("lie", "offset"),
    [
        ({"magic": 0x9FEC}, 0),
        ({"version": 2}, 2),
        ({"hdr_len": 20}, 4),
        ({"hdr_len": 1 << 31}, 4),
        ({"type_off": 2}, 8),
        ({"type_len": 0xFFFFFFFC}, 8),
        ({"type_off": 0xFFFFFFFC}, 8),
        ({"str_len": 0xFFFFFFFF}, 16),
        ({"str_off": 0xFFFFFFFF}, 16),
        ({"str_off": 4, "str_len": 16}, 8),
    ],
)
def test_a_lying_header(lie, offset):
    assert refused(_kinds(**lie)).offset == offset


def _kinds(**lie: int) -> bytes:
    writer = Writer()
    writer.integer("int", 4)
    writer.add(Kind.PTR, last=1)
    return writer.data(**lie)


def test_strings_that_lie():
    writer = Writer()
    writer.integer("int", 4)
    writer.words[0] = 1000
    with pytest.raises(BtfError, match="outside") as caught:
        Btf.load(writer.data()).type(1)
    assert caught.value.offset == 24 + 16 + 1000
    writer.strings[-1:] = b"x"
    assert "NUL" in refused(writer.data()).message
    writer.strings[:1] = b"x"
    writer.strings[-1:] = b"\0"
    assert "base is needed" in refused(writer.data()).message
    with pytest.raises(BtfError, match="outside"):
        _ = _one_function(name_off=77).functions


def test_names_without_an_end_cost_nothing():
    """60,000 functions, all with one name of four million letters: neither time nor memory for them."""
    writer = Writer()
    long_name = writer.name("x" * 4_000_000)
    writer.add(Kind.FUNC_PROTO)
    writer.words += [long_name + 5, Kind.FUNC << 24, 1] * 60_000
    b = Btf.load(writer.data())
    tracemalloc.start()
    with at_most(BOUND), pytest.raises(BtfError, match="no end"):
        _ = b.functions
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()


QUESTIONS: tuple[Callable[[Btf, int], object], ...] = (
    walk.strip,
    walk.size_of,
    layout.fields,
    layout.children,
    render.definition,
)


def _one_function(name_off: int) -> Btf:
    writer = Writer()
    writer.add(Kind.FUNC_PROTO)
    writer.words += [name_off, Kind.FUNC << 24, 1]
    return Btf.load(writer.data())


def endless(shape: str) -> bytes:  # noqa: C901 - a list
    """Files in which something never ends."""
    w = Writer()
    integer = w.integer("int", 4)
    me = w.next_id
    match shape:
        case "typedef of itself":
            w.add(Kind.TYPEDEF, "me", me)
        case "two typedefs":
            w.add(Kind.TYPEDEF, "one", me + 1)
            w.add(Kind.TYPEDEF, "two", me)
        case "const of itself":
            w.add(Kind.CONST, last=me)
        case "pointer to itself":
            w.add(Kind.PTR, last=me)
        case "array of itself":
            w.add(Kind.ARRAY, rows=[(me, integer, 1000)])
        case "array in struct in array":
            w.add(Kind.ARRAY, rows=[(me + 1, integer, 1 << 31)])
            w.add(Kind.STRUCT, "loop", 8, [("", me, 0), ("x", me, 0)])
        case "struct in itself":
            w.add(Kind.STRUCT, "me", 8, [("", me, 0), ("me", me, 0)])
        case "two unions":
            w.add(Kind.UNION, "", 8, [("", me + 1, 0)])
            w.add(Kind.UNION, "", 8, [("", me, 0)])
        case "each twice the one before":
            for i in range(30):
                w.add(Kind.STRUCT, "", 8, [("", me + i + 1, 0), ("", me + i + 1, 32)])
            w.add(Kind.STRUCT, "", 8, [("end", integer, 0)])
        case "nothing in it, twice the one before":
            for i in range(30):
                w.add(Kind.STRUCT, "", 8, [("", me + i + 1, 0)] * 2)
            w.add(Kind.STRUCT, "", 8)
        case "function of itself":
            w.add(Kind.FUNC_PROTO, last=me, rows=[("me", me), ("more", me)])
            w.add(Kind.FUNC, "record", me)
        case "function with a pointer to itself":
            w.add(Kind.FUNC_PROTO, last=me + 1, rows=[("a", me + 1), ("b", me + 1)])
            w.add(Kind.PTR, last=me)
            w.add(Kind.FUNC, "record", me)
        case "functions of functions":
            for i in range(12):
                w.add(Kind.FUNC_PROTO, last=integer, rows=[("a", me + i + 1)] * 9)
            w.add(Kind.FUNC, "record", me)
        case "a long chain":
            for i in range(20_000):
                w.add(Kind.PTR, last=me + i + 1)
        case "function that is none":
            w.add(Kind.FUNC, "record", me)
        case "huge arrays":
            for i in range(31):
                w.add(Kind.ARRAY, rows=[(me + i + 1, integer, 0xFFFFFFFF)])
            w.integer("end", 0xFFFFFFFF)
        case "huge vlen":
            w.add(Kind.STRUCT, "big", 8, [("x", integer, 0)], vlen=0xFFFF)
        case "65,535 members":
            w.add(Kind.STRUCT, "big", 8, [("", me + 1, 0)] * 0xFFFF)
            w.add(Kind.STRUCT, "", 8, [("x", integer, 0)] * 0xFFFF)
        case "types that are not there":
            w.add(Kind.STRUCT, "record", 8, [("x", 0xFFFFFFFF, 0), ("", 77, 0), ("y", 1 << 20, 0)])
            w.add(Kind.PTR, last=0xFFFFFFFF)
    return w.data()


@pytest.mark.parametrize(
    "shape",
    [
        "typedef of itself",
        "two typedefs",
        "const of itself",
        "pointer to itself",
        "array of itself",
        "array in struct in array",
        "struct in itself",
        "two unions",
        "each twice the one before",
        "nothing in it, twice the one before",
        "function of itself",
        "function with a pointer to itself",
        "functions of functions",
        "function that is none",
        "huge arrays",
        "huge vlen",
        "types that are not there",
    ],
)
def test_what_never_ends(shape):
    data = endless(shape)
    use(data)
    for question in (*QUESTIONS, render.struct, render.c_type):
        with at_most(BOUND), contextlib.suppress(BtfError):
            question(Btf.load(data), 2)


@pytest.mark.parametrize("shape", ["a long chain", "65,535 members"])
def test_one_question_to_a_big_liar(shape):
    b = Btf.load(endless(shape))
    for question in QUESTIONS:
        with at_most(BOUND), contextlib.suppress(BtfError):
            question(b, 2)
    with pytest.raises((BtfError, layout.PathError)):
        layout.find_field(b, 2, "nothing")


def test_split_btf_that_does_not_fit_its_base():
    module = read_elf(stored("btf-7.2-net_failover.ko")).data
    with pytest.raises(BtfError, match="base is needed"):
        Btf.load(module)
    with pytest.raises(BtfError, match="byte order"):
        Btf.load(module, Btf.load(every_kind("big")))
    with at_most(BOUND):
        use(module, Btf.load(every_kind()))


WORDS = st.one_of(
    st.sampled_from([0, 1, 2, 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFF, 0x0400FFFF, 0x84000003, 0x0C000001]),
    st.integers(0, 80),
    st.builds(
        lambda kind, vlen, flag: flag << 31 | kind << 24 | vlen, st.integers(0, 31), st.integers(0, 12), st.booleans()
    ),
    st.integers(0, 0xFFFFFFFF),
)
"""What lies look like: info words, ids of types that are there, borders."""


@settings(max_examples=120)
@given(
    changes=st.lists(st.tuples(st.one_of(st.integers(6, 300), st.integers(0, 400)), WORDS), max_size=8),
    big=st.booleans(),
    cut=st.one_of(st.none(), st.none(), st.none(), st.integers(0, 1500)),
)
@example(changes=[(9, 0x0700FFFF)], big=False, cut=None)
def test_mutated(changes, big, cut):
    data = bytearray(every_kind("big" if big else "little"))
    order = ">" if big else "<"
    for word, value in changes:
        at = word * 4 % (len(data) - 3)
        struct.pack_into(f"{order}I", data, at, value)
    with at_most(BOUND):
        answered = use(bytes(data if cut is None else data[:cut]))
    event("loads" if answered else "is refused")


@settings(max_examples=100)
@given(changes=st.lists(st.tuples(st.integers(0, 60), st.integers(2, 14), WORDS), min_size=1, max_size=12))
def test_types_that_lie_about_others(changes):
    """All is whole and of known kinds, so that it loads; but ids, sizes, offsets and names are anything."""
    data = bytearray(every_kind())
    index = Btf.load(bytes(data)).index
    kinds_stay = {at + 1 for at in index.positions}
    for number, word, value in changes:
        at = index.positions[number % len(index.positions)] + word
        if at < len(index.words) and at not in kinds_stay:
            struct.pack_into("<I", data, 24 + at * 4, value)
    with at_most(BOUND):
        assert use(bytes(data))


@settings(max_examples=150)
@given(data=st.binary(max_size=400), split=st.booleans())
def test_noise_behind_an_honest_header(data, split):
    length = len(data) & ~3
    header = struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, length, length, 8)
    said = header + data[:length] + b"\0names\0\0"
    base = Btf.load(every_kind()) if split else None
    assert use(said, base) == use(said, base)


ELF = stored("btf-7.2-net_failover.ko")


@settings(max_examples=150)
@given(
    changes=st.lists(
        st.tuples(
            st.one_of(st.integers(0, 63), st.integers(len(ELF) - 256, len(ELF) - 1)),
            st.one_of(st.integers(0, 255), st.sampled_from([0, 1, 0x7F, 0x80, 0xFF])),
        ),
        max_size=6,
    ),
    cut=st.one_of(st.none(), st.integers(0, len(ELF))),
)
def test_mutated_elf(changes, cut):
    data = bytearray(ELF)
    for at, value in changes:
        data[at] = value
    with at_most(BOUND):
        try:
            read_elf(bytes(data if cut is None else data[:cut]))
        except BtfError as error:
            assert error.offset >= 0
