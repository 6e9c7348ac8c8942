"""Names for values: enums, bools, errors and symbols."""

from __future__ import annotations

import errno
import struct

import pytest

from btf.btf import Btf
from events.format import Field, FieldKind
from events.names.errnos import errno_name
from events.names.kallsyms import Symbols
from events.names.number_names import context_texts
from events.names.value_names import Namer

INT_BOOL = 4


def small_btf() -> Btf:
    """int(1) _Bool(2) bool(3) enum state{IDLE,BUSY}(4) function(5) ptr to it(6) typedef fn_t(7) int *(8)
    struct file(9) struct file *(10) void *(11).
    """
    strings = b"\0"
    types = b""

    def name(text: str) -> int:
        nonlocal strings
        if not text:
            return 0
        at = len(strings)
        strings += text.encode() + b"\0"
        return at

    def add(text: str, kind: int, vlen: int, size: int, more: bytes = b"") -> None:
        nonlocal types
        types += struct.pack("<III", name(text), kind << 24 | vlen, size) + more

    add("int", 1, 0, 4, struct.pack("<I", 1 << 24 | 32))
    add("_Bool", 1, 0, 1, struct.pack("<I", INT_BOOL << 24 | 8))
    add("bool", 8, 0, 2)
    add("state", 6, 2, 4, struct.pack("<IiIi", name("IDLE"), 0, name("BUSY"), 7))
    add("", 13, 0, 1)
    add("", 2, 0, 5)
    add("fn_t", 8, 0, 6)
    add("", 2, 0, 1)
    add("file", 4, 0, 8)
    add("", 2, 0, 9)
    add("", 2, 0, 0)
    header = struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(types), len(types), len(strings))
    return Btf.load(header + types + strings)


INT, BOOL, STATE, FN, POINTER, OBJECT, ANYTHING = 1, 3, 4, 7, 8, 10, 11
SYMBOLS = Symbols(b"ffffffff81000000 T _stext\nffffffff81000100 T do_it\nffffffff81000200 T _end\n")


def field(size: int = 8, signed: bool = False, kind: FieldKind = FieldKind.INT, spec: str = "") -> Field:
    return Field("v", "u64", 8, size, signed, kind, size, spec=spec)


@pytest.fixture
def namer():
    return Namer(small_btf(), lambda: SYMBOLS)


def test_the_values_of_an_enum_are_known_before_any_is_seen(namer):
    names = namer.enumerators(STATE)
    assert names and all(namer.text(number, STATE) == name for name, number in names)
    assert namer.enumerators(INT) == namer.enumerators(None) == Namer().enumerators(STATE) == ()


@pytest.mark.parametrize(
    ("value", "column", "expected"),
    [
        (1, BOOL, "true"),
        (0, BOOL, "false"),
        (2, BOOL, "2"),
        (True, None, "true"),
        (7, STATE, "BUSY"),
        (5, STATE, "5"),
        (0xFFFFFFFF81000104, FN, "do_it+0x4/0x100"),
        (0xFF3D107C825C4000, POINTER, "0xff3d107c825c4000"),
        (0, POINTER, "0"),
        (42, INT, "42"),
        (42, None, "42"),
        (42, 4711, "42"),
        (None, INT, "(fault)"),
        ("text", INT, "text"),
        ((0, 7), STATE, "{IDLE,BUSY}"),
    ],
)
def test_by_type(namer, value, column, expected):
    assert namer.text(value, column) == expected


@pytest.mark.parametrize(
    ("value", "column", "known", "expected"),
    [
        (-11, INT, None, "-EAGAIN"),
        (-512, None, None, "-ERESTARTSYS"),
        (-4095, None, None, "-4095"),
        (2**64 - 2, POINTER, None, "-ENOENT"),
        (2**32 - 22, None, field(4), "-EINVAL"),
        (2**32 - 22, None, field(8), "4294967274"),
        (234, None, field(1), "234"),
        (0, INT, None, "0"),
        (512, INT, None, "512"),
    ],
)
def test_return_values(namer, value, column, known, expected):
    assert namer.text(value, column, is_retval=True, field=known) == expected
    if expected.startswith("-E"):
        assert not namer.text(value, column, field=known).startswith("-E")


def test_by_format_alone():
    bare = Namer()
    assert bare.text(4096, field=field(spec="Lx")) == "0x1000"
    assert bare.text(4096, field=field(spec="Lu")) == "4096"
    assert bare.text(4096, field=field(kind=FieldKind.POINTER)) == "0x1000"
    assert bare.text(7, STATE) == "7"
    assert (
        Namer(None, lambda: SYMBOLS).text(0xFFFFFFFF81000100, field=field(kind=FieldKind.SYMBOL)) == "do_it+0x0/0x100"
    )


