"""BTF of far kernels, kept near: fetched once a kernel and host, compressed, checked when read back.

The key is the kernel's own build-id (/sys/kernel/notes) with its release, and the module's; the name of the target
is part of it, so that a host which lies about its build-id spoils only its own entry.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import tempfile
import zlib
from pathlib import Path
from typing import Protocol

import platformdirs

from foreign.files import read_file
from foreign.packed import inflate
from foreign.refusal import InputRefusal
from kernel.errors import FileRefused
from kernel.safe_files.ownership import distrust

MAX_BTF = 64 << 20
"""Bytes; the largest kernels have 15 MB."""
_MAGIC = b"probewright btf 1\n"


class BtfReader(Protocol):
    def read(self, path: str, limit: int) -> bytes: ...


def folder() -> Path:
    """Where the application keeps what it can get again; PROBEWRIGHT_CACHE overrides."""
    return Path(os.environ.get("PROBEWRIGHT_CACHE") or platformdirs.user_cache_dir("probewright")) / "btf"


def fetch(far: BtfReader, host: str, module: str | None = None) -> bytes:
    """BTF of the kernel or of a module, from the cache where it is the same. Raises FileRefused as `read` does."""
    path = f"/sys/kernel/btf/{module or 'vmlinux'}"
    if module and ("/" in module or module.startswith(".")):
        raise FileRefused(path, 22)
    key = _key(far, host, module)
    kept = load(key) if key else None
    if kept is None:
        kept = far.read(path, MAX_BTF)
        if key:
            with contextlib.suppress(OSError):  # a full or read-only disk costs time only
                save(key, kept)
    return kept


def _key(far: BtfReader, host: str, module: str | None) -> str:
    """Name of the entry; empty where the kernel shows no build-id."""
    parts = [host.encode()]
    paths = ["/sys/kernel/notes", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/version"]
    if module:
        paths.append(f"/sys/module/{module}/notes/.note.gnu.build-id")
    try:
        parts += [far.read(path, 1 << 16) for path in paths]
    except FileRefused:
        return ""
    return hashlib.sha256(b"".join(b"%d:%s" % (len(part), part) for part in parts)).hexdigest()[:32]


def load(key: str) -> bytes | None:
    """An entry of that name; None where there is none, a damaged one, or one that another user may have put there."""
    path = folder() / key
    if distrust(folder()):
        return None
    try:
        data = read_file(path, MAX_BTF)
    except (OSError, InputRefusal):
        return None
    magic, digest, packed = data[: len(_MAGIC)], data[len(_MAGIC) : len(_MAGIC) + 32], data[len(_MAGIC) + 32 :]
    with contextlib.suppress(InputRefusal):
        btf = inflate(packed, str(path), MAX_BTF)
        if magic == _MAGIC and hashlib.sha256(btf).digest() == digest:
            return btf
    with contextlib.suppress(OSError):
        path.unlink()
    return None


def save(key: str, btf: bytes) -> None:
    """Keep an entry: written beside and renamed, so that two of us never see half an entry."""
    folder().mkdir(parents=True, exist_ok=True)
    if why := distrust(folder()):
        raise PermissionError(errno.EPERM, why)
    fd, name = tempfile.mkstemp(dir=folder())
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(_MAGIC + hashlib.sha256(btf).digest() + zlib.compress(btf, 1))
        os.replace(name, folder() / key)
    except OSError:
        os.unlink(name)
        raise
