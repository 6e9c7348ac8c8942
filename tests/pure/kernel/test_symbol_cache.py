"""Symbols of a remote kernel are cached for one boot and its modules; those of BPF programs and probes never are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.errors import FileRefused
from kernel.remote.boot_cache import BOOT, MODULES
from kernel.remote.symbol_cache import KALLSYMS, fetch, lasting_part

WHOLE = 64 << 20
KERNEL = b"".join(b"ffffffff81%06x t function_%d\n" % (at * 16, at) for at in range(400))
MODULE = b"ffffffffc0000000 t ext4_sync\t[ext4]\n"
BPF = b"ffffffffc1000000 t bpf_prog_1_one\t[bpf]\n"
SLOT = b"ffffffffc2000000 t kprobe_insn_page\t[__builtin__kprobes]\n"


class RemoteKernel:
    """A remote kernel with one module, and the bytes read of its symbols."""

    def __init__(self) -> None:
        self.table = KERNEL + MODULE + BPF
        self.boot, self.modules = b"one\n", b"ext4 1000 2 jbd2, Live 0xffffffffc0000000\n"
        self.sent = 0
        self.loads = b""

    def ahead(self, paths: Sequence[str]) -> Mapping[str, bytes | FileRefused]:
        files = {BOOT: self.boot, MODULES: self.modules}
        return {path: files.get(path, b"build-id" if "notes" in path else FileRefused(path, 2)) for path in paths}

    def read(self, path: str, limit: int, offset: int = 0) -> bytes:
        assert path == KALLSYMS
        found = self.table[offset : offset + limit]
        self.sent += len(found)
        self.modules += self.loads
        self.loads = b""
        return found

    def symbols(self, limit: int = WHOLE) -> tuple[bytes, int]:
        """Return the table, and how many bytes of it were sent."""
        before = self.sent
        return fetch(self, "ssh://box", limit), self.sent - before


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PROBEWRIGHT_CACHE", str(tmp_path))
    return tmp_path / "btf"


def test_the_end_alone_is_sent_again() -> None:
    kernel = RemoteKernel()
    assert kernel.symbols() == (kernel.table, len(kernel.table))
    assert kernel.symbols() == (kernel.table, 4096 + len(BPF))


@pytest.mark.parametrize(
    "end", [b"", BPF + SLOT, SLOT, b"ffffffffc1000040 t bpf_prog_2_two\t[bpf]\n", BPF[:-9] + BPF]
)
def test_symbols_that_come_and_go_are_as_they_are_now(end: bytes) -> None:
    kernel = RemoteKernel()
    kernel.symbols()
    kernel.table = KERNEL + MODULE + end
    assert kernel.symbols() == (kernel.table, 4096 + len(end))


@pytest.mark.parametrize("change", ["boot", "module", "addresses", "hidden", "shorter"])
def test_whatever_else_changes_is_read_anew(change: str, folder: Path) -> None:
    kernel = RemoteKernel()
    kernel.symbols()
    table = KERNEL.replace(b"function", b"other") + MODULE
    if change == "boot":
        kernel.boot = b"two\n"
    elif change == "module":
        kernel.modules = b""
    elif change == "addresses":
        table = KERNEL.replace(b"ffffffff81", b"ffffffff82") + MODULE
    elif change == "hidden":
        table = b"".join(b"0" * 16 + line[16:] for line in (KERNEL + MODULE).splitlines(keepends=True))
    else:
        table = KERNEL[:6000]
    kernel.table = table
    assert kernel.symbols()[0] == table
    assert kernel.symbols()[0] == table
    assert len(list(folder.iterdir())) == 1


def test_a_module_that_is_loaded_while_the_table_is_read_leaves_it_uncached(folder: Path) -> None:
    kernel = RemoteKernel()
    kernel.loads = b"xfs 9 0 - Live 0xffffffffc1000000\n"
    assert kernel.symbols()[0] == kernel.table
    assert not folder.exists()


def test_a_table_at_its_limit_is_not_cached(folder: Path) -> None:
    kernel = RemoteKernel()
    assert kernel.symbols(len(kernel.table) - 10)[0] == kernel.table[:-10]
    assert not folder.exists()
    kernel.symbols()
    assert kernel.symbols(5000)[0] == kernel.table[:5000]


@given(st.lists(st.sampled_from([KERNEL[:40], MODULE, BPF, SLOT, b"odd", b"\n", b"\t[bpf]\n"]), max_size=6))
def test_the_lasting_part_ends_with_a_symbol_of_the_kernel_or_a_module(lines: list[bytes]) -> None:
    table = b"".join(lines)
    kept = lasting_part(table, b"ext4 1000 2 jbd2, Live 0xffffffffc0000000\n")
    assert table.startswith(kept)
    dropped = table[len(kept) :].splitlines()
    assert all(line.endswith((b"[bpf]", b"[__builtin__kprobes]")) for line in dropped[:-1])
    assert not kept or not kept.splitlines()[-1].endswith((b"[bpf]", b"[__builtin__kprobes]"))
