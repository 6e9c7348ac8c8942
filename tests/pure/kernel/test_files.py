"""What is written to a file of the kernel: whole, and lines by one system call."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernel.agent import ring_reader
from kernel.errors import FileRefused
from kernel.local import files
from kernel.target import Effect, Step
from tests.pure.remote_hosts import remote_host


@pytest.mark.parametrize("data", [b"", b"one", b"one\n", b"one\ntwo\n", b"one\ntwo", b"\n\n", b"x\n" * 3000])
def test_it_is_there_whole(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"what was before")
    files.perform(Step(Effect.WRITE, str(path), data))
    assert path.read_bytes() == data
    with remote_host("agent") as far:
        path.write_bytes(b"what was before")
        far.dialect.perform(Step(Effect.WRITE, str(path), data))
    assert path.read_bytes() == data


def test_lines_go_by_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is killed after it has written all of them, or none."""
    calls: list[list[bytes]] = []
    writev = os.writev

    def counted(fd: int, parts: list[bytes]) -> int:
        calls.append(parts)
        return writev(fd, parts)

    monkeypatch.setattr(os, "writev", counted)
    monkeypatch.setattr(ring_reader, "write_all", None)
    files.perform(Step(Effect.WRITE, str(_made(tmp_path)), b"vfs_read\nvfs_write\n"))
    assert calls == [[b"vfs_read\n", b"vfs_write\n"]]


def test_where_one_of_them_is_refused_that_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel tells by a short write first."""
    write = os.write
    monkeypatch.setattr(os, "writev", lambda fd, parts: write(fd, parts[0]))

    def refused(fd: int, data: bytes) -> int:
        raise OSError(22, f"{fd} refuses {data!r}")

    monkeypatch.setattr(os, "write", refused)
    with pytest.raises(FileRefused):
        files.perform(Step(Effect.WRITE, str(_made(tmp_path)), b"vfs_read\nnosuch\n"))


def _made(folder: Path) -> Path:
    path = folder / "file"
    path.touch()
    return path
