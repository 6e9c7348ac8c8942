"""Copies of initrds with a bootconfig: byte for byte, exclusively, with the keys that were there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from foreign.refusal import InputRefusal
from kernel.boot.initrd_copy import copy_initrd
from probes.bootconfig.initrd_tail import find_tail, tail
from probes.bootconfig.text import BootconfigError, parse

TEXT = 'probewright.spec.0 = "f vfs_read"\nftrace.instance.probewright {\n  event.kprobes.x.enable\n}\n'


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, (1 << 20) - 1, (1 << 20) + 1])
def test_the_copy_is_the_original_and_the_bootconfig(tmp_path: Path, size: int) -> None:
    original, copy = tmp_path / "initrd", tmp_path / "copy"
    content = os.urandom(size)
    original.write_bytes(content)
    before = original.stat()
    made = copy_initrd(original, copy, TEXT)
    assert copy.read_bytes() == content + tail(TEXT, size)
    assert (made.size, made.kept_keys) == (copy.stat().st_size, 0)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert original.read_bytes() == content
    assert original.stat().st_mtime_ns == before.st_mtime_ns
    assert sorted(os.listdir(tmp_path)) == ["copy", "initrd"]


def test_keys_of_others_stay_and_those_of_an_earlier_copy_are_replaced(tmp_path: Path) -> None:
    original, first, second = tmp_path / "initrd", tmp_path / "first", tmp_path / "second"
    theirs = "kernel {\n  root = /dev/sda1 # th\xe9irs\n  quiet\n}\n"
    original.write_bytes(b"cpio" + tail(theirs, 4))
    assert copy_initrd(original, first, TEXT).kept_keys == 2
    assert first.read_bytes() == b"cpio" + tail(theirs + TEXT, 4)
    other = TEXT.replace("vfs_read", "vfs_write")
    assert copy_initrd(first, second, other).kept_keys == 2
    found = find_tail(second.read_bytes(), second.stat().st_size)
    assert found is not None
    assert dict(parse(found.text)) == {**dict(parse(theirs)), **dict(parse(other))}


def test_nothing_is_overwritten_and_nothing_is_left_of_a_failure(tmp_path: Path) -> None:
    original, copy = tmp_path / "initrd", tmp_path / "copy"
    original.write_bytes(b"cpio")
    copy.write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        copy_initrd(original, copy, TEXT)
    assert copy.read_bytes() == b"mine"
    with pytest.raises(FileExistsError):
        copy_initrd(original, original, TEXT)
    assert original.read_bytes() == b"cpio"
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        copy_initrd(original, link, TEXT)
    with pytest.raises(BootconfigError):
        copy_initrd(original, tmp_path / "newer", "}\n")
    assert not (tmp_path / "newer").exists()
    damaged = bytearray(b"cpio" + tail(TEXT, 4))
    damaged[5] ^= 1
    original.write_bytes(damaged)
    with pytest.raises(BootconfigError, match="checksum"):
        copy_initrd(original, tmp_path / "third", TEXT)
    assert not (tmp_path / "third").exists()
    with pytest.raises((InputRefusal, IsADirectoryError)):
        copy_initrd(Path("/dev/zero"), tmp_path / "fourth", TEXT)
    with pytest.raises((InputRefusal, IsADirectoryError)):
        copy_initrd(tmp_path, tmp_path / "fourth", TEXT)
    assert not (tmp_path / "fourth").exists()