TABLE = Symbols(
    b"ffffffff81000000 T _stext\nffffffff81000100 T do_it\nffffffff81000200 T _etext\nffffffff82000000 D tcp_prot\n"
    b"ffffffff82000400 d fops\nffffffff82001000 B _end\n"
    b"ffffffffa0000000 d ops\t[ext4]\nffffffffa0000100 d more\t[ext4]\n"
)
CODE_ONLY = Symbols(b"ffffffff81000000 T _stext\nffffffff81000200 T _etext\nffffffff83000000 T _einittext\n")
AT = 0xFFFFFFFF82000000


def declared(ctype: str) -> Field:
    return Field("v", ctype, 8, 8, False, FieldKind.POINTER, 8)


@pytest.mark.parametrize(
    ("value", "column", "known", "expected"),
    [
        (AT, OBJECT, field(), "tcp_prot"),
        (AT + 0x40, ANYTHING, field(), "tcp_prot+0x40"),
        (0xFFFFFFFFA0000010, OBJECT, field(), "ops+0x10 [ext4]"),
        (0xFFFFFFFF81000100, ANYTHING, field(), "do_it"),
        (0xFFFF888003A1C400, OBJECT, field(), "0xffff888003a1c400"),
        (0, OBJECT, field(), "0"),
        (0x7FFE00000000, ANYTHING, field(), "0x7ffe00000000"),
        (AT, POINTER, field(), hex(AT)),  # of an int: what lies there may have no symbol of its own
        (AT, INT, field(), str(AT)),
        (AT, None, declared("const struct proto *"), "tcp_prot"),
        (AT, None, declared("void *"), "tcp_prot"),
        (AT, None, declared("const char *"), hex(AT)),
        (AT, None, declared("struct proto **"), hex(AT)),
        (AT, OBJECT, None, hex(AT)),
    ],
)
def test_a_pointer_is_named_by_the_object_of_the_kernel(value, column, known, expected):
    named = Namer(small_btf(), lambda: TABLE)
    assert named.text(value, column, field=known) == expected
    if known is None:
        return
    reading = named.reading(column, False, known)
    assert (reading.names(value) if reading.names else expected) == expected
    if expected[0] not in "0123456789":
        assert reading.hexadecimal and value >= reading.lowest > 0xFFFF888003A1C400
        assert named.names_addresses(column, known), "so that the symbols are read"


def test_an_error_in_a_pointer_stays_an_error_and_without_symbols_it_is_a_number():
    named = Namer(small_btf(), lambda: TABLE)
    assert named.text(2**64 - 2, OBJECT, is_retval=True, field=field()) == "-ENOENT"
    reading = named.reading(OBJECT, True, field())
    assert reading.names is not None and reading.names(2**64 - 2) == "-ENOENT" and reading.lowest <= 2**64 - 2
    assert Namer(small_btf()).reading(OBJECT, True, field()).lowest <= 2**64 - 4095, (
        "a search finds errors all the same"
    )
    assert Namer(small_btf()).text(AT, OBJECT, field=field()) == hex(AT)
    assert Namer(small_btf(), Symbols).text(AT, OBJECT, field=field()) == hex(AT)


def test_what_a_recording_of_code_alone_does_not_know_has_no_wrong_name():
    """Its variables are not listed: they would be far behind the last function."""
    named = Namer(small_btf(), lambda: CODE_ONLY)
    assert CODE_ONLY.find(AT) is not None
    assert named.text(AT, OBJECT, field=field()) == hex(AT)
    assert named.text(0xFFFFFFFF81000200, OBJECT, field=field()) == "_etext"


def test_error_names_equal_those_of_this_machine():
    aliases = {"EDEADLOCK": "EDEADLK", "EWOULDBLOCK": "EAGAIN", "ENOTSUP": "EOPNOTSUPP"}
    for number, name in errno.errorcode.items():
        assert errno_name(-number) == f"-{aliases.get(name, name)}"
    assert errno_name(0) is None
    assert errno_name(-41) is None


@pytest.mark.parametrize(
    ("flags", "count", "texts"),
    [
        (0, 0, ("none  (0)", "0")),
        (0x11, 1, ("IRQS_OFF|SOFTIRQ  (17)", "1")),
        (0x80, 0x12, ("BH_OFF  (128)", "18")),
        (0xFF, 0xFF, ("none  (255: one too low", "0  (255: one too low")),
        (0x03, 0xFF, ("NEED_RESCHED  (3: one too low", "0  (255: one too low")),
    ],
)
def test_the_context_of_an_event_is_named_also_where_the_kernel_subtracts_one_too_many(flags, count, texts):
    for found, text in zip(context_texts(flags, count), texts, strict=True):
        assert found.startswith(text)
