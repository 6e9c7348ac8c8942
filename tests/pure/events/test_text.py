"""The kernel's text of probe events made from records, and addresses turned into symbols."""

from __future__ import annotations

import struct

import pytest

from events.decode import Layout
from events.format import parse_format
from events.names.kallsyms import Symbols
from events.names.kernel_text import kernel_text
from events.record import Record
from events.text import show, text_values
from tests.events_data import entry

KALLSYMS = b"""\
0000000000000000 A fixed_percpu_data
0000000000006000 A cpu_hw_events
ffffffff81000000 T srso_alias_untrain_ret
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81200000 t first_alias
ffffffff81200000 T second_alias
ffffffff81200490 T ksys_read
ffffffff81200600 d some_data
ffffffff81e00000 B _end
ffffffffc0001000 t ext4_readdir\t[ext4]
ffffffffc0009000 d ext4_data\t[ext4]
ffffffffc0004000 t xfs_read\t[xfs]
ffffffffc0001800 t ext4_write\t[ext4]
garbage
zzzz T wrong
"""

FORMAT = """name: ev
ID: 700
format:
{fields}
print fmt: {print_fmt}
"""


def record_of(fields: list[tuple[str, int, int, int]], print_fmt: str, data: bytes) -> Record:
    lines = "".join(f"\tfield:{d};\toffset:{o};\tsize:{s};\tsigned:{g};\n" for d, o, s, g in fields)
    fmt = parse_format(FORMAT.format(fields=lines, print_fmt=print_fmt), "grp")
    raw = entry(700, 1) + data
    return Record(0, 0, 0, 1, "cat", fmt.path, fmt, raw, "", Layout(fmt, "little"))


IP = ("unsigned long __probe_ip", 8, 8, 0)
PLACE = struct.pack("<Q", 0xFFFFFFFF81200004)


@pytest.mark.parametrize(
    ("declaration", "size", "signed", "conversion", "argument", "data", "printed"),
    [
        ("u8 v", 1, 0, "%u", "REC->v", b"\xff", "255"),
        ("s8 v", 1, 1, "%d", "REC->v", b"\xff", "-1"),
        ("u64 v", 8, 0, "0x%Lx", "REC->v", b"\xff" * 8, "0xffffffffffffffff"),
        ("u16 v", 2, 0, "0x%x", "REC->v", b"\0\0", "0x0"),
        ("s64 v", 8, 1, "%Ld", "REC->v", struct.pack("<q", -11), "-11"),
        ("char v", 1, 1, "'%c'", "REC->v", b"A", "'A'"),
        ("char v", 1, 1, "'%c'", "REC->v", b"\0", "'\0'"),
        ("u64 v", 8, 0, "%pS", "REC->v", struct.pack("<Q", 0xFFFFFFFF81200490), "ksys_read+0x0/0x170"),
        ("u64 v", 8, 0, "%pS", "REC->v", struct.pack("<Q", 0), "0x0"),
        ("u64 v", 8, 0, "%pS", "REC->v", struct.pack("<Q", 0xFF3D107C825C4000), "0xff3d107c825c4000"),
        ("u8 v[]", 3, 0, "{0x%x,0x%x,0x%x}", "REC->v[0], REC->v[1], REC->v[2]", b"\1\2\xff", "{0x1,0x2,0xff}"),
        ("s32 v[]", 8, 1, "{%d,%d}", "REC->v[0], REC->v[1]", struct.pack("<2i", -1, 2), "{-1,2}"),
        ("char v[]", 2, 1, "{'%c','%c'}", "REC->v[0], REC->v[1]", b"ab", "{'a','b'}"),
        ("u64 v[]", 8, 0, "{%pS}", "REC->v[0]", struct.pack("<Q", 0xFFFFFFFF81200491), "{ksys_read+0x1/0x170}"),
        (
            "__data_loc char[] v",
            4,
            1,
            r"\"%s\"",
            "__get_str(v)",
            struct.pack("<HH", 20, 5) + b'a"\n\xff\0',
            '"a"\n\\xff"',
        ),
        ("__data_loc char[] v", 4, 1, r"\"%s\"", "__get_str(v)", struct.pack("<HH", 20, 1) + b"\0", '""'),
        ("__data_loc char[] v", 4, 1, r"\"%s\"", "__get_str(v)", struct.pack("<HH", 20, 0), "(fault)"),
        (
            "__data_loc char[][2] v",
            8,
            1,
            r"{\"%s\",\"%s\"}",
            "__get_str(v[0]), __get_str(v[1])",
            struct.pack("<4H", 24, 2, 0, 0) + b"x\0",
            '{"x",(fault)}',
        ),
    ],
)
def test_values_as_the_kernel_prints_them(declaration, size, signed, conversion, argument, data, printed):
    symbols = Symbols.parse(KALLSYMS)
    print_fmt = f'"(%lx) v={conversion} end=%s", REC->__probe_ip, {argument}, "x"'
    record = record_of([IP, (declaration, 16, size, signed)], print_fmt.replace(" end=%s", ""), PLACE + data)
    assert kernel_text(record, symbols) == f"ev: (first_alias+0x4/0x490) v={printed}"


