"""Variables at instructions, against gdb; and bytes that lie.

tests/data/variables.tar.xz has variables.c and what gcc 12 and clang 14 made of it (`-O2 -g -gdwarf-N -nostdlib
-static -no-pie -fno-stack-protector -ffreestanding -fcf-protection=none -mno-red-zone -Wl,--build-id=sha1`, gcc-4
also `-fno-asynchronous-unwind-tables`); and of each what gdb 13 says when steps.py goes through it: registers, the
stack, .data, and the value of each variable in scope, null where it has none. arm64-5 is of clang 14.
"""

from __future__ import annotations

import contextlib
import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from btf.debug.dwarf import DwarfError
from btf.debug.inlined import DebugFile
from probes.fetcharg import Dereference, Expression, FetchArg, Immediate, Register, SymbolAddress
from probes.readable.variables import PlaceVariable, place_variables

DATA = Path(__file__).parents[2] / "data/variables.tar.xz"
NAMES = ["gcc-5", "gcc-4", "clang-5"]
NOT_READ = (
    "what %",
    "computed from what %",
    "computed of several values",
    "in pieces",
    "in register 17 of DWARF",
    "16 bytes",
    "24 bytes",
    "32 bytes",
    "an array",
    "below the stack pointer",
    "a pointer that was optimised out",
)
"""Beginnings of reasons where gdb, which can compute, has a value."""


@pytest.fixture(scope="module")
def variables_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("variables")
    with tarfile.open(DATA) as archive:
        archive.extractall(place, filter="data")
    return place


class Step:
    """State of the program at one instruction, as gdb has it."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        self.address: int = said["pc"]
        self.values: list[tuple[str, str, Any]] = [(f, name, value) for f, name, value in said["values"]]
        self._registers = {
            name.removeprefix("r") if name[1:].isalpha() else name: value for name, value in said["registers"].items()
        }
        self._memory = [(at, bytes.fromhex(text)) for at, text in said["memory"]]

    def read(self, at: int, size: int) -> bytes:
        for begin, data in self._memory:
            if begin <= at and at + size <= begin + len(data):
                return data[at - begin : at - begin + size]
        raise LookupError(f"{at:#x}")

    def evaluate(self, expression: Expression) -> tuple[int, int | None]:
        """The number of an expression, and the address that it was read from."""
        match expression:
            case Register(name):
                return self._registers[name], None
            case Immediate(text):
                return int(text, 0), None
            case SymbolAddress(text):
                return int.from_bytes(self.read(int(text, 0), 8), "little"), int(text, 0)
            case Dereference(offset, inner):
                at = self.evaluate(inner)[0] + int(offset, 0) & (1 << 64) - 1
                return int.from_bytes(self.read(at, 8), "little"), at
        raise AssertionError(expression)

    def recorded(self, fetcharg: FetchArg) -> Any:
        """What the kernel would record by a fetcharg."""
        kind, _, length = str(fetcharg.type).partition("[")
        number, at = self.evaluate(fetcharg.expression)
        if kind == "string" or length:
            assert at is not None
            size, count = (1, 16) if kind == "string" else (int(kind[1:]) // 8, int(length[:-1]))
            return [self._number(self.read(at + size * i, size), kind) for i in range(count)]
        return self._number((number & (1 << 64) - 1).to_bytes(8, "little")[: int(kind[1:]) // 8], kind)

    def _number(self, data: bytes, kind: str) -> int:
        return int.from_bytes(data, "little", signed=(kind[0] == "s" and len(kind) < 4) or kind == "string")


def steps(folder: Path, name: str) -> list[Step]:
    return [Step(said) for said in json.loads((folder / f"{name}.json").read_text())]


@contextlib.contextmanager
def opened(path: Path) -> Iterator[DebugFile]:
    with contextlib.closing(DebugFile(path)) as file:
        yield file


def here(file: DebugFile, address: int) -> tuple[PlaceVariable, ...]:
    return place_variables(file.variables(address), hex)


@pytest.mark.parametrize("name", NAMES)
def test_every_value_is_the_one_that_gdb_has(variables_folder: Path, name: str) -> None:
    compared = 0
    with opened(variables_folder / f"{name}.elf") as file:
        for step in steps(variables_folder, name)[::2]:  # half of them, for the time that it takes
            ours = here(file, step.address)
            # gdb has some twice, also as optimised out.
            theirs = {value[:2]: value[2] for value in sorted(step.values, key=lambda value: value[2] is not None)}
            assert {(one.origin, one.name) for one in ours} == theirs.keys()
            for one in ours:
                said = theirs[one.origin, one.name]
                about = f"{step.address:#x}: {one}, gdb: {said}"
                if one.fetcharg is None:
                    is_sum = one.reason.startswith("%") and ": " in one.reason
                    assert said is None or one.reason.startswith(NOT_READ) or is_sum, about
                    continue
                compared += 1
                assert said is not None, about
                with contextlib.suppress(LookupError):  # memory that was not kept
                    assert step.recorded(one.fetcharg) == said, about
    assert compared > 200


def texts(file: DebugFile, function: str, folder: Path) -> dict[str, set[str]]:
    """What is said of each variable of a function's own, at its instructions."""
    said = json.loads((folder / "gcc-5.json").read_text())
    found: dict[str, set[str]] = {}
    for place in (step["pc"] for step in said if step["function"] == function):
        for one in here(file, place):
            if not one.functions:
                found.setdefault(one.name, set()).add(one.text)
    return found


