"""Programs of this machine in a guest: packed with the libraries they are linked with, beside the guest's own."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kernel.lab import initramfs
from kernel.lab.initramfs import ArchiveEntry
from tests.real.conftest import REQUIRED

_PLACE = "opt/tools"


def packed(*programs: str) -> bytes:
    """An initramfs archive with these programs; skip the test where one is not installed (unless it must be)."""
    entries: list[ArchiveEntry] = []
    libraries: dict[str, Path] = {}
    for name in programs:
        path = shutil.which(name)
        if path is None:
            reason = f"{name} is not installed"
            if REQUIRED:
                pytest.fail(reason)
            pytest.skip(reason)
        told = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
        found = {Path(each).name: Path(each) for each in re.findall(r"(/\S+) \(0x", told)}
        libraries |= found
        loader = next(each for each in found if each.startswith("ld-"))
        run = f'exec /{_PLACE}/lib/{loader} --library-path /{_PLACE}/lib /{_PLACE}/bin/{name} "$@"\n'
        entries.append(initramfs.file(f"{_PLACE}/bin/{name}", Path(path).read_bytes(), 0o755))
        entries.append(initramfs.file(f"usr/bin/{name}", f"#!/bin/sh\n{run}".encode(), 0o755))
    entries += [initramfs.file(f"{_PLACE}/lib/{name}", path.read_bytes(), 0o755) for name, path in libraries.items()]
    return initramfs.archive(entries)
