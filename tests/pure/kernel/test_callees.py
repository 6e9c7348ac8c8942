"""Functions that others reach by direct calls, in a small kernel whose code is written by hand."""

from __future__ import annotations

import pytest

from events.names.kallsyms import Symbols
from kernel.attach.callees import CalleeSearch
from kernel.attach.kcore import PATH
from kernel.errors import FileRefused
from tests.fake_target import FakeTarget
from tests.pure.kernel.test_callers import TEXT, call, kcore

SIZE = 0x1000
AT = {
    "_stext": 0x0,
    "root": 0x100,
    "near": 0x200,
    "marked": 0x300,
    "deep": 0x400,
    "skipped": 0x500,
    "below_skipped": 0x600,
    "root.cold": 0x700,
    "in_cold": 0x800,
    "__x86_indirect_thunk_array": 0x900,
    "_etext": SIZE,
}


def search() -> CalleeSearch:
    code = bytearray(b"\x90" * SIZE)
    code[AT["marked"] : AT["marked"] + 4] = b"\xf3\x0f\x1e\xfa"
    for caller, callee, offset in (
        ("root", "near", 0),
        ("root", "marked", 4),  # behind the mark for indirect calls
        ("root.cold", "in_cold", 0),
        ("near", "deep", 0),
        ("near", "root", 0),
        ("near", "skipped", 0),
        ("skipped", "below_skipped", 0),
        ("deep", "near", 0x10),  # into the middle: no call
        ("marked", "__x86_indirect_thunk_array", 0x20),
    ):
        at = AT[caller] + 0x20
        while code[at] != 0x90:
            at += 8
        call(code, at, TEXT + AT[callee] + offset)
    code[AT["deep"] + 0x60 : AT["deep"] + 0x62] = b"\xff\xd0"  # call *%rax
    lines = "\n".join(f"{TEXT + offset:x} t {name}" for name, offset in AT.items())
    target = FakeTarget(files={PATH: kcore((TEXT, bytes(code)))})
    return CalleeSearch(target, "x86_64", Symbols((lines + "\n").encode()))


def test_callees_are_found_nearest_first_and_not_beyond_what_is_not_followed() -> None:
    found = search().reached(["root"], lambda name: name != "skipped", lambda name: name != "near", 10)
    assert set(found.names[:2]) == {"marked", "in_cold"}
    assert found.names[2:] == ("deep",)
    assert not found.is_cut
    assert found.callers_of_pointers == {"marked", "deep"}


def test_no_more_are_given_than_were_asked_for() -> None:
    found = search().reached(["root"], lambda _: True, lambda _: True, 2)
    assert len(found.names) == 2
    assert found.is_cut


def test_no_more_levels_are_followed_than_were_asked_for() -> None:
    assert set(search().reached(["root"], lambda _: True, lambda _: True, 10, 2).names) == {
        "near",
        "marked",
        "in_cold",
    }
    assert search().reached(["root"], lambda _: True, lambda _: True, 10, 1).names == ()


def test_code_that_can_not_be_read_is_an_error() -> None:
    with pytest.raises(FileRefused):
        CalleeSearch(FakeTarget(), "x86_64", Symbols(b""))


def test_what_one_search_found_is_not_told_of_the_next() -> None:
    both = search()
    assert both.reached(["root"], lambda _: True, lambda _: True, 10).callers_of_pointers
    assert both.reached(["in_cold"], lambda _: True, lambda _: True, 10) == ((), False, frozenset())
