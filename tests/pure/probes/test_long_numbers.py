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
    ["f vfs_read+{}", "p vfs_read x=+{}(%di)", "r{} vfs_read", "p vfs_read x=\\{}", "f vfs_read if n > {}", "{}"],
)
def test_every_place_takes_them(text: str, odd: str) -> None:
    command = text.format(odd)
    kernel_verdict(command, None, FACTS)
    assert check_typed(command, None, FACTS).verdict.command
    try:
        parse_armable(command)
    except ParseError as error:
        assert error.refusal.message
