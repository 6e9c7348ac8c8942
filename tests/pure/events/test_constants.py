"""Names of constants: their values are those that Python was compiled with, and flags name the bits they have."""

from __future__ import annotations

import mmap
import os
import platform
import resource
import signal
import socket
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.names.constants import _file, constants, names_of
from events.names.number_names import NumberNames

MACHINES = ("x86_64", "aarch64", "riscv64", "s390x", "i686")
MODULES = (os, signal, socket, resource, mmap)
SAME_HERE = ("O_LARGEFILE",)
"""Constants that are 0 for programs of 64 bits; the kernel's own bit is in files' flags."""


def named(name: str, machine: str = "x86_64") -> NumberNames:
    found = constants(name, machine)
    assert found is not None
    return found


def known_to_python() -> Iterator[tuple[str, int, int]]:
    """Name, number here, number there."""
    for name in tuple(_file().sets):
        for one, number in named(name, platform.machine()).numbers.items():
            for module in MODULES:
                if isinstance(theirs := getattr(module, one, None), int) and one not in SAME_HERE:
                    yield one, number, int(theirs)


def test_the_numbers_are_those_of_python() -> None:
    known = list(known_to_python())
    assert len(known) > 150
    assert [one for one in known if one[1] != one[2]] == []


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", tuple(_file().sets))
def test_each_name_has_one_number_that_it_is_said_for(name: str, machine: str) -> None:
    found = named(name, machine)
    assert len(found.numbers) == len(found.named), "a name stands twice"
    for number, one, mask in found.named:
        assert mask == 0 or number & ~mask == 0, one
        text = found.text(number) or ""
        assert found.numbers.get(text, number) == number and (found.are_flags or text in found.numbers), one


def test_machines_differ_where_their_kernels_do() -> None:
    number = named("open", "aarch64").numbers["O_DIRECTORY"]
    assert number == 0x4000 and named("open").numbers["O_DIRECTORY"] == 0x10000
    assert named("open", "aarch64").text(number) == "O_RDONLY|O_DIRECTORY"
    assert named("open", "i386").numbers == named("open", "i686").numbers
    assert "PROT_BTI" in named("protection", "aarch64").numbers
    assert "PROT_BTI" not in named("protection").numbers


def test_what_is_unknown_has_no_names() -> None:
    assert constants("open", "mips64") is None and constants("open", "") is None
    assert constants("no such set", "x86_64") is None and names_of("open", "mips64") is None


@pytest.mark.parametrize(
    ("name", "number", "text"),
    [
        ("open", 0, "O_RDONLY"),
        ("open", 0x8241, "O_WRONLY|O_CREAT|O_TRUNC|O_LARGEFILE"),
        ("open", 0x40000000, "O_RDONLY|0x40000000"),
        ("open", 0x410002, "O_RDWR|O_TMPFILE"),
        ("mode", 0o104755, "S_IFREG|S_ISUID|0755"),
        ("mode", 0o644, "0644"),
        ("mode", 0, "0"),
        ("directory", 2**32 - 100, "AT_FDCWD"),
        ("directory", 2**64 - 100, "AT_FDCWD"),
        ("directory", -100, "AT_FDCWD"),
        ("directory", 3, None),
        ("reboot", 0xCDEF0123 - 2**32, "LINUX_REBOOT_CMD_HALT"),
        ("clone", 0x1200011, "SIGCHLD|CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID"),
        ("futex", 0x189, "FUTEX_WAIT_BITSET|FUTEX_PRIVATE_FLAG|FUTEX_CLOCK_REALTIME"),
        ("futex", 0, "FUTEX_WAIT"),
        ("protection", 0, "PROT_NONE"),
        ("rename", 0, None),
    ],
)
def test_texts(name: str, number: int, text: str | None) -> None:
    assert named(name).text(number) == text


@given(st.sampled_from(tuple(_file().sets)), st.integers(0, 2**40))
def test_the_names_and_the_rest_are_the_number(name: str, number: int) -> None:
    found = named(name)
    text = found.text(number)
    if found.are_flags and text is not None:
        parts = [found.numbers[one] if one in found.numbers else _rest(one) for one in text.split("|")]
        assert sum(parts) == number, text


def _rest(text: str) -> int:
    return int(text, 16) if text.startswith("0x") else int(text, 8)
