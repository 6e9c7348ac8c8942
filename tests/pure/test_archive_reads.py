"""A tar file is read in pieces, and its headers cost what they weigh."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from foreign.archive import _pax_path, read_tar
from foreign.byte_source import BytesInMemory, open_bytes
from foreign.packed import unpacked_pieces
from foreign.refusal import InputRefusal
from foreign.text import lines_of
from kernel.errors import TargetUnusable
from kernel.recording.target import open_recording

PIECE = 256 << 10


def tar_of(files: dict[str, bytes], form: int = tarfile.USTAR_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


class Counted(BytesInMemory):
    """Bytes that count the most that was asked for at once, and all of it."""

    most = total = 0

    def read(self, at: int, size: int) -> bytes:
        self.most = max(self.most, size)
        found = super().read(at, size)
        self.total += len(found)
        return found


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress], ids=["plain", "gzip", "xz"])
def test_a_tar_file_is_read_in_pieces_each_once(pack: Callable[[bytes], bytes]) -> None:
    files = {"a": os.urandom(700_001), "b": b"", "c": os.urandom(512)}
    source = Counted(pack(tar_of(files)))
    assert read_tar(source, "x") == files
    assert source.most <= PIECE
    assert source.total <= source.size + 6
    assert max(map(len, unpacked_pieces(source, "x"))) <= PIECE


def test_streams_behind_each_other_may_end_anywhere_in_a_piece() -> None:
    whole = tar_of({"a": os.urandom(600_000)})
    parts = [whole[at : at + 200_000] for at in range(0, len(whole), 200_000)]
    for pack in (gzip.compress, lzma.compress):
        packed = b"".join(pack(part) + bytes(at * 100_000) for at, part in enumerate(parts))
        assert b"".join(unpacked_pieces(BytesInMemory(packed), "x")) == whole
        with pytest.raises(InputRefusal, match="x: damaged packed data: cut short"):
            list(unpacked_pieces(BytesInMemory(pack(whole)[:-9]), "x"))


def test_a_saved_folder_in_a_tar_file_is_read_from_the_file(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("kernel.recording.target.read_file", None)
    path = tmp_path / "x.tar"
    path.write_bytes(tar_of({"available_filter_functions": b"vfs_read\n"}))
    assert open_recording(path).facts().functions == ("vfs_read",)
    assert read_tar(open_bytes(path, 1 << 20), "x") == {"available_filter_functions": b"vfs_read\n"}


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_headers_of_long_names_are_bounded_in_sum(monkeypatch, form: int) -> None:
    data = tar_of({"f" * 200 + str(at): b"" for at in range(9)}, form)
    monkeypatch.setattr("foreign.archive._MOST_EXTRA", 9 * 220)
    assert len(read_tar(data, "x")) == 9
    monkeypatch.setattr("foreign.archive._MOST_EXTRA", 8 * 200)
    with pytest.raises(InputRefusal, match=r"^x: its headers have more \(at most 1600 bytes\)$"):
        read_tar(data, "x")


@pytest.mark.parametrize(
    ("extra", "path"),
    [
        (b"8 path=\n", ""),
        (b"9 path=a\n", "a"),
        (b"4 a\n9 path=a\n", "a"),
        (b"9 path=a\n9 path=b\n", "b"),
        (b"9 math=a\n", ""),
        (b"5 path=a\n", ""),
        (b"9 path=a\n99 path=b\n", "a"),
        (b"11 path=\xc3\xa4\n", "ä"),
        (b"12 path=a\0b\n", "a"),
    ],
)
def test_the_path_of_a_pax_header(extra: bytes, path: str) -> None:
    assert _pax_path(extra) == path


def test_lines_of_a_list_are_bounded_in_length(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("foreign.text.LONGEST_LINE", 9)
    assert lines_of("a" * 9 + "\nb\n", "x", 5) == ["a" * 9, "b"]
    with pytest.raises(InputRefusal, match=r"^x: a line of 10 characters \(at most 9\)$"):
        lines_of("b\n" + "a" * 10, "x", 5)
    path = tmp_path / "x.tar"
    path.write_bytes(tar_of({"available_filter_functions": b"a" * 10}))
    with pytest.raises(TargetUnusable, match=r"a line of 10 characters \(at most 9\)"):
        open_recording(path).facts()
