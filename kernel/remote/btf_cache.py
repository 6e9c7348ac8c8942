"""Cache BTF of remote kernels on local disk: fetched once per kernel and host, compressed, checked when read back.

The key consists of the kernel's own build-id (/sys/kernel/notes) with its release, the module's build-id, and the
name of the target, so that a host which reports a false build-id spoils only its own entry.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import tempfile
import time
import zlib
from pathlib import Path
from typing import Protocol

import platformdirs

from foreign.files import read_file
from foreign.packed import inflate
from foreign.refusal import InputRefusal
from kernel.errors import FileRefused
from kernel.safe_files.ownership import distrust_reason

MAX_BTF = 64 << 20
"""Bytes; the BTF of the largest kernels is 15 MB."""
_MAGIC = b"probewright btf 1\n"
_UNFINISHED = "unfinished-"
"""Beginning of the name of a file that is being written."""
_WRITE_SECONDS = 3600
"""Seconds after which nobody writes such a file any more."""


class BtfReader(Protocol):
    def read(self, path: str, limit: int) -> bytes: ...


def folder() -> Path:
    """Return the cache folder for data that can be fetched again; PROBEWRIGHT_CACHE overrides it."""
    return Path(os.environ.get("PROBEWRIGHT_CACHE") or platformdirs.user_cache_dir("probewright")) / "btf"


def fetch(reader: BtfReader, host: str, module: str | None = None) -> bytes:
    """Return BTF of the kernel or of a module, cached if its key is equal. Raises FileRefused as `read` does."""
    path = f"/sys/kernel/btf/{module or 'vmlinux'}"
    if module and ("/" in module or module.startswith(".")):
        raise FileRefused(path, 22)
    key = _key(reader, host, module)
    btf = load(key) if key else None
    if btf is None:
        btf = reader.read(path, MAX_BTF)
        if key:
            with contextlib.suppress(OSError):  # a full or read-only disk costs time only
                save(key, btf)
    return btf


def _key(reader: BtfReader, host: str, module: str | None) -> str:
    """Return the name of the cache entry; empty if the kernel shows no build-id."""
    parts = [host.encode()]
    paths = ["/sys/kernel/notes", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/version"]
    if module:
        paths.append(f"/sys/module/{module}/notes/.note.gnu.build-id")
    try:
        parts += [reader.read(path, 1 << 16) for path in paths]
    except FileRefused:
        return ""
    return hashlib.sha256(b"".join(b"%d:%s" % (len(part), part) for part in parts)).hexdigest()[:32]


def load(key: str) -> bytes | None:
    """Return a cache entry; None if missing, damaged, or possibly written by another user."""
    path = folder() / key
    if distrust_reason(folder()):
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
    """Write a cache entry. Raises OSError."""
    write_entry(folder() / key, _MAGIC + hashlib.sha256(btf).digest() + zlib.compress(btf, 1))


def write_entry(path: Path, data: bytes) -> None:
    """Write a file of the cache: beside its place, then renamed, so that concurrent processes never see half of it.

    Raises OSError, also where others may change the folder.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if reason := distrust_reason(path.parent):
        raise PermissionError(errno.EPERM, reason)
    for unfinished in path.parent.glob(f"{_UNFINISHED}*"):  # of a process that was killed meanwhile
        with contextlib.suppress(OSError):
            if unfinished.stat().st_mtime < time.time() - _WRITE_SECONDS:
                unfinished.unlink()
    fd, name = tempfile.mkstemp(dir=path.parent, prefix=_UNFINISHED)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except OSError:
        os.unlink(name)
        raise
