"""Our code inside a guest that has Python and its standard library, and nothing else."""

from __future__ import annotations

import importlib.util
import io
import subprocess
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import platformdirs

from kernel.lab.guest import Guest
from tests.real.command import TOP

CORE = ("btf", "events", "foreign", "kernel", "probes")
PROGRAM = (*CORE, "tui")


def put_code(guest: Guest, packages: Iterable[str], files: Mapping[str, bytes | Path]) -> None:
    """Unpack packages of ours, what they need and files into /pw."""
    folders = [(TOP / name, name) for name in packages] + [(Path(platformdirs.__file__).parent, "platformdirs")]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as tar:
        for folder, name in folders:
            for path in sorted(folder.rglob("*.py")):
                _add_module(tar, path, f"{name}/{path.relative_to(folder)}")
        for name, content in files.items():
            _add(tar, name, content if isinstance(content, bytes) else content.read_bytes())
        _add(tar, "probewright-0.dist-info/METADATA", b"Metadata-Version: 2.1\nName: probewright\nVersion: 0\n")
    subprocess.run([*guest.ssh_command, "mkdir -p /pw && tar xz -C /pw"], input=buffer.getvalue(), check=True)


def _add_module(tar: tarfile.TarFile, path: Path, name: str) -> None:
    """Add a module with its bytecode, where it is there: the same Python starts sooner, others ignore it."""
    tar.add(path, name, filter=_whole_seconds)
    bytecode = Path(importlib.util.cache_from_source(str(path)))
    if bytecode.exists():
        tar.add(bytecode, f"{name.rpartition('/')[0]}/__pycache__/{bytecode.name}")


def _whole_seconds(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """Cut the time that bytecode is compared with: tarfile rounds it, and a second later is another file."""
    info.mtime = int(info.mtime)
    return info


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))
