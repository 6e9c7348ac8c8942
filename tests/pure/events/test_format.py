"""Format files, header pages, print fmt, and the values that they lead to."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.decode import Decoder, Layout, Value
from events.format import ByteOrder, EventFormat, FieldKind, FieldLocation, FormatError, HeaderPage, parse_format
from events.print_format import parse_print_fmt
from tests.events_data import archive, entry, formats_of

COMMON = """name: {name}
ID: {id}
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

"""


def make(
    fields: list[tuple[str, int, int, int]], print_fmt: str = '""', name: str = "ev", number: int = 700
) -> EventFormat:
    """A format file from (declaration, offset, size, signed)."""
    lines = [f"\tfield:{d};\toffset:{o};\tsize:{s};\tsigned:{int(g)};\n" for d, o, s, g in fields]
    return parse_format(COMMON.format(name=name, id=number) + "".join(lines) + f"\nprint fmt: {print_fmt}\n", "grp")


def value(fmt: EventFormat, data: bytes, byteorder: ByteOrder = "little") -> dict[str, Value]:
    raw = entry(fmt.id, 1, order=byteorder) + data
    return Layout(fmt, byteorder).named(raw)


def test_sched_switch():
    fmt = next(fmt for fmt in formats_of("7.2").values() if fmt.name == "sched_switch")
    assert fmt.path == "sched/sched_switch"
    assert [f.name for f in fmt.common] == ["common_type", "common_flags", "common_preempt_count", "common_pid"]
    comm, pid, _, state = fmt.fields[:4]
    assert (comm.kind, comm.size, comm.count, comm.type) == (FieldKind.STRING, 16, None, "char[16]")
    assert (pid.kind, pid.type, pid.signed, pid.width) == (FieldKind.INT, "pid_t", True, 4)
    assert (state.offset, state.size) == (32, 8)


def test_fields_of_probes():
    fmt = next(fmt for fmt in formats_of("7.2").values() if fmt.path == "my/op")
    assert fmt.is_probe
    assert not fmt.at_exit
    assert [(f.name, f.kind, f.loc, f.spec) for f in fmt.arguments] == [
        ("dfd", FieldKind.INT, FieldLocation.INLINE, "d"),
        ("filename", FieldKind.STRING, FieldLocation.DATA, "s"),
    ]


def test_all_formats_of_the_captures_are_read():
    for kernel in ("7.2", "6.12"):
        assert len(formats_of(kernel)) == 16
        for fmt in formats_of(kernel).values():
            assert fmt.printing is not None
            assert len(fmt.printing.literals) == len(fmt.printing.conversions) + 1


@pytest.mark.parametrize(
    ("declaration", "size", "signed", "print_fmt", "data", "expected"),
    [
        ("u8 v", 1, False, "", b"\xff", 255),
        ("s8 v", 1, True, "", b"\xff", -1),
        ("u64 v", 8, False, "", b"\xff" * 8, 2**64 - 1),
        ("s32 v", 4, True, "", struct.pack("<i", -5), -5),
        ("bool v", 1, False, "", b"\x01", True),
        ("char v", 1, True, "%c", b"A", "A"),
        ("char v", 1, True, "%c", b"\xff", "\\xff"),
        ("char v", 1, True, "%d", b"A", 65),
        ("u32 v[]", 8, False, "{0x%x,0x%x}", struct.pack("<2I", 1, 2), (1, 2)),
        ("s16 v[]", 6, True, "", struct.pack("<3h", 1, -2, 3), (1, -2, 3)),
        ("char v[]", 2, True, "'%c'", b"ab", ("a", "b")),
        ("unsigned long v[6]", 48, False, "", struct.pack("<6Q", *range(6)), tuple(range(6))),
        ("char v[16]", 16, False, "", b"swapper/0\0rest..", "swapper/0"),
        ("char v[TASK_COMM_LEN]", 16, False, "", b"x" * 16, "x" * 16),
        ("u8 v[4]", 4, False, "", b"\1\2\3\4", (1, 2, 3, 4)),
        ("bool v[2]", 2, False, "", b"\0\1", (False, True)),
        ("const char * v", 8, False, "", b"\1" + bytes(7), 1),
        ("struct in6_addr v", 16, False, "", bytes(range(16)), bytes(range(16))),
        ("enum foo v", 4, False, "", b"\2\0\0\0", 2),
        ("__data_loc char[] v", 4, True, "%s", struct.pack("<HH", 12, 4) + b"abc\0", "abc"),
        ("__data_loc char[] v", 4, True, "%s", struct.pack("<HH", 12, 0), None),
        ("__data_loc char[] v", 4, True, "%s", struct.pack("<HH", 12, 9) + b"abc\0", None),
        ("__rel_loc char[] v", 4, True, "%s", struct.pack("<HH", 4, 3) + b"....ab\0", "ab"),
        ("__data_loc u16[] v", 4, False, "", struct.pack("<HHHH", 12, 4, 5, 6), (5, 6)),
        ("__data_loc u16[] v", 4, False, "", struct.pack("<HH", 12, 0), ()),
        ("__data_loc u16[] v", 4, False, "", struct.pack("<HH", 12, 2), None),
        ("__data_loc unsigned long[] v", 4, False, "", struct.pack("<HHQ", 12, 8, 7), (7,)),
        ("__data_loc char[][2] v", 8, True, "", struct.pack("<4H", 16, 2, 0, 0) + b"a\0", ("a", None)),
        ("char v[]", 0, False, "", b"marker\n\0\0", "marker\n"),
        ("unsigned long v[]", 0, False, "", struct.pack("<2Q", 1, 2), (1, 2)),
    ],
)
def test_values_by_declaration(declaration, size, signed, print_fmt, data, expected):
    fmt = make([(declaration, 8, size, signed)], f'"v={print_fmt}", REC->v')
    assert value(fmt, data) == {"v": expected}


def test_an_unaligned_record_of_both_byte_orders():
    fmt = make([("u8 a", 8, 1, 0), ("s64 b", 9, 8, 1), ("__data_loc char[] c", 17, 4, 1), ("u32 d[]", 21, 8, 0)])
    orders: tuple[tuple[ByteOrder, str], ...] = (("little", "<"), ("big", ">"))
    for order, mark in orders:
        loc = 4 << 16 | 29
        data = struct.pack(f"{mark}BqI2I", 1, -2, loc, 3, 4) + b"end\0"
        assert value(fmt, data, order) == {"a": 1, "b": -2, "c": "end", "d": (3, 4)}


def test_fields_that_overlap_or_lie_behind_the_record():
    fmt = make([("u32 a", 8, 4, 0), ("u8 b", 8, 1, 0), ("u64 c", 100, 8, 0)])
    assert value(fmt, b"\1\2\3\4") == {"a": 0x04030201, "b": 1, "c": None}


@pytest.mark.parametrize("text", ["", "name: x", "ID: 3", "name: x\nID: 99999999999\n"])
def test_what_is_no_format(text):
    with pytest.raises(FormatError):
        parse_format(text)


def test_lying_fields():
    with pytest.raises(FormatError):
        make([("u32 a", 999999999, 4, 0)])
    with pytest.raises(FormatError):
        make([("u32 a", 8, 4, 0), ("u32 a", 12, 4, 0)])
    with pytest.raises(FormatError):
        make([("", 8, 4, 0)])


DECLARATIONS = st.one_of(
    st.text(max_size=60),
    st.builds(
        "{} {}{} v{}".format,
        st.sampled_from(["", "__data_loc", "__rel_loc", "const"]),
        st.sampled_from(["char", "u8", "bool", "unsigned long", "struct x", "char *", "u128", "s64"]),
        st.sampled_from(["", "[]", "[][2]", "[4]"]),
        st.sampled_from(["", "[]", "[3]", "[\u00b2]", "[COUNT]", "[0]", "[" + "9" * 5000 + "]"]),
    ),
)


@pytest.mark.parametrize("declaration", ["__data_loc[[A", "__data_loc u8[][2] a", "__rel_loc char[] a"])
def test_only_an_array_of_strings_has_several_locations(declaration):
    with pytest.raises(FormatError, match="a location has 4 bytes, not 8"):
        make([("u64 first", 8, 8, 0), (declaration, 16, 8, 0)])


@given(DECLARATIONS, st.integers(0, 300), st.integers(0, 300), st.binary(max_size=400))
def test_any_declaration_gives_a_value_or_an_error(declaration, offset, size, data):
    try:
        fmt = make([(declaration, offset, size, 0)])
    except FormatError:
        return
    assert len(value(fmt, data)) == len(fmt.fields)


@given(st.data())
def test_mutated_format_files_give_a_format_or_an_error(data):
    text = list(archive("ringbuf.tar.xz")["7.2/formats/my/op/format"].decode())
    for place, char in data.draw(st.lists(st.tuples(st.integers(0, len(text) - 1), st.characters()), max_size=20)):
        text[place] = char
    try:
        fmt = parse_format("".join(text))
    except FormatError:
        return
    raw = archive("ringbuf.tar.xz")["7.2/my/cpu0.raw"][20:80]
    assert len(Layout(fmt, "little").named(raw)) == len(fmt.names)


def test_hostile_format_files_take_no_time():
    for text in (
        "\n" * 1_000_000,
        COMMON.format(name="x", id=1) + "\tfield:" + "a " * 500_000 + ";\toffset:1;\tsize:1;\n",
    ):
        with contextlib.suppress(FormatError):
            parse_format(text)
    assert parse_print_fmt('"' + "%" * 100_000 + '", ' + "(" * 100_000) is not None


def test_header_pages():
    files = archive("ringbuf.tar.xz")
    for kernel in ("7.2", "6.12"):
        assert HeaderPage.parse(files[f"{kernel}/header_page"].decode()) == HeaderPage()
        big = HeaderPage.parse(files[f"{kernel}/header_page.64k"].decode(), "big")
        assert (big.page_size, big.long_size, big.byteorder) == (65536, 8, "big")
    text = files["7.2/header_page"].decode()
    small = text.replace("commit;\toffset:8;\tsize:8", "commit;\toffset:8;\tsize:4").replace(
        "offset:16;", "offset:12;"
    )
    assert HeaderPage.parse(small).long_size == 4
    for wrong in (
        "",
        text.replace("commit", "comet"),
        text.replace("offset:16;", "offset:4;"),
        text.replace("4080", "0"),
    ):
        with pytest.raises(FormatError):
            HeaderPage.parse(wrong)


def test_print_fmt_with_expressions():
    parsed = parse_print_fmt(
        r'"a=%s 100%% \"%03d\" %pS %s", __print_flags(REC->x, "|", { 1, "a,b" }), (int)REC->y, (void *)REC->z, '
        "__get_str(w[1])"
    )
    assert parsed is not None
    assert parsed.literals == ("a=", ' 100% "', '" ', " ", "")
    found = [(c.spec, c.field, c.index) for c in parsed.conversions]
    assert found == [("s", "", None), ("d", "y", None), ("pS", "z", None), ("s", "w", 1)]
    assert parse_print_fmt("REC->x") is None
    assert parse_print_fmt('"never ends') is None


def test_decoder_knows_no_other_ids():
    decoder = Decoder({}, HeaderPage())
    assert decoder.values(7, b"") == {}
    assert decoder.pid(b"123") == -1
    with pytest.raises(KeyError):
        decoder.layout(7)


def test_text_of_a_synthetic_event_has_its_location_in_a_slot_of_eight_bytes():
    text = """name: opened
