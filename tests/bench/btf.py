"""The index of functions from cold bytes, against bpftool's raw dump to a file."""

from __future__ import annotations

import gc
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from btf.btf import Btf
from tests.btf_writer import stored

ROUNDS = 9
TARGET = 0.15


def _theirs(source: Path, target: Path) -> float:
    with target.open("wb") as out:
        begin = time.perf_counter()
        subprocess.run(["bpftool", "btf", "dump", "file", str(source), "format", "raw"], stdout=out, check=True)
        return time.perf_counter() - begin


def _ours(source: Path) -> float:
    gc.collect()
    begin = time.perf_counter()
    with source.open("rb", 0) as file:
        b = Btf.load(file.read())
    names = b.functions
    taken = time.perf_counter() - begin
    assert "vfs_read" in names
    return taken


def run() -> list[tuple[str, str, str, bool]]:
    if shutil.which("bpftool") is None:
        return [("function index from cold bytes", "no bpftool here", f"<= {TARGET} x", False)]
    with tempfile.TemporaryDirectory() as folder:
        source = Path("/sys/kernel/btf/vmlinux")
        if not source.exists():
            source = Path(folder, "vmlinux")
            source.write_bytes(stored("btf-7.2"))
        target = Path(folder, "raw")
        pairs = [(_ours(source), _theirs(source, target)) for _ in range(ROUNDS)]
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    figure = f"{ours * 1e3:.1f} ms / {theirs * 1e3:.0f} ms = {ratio:.3f} x"
    return [("function index from cold bytes / bpftool raw to a file", figure, f"<= {TARGET} x", ratio <= TARGET)]
