"""Build the kernel with every tracer on, once, from Debian's kernel source: six minutes on two cores."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernel.lab import cache, kconfig, kernels, needs, packages
from kernel.lab.errors import LabError
from kernel.lab.kernels import KernelImage
from kernel.lab.work import Work

SERIES = (7, 2)  # series for which the configuration was made; if it is gone, the next newer one
_LINES = 1850  # lines that make prints for this configuration; only for the progress
_NICE = ("nice", "-n", "19")
# Big parts of the source that this configuration never uses; files that Kconfig reads are kept.
_EXCLUDED = ("*/Documentation/*/*", "*/drivers/gpu/drm/amd/include/*", "*/tools/testing/*", "*/sound/soc/*.[ch]")


def folder() -> Path:
    """Return the folder of the built kernel; its name depends on the configuration."""
    key = hashlib.sha256(kconfig.fragment().encode()).hexdigest()[:8]
    return cache.root() / "kernels" / f"amd64-full.{key}"


def build_full_kernel(work: Work) -> KernelImage:
    """Return the kernel, from the cache or built now. Raises LabError."""
    folder_path = folder()
    if not (folder_path / "kernel.json").exists():
        if kernels.host_arch() != "amd64":
            raise LabError("`full` is built on x86-64 only", f"try a kernel of Debian's: {kernels.host_arch()}:7.2")
        needs.require(needs.missing_to_build(), "full")
        with cache.locked(work, f"kernels/{folder_path.name}"):
            if not (folder_path / "kernel.json").exists():
                _build(work, folder_path)
    facts = json.loads((folder_path / "kernel.json").read_text())
    return KernelImage(folder_path / "vmlinuz", "amd64", facts["release"], note=facts["note"])


def _build(work: Work, place: Path) -> None:
    with _source(work) as (source, version):
        make = [*_NICE, "make", "-C", str(source), f"-j{os.cpu_count() or 1}"]
        work.say("configuring the kernel")
        work.run([*make, "tinyconfig"])
        (source / "lab.config").write_text(kconfig.fragment())
        work.run(["scripts/kconfig/merge_config.sh", "-m", ".config", "lab.config"], cwd=source)
        work.run([*make, "olddefconfig"])
        lacking = kconfig.missing_options((source / ".config").read_text())
        log = source / "lab.log"

        def tick() -> None:
            fraction = log.read_bytes().count(b"\n") / _LINES if log.exists() else 0.0
            work.say(f"building Linux {version} with every tracer on", min(fraction, 0.99))

        work.run([*make, "bzImage"], output=log, tick=tick, remedy="the last lines are of make; report this")
        release = work.run([*make, "-s", "kernelrelease"]).decode().strip()
        note = f"Linux {version} has no {', '.join(lacking)}" if lacking else ""
        with cache.publish(place) as scratch:
            shutil.copy(source / "arch/x86/boot/bzImage", scratch / "vmlinuz")
            shutil.copy(source / ".config", scratch / "config")
            (scratch / "kernel.json").write_text(json.dumps({"release": release, "note": note}, indent=1))


@contextmanager
def _source(work: Work) -> Iterator[tuple[Path, str]]:
    """Yield the unpacked source of the kernel, removed after the block, and its version."""
    apt = packages.Apt(work, "amd64")
    with cache.locked(work, "apt/amd64"):
        apt.update()
        package = _choose(apt.versions([name for name in apt.names("linux-source-") if name[-1].isdigit()]))
        [deb] = apt.fetch([package], f"the source of Linux {package.version}")
    for stale in cache.root().glob("build.*"):
        shutil.rmtree(stale, ignore_errors=True)  # of a killed build: ours is the only one, as we hold the lock
    # In the cache folder: /tmp may be a small file system in memory, and this is 1.5 GB.
    with tempfile.TemporaryDirectory(prefix="build.", dir=cache.root()) as scratch:
        place = Path(scratch)
        work.say("unpacking the source of Linux")
        work.run([*_NICE, "dpkg-deb", "-x", str(deb), scratch])
        packages.remove([deb])
        archive = next(place.glob("usr/src/linux-source-*.tar.*"))
        (place / "linux").mkdir()
        leave_out = [f"--exclude={pattern}" for pattern in _EXCLUDED]
        into = ["-C", str(place / "linux"), "--strip-components=1"]
        work.run([*_NICE, "tar", "-xf", str(archive), *into, *leave_out])
        archive.unlink()
        yield place / "linux", package.version


def _choose(source_packages: list[packages.Package]) -> packages.Package:
    by_series: dict[tuple[int, int], packages.Package] = {}
    for package in source_packages:
        match = re.fullmatch(r"linux-source-(\d{1,4})\.(\d{1,4})", package.name)
        if match:
            series = int(match[1]), int(match[2])
            best = by_series.get(series)
            if best is None or packages.newer(package.version, best.version):
                by_series[series] = package
    wanted = packages.nearest(by_series, SERIES)
    if wanted is None or wanted < SERIES:
        raise LabError("the mirror has no source of a kernel that is new enough", "try a kernel of Debian's: 7.2")
    return by_series[wanted]
