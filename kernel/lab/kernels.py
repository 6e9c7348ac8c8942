"""Resolve a kernel by name: a path, a series of Debian's kernels (`7.2`, `arm64:6.12`, `7.2-rt`) or `full`."""

from __future__ import annotations

import contextlib
import json
import platform
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from foreign.files import home_path
from foreign.packed import unpack
from foreign.refusal import InputRefusal
from kernel.lab import cache, initramfs, packages
from kernel.lab.errors import LabError
from kernel.lab.work import Work

_LAYOUT = 2  # part of the cache's key: raise it when the content of a folder in `kernels/` changes
# Drivers of the guest's network card if not built in, in the order of insmod; `dummy` is put into /lib/modules/extra
# for trying what happens when a module is loaded or unloaded.
NETWORK = (
    *("virtio", "virtio_ring", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci"),
    *("failover", "net_failover", "virtio_net"),
)
EXTRA = ("dummy",)
ARCHES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64", "riscv64": "riscv64"}
_CLOUD_ARCHES = ("amd64", "arm64")
"""Architectures of Debian's cloud kernels, which boot quickly; others have the plain kernel."""
_MOST_SHOWN = 200
"""Characters of a word that a message repeats."""
_REMEDY = "say a series such as 6.1, 6.12, 7.2, arm64:6.12 or riscv64:7.2, a path of a kernel image, or full"


def _usual_flavour(arch: str) -> str:
    """Return the flavour that a series without one means."""
    return "cloud" if arch in _CLOUD_ARCHES else ""


class Series(NamedTuple):
    """A series of Debian's kernels."""

    arch: str
    version: tuple[int, int]
    flavour: str = "cloud"
    """Flavour of the kernel; empty: the plain one."""

    def __str__(self) -> str:
        flavour = "" if self.flavour == _usual_flavour(self.arch) else f"-{self.flavour or 'generic'}"
        return f"{self.arch}:{self.version[0]}.{self.version[1]}{flavour}"


class KernelImage(NamedTuple):
    """A bootable kernel."""

    image: Path
    arch: str
    """Debian's name: amd64, arm64 or riscv64."""
    release: str
    modules: Path | bytes = b""
    """Initramfs with the modules of the network card; empty if they are built in."""
    note: str = ""
    """Note for the user, such as that another series was chosen."""


def host_arch() -> str:
    """Return Debian's name of this machine's architecture."""
    return ARCHES.get(platform.machine(), platform.machine())


def parse(word: str) -> Series | Path | None:
    """Parse the value of `--kernel`; None for `full`. Raises LabError."""
    if word == "full":
        return None
    match = re.fullmatch(
        r"(?:(amd64|x86_64|arm64|aarch64|riscv64):)?v?(\d{1,4})\.(\d{1,4})(?:-(cloud|rt|generic))?", word, re.ASCII
    )
    if match:
        arch = ARCHES[match[1]] if match[1] else host_arch()
        flavour = match[4] or _usual_flavour(arch)
        return Series(arch, (int(match[2]), int(match[3])), "" if flavour == "generic" else flavour)
    with contextlib.suppress(OSError):  # a name that is too long
        path = home_path(word)
        if path.is_file():
            return path.absolute()
    shown = word if len(word) <= _MOST_SHOWN else f"{word[:_MOST_SHOWN]}..."
    raise LabError(f"{shown}: no {'such file' if '/' in word else 'kernel series'}", _REMEDY)


class FoundPackage(NamedTuple):
    """A package that contains a kernel image."""

    version: tuple[int, int]
    release: str
    """Release as in `uname -r`."""
    package: packages.Package


def choose(series: Series, names: Iterable[packages.Package]) -> FoundPackage | None:
    """Return the newest of these `linux-image-*` and `linux-binary-*` packages of the series or its substitute."""
    flavour = f"-{series.flavour}" if series.flavour else ""
    form = re.compile(
        rf"linux-(?:image|binary)-((\d{{1,4}})\.(\d{{1,4}})(?![\d])[^-]*(?:-\d+)?{flavour}-{series.arch})"
    )
    by_version: dict[tuple[int, int], FoundPackage] = {}
    for package in names:
        match = form.fullmatch(package.name)
        if not match:
            continue
        version = int(match[2]), int(match[3])
        # From 6.19 on the image is in linux-binary; linux-image of that release only depends on it.
        best = by_version.get(version)
        if (
            best is None
            or packages.newer(package.version, best.package.version)
            or (package.version == best.package.version and package.name.startswith("linux-binary"))
        ):
            by_version[version] = FoundPackage(version, match[1], package)
    best_series = packages.nearest(by_version, series.version)
    return None if best_series is None else by_version[best_series]


def from_series(work: Work, series: Series) -> KernelImage:
    """Return Debian's newest kernel of a series, from the cache or from the archive. Raises LabError."""
    name = f"{series}.{_LAYOUT}".replace(":", "-")
    folder = cache.root() / "kernels" / name
    if not (folder / "kernel.json").exists():
        with cache.locked(work, f"kernels/{name}"):
            if not (folder / "kernel.json").exists():
                _fetch(work, series, folder)
    facts = json.loads((folder / "kernel.json").read_text())
    return KernelImage(folder / "vmlinuz", series.arch, facts["release"], folder / "modules.cpio.gz", facts["note"])


def _fetch(work: Work, series: Series, folder: Path) -> None:
    apt = packages.Apt(work, series.arch)
    with cache.locked(work, f"apt/{series.arch}"):
        apt.update()
        work.say(f"looking for Linux {series}")
        choice = choose(series, apt.versions([*apt.names("linux-image-"), *apt.names("linux-binary-")]))
        if choice is None:
            raise LabError(f"the mirror has no kernel for {series}", _REMEDY)
        wanted = [choice.package]
        if choice.package.name.startswith("linux-binary-"):
            wanted.append(packages.Package(f"linux-modules-{choice.release}", choice.package.version))
        note = ""
        if choice.version != series.version:
            note = f"Debian has no {series} now; this is {choice.release}"
        debs = apt.fetch(wanted, f"Linux {choice.release}")
        with cache.publish(folder) as scratch:
            _unpack(work, debs, scratch)
            facts = {"release": choice.release, "package": list(choice.package), "note": note}
            (scratch / "kernel.json").write_text(json.dumps(facts, indent=1))
        packages.remove(debs)


def _unpack(work: Work, debs: Iterable[Path], folder: Path) -> None:
    """Write `vmlinuz` and `modules.cpio.gz`."""
    modules: dict[str, bytes] = {}
    for deb in debs:
        work.say(f"unpacking {deb.name}")
        for member in packages.contents(work, deb):
            if member.file is None:
                continue
            name = member.path.rpartition("/")[2]
            if name == "vmlinuz" or name.startswith("vmlinuz-"):
                with (folder / "vmlinuz").open("wb") as out:
                    shutil.copyfileobj(member.file, out)
            elif name.partition(".ko")[0].replace("-", "_") in NETWORK + EXTRA and ".ko" in name:
                modules[name] = member.file.read()
    if not (folder / "vmlinuz").exists():
        raise LabError("the package holds no kernel image", _REMEDY)
    (folder / "modules.cpio.gz").write_bytes(pack_modules(modules))


def pack_modules(modules: dict[str, bytes]) -> bytes:
    """Return an initramfs of modules, from file names (`dummy.ko.xz`) and contents."""
    entries = []
    for name, data in modules.items():
        stem = name.partition(".ko")[0].replace("-", "_")
        plain = _inflate(name, data)
        if stem in NETWORK:
            entries.append(initramfs.file(f"usr/lib/modules/lab/{NETWORK.index(stem)}-{stem}.ko", plain))
        else:
            entries.append(initramfs.file(f"usr/lib/modules/extra/{stem}.ko", plain))
    return initramfs.packed(entries)


def _inflate(name: str, data: bytes) -> bytes:
    try:
        return unpack(data, name)
    except InputRefusal as error:
        raise LabError(str(error)) from None


def from_path(path: Path) -> KernelImage:
    """Return a kernel image of the user's own, with modules from beside it or /lib/modules. Raises LabError."""
    with path.open("rb") as file:
        head = file.read(0x210)
        arch, release = _inspect(path, head)
        if arch == "amd64":
            file.seek(int.from_bytes(head[0x20E:0x210], "little") + 0x200)
            release = file.read(128).partition(b"\0")[0].decode(errors="replace").partition(" ")[0]
    roots = [path.parent, path.parent.parent / "lib/modules" / release, Path("/lib/modules") / release]
    for folder in roots if release else []:
        modules = {
            module_path.name: module_path.read_bytes()
            for stem in NETWORK + EXTRA
            for module_path in (folder / "kernel").rglob(f"{stem}.ko*")
        }
        if modules:
            return KernelImage(path, arch, release, pack_modules(modules))
    return KernelImage(path, arch, release)


def _inspect(path: Path, head: bytes) -> tuple[str, str]:
    """Return architecture (and release, if in the file name) by the headers of Documentation/arch/*/boot*.rst."""
    if head[0x202:0x206] == b"HdrS":
        return "amd64", ""
    if head[0x38:0x3C] == b"RSC\x05":
        return "riscv64", path.name.partition("-")[2]
    if head[0x38:0x3C] == b"ARM\x64" or head[:2] == b"\x1f\x8b" or head[4:8] == b"zimg":
        return "arm64", path.name.partition("-")[2]
    raise LabError(
        f"{path}: no bzImage of x86-64 and no Image of arm64 or riscv64", "give a bootable image, not vmlinux"
    )
