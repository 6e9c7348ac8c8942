"""The code of a source line, against the rows that pyelftools reads of the files of dwarf.tar.xz."""

from __future__ import annotations

import contextlib
import io
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

from btf.debug.dwarf import DwarfError
from btf.debug.inlined import DebugFile
from btf.debug.line_places import CodeOfLine
from tests.pure.btf.test_inlined import FILES, folder

__all__ = ["folder"]


def of_line(path: Path, name: str, line: int) -> CodeOfLine:
    with contextlib.closing(DebugFile(path)) as file:
        return file.code_of_line(name, line)


def by_general_reader(path: Path, name: str) -> dict[int, set[int]]:
    """Line -> addresses where it begins, of one file."""
    elf: Any = ELFFile(io.BytesIO(path.read_bytes()))
    found, dwarf = defaultdict[int, set[int]](set), elf.get_dwarf_info()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        first = 0 if program["version"] >= 5 else 1
        states = [entry.state for entry in program.get_entries() if entry.state is not None]
        before: tuple[str, int] | None = None
        for state in sorted(states, key=lambda state: state.address):
            file = program["file_entry"][state.file - first].name.decode()
            row = ("", 0) if state.end_sequence else (file.rpartition("/")[2], state.line)
            if row[0] == name and state.is_stmt and state.line and row != before:
                found[state.line].add(state.address)
            before = row
    return found


@pytest.mark.parametrize("elf", FILES)
def test_every_line_begins_where_the_general_reader_says(folder: Path, elf: str) -> None:
    for name in ("a.c", "b.c"):
        expected = by_general_reader(folder / elf, name)
        assert len(expected) > 2
        for line in range(1, max(expected) + 2):
            found = of_line(folder / elf, name, line)
            assert [one.rpartition("/")[2] for one in found.files] == [name]
            assert found.addresses == tuple(sorted(expected.get(line, ())))
            near = [n for n in found.nearest if n < line][-1:], [n for n in found.nearest if n > line][:1]
            assert near == (sorted(n for n in expected if n < line)[-1:], sorted(n for n in expected if n > line)[:1])


def test_inlined_copies_are_places_of_their_own(folder: Path) -> None:
    expected = by_general_reader(folder / "dwarf-5.elf", "a.c")
    line = max(expected, key=lambda line: len(expected[line]))
    assert len(of_line(folder / "dwarf-5.elf", "a.c", line).addresses) > 2


def test_names_of_files(folder: Path, tmp_path: Path) -> None:
    for name in ("c", ".c", "none.c", "x/a.c", ""):
        assert of_line(folder / "dwarf-5.elf", name, 4).files == ()
    lies = tmp_path / "lies"
    lies.write_bytes((folder / "dwarf-5.elf").read_bytes().replace(b"b.c\0", b"a.c\0"))
    found = of_line(lies, "a.c", 4)
    assert len(found.files) == 1 or found.addresses == ()
    lies.write_bytes((folder / "dwarf-5.elf").read_bytes().replace(b".debug_line\0", b"\0enil_gubed."))
    with pytest.raises(DwarfError):
        of_line(lies, "a.c", 4)
