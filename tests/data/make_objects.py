"""Make objects.tar.xz: the BPF objects of tests/data/bpf, compiled by clang, for inputs that are damaged.

Run as `python -m tests.data.make_objects`.
"""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from tests.object_builder import SOURCES, built

OUT = Path(__file__).with_name("objects.tar.xz")


def main() -> None:
    """Compile all sources and pack the objects."""
    with tarfile.open(OUT, "w:xz") as out:
        for source in sorted(SOURCES.glob("*.bpf.c")):
            data = built(source.name.removesuffix(".bpf.c")).read_bytes()
            member = tarfile.TarInfo(source.name.removesuffix(".c") + ".o")
            member.size = len(data)
            out.addfile(member, io.BytesIO(data))


if __name__ == "__main__":
    main()
