"""Numbers and texts that Python itself refuses: more digits than `int` takes, halves of a pair of UTF-16."""

from __future__ import annotations

import pytest

from probes.check import check_typed
from probes.command import parse_armable
from probes.kernel_verdict import kernel_verdict
from probes.syntax.parse_error import ParseError
from probes.syntax.text import ULONG_MAX, kstrtol, kstrtoul, simple_strtoul
from tests.fake_target import FACTS

_NINES = "9" * 5_000


def test_numbers_of_any_length_are_read() -> None:
    assert kstrtoul(_NINES) is None and kstrtol(_NINES) is None and kstrtol(f"-{_NINES}") is None
    assert kstrtoul("0" * 9_000 + "7", 10) == 7
    assert simple_strtoul(f"{_NINES}x", 10, saturates=True) == (ULONG_MAX, "x")
    assert simple_strtoul(f"{_NINES}x", 10) == ((pow(10, 5_000, 1 << 64) - 1) & ULONG_MAX, "x")
    assert simple_strtoul("x", 10) == (0, "x")


@pytest.mark.parametrize("odd", [_NINES, "\ud800", "\udfff", "\udc80", "\ud83d\ude00"])
@pytest.mark.parametrize(
    "text",
    [
        *(
            "f vfs_read+{}",
            "p vfs_read x=+{}(%di)",
            "r{} vfs_read",
            "p vfs_read x=\\{}",
            "f vfs_read if n > {}",
            "{}",
        ),
        *(
            "f vfs_read $arg{}",
            "f vfs_read $arg{}->x",
            "f vfs_read $stack{}",
            "f vfs_read file[{}]",
            "t sched_switch $arg{}",
        ),
        *("f vfs_read x=$arg1:u8[{}]", "f vfs_read x=$arg1:b{}@0/32", "f vfs_read x=$arg1:b4@{}/32", "w 0x{}"),
        *("f vfs_read count={}k", "f vfs_read if n & CPUS{{0-{}}}", "f vfs_read if n > {}ms", "p /bin/sh:0x10({})"),
        *("kprobe:vfs_read {{ @ = lhist(arg0, 0, {}, 1) }}", "p fs/read_write.c:{} n", "f vfs_read (struct x*)arg{}"),
    ],
)
def test_every_place_takes_them(text: str, odd: str) -> None:
    command = text.format(odd)
    kernel_verdict(command, None, FACTS)
    assert check_typed(command, None, FACTS).verdict.command
    try:
        parse_armable(command)
    except ParseError as error:
        assert error.refusal.message


@pytest.mark.parametrize(
    ("begin", "inner", "end"),
    [
        *(("+0(", "$arg1", ")"), ("+u8(", "$arg1", ")"), ("+0(", "$arg1", ""), ("this_cpu_read(", "x", ")")),
        *(("(file)", "file", ""), ("(file)(", "file", ")"), ("x=-8(", "$arg1", ")")),
    ],
)
@pytest.mark.parametrize("depth", [300, 1_300, 30_000])
def test_expressions_within_each_other_are_refused_at_any_depth(begin: str, inner: str, end: str, depth: int) -> None:
    argument = begin * depth + inner + end * depth
    for command in (f"f vfs_read {argument}", f"f vfs_read%both {argument}", f"f vfs_read {argument} if count > 1"):
        with pytest.raises(ParseError):
            parse_armable(command)
        assert not kernel_verdict(command, None, FACTS).ok
        assert not check_typed(command, None, FACTS).verdict.ok


def test_what_is_nested_too_deeply_is_told_where_that_begins() -> None:
    with pytest.raises(ParseError) as caught:
        parse_armable("f vfs_read " + "+0(" * 1_000 + "$arg1" + ")" * 1_000)
    assert (caught.value.refusal.code, caught.value.refusal.column) == ("TOO_MANY_OPS", 11 + 3 * 65)
