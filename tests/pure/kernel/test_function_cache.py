"""Lists of functions are kept for one boot and its modules, and no longer."""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from kernel.errors import FileRefused
from kernel.remote import function_cache
from kernel.remote.function_cache import LISTS, fetch

BOOT = "/proc/sys/kernel/random/boot_id"
FUNCTIONS, BLACKLIST = LISTS


class Far:
    """A far kernel with one module."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.files = {
            BOOT: b"one\n",
            "/proc/modules": b"ext4 1000 2 jbd2, Live 0xffffffffc0000000\n",
            "/sys/module/ext4/notes/.note.gnu.build-id": b"\1\2",
            FUNCTIONS: b"vfs_read\next4_sync [ext4]\n",
            BLACKLIST: b"0x1-0x2\tno_probe\n",
        }

    def ahead(self, paths: Sequence[str]) -> Mapping[str, bytes | FileRefused]:
        self.asked += paths
        return {path: self.files.get(path, FileRefused(path, 2)) for path in paths}

    def lists(self, target: str = "ssh://box") -> list[bytes | FileRefused | None]:
        found = fetch(
            self, target, {path: self.files[path] for path in (BOOT, "/proc/modules") if path in self.files}
        )
        return [found.get(path) for path in LISTS]

    @property
    def read(self) -> bool:
        """Whether the list was asked for, since the last look."""
        asked, self.asked = self.asked, []
        return FUNCTIONS in asked


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PROBEWRIGHT_CACHE", str(tmp_path))
    return tmp_path / "btf"


def test_read_once_a_boot() -> None:
    far = Far()
    wanted = [far.files[path] for path in LISTS]
    assert far.lists() == wanted and far.read
    assert far.lists() == wanted and not far.read
    far.files["/proc/modules"] = b"ext4 1000 7 jbd2,dm Live 0xffffffffc0000000\n"  # more users of it
    assert far.lists() == wanted and not far.read


@pytest.mark.parametrize(
    ("path", "data"),
    [
        (BOOT, b"two\n"),
        ("/proc/modules", b"ext4 1000 2 jbd2, Live 0xffffffffc0001000\n"),
        ("/proc/modules", b""),
        ("/proc/modules", b"ext4 1000 2 jbd2, Loading 0xffffffffc0000000\n"),
        ("/sys/module/ext4/notes/.note.gnu.build-id", b"\1\3"),
    ],
)
def test_another_boot_or_module_is_read_anew_and_the_old_list_goes(folder: Path, path: str, data: bytes) -> None:
    far = Far()
    far.lists()
    assert far.read
    far.files[path], far.files[FUNCTIONS] = data, b"vfs_write\n"
    assert far.lists()[0] == b"vfs_write\n" and far.read
    assert len(list(folder.iterdir())) == len(LISTS)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("/proc/modules", b"ext4 1000 2 jbd2, Live 0xffffffffc0000000\nxfs 9 0 - Live 0xffffffffc1000000\n"),
        ("/sys/module/ext4/notes/.note.gnu.build-id", b"\1\3"),
    ],
)
def test_a_module_that_comes_while_they_are_read_is_not_missed(path: str, data: bytes) -> None:
    class Loading(Far):
        def ahead(self, paths: Sequence[str]) -> Mapping[str, bytes | FileRefused]:
            if FUNCTIONS in paths:
                self.files |= {"/sys/module/xfs/notes/.note.gnu.build-id": b"\7", path: data}
            return super().ahead(paths)

    far: Far = Loading()
    far.lists()
    assert far.read
    far = Far()  # it is gone again, and all as before
    far.files[FUNCTIONS] = b"other\n"
    assert far.lists()[0] == b"other\n" and far.read, "what was kept is not of these modules"
    assert far.lists()[0] == b"other\n" and not far.read


@pytest.mark.parametrize(("number", "kept"), [(errno.ENOENT, True), (errno.EACCES, False)])
def test_modules_that_are_not_told_may_be_others_the_next_time(number: int, kept: bool) -> None:
    class Refusing(Far):
        def ahead(self, paths: Sequence[str]) -> Mapping[str, bytes | FileRefused]:
            refused = {"/proc/modules": FileRefused("/proc/modules", number)}
            return {path: refused.get(path, read) for path, read in super().ahead(paths).items()}

    far = Refusing()
    for again in (False, True):
        fetch(far, "ssh://box", far.ahead([BOOT, "/proc/modules"]))
        assert far.read is not (again and kept)


def test_another_target_has_its_own() -> None:
    far = Far()
    far.lists()
    assert far.read
    far.lists("ssh://other")
    assert far.read


def test_what_cannot_be_told_apart_is_not_kept(folder: Path) -> None:
    far = Far()
    del far.files["/sys/module/ext4/notes/.note.gnu.build-id"]
    far.lists()
    assert far.read
    assert far.lists()[0] == far.files[FUNCTIONS] and far.read
    assert not folder.exists()


def test_a_list_that_is_refused_is_not_kept() -> None:
    far = Far()
    del far.files[BLACKLIST]
    assert isinstance(far.lists()[1], FileRefused)
    far.asked.clear()
    assert isinstance(far.lists()[1], FileRefused)
    assert BLACKLIST in far.asked and FUNCTIONS not in far.asked


def test_a_dialect_that_reads_one_by_one_is_not_asked() -> None:
    assert function_cache.fetch(Far(), "ssh://box", {}) == {}