def test_kinds_of_values(variables_folder: Path) -> None:
    at_entry = "not readable: what %di had at the function's entry, which is not kept: probe it there"
    below = "not readable: below the stack pointer, where a probe itself writes"
    with opened(variables_folder / "gcc-5.elf") as file:
        assert texts(file, "many", variables_folder) == {
            "a": {"a=%di:s32", at_entry},
            "b": {"b=%si:s32"},
            "c": {"c=%dx:s32", "c=%ax:s32", at_entry.replace("%di", "%dx")},
            "d": {"d=%cx:s32", "d=%dx:s32"},
            "e": {"e=%r8:s32"},
            "f": {"f=%r9:s32"},
            "g": {"g=+0x8(%sp):s64", "g=+0x18(%sp):s64"},
            "h": {"h=+0x10(%sp):u8", "h=+0x20(%sp):u8"},
            "all": {"all=+0x8(%sp):s64", below},
        }
        stack = texts(file, "on_stack", variables_folder)
    assert stack["constant"] == {r"constant=\-22:s32"}
    assert stack["uid"] == {"uid=%dx:u32", "not readable: not kept at this instruction"}
    assert stack["text"] == {"text=+0x10(%sp):string", below}
    assert stack["numbers"] == {"numbers=+0x20(%sp):s32[4]", below}
    assert stack["calls"] == {"calls=@0x403008:s64"}
    assert stack["local"] == {"not readable: 32 bytes at +0x30(%sp), of which a fetcharg reads up to 8", below}


def test_registers_of_arm64(variables_folder: Path) -> None:
    with opened(variables_folder / "arm64-5.elf") as file, (variables_folder / "arm64-5.elf").open("rb") as stream:
        elf: Any = ELFFile(stream)
        [many] = [one for one in elf.get_section_by_name(".symtab").iter_symbols() if one.name == "many"]
        found = {one.name: one.text for one in here(file, many["st_value"])}
        assert [found[letter] for letter in "abcdefgh"] == [
            *(f"{letter}=%x{number}:s32" for number, letter in enumerate("abcdef")),
            "g=%x6:s64",
            "h=%x7:u8",
        ]
        places = range(many["st_value"], many["st_value"] + many["st_size"], 4)
        assert {"all=+0x8(%sp):s64", "all=-0x8(%x29):s64"} & {
            one.text for place in places for one in here(file, place) if one.name == "all"
        }


def test_names_are_those_of_one_variable_each(variables_folder: Path) -> None:
    with opened(variables_folder / "clang-5.elf") as file:
        for step in steps(variables_folder, "clang-5")[::10]:
            names = [one.fetcharg.name for one in here(file, step.address) if one.fetcharg is not None]
            assert len(names) == len(set(names))


def test_a_file_is_closed_while_an_error_goes_up(variables_folder: Path, tmp_path: Path) -> None:
    content = bytearray((variables_folder / "gcc-4.elf").read_bytes())
    elf: Any = ELFFile(io.BytesIO(bytes(content)))
    section = elf.get_section_by_name(".debug_frame")
    begin = section["sh_offset"]
    for at in range(begin + 24, begin + section["sh_size"]):
        content[at] = 1 if content[at] == 0x0E else content[at]  # DW_CFA_def_cfa_offset, DW_CFA_set_loc
    damaged = tmp_path / "damaged"
    damaged.write_bytes(content)
    places = [step.address for step in steps(variables_folder, "gcc-4") if step.values]
    with (
        pytest.raises(DwarfError, match="an unknown instruction 0x1 of call frame information"),
        opened(damaged) as file,
    ):
        for place in places:
            file.variables(place)


@given(st.data())
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damage_is_refused_or_read_but_breaks_nothing(
    variables_folder: Path, tmp_path: Path, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(NAMES))
    content = bytearray((variables_folder / f"{name}.elf").read_bytes())
    elf: Any = ELFFile(io.BytesIO(bytes(content)))
    sections = (
        elf.get_section_by_name(f".{one}") for one in ("debug_info", "debug_loclists", "debug_loc", "debug_frame")
    )
    found = [one for one in (*sections, elf.get_section_by_name(".eh_frame")) if one is not None]
    section = data.draw(st.sampled_from(found))
    for _ in range(data.draw(st.integers(1, 8))):
        at = section["sh_offset"] + data.draw(st.integers(0, section["sh_size"] - 1))
        content[at] = data.draw(st.integers(0, 255))
    address = data.draw(st.sampled_from(steps(variables_folder, name))).address
    damaged = tmp_path / "damaged"
    damaged.write_bytes(content)
    with contextlib.suppress(DwarfError), opened(damaged) as file:
        for one in here(file, address):
            assert isinstance(one.text, str)
