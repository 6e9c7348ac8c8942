"""Modules that the lab's guests do not have: taken out of the kernel's own package once, and kept in the cache."""

from __future__ import annotations

import json
from pathlib import Path

from kernel.lab import cache, initramfs, kernels, packages
from kernel.lab.work import Work


def module_archive(kernel: str, stem: str) -> Path:
    """An initramfs with `/lib/modules/extra/STEM.ko` (a cpio archive). Raises LabError."""
    work = Work(lambda _: None)
    series = kernels.parse(kernel)
    assert isinstance(series, kernels.Series)
    image = kernels.from_series(work, series)
    name = f"modules/{series.arch}-{image.release}-{stem}"
    path = cache.root() / f"{name}.cpio"
    if not path.exists():
        with cache.locked(work, name):
            if not path.exists():
                _fetch(work, series.arch, image, stem, path)
    return path


def _fetch(work: Work, arch: str, image: kernels.KernelImage, stem: str, path: Path) -> None:
    found = packages.Package(*json.loads((image.image.parent / "kernel.json").read_text())["package"])
    wanted = found
    if found.name.startswith("linux-binary-"):
        wanted = packages.Package(f"linux-modules-{image.release}", found.version)
    apt = packages.Apt(work, arch)
    with cache.locked(work, f"apt/{arch}"):
        apt.update()
        debs = apt.fetch([wanted], f"modules of Linux {image.release}")
        entries = []
        for deb in debs:
            for member in packages.contents(work, deb):
                file = member.path.rpartition("/")[2]
                if member.file is not None and ".ko" in file and file.partition(".ko")[0].replace("-", "_") == stem:
                    plain = kernels._inflate(file, member.file.read())
                    entries.append(initramfs.file(f"usr/lib/modules/extra/{stem}.ko", plain))
        packages.remove(debs)
    assert entries, f"the package of Linux {image.release} has no {stem}"
    with cache.publish_file(path) as scratch:
        scratch.write_bytes(initramfs.archive(entries))