def test_return_probe_prints_the_caller_first():
    fields = [
        ("unsigned long __probe_func", 8, 8, 0),
        ("unsigned long __probe_ret_ip", 16, 8, 0),
        ("s32 r", 24, 4, 1),
    ]
    data = struct.pack("<QQi", 0xFFFFFFFF81200004, 0xFFFFFFFF812004A0, -2)
    record = record_of(fields, '"(%lx <- %lx) r=%d", REC->__probe_func, REC->__probe_ret_ip, REC->r', data)
    assert kernel_text(record, Symbols(KALLSYMS)) == "ev: (ksys_read+0x10/0x170 <- first_alias) r=-2"
    assert kernel_text(record) == "ev: (0xffffffff812004a0 <- 0xffffffff81200004) r=-2"
    assert record.format is not None
    assert record.format.at_exit


def test_probe_without_arguments_and_without_a_place():
    assert kernel_text(record_of([IP], '"(%lx)", REC->__probe_ip', bytes(8))) == "ev: (0)"


def test_event_probe_needs_to_be_told_what_it_is_attached_to():
    record = record_of([("u64 pid", 8, 8, 0)], '" pid=%Lu", REC->pid', struct.pack("<Q", 7))
    assert kernel_text(record, attached="sched.sched_switch") == "ev: (sched.sched_switch) pid=7"


def test_other_events_give_their_fields():
    record = record_of(
        [("char comm[4]", 8, 4, 0), ("u32 n[2]", 12, 8, 0)], '"%s", foo(REC->comm)', b"ab\0\0" + bytes(8)
    )
    assert kernel_text(record) == "ev: comm=ab n={0,0}"
    assert show(b"\1\2") == "0102"


def test_values_out_of_text_with_names_inside_of_strings():
    fields = [IP, ("__data_loc char[] a", 16, 4, 1), ("s32 b", 20, 4, 1), ("u8 c[]", 24, 2, 0)]
    print_fmt = r'"(%lx) a=\"%s\" b=%d c={0x%x,0x%x}", REC->__probe_ip, __get_str(a), REC->b, REC->c[0], REC->c[1]'
    fmt = record_of(fields, print_fmt, b"").format
    assert text_values('ev: (vfs_read+0x4/0x490) a="x y=3" b=-5 c={0x1,0x2}', fmt) == {
        "a": "x y=3",
        "b": -5,
        "c": (1, 2),
    }
    assert text_values("ev: (0) a=(fault) b=1 c={0x1,0x2}", fmt)["a"] is None
    for text in ("x b=7", 'x" b=7 c={0x3,0x4} y="', " b=7 c={0x3,0x4}", "a=b=c=", '"', ""):
        values = text_values(f'ev: (vfs_read+0x4/0x490) a="{text}" b=-5 c={{0x1,0x2}}', fmt)
        assert values == {"a": text, "b": -5, "c": (1, 2)}


