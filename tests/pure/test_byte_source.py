"""A large file is read where its bytes are asked for: as much of it as is looked at, and no more."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from events.recording.chunks import RecordingError
from events.recording.reader import Recording
from foreign.byte_source import BytesInMemory, open_bytes, pieces_of
from foreign.refusal import InputRefusal
from tests.hostile import DEFAULT

HEAD = b"probewright\0\1\0\0\0"
LARGE = 3 << 30


@pytest.fixture
def bytes_read(monkeypatch) -> list[int]:
    """Bytes that each read of a file gave."""
    found: list[int] = []
    read = os.pread

    def counted(fd: int, size: int, at: int) -> bytes:
        data = read(fd, size, at)
        found.append(len(data))
        return data

    monkeypatch.setattr("foreign.byte_source.os.pread", counted)
    return found


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (b"", "byte 0: no recording of probewright"),
        (HEAD, "byte 16: damaged: no chunk begins here"),
        (
            HEAD + b"PWRC\3\0\0\0" + b"\xff" * 4 + bytes(8),
            "byte 16: a chunk or the number of chunks is beyond all limits",
        ),
    ],
    ids=["zeros", "no chunk", "a chunk of 4 GB"],
)
def test_a_file_that_is_no_recording_is_refused_by_its_first_bytes(tmp_path, bytes_read, start, words):
    path = tmp_path / "x.pwr"
    path.write_bytes(start)
    os.truncate(path, LARGE)
    with pytest.raises(RecordingError, match=words):
        Recording.open(path)
    assert sum(bytes_read) < 100


def test_a_recording_is_opened_by_the_heads_of_its_chunks(bytes_read):
    recording = Recording.open(DEFAULT)
    assert sum(bytes_read) <= 20 * (len(recording._file.entries) + 2)
    assert recording.meta == Recording(DEFAULT.read_bytes()).meta


def test_a_recording_of_which_the_end_is_lost_meanwhile_is_damaged(tmp_path):
    path = tmp_path / "x.pwr"
    path.write_bytes(DEFAULT.read_bytes())
    recording = Recording.open(path)
    os.truncate(path, 1000)
    with pytest.raises(RecordingError, match=r"x\.pwr: byte \d+: damaged"):
        list(recording.batches())


@pytest.mark.parametrize("bound", [1000, 999])
def test_a_pipe_is_read_to_its_end_and_bounded(monkeypatch, bound):
    monkeypatch.setattr("foreign.byte_source._LARGEST_PIPE", bound)
    out, into = os.pipe()
    os.write(into, b"x" * 1000)
    os.close(into)
    try:
        if bound == 1000:
            assert open_bytes(f"/dev/fd/{out}", 5000).read(998, 5) == b"xx"
        else:
            with pytest.raises(InputRefusal, match=r"more bytes \(at most 999 bytes\)"):
                open_bytes(f"/dev/fd/{out}", 5000)
    finally:
        os.close(out)


def test_only_files_of_so_many_bytes_are_opened(tmp_path: Path):
    (tmp_path / "x").write_bytes(b"x" * 300_000)
    assert b"".join(pieces_of(open_bytes(tmp_path / "x", 300_000))) == b"x" * 300_000
    assert b"".join(pieces_of(BytesInMemory(b"y" * 300_000))) == b"y" * 300_000
    with pytest.raises(InputRefusal, match=r"x: 300000 bytes \(at most 299999 bytes\)"):
        open_bytes(tmp_path / "x", 299_999)
    for place in ("/dev/zero", str(tmp_path)):
        with pytest.raises(InputRefusal, match="no regular file"):
            open_bytes(place, 10)
