"""Debug information that asks for more memory or work than its file is worth, or that has no end, is refused."""

from __future__ import annotations

import contextlib
import io
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

from btf.debug import inlined
from btf.debug.dwarf import DwarfError
from btf.debug.inlined import DebugFile
from btf.debug.parts import DebugSection
from tests.pure.btf.test_inlined import folder
from tests.pure.btf.test_source_lines import CODE

__all__ = ["folder"]

UNIT4 = struct.pack("<IHIB", 7, 4, 0, 8)
"""A unit of DWARF 4 without entries."""
TOP = b"\1" + struct.pack("<QQI", CODE.start, 0x1000, 0)
"""The first entry of a unit with all the code: its address, its size, and where its lines begin."""
TOP_LAYOUT = bytes([1, 0x11, 1, 0x11, 0x01, 0x12, 0x07, 0x10, 0x17, 0, 0])
RANGES = struct.pack("<IHIBB4xQQQQ", 12 + 32, 2, 0, 8, 0, CODE.start, 0x1000, 0, 0)
"""The addresses of that unit."""


def rebuilt(whole: bytes, packed: bool = False, **sections: bytes) -> bytes:
    """An ELF file in which sections have other content: `debug_info=b"..."`; `packed`: they are compressed."""
    elf: Any = ELFFile(io.BytesIO(whole))
    out = bytearray(whole)
    for index, section in enumerate(elf.iter_sections()):
        if (data := sections.get(section.name[1:])) is not None:
            at = elf["e_shoff"] + elf["e_shentsize"] * index
            if packed:
                data = struct.pack("<IIQQ", 1, 0, len(data), 1) + zlib.compress(data, 9)
            struct.pack_into("<Q", out, at + 8, 0x800 if packed else 0)  # sh_flags: SHF_COMPRESSED
            struct.pack_into("<QQ", out, at + 24, len(out), len(data))
            out += data
    return bytes(out)


def unit(entries: bytes) -> bytes:
    body = TOP + entries
    return struct.pack("<IHBBI", 8 + len(body), 5, 1, 8, 0) + body


def content(whole: bytes, name: str) -> bytes:
    elf: Any = ELFFile(io.BytesIO(whole))
    data: bytes = elf.get_section_by_name(name).data()
    return data


def opened(where: Path, data: bytes) -> DebugFile:
    where.write_bytes(data)
    return DebugFile(where)


@pytest.fixture
def whole(folder: Path) -> bytes:
    return (folder / "dwarf-5.elf").read_bytes()


@pytest.mark.parametrize("name", ["debug_info", "debug_str", "debug_line"])
def test_packed_sections_are_bounded(whole: bytes, tmp_path: Path, name: str) -> None:
    lies = rebuilt(whole, packed=True, **{name: b"few"})
    at = lies.rindex(struct.pack("<IIQ", 1, 0, 3))
    lies = lies[: at + 8] + struct.pack("<Q", 1 << 30) + lies[at + 16 :]
    with pytest.raises(DwarfError, match="packed sections have more than"):
        opened(tmp_path / "x", lies)


def test_units_are_counted(whole: bytes, tmp_path: Path) -> None:
    with pytest.raises(DwarfError, match="more than 131072 units"):
        opened(tmp_path / "x", rebuilt(whole, debug_info=UNIT4 * (1 << 18)))


@pytest.mark.parametrize(
    ("table", "said"), [(b"\x80" * (1 << 20) + b"\1", "70 bits"), (b"\1\x2e\0" + b"\3\x0e" * (1 << 18), "attributes")]
)
def test_a_table_of_abbreviations_is_bounded(whole: bytes, tmp_path: Path, table: bytes, said: str) -> None:
    place = content(whole, ".debug_str").index(b"only_inlined\0")
    info = unit(struct.pack("<I", place))
    with contextlib.closing(opened(tmp_path / "x", rebuilt(whole, debug_info=info, debug_abbrev=table))) as file:
        with pytest.raises(DwarfError, match=said):
            file.inlined("only_inlined")
        with pytest.raises(DwarfError):
            file.source_lines(CODE)


def test_a_text_does_not_go_on_behind_its_unit(whole: bytes, tmp_path: Path) -> None:
    place = struct.pack("<I", content(whole, ".debug_str").index(b"only_inlined\0"))
    table = b"\1\x2e\0\3\x06\3\x08\0\0\0"  # an entry with a number and a text
    entry = b"\1" + place + b"text"
    info = struct.pack("<IHBBI", 8 + len(entry), 5, 1, 8, 0) + entry + UNIT4
    lies = rebuilt(whole, debug_info=info, debug_abbrev=table)
    with contextlib.closing(opened(tmp_path / "x", lies)) as file, pytest.raises(DwarfError, match="makes no sense"):
        file.inlined("only_inlined")


def test_a_search_is_bounded_by_the_size_on_the_disk(
    whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inlined, "_LEAST_WORK", 1 << 12)
    places = struct.pack("<I", 0) * (1 << 20)
    info = struct.pack("<IHBBI", 8 + len(places), 5, 1, 8, 0) + places
    lies = rebuilt(whole, packed=True, debug_info=info, debug_str=b"only_inlined\0" * 100)
    with contextlib.closing(opened(tmp_path / "x", lies)) as file, pytest.raises(DwarfError, match="more work"):
        file.inlined("only_inlined")