ID: 1392
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:u64 lat;\toffset:8;\tsize:8;\tsigned:0;
\tfield:__data_loc char[] filename;\toffset:16;\tsize:8;\tsigned:1;

print fmt: "lat=%llu, filename=%s", REC->lat, __get_str(filename)
"""
    fields = {field.name: field for field in parse_format(text, "synthetic").fields}
    assert (fields["filename"].offset, fields["filename"].size, fields["filename"].kind) == (16, 4, FieldKind.STRING)


def test_bounds_of_arrays_are_those_of_their_sizes() -> None:
    """Events of programs have any number there, as Linux 7.2 prints them."""
    text = (
        "name: request\nID: 1018\nformat:\n"
        "\tfield:char verb[9295328];\toffset:8;\tsize:16;\tsigned:1;\n"
        "\tfield:__rel_loc char path[45004320];\toffset:24;\tsize:4;\tsigned:1;\n"
        "\tfield:__rel_loc u8 raw[];\toffset:28;\tsize:4;\tsigned:1;\n"
        "\tfield:int numbers[3];\toffset:32;\tsize:12;\tsigned:1;\n"
        '\nprint fmt: ""\n'
    )
    fields = parse_format(text, "user_events").fields
    assert [one.type for one in fields] == ["char[16]", "__rel_loc char[]", "__rel_loc u8[]", "int[3]"]
    assert [one.signed for one in fields] == [True, True, False, True]
    assert [one.kind for one in fields[:3]] == [FieldKind.STRING, FieldKind.STRING, FieldKind.INT]
