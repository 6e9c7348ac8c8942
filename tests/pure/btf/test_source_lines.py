"""Source lines and inlined calls of code, against addr2line of binutils; and bytes that lie.

tests/data/dwarf-lines.json has what `addr2line -i -f` 2.40 says of every address of the files in dwarf.tar.xz (see
`test_inlined`): first address, file and line, functions inlined there, the outermost first.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from btf.debug.dwarf import DwarfError, SourceLine
from btf.debug.inlined import DebugFile
from tests.pure.btf.test_inlined import FILES, folder

__all__ = ["folder"]

LINES = json.loads((Path(__file__).parents[2] / "data/dwarf-lines.json").read_text())
CODE = range(0xFFFF_FFFF_8100_0000, 0xFFFF_FFFF_8100_00D3)


def lines_of(path: Path, addresses: Iterable[int] = CODE) -> dict[int, SourceLine]:
    with contextlib.closing(DebugFile(path)) as file:
        return file.source_lines(addresses)


def by_addr2line(name: str) -> Iterator[tuple[int, tuple[str, list[str]] | None]]:
    runs = {int(start, 16): (place, functions) for start, place, functions in LINES[name]}
    now: tuple[str, list[str]] = ("", [])
    for address in CODE:
        now = runs.get(address, now)
        yield address, now if now[0] else None


@pytest.mark.parametrize("name", FILES)
def test_every_address_has_the_line_that_addr2line_says(folder: Path, name: str) -> None:
    found = lines_of(folder / name, [*CODE, 0, CODE.stop + 4096])
    ours = {address: (one.text, list(one.inlined)) for address, one in found.items()}
    assert ours == {address: said for address, said in by_addr2line(name) if said is not None}
    assert any(functions for _, functions in ours.values()), "some are of inlined calls"


def test_files_without_it(tmp_path: Path, folder: Path) -> None:
    nothing = tmp_path / "nothing"
    nothing.write_bytes(b"no ELF file")
    with pytest.raises(DwarfError):
        lines_of(nothing)
    whole = folder / "dwarf-5.elf"
    nothing.write_bytes(whole.read_bytes().replace(b".debug_line\0", b"\0enil_gubed."))
    with contextlib.suppress(DwarfError):
        assert lines_of(nothing) == {}
    nothing.write_bytes(whole.read_bytes().replace(b".debug_aranges", b"segnara_gubed."))
    assert lines_of(nothing) == lines_of(whole), "clang writes none of these; the units have them, too"


@given(st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damage_is_refused_or_read_but_breaks_nothing(folder: Path, tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray((folder / "dwarf-5.elf").read_bytes())
    elf: Any = ELFFile(io.BytesIO(bytes(content)))
    names = [".debug_info", ".debug_abbrev", ".debug_line", ".debug_aranges", ".debug_rnglists", ".debug_line_str"]
    section = elf.get_section_by_name(data.draw(st.sampled_from(names)))
    for _ in range(data.draw(st.integers(1, 8))):
        at = section["sh_offset"] + data.draw(st.integers(0, section["sh_size"] - 1))
        content[at] = data.draw(st.integers(0, 255))
    damaged = tmp_path / "damaged"
    damaged.write_bytes(content)
    with contextlib.suppress(DwarfError):
        assert lines_of(damaged).keys() <= set(CODE)
