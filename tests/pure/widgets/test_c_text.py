"""Prototypes on a narrow screen, and which of their words are parameters."""

from __future__ import annotations

import pytest

from widgets.fields.c_text import highlighted, parameter_names, wrap

VFS_READ = "ssize_t vfs_read(struct file *file, char *buf, size_t count, loff_t *pos)"
SIGNAL = "int f(void (*handler)(int, long), const char * const argv[], u64 (*map)[4], ...)"


@pytest.mark.parametrize("columns", [20, 30, 40, 52, 80])
@pytest.mark.parametrize(
    "prototype",
    [
        VFS_READ,
        SIGNAL,
        "void nothing(void)",
        "no bracket",
        "int x(" + "a" * 90 + ")",
        "b, " * 60 + "c",
        "a" * 90,
        "int " + "a" * 90 + "(",
    ],
)
def test_wrapped_lines_hold_the_whole_prototype(prototype, columns):
    lines = wrap(prototype, columns)
    assert "".join("".join(lines).split()) == "".join(prototype.split())
    if "a" * 90 not in prototype and columns >= 40:
        assert all(len(line) <= columns for line in lines)


def test_parameters_stand_below_each_other():
    assert wrap(VFS_READ, 52) == [
        "ssize_t vfs_read(struct file *file, char *buf,",
        "                 size_t count, loff_t *pos)",
    ]


def test_the_blank_before_a_bracket_stays():
    assert wrap("all functions that fit *tcp_* (of each: $arg1, $retval)", 40) == [
        "all functions that fit *tcp_* (",
        "    of each: $arg1, $retval)",
    ]
    assert wrap("all functions of a, b, c (of each: $retval)", 30) == [
        "all functions of a, b, c (",
        "    of each: $retval)",
    ]


def test_names_of_parameters():
    assert parameter_names(VFS_READ) == ("file", "buf", "count", "pos")
    assert parameter_names(SIGNAL) == ("handler", "argv", "map")
    assert parameter_names("void f(void)") == ()
    assert parameter_names("int f(int, struct x *)") == ()


def test_a_tag_is_no_parameter():
    line = highlighted("struct file *file", "vfs_read", frozenset({"file"}))
    looks = {(span.start, span.end): str(span.style) for span in line.spans}
    assert looks.get((13, 17)) == "$text-accent"
    assert (7, 11) not in looks
