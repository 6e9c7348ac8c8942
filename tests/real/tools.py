"""Programs of this machine in a guest: packed with the libraries they are linked with, beside the guest's own."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernel.lab import cache, initramfs, packages
from kernel.lab.errors import LabError
from kernel.lab.initramfs import ArchiveEntry
from kernel.lab.work import Work
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


def packed_for(arch: str, program: str) -> Path:
    """The same for a guest of another architecture (Debian's name for it): of packages, kept in the lab's cache."""
    work, name = Work(lambda _: None), f"guests/{arch}-tool-{program}"
    path = cache.root() / f"{name}.cpio"
    with cache.locked(work, name):
        if path.exists():
            return path
        try:
            apt = packages.Apt(work, arch)
            with cache.locked(work, f"apt/{arch}"):
                apt.update()
                debs = apt.fetch(apt.closure([program]), f"{program} for {arch}")
                entries = [entry for deb in debs for entry in _libraries_and(work, deb, program)]
                packages.remove(debs)
        except LabError as error:
            if REQUIRED:
                pytest.fail(str(error))
            pytest.skip(str(error))
        with cache.publish_file(path) as scratch:
            scratch.write_bytes(initramfs.archive(entries))
    return path


def _libraries_and(work: Work, deb: Path, program: str) -> Iterator[ArchiveEntry]:
    """Yield the shared libraries of a package, and a program if it has it."""
    for info, path, file in packages.contents(work, deb):
        if path != f"usr/bin/{program}" and not re.match(r"(usr/)?lib(64)?/(?:[^/]+/)*[^/]+\.so[^/]*$", path):
            continue
        place = path if path.startswith("usr/") else f"usr/{path}"  # /lib is a link to it
        if file is not None:
            yield initramfs.file(place, file.read(), info.mode & 0o777)
        elif info.issym():
            yield initramfs.symlink(place, info.linkname)