@pytest.mark.parametrize("text", ["x c=5", "b=3 c=4", "", "a=1 b=2"])
def test_a_string_behind_a_string(text):
    fields = [IP, ("s32 a", 16, 4, 1), ("__data_loc char[] b", 20, 4, 1), ("__data_loc char[] c", 24, 4, 1)]
    print_fmt = r'"(%lx) a=%d b=\"%s\" c=\"%s\"", REC->__probe_ip, REC->a, __get_str(b), __get_str(c)'
    fmt = record_of(fields, print_fmt, b"").format
    assert text_values(f'ev: (f+0x4/0x490) a=9 b="{text}" c="{text}"', fmt) == {"a": 9, "b": text, "c": text}
    assert text_values(f'ev: (f+0x4/0x490) a=9 b=(fault) c="{text}"', fmt) == {"a": 9, "b": None, "c": text}


def test_symbols_as_the_kernel_looks_them_up():
    symbols = Symbols.parse(KALLSYMS)
    assert symbols
    assert symbols.known
    assert symbols.lookup(0xFFFFFFFF81200004) == "first_alias+0x4/0x490"
    assert symbols.lookup(0xFFFFFFFF81200490) == "ksys_read+0x0/0x170"
    assert symbols.lookup(0xFFFFFFFF81DFFFFF) == "some_data+0xbff9ff/0xbffa00"
    assert symbols.lookup(0xFFFFFFFFC0001004) == "ext4_readdir+0x4/0x800 [ext4]"
    assert symbols.lookup(0xFFFFFFFFC0004004) == "xfs_read+0x4/0x1000 [xfs]"
    assert symbols.text(0xFFFFFFFFC0001004, offset=False) == "ext4_readdir [ext4]"
    assert symbols.instruction(0xFFFFFFFFC0001004, offset=False) == "ext4_readdir"
    for nowhere in (0, 1, 0x6001, 0xFFFFFFFF81E00000, 0xFF3D107C825C4000, 0xFFFFFFFFC0005000, 1 << 64, -1):
        assert symbols.lookup(nowhere) is None


def test_caller_behind_the_trampoline_of_another_return_probe():
    symbols = Symbols(
        b"ffffffff81000000 T _stext\nffffffff81000100 t arch_rethook_trampoline\nffffffff81000200 T _end\n"
    )
    assert symbols.instruction(0xFFFFFFFF81000100) == "[unknown/kretprobe'd]"
    assert symbols.instruction(0xFFFFFFFF81000104) == "arch_rethook_trampoline+0x4/0x100"
    assert symbols.text(0xFFFFFFFF81000100) == "arch_rethook_trampoline+0x0/0x100"


def test_hidden_and_broken_symbols():
    hidden = Symbols.parse(b"0000000000000000 T _stext\n0000000000000000 T vfs_read\n")
    assert not hidden
    assert not hidden.known
    assert hidden.lookup(0) is None
    assert Symbols().lookup(5) is None
    assert Symbols(b"\xff\xfe\n1\n1 T\nffffffffffffffffff T x\n").lookup(5) is None


def test_a_tracepoint_names_fields_as_it_likes_in_its_text():
    fmt = parse_format(
        "name: sched_process_fork\nID: 300\nformat:\n"
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
        "\tfield:char parent_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
        "\tfield:pid_t parent_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
        "\tfield:unsigned long flags;\toffset:32;\tsize:8;\tsigned:0;\n\n"
        'print fmt: "comm=%s pid=%d flags=%lx now=%d", REC->parent_comm, REC->parent_pid, REC->flags, REC->a + 1\n',
        "sched",
    )
    text = "sched_process_fork: comm=two words pid=-12 flags=10 now=4"
    assert text_values(text, fmt) == {"parent_comm": "two words", "parent_pid": -12, "flags": 16}
    assert text_values("sched_process_fork: something else", fmt) == {}
