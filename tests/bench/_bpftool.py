"""bpftool's dump of a kernel's types to a file: the peer of what reads BTF."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench._measure import Timer, run_child


@contextlib.contextmanager
def raw_dump(types: bytes) -> Iterator[tuple[Path, Timer] | None]:
    """Give a file with these types, and a timer of the CPU time of bpftool's raw dump of it to another file.

    None where there is no bpftool.
    """
    if shutil.which("bpftool") is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "vmlinux"), Path(folder, "raw")
        source.write_bytes(types)

        def timer() -> float:
            with target.open("wb") as out:
                return run_child(["bpftool", "btf", "dump", "file", str(source), "format", "raw"], stdout=out).cpu

        yield source, timer
