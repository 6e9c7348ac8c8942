"""The newc writer, against the cpio program where there is one."""

from __future__ import annotations

import gzip
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.lab import initramfs
from kernel.lab.initramfs import ArchiveEntry, directory, file, symlink

names = st.text("abc.-_é", min_size=1, max_size=20).filter(lambda name: name not in (".", ".."))


def read(data: bytes) -> list[ArchiveEntry]:
    """A reader of our own, by the document, for what the cpio program cannot be asked about."""
    found: list[ArchiveEntry] = []
    at = 0
    while True:
        assert at % 4 == 0
        assert data[at : at + 6] == b"070701"
        numbers = [int(data[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, name_size = numbers[1], numbers[6], numbers[11]
        name = data[at + 110 : at + 110 + name_size]
        assert name.endswith(b"\0")
        at += (110 + name_size + 3) & ~3
        if name == b"TRAILER!!!\0":
            assert at == len(data)
            return found
        assert (numbers[2], numbers[3]) == (0, 0)  # root's
        entry = ArchiveEntry(name[:-1].decode(), mode, data[at : at + size], (numbers[9], numbers[10]))
        found.append(entry)
        at += (size + 3) & ~3


def test_parents_are_made_and_come_first() -> None:
    found = read(initramfs.archive([file("usr/lib/a/b", b"1"), directory("usr/lib", 0o700)]))
    assert [entry.path for entry in found] == ["usr", "usr/lib", "usr/lib/a", "usr/lib/a/b"]
    assert found[1].mode == stat.S_IFDIR | 0o700


def test_last_of_two_wins_and_slashes_do_not_matter() -> None:
    [entry] = read(initramfs.archive([file("/init", b"old"), file("init", b"new", 0o755)]))
    assert (entry.data, entry.mode) == (b"new", stat.S_IFREG | 0o755)


def test_device_keeps_its_numbers() -> None:
    console = ArchiveEntry("dev/console", stat.S_IFCHR | 0o600, rdev=(5, 1))
    assert read(initramfs.archive([console]))[1] == console


@given(st.dictionaries(names, st.binary(max_size=70), min_size=1, max_size=8))
def test_every_file_comes_back(contents: dict[str, bytes]) -> None:
    found = read(initramfs.archive(file(name, data) for name, data in contents.items()))
    assert {entry.path: entry.data for entry in found} == contents


def test_same_entries_give_same_bytes() -> None:
    entries = [file("b", b"1"), symlink("a", "b")]
    assert initramfs.packed(entries) == initramfs.packed(reversed(entries))


def test_joined_parts_start_at_multiples_of_four(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"12345")
    initramfs.join([tmp_path / "one", b"abc"], tmp_path / "all")
    assert (tmp_path / "all").read_bytes() == b"12345\0\0\0abc\0"


@pytest.mark.skipif(shutil.which("cpio") is None, reason="cpio is not installed")
def test_cpio_unpacks_it(tmp_path: Path) -> None:
    entries = [
        file("usr/bin/tool", b"#!/bin/sh\n", 0o755),
        file("etc/empty", b"", 0o640),
        symlink("bin", "usr/bin"),
        directory("root", 0o700),
    ]
    data = gzip.decompress(initramfs.packed(entries))
    subprocess.run(["cpio", "-idm", "--quiet", "--no-preserve-owner"], input=data, cwd=tmp_path, check=True)
    assert (tmp_path / "bin/tool").read_bytes() == b"#!/bin/sh\n"
    assert os.readlink(tmp_path / "bin") == "usr/bin"
    modes = {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("usr/bin/tool", "etc/empty", "root")}
    assert modes == {"usr/bin/tool": 0o755, "etc/empty": 0o640, "root": 0o700}