def test_a_sibling_that_lies_before_is_no_circle(whole: bytes, tmp_path: Path) -> None:
    table = TOP_LAYOUT + bytes([2, 0x2E, 1, 0x01, 0x13, 0, 0, 0])
    child = b"\2" + struct.pack("<I", 12 + len(TOP)) + b"\0"
    lies = rebuilt(whole, debug_info=unit(child + b"\0"), debug_abbrev=table, debug_aranges=RANGES)
    with contextlib.closing(opened(tmp_path / "x", lies)) as file:
        assert file.source_lines(CODE)


@pytest.mark.parametrize("entry", [b"\2\0", b"\2", b"\0"], ids=["children", "nested", "nothing"])
def test_entries_are_read_as_many_as_their_file_is_worth(
    whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: bytes
) -> None:
    monkeypatch.setattr(inlined, "_LEAST_READS", 1 << 12)
    table = TOP_LAYOUT + bytes([2, 0x2E, len(entry) == 1, *((0x03, 0x08) if len(entry) == 2 else ()), 0, 0, 0])
    many = unit(entry * (1 << 17)) if entry != b"\0" else unit(b"")
    ranges = RANGES if entry != b"\0" else RANGES[:16] + struct.pack("<QQ", 5, 5) * (1 << 16)
    lies = rebuilt(whole, packed=True, debug_info=many, debug_abbrev=table, debug_aranges=ranges)
    with contextlib.closing(opened(tmp_path / "x", lies)) as file, pytest.raises(DwarfError, match="more work"):
        file.source_lines(CODE)


def test_a_line_program_is_bounded(whole: bytes, tmp_path: Path) -> None:
    line = content(whole, ".debug_line")
    begin = 12 + int.from_bytes(line[8:12], "little")
    program = line[4:begin] + b"\xf0" * (3 << 20)
    lies = rebuilt(whole, packed=True, debug_line=struct.pack("<I", len(program)) + program)
    with (
        contextlib.closing(opened(tmp_path / "x", lies)) as file,
        pytest.raises(DwarfError, match="a line program of"),
    ):
        file.source_lines(CODE)


def test_names_of_sections_are_compared_in_place(whole: bytes, tmp_path: Path) -> None:
    number, at = 1 << 18, len(whole)
    lies = bytearray(whole)
    struct.pack_into("<Q", lies, 0x28, at)
    struct.pack_into("<HH", lies, 0x3C, 0, 1)
    lies += struct.pack("<32xQ24x", number) + struct.pack("<IIQQQQ16x", 0, 0, 3, 0, 0, at) * 3
    with pytest.raises(DwarfError, match="section headers of 64 bytes don't fit"):
        opened(tmp_path / "x", bytes(lies))


def test_a_section_behind_the_end_of_the_file_is_empty(whole: bytes, tmp_path: Path) -> None:
    elf: Any = ELFFile(io.BytesIO(whole))
    lies = bytearray(whole)
    at = elf["e_shoff"] + elf["e_shentsize"] * elf.get_section_index(".debug_str")
    struct.pack_into("<Q", lies, at + 24, 1 << 63)
    with contextlib.closing(opened(tmp_path / "x", bytes(lies))) as file:
        assert file.inlined("only_inlined") == inlined.Inlined(known=False, addresses=())


def test_a_file_that_can_not_be_mapped_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    for name, said in (("empty", "empty"), ("pipe", "no regular file"), (".", "no regular file")):
        with pytest.raises(DwarfError, match=said):
            DebugFile(tmp_path / name)


def test_a_file_that_is_cut_while_it_is_open_is_refused(whole: bytes, tmp_path: Path) -> None:
    with contextlib.closing(opened(tmp_path / "x", whole)) as file:
        os.truncate(tmp_path / "x", 64)
        with pytest.raises(DwarfError, match="shorter"):
            file.inlined("only_inlined")
        for ask in (lambda: file.source_lines(CODE), lambda: file.variables(CODE.start)):
            with pytest.raises(DwarfError):
                ask()
        with pytest.raises(DwarfError):
            file.code_of_line("a.c", 1)


def test_a_packed_section_is_no_larger_than_what_it_is_unpacked_to(whole: bytes, tmp_path: Path) -> None:
    lies = bytearray(rebuilt(whole, packed=True, debug_str=b"few"))
    at = lies.rindex(struct.pack("<IIQ", 1, 0, 3))
    size = struct.pack("<Q", len(lies) - at)
    place = lies.rindex(struct.pack("<Q", at) + size)
    lies[place + 8 : place + 16] = struct.pack("<Q", 1 << 33)
    with pytest.raises(DwarfError, match="packed sections have more than"):
        opened(tmp_path / "x", bytes(lies))


@pytest.mark.parametrize("size", [0, 1, 100, 5000, 30_000])
def test_a_section_is_what_its_bytes_are(tmp_path: Path, size: int) -> None:
    data = bytes(at * at % 251 for at in range(size))
    (tmp_path / "x").write_bytes(b"head" + data)
    with (tmp_path / "x").open("rb") as file:
        for part in (DebugSection.of_file(file.fileno(), 4, size + 9), DebugSection.of_bytes(data)):
            assert len(part) == size and part[:] == data and part[3:2000] == data[3:2000] and part[size:] == b""
            assert [part[at] for at in range(0, size, 7)] == list(data[::7])
            assert [part[at : at + 9000] for at in range(0, size, 999)] == [
                data[at : at + 9000] for at in range(0, size, 999)
            ]
            assert list(part.places(b"\1\4")) == [at for at in range(size) if data[at : at + 2] == b"\1\4"]
            with pytest.raises(IndexError):
                part[size]
