"""Cache files of remote kernels that stay the same for one boot and one set of loaded modules, on local disk.

Only the entries of one boot of a target are stored.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
from collections.abc import Mapping, Sequence
from typing import Protocol

from foreign.text import encode_text
from kernel.errors import FileRefused
from kernel.remote import btf_cache

BOOT = "/proc/sys/kernel/random/boot_id"
MODULES = "/proc/modules"
_MOST_MODULES = 1000


class FileReader(Protocol):
    """Reader of the files of a remote host."""

    def ahead(self, paths: Sequence[str]) -> Mapping[str, bytes | FileRefused]:
        """Return the contents of many small files, in one round trip."""

    def read(self, path: str, limit: int, offset: int = 0) -> bytes:
        """Return up to `limit` bytes of a file. Raises FileRefused, TargetLost."""


def boot_key(reader: FileReader, target: str, contents: Mapping[str, bytes | FileRefused]) -> str:
    """Return a key that changes with the boot and with each module; empty if one of them can't be identified.

    Args:
        reader: reads the build-ids of the modules.
        target: the user's name of the target: a host that sends false data spoils only its own entries.
        contents: file contents just read, of `BOOT` and `MODULES` at least.
    """
    boot, modules = contents.get(BOOT), contents.get(MODULES)
    if not isinstance(boot, bytes) or not boot.strip():
        return ""
    if not isinstance(modules, bytes) and (modules is None or modules.errno != errno.ENOENT):
        return ""  # there are modules, but /proc/modules can't be read
    parts = [encode_text(target), boot.strip()]
    if isinstance(modules, bytes):
        # NAME SIZE REFERENCES DEPENDENCIES STATE ADDRESS: the third and the fourth change with the users of a module.
        rows = [line.split() for line in modules.splitlines()]
        if len(rows) > _MOST_MODULES or any(len(row) < 6 for row in rows):
            return ""
        parts += sorted(b" ".join((row[0], row[1], row[4], row[5])) for row in rows)
        # A rebuilt module may have the same size and address.
        names = sorted(row[0].decode("utf-8", "replace") for row in rows)
        ids = reader.ahead([f"/sys/module/{name}/notes/.note.gnu.build-id" for name in names]) if names else {}
        if len(ids) < len(names):
            return ""
        for path in sorted(ids):
            build_id = ids[path]
            if isinstance(build_id, FileRefused):
                return ""
            parts.append(build_id)
    return hashlib.sha256(b"".join(b"%d:%s" % (len(part), part) for part in parts)).hexdigest()[:32]


def unchanged(reader: FileReader, target: str, contents: Mapping[str, bytes | FileRefused], key: str) -> bool:
    """Return whether the key is still so: a module loaded meanwhile would be in a list, but not in its key."""
    return bool(key) and boot_key(reader, target, {**contents, **reader.ahead([MODULES])}) == key


def load(target: str, path: str, key: str) -> bytes | None:
    """Return the content of a file under a key; None: not cached."""
    return btf_cache.load(_name(target, path, key)) if key else None


def save(target: str, path: str, key: str, data: bytes) -> None:
    """Write the content of a file under a key, replacing those of other boots or other sets of modules."""
    name = _name(target, path, key)
    with contextlib.suppress(OSError):  # a full or read-only disk costs time only
        for stale in btf_cache.folder().glob(f"{name.removesuffix(key)}*"):
            stale.unlink(missing_ok=True)
        btf_cache.save(name, data)


def _name(target: str, path: str, key: str) -> str:
    digest = hashlib.sha256(encode_text(f"{target}\n{path}")).hexdigest()[:16]
    return f"list-{digest}-{key}"
