"""Symbols of programs: every place is looked at in the file, where a function begins with a number of its own."""

from __future__ import annotations

import functools
import sys
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.programs.elf_symbols import ProgramError, read_program
from probes.programs.program import Program, SymbolNotPlaced

PROGRAMS = Path(__file__).parents[2] / "data/programs.tar.xz"
WORK, QUIET, COLD, CALLER = 0x11110002, 0x11110003, 0x11110005, 0x11110031


@functools.cache
def files() -> dict[str, bytes]:
    with tarfile.open(PROGRAMS) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


@functools.cache
def program(name: str) -> Program:
    return read_program(files()[name])


def number_at(name: str, offset: int) -> int:
    """The number that a function begins with: the operand of `mov $…, %eax`."""
    data = files()[name]
    assert data[offset] == 0xB8
    return int.from_bytes(data[offset + 1 : offset + 5], "little")


def refusal(name: str, symbol: str, offset: int = 0) -> SymbolNotPlaced:
    with pytest.raises(SymbolNotPlaced) as caught:
        program(name).place(symbol, offset)
    assert str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("name", "symbol", "number"),
    [
        *[(name, "work", WORK) for name in ("pie", "fixed", "small", "stripped", "hidden")],
        *[(name, "quiet", QUIET) for name in ("pie", "fixed", "small", "hidden")],
        *[(name, "part.cold.0", COLD) for name in ("pie", "fixed", "small")],
        ("pie", "caller", CALLER),
        ("versions", "changed", 0x11110042),
        ("versions", "retired", 0x11110043),
    ],
)
def test_a_function_begins_where_it_is_said_to(name: str, symbol: str, number: int) -> None:
    (spot,) = program(name).place(symbol)
    assert number_at(name, spot.offset) == number
    assert spot.counter == 0
    (inside,) = program(name).place(symbol, 5)
    assert inside.offset == spot.offset + 5


def test_addresses_are_no_offsets() -> None:
    """Else these tests would show nothing."""
    (spot,) = program("fixed").place("work")
    assert program("fixed").symbols["work"][0].address == spot.offset + 0x600000


def test_static_probes_with_their_counter() -> None:
    data = files()["pie"]
    first, second = program("pie").place("sdt_made:twice")
    for spot, number in ((first, 0x11110021), (second, 0x11110022)):
        assert number_at("pie", spot.offset - 5) == number
        assert data[spot.offset] == 0x90
        assert data[spot.counter : spot.counter + 2] == b"\x44\x53"
    (single,) = program("pie").place("sdt_made:open")
    assert (number_at("pie", single.offset - 5), single.counter) == (0x11110023, 0)
    assert program("stripped").place("sdt_made:twice") == (first, second)


@pytest.mark.parametrize(
    ("name", "symbol", "code", "reason"),
    [
        ("pie", "twin", "ambiguous_symbol", "2 functions"),
        ("pie", "chooser", "indirect_symbol", "IFUNC"),
        ("stripped", "chooser", "indirect_symbol", "IFUNC"),
        ("pie", "elsewhere", "imported_symbol", "libelsewhere.so"),
        ("pie", "counter", "no_function", "data"),
        ("pie", "nothing_like_it", "no_such_symbol", "no function of this name"),
        ("stripped", "quiet", "no_such_symbol", "stripped"),
        ("bare", "work", "no_such_symbol", "nothing in it has a name"),
        ("pie", "sdt_made:never", "no_such_symbol", "static probe"),
    ],
)
def test_what_can_not_be_placed_says_why(name: str, symbol: str, code: str, reason: str) -> None:
    error = refusal(name, symbol)
    assert error.code == code
    assert reason in str(error)


def test_twins_are_told_apart_by_their_places() -> None:
    places = [int(word.rstrip(","), 16) for word in str(refusal("fixed", "twin")).split() if word.startswith("0x")]
    assert [number_at("fixed", place) for place in places] == [0x11110004, 0x11110014]


def test_offsets_stay_in_the_function() -> None:
    assert refusal("pie", "work", 7).code == "outside_function"
    assert program("pie").place("work", 6)
    arm = Program("aarch64", program("pie").segments, program("pie").symbols)
    with pytest.raises(SymbolNotPlaced, match="multiples of 4"):
        arm.place("work", 2)


def test_nearest_names_are_those_that_would_do() -> None:
    assert refusal("pie", "wrok").names == ("work",)
    assert refusal("pie", "sdt_made:twise").names[0] == "sdt_made:twice"
    assert "elsewhere" not in refusal("pie", "elsewher").names  # imported: it would not do


def test_this_very_program() -> None:
    found = read_program(Path(sys.executable).read_bytes())
    assert found.segments
    assert any(segment.executable for segment in found.segments)


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"#!/bin/sh\n", bytes(64), b"\x7fELF\x02\x01\x01" + bytes(57)])
def test_what_is_no_program_is_refused(data: bytes) -> None:
    with pytest.raises(ProgramError):
        read_program(data)


@given(st.sampled_from(["pie", "small", "hidden"]), st.lists(st.tuples(st.integers(0, 10471), st.integers(0, 255))))
def test_a_damaged_file_is_read_or_refused(name: str, changes: list[tuple[int, int]]) -> None:
    data = bytearray(files()[name])
    for at, value in changes:
        data[at % len(data)] = value
    try:
        found = read_program(bytes(data))
    except ProgramError:
        return
    for symbol in ("work", "quiet", "sdt_made:twice"):
        try:
            spots = found.place(symbol)
        except SymbolNotPlaced:
            continue
        assert spots


@given(st.integers(0, 10472))
def test_a_cut_file_is_read_or_refused(length: int) -> None:
    try:
        read_program(files()["pie"][:length])
    except ProgramError as error:
        assert str(error)
