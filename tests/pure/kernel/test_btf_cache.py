"""BTF of far kernels is fetched once, and what the cache gives is what was fetched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernel.errors import FileRefused
from kernel.remote import btf_cache

BTF = b"\x9f\xeb\x01\x00" + bytes(1000) + os.urandom(100)


class Far:
    def __init__(self, notes: bytes = b"build-id one", btf: bytes = BTF) -> None:
        self.files = {
            "/sys/kernel/notes": notes,
            "/proc/sys/kernel/osrelease": b"7.2.13\n",
            "/proc/sys/kernel/version": b"#1 SMP\n",
            "/sys/kernel/btf/vmlinux": btf,
            "/sys/kernel/btf/dummy": b"module " + btf,
            "/sys/module/dummy/notes/.note.gnu.build-id": b"module one",
        }
        self.fetched: list[str] = []

    def read(self, path: str, limit: int) -> bytes:
        if path not in self.files:
            raise FileRefused(path, 2)
        if path.startswith("/sys/kernel/btf/"):
            self.fetched.append(path)
        return self.files[path][:limit]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PROBEWRIGHT_CACHE", str(tmp_path))
    return tmp_path / "btf"


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


def test_fetched_once(folder: Path) -> None:
    far = Far()
    assert btf_cache.fetch(far, "host") == BTF
    assert btf_cache.fetch(far, "host") == BTF
    assert btf_cache.fetch(Far(), "host") == BTF
    assert far.fetched == ["/sys/kernel/btf/vmlinux"]
    (entry,) = entries(folder)
    assert entry.stat().st_size < len(BTF)
    assert btf_cache.fetch(far, "host", "dummy") == b"module " + BTF
    assert btf_cache.fetch(far, "host", "dummy") == b"module " + BTF
    assert far.fetched.count("/sys/kernel/btf/dummy") == 1


def test_another_kernel_host_or_module_is_another_entry(folder: Path) -> None:
    btf_cache.fetch(Far(), "host")
    other = Far(notes=b"build-id two", btf=b"other")
    assert btf_cache.fetch(other, "host") == b"other"
    assert btf_cache.fetch(Far(btf=b"lies about its build-id"), "elsewhere") == b"lies about its build-id"
    assert btf_cache.fetch(Far(btf=b"not asked"), "host") == BTF
    assert len(entries(folder)) == 3


def test_a_file_that_a_killed_process_had_begun_goes_with_the_next_entry(folder: Path) -> None:
    btf_cache.save("first", BTF)
    old, new = folder / "unfinished-old", folder / "unfinished-new"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    btf_cache.save("second", BTF)
    assert [path.name for path in entries(folder)] == ["first", "second", "unfinished-new"]


DAMAGE = {
    "cut": lambda data: data[:-30],
    "header only": lambda data: data[:30],
    "empty": lambda data: b"",
    "a byte of the data": lambda data: data[:-40] + bytes([data[-40] ^ 1]) + data[-39:],
    "magic": lambda data: b"x" + data[1:],
    "digest": lambda data: data[:20] + bytes([data[20] ^ 1]) + data[21:],
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_entry_is_fetched_again(folder: Path, damage: object) -> None:
    btf_cache.fetch(Far(), "host")
    (entry,) = entries(folder)
    entry.write_bytes(damage(entry.read_bytes()))  # type: ignore[operator]
    far = Far()
    assert btf_cache.fetch(far, "host") == BTF
    assert far.fetched
    assert btf_cache.fetch(far, "host") == BTF
    assert len(far.fetched) == 1
    assert len(entries(folder)) == 1


def test_without_a_build_id_nothing_is_kept(folder: Path) -> None:
    far = Far()
    del far.files["/sys/kernel/notes"]
    assert btf_cache.fetch(far, "host") == BTF
    assert btf_cache.fetch(far, "host") == BTF
    assert len(far.fetched) == 2
    assert not entries(folder)


def test_no_btf_is_an_error_each_time(folder: Path) -> None:
    far = Far()
    del far.files["/sys/kernel/btf/vmlinux"]
    for _ in range(2):
        with pytest.raises(FileRefused):
            btf_cache.fetch(far, "host")
    assert not entries(folder)
    for name in ("../vmlinux", "..", "."):
        with pytest.raises(FileRefused):
            btf_cache.fetch(far, "host", name)


def test_a_disk_that_is_full_costs_time_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBEWRIGHT_CACHE", "/proc/nowhere")
    assert btf_cache.fetch(Far(), "host") == BTF
