"""A table of symbols is bounded, wherever it is from: files are refused, a kernel has none then."""

from __future__ import annotations

from pathlib import Path

import pytest

from events.names.kallsyms_table import require_symbol_table
from events.recording.reader import Recording, RecordingError
from foreign.refusal import InputRefusal
from kernel.errors import FileRefused, TargetUnusable
from kernel.recording.target import open_recording
from kernel.symbols.kernel_symbols import KernelSymbols
from tests.fake_target import FakeTarget
from tests.fuzz import material
from tests.hostile import tar_of

LINES = b"".join(b"%x t f%d\n" % (0xFFFFFFFF81000000 + 16 * at, at) for at in range(8))


@pytest.fixture(params=[8, 7])
def fits(request, monkeypatch) -> bool:
    """Whether eight symbols are within the bound."""
    monkeypatch.setattr("events.names.kallsyms_table.MOST_SYMBOLS", request.param)
    monkeypatch.setattr("events.recording.reader._USUAL_SYMBOLS", 0)
    return request.param == 8


@pytest.mark.parametrize("functions", [8, 3], ids=["functions", "variables, too"])
def test_a_recording_with_more_is_refused(tmp_path: Path, fits, functions):
    lines = LINES.splitlines(keepends=True)
    blobs = {("symbols", ""): b"".join(lines[:functions]), ("variables", ""): b"".join(lines[functions:])}
    path = tmp_path / "x.pwr"
    path.write_bytes(material.recording(blobs=blobs))
    if fits:
        open_recording(path).facts()
        assert Recording.open(path).kallsyms(0) == LINES
        return
    with pytest.raises(TargetUnusable, match=r"x\.pwr: byte \d+: 8 symbols \(at most 7\)"):
        open_recording(path).facts()
    with pytest.raises(RecordingError, match=r"8 symbols \(at most 7\)"):
        Recording.open(path).kallsyms(0)


def test_saved_facts_with_more_are_refused(tmp_path: Path, fits):
    path = tmp_path / "x.tar"
    path.write_bytes(tar_of({"available_filter_functions": b"vfs_read\n", "kallsyms": LINES}))
    if fits:
        assert open_recording(path).facts().functions
        return
    with pytest.raises(TargetUnusable, match=r"x\.tar: kallsyms: 8 symbols \(at most 7\)"):
        open_recording(path).facts()


def test_a_kernel_with_more_has_none(fits):
    symbols = KernelSymbols(FakeTarget({"/proc/kallsyms": LINES}))
    if fits:
        assert symbols.current is not None and symbols.current.address_of("f7")
        return
    with pytest.raises(FileRefused, match="/proc/kallsyms: File too large"):
        symbols.kallsyms(0)
    assert symbols.current is None


@pytest.mark.parametrize("end", [b"", b"\n", b"\n" + LINES])
def test_a_line_of_symbols_is_bounded(end):
    before = LINES * 3000
    require_symbol_table(before + b"1 t " + b"a" * 4000 + end, "x")
    with pytest.raises(InputRefusal, match=r"^x: a line of \d+ bytes \(at most 4096\)$"):
        require_symbol_table(before + b"1 t " + b"a" * 600_000 + end, "x")
