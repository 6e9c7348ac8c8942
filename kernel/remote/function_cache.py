"""Cache function lists of remote kernels on local disk: valid for one boot and one set of loaded modules.

A kernel generates these lists at each read, slowly, and they are the largest part of the data read at the start. Only
the lists of one boot of a target are stored.
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

LISTS = ("/sys/kernel/tracing/available_filter_functions", "/sys/kernel/debug/kprobes/blacklist")
_BOOT = "/proc/sys/kernel/random/boot_id"
_MODULES = "/proc/modules"
_MOST_MODULES = 1000


class ListReader(Protocol):
    def ahead(self, paths: Sequence[str]) -> Mapping[str, bytes | FileRefused]: ...


def fetch(
    reader: ListReader, target: str, contents: Mapping[str, bytes | FileRefused]
) -> Mapping[str, bytes | FileRefused]:
    """Return the lists, cached if the key is equal; empty if the dialect can't read many files at once.

    Args:
        reader: reads files of the target.
        target: the user's name of the target: a host that sends false data spoils only its own entries.
        contents: file contents just read, of `_BOOT` and `_MODULES` at least.
    """
    if not contents:
        return {}
    key = _key(reader, target, contents)
    lists: dict[str, bytes | FileRefused] = {}
    for path in LISTS:
        entry = btf_cache.load(_name(target, path, key)) if key else None
        if entry is not None:
            lists[path] = entry
    missing = [path for path in LISTS if path not in lists]
    if not missing:
        return lists
    fetched = reader.ahead(missing)
    # A module loaded in between would be in the lists, but not in their key.
    if key and _key(reader, target, {**contents, **reader.ahead([_MODULES])}) == key:
        for path, content in fetched.items():
            if isinstance(content, bytes) and content:
                _save(target, path, key, content)
    return {**lists, **fetched}


def _key(reader: ListReader, target: str, contents: Mapping[str, bytes | FileRefused]) -> str:
    """Return a key that changes with the boot and with each module; empty if one of them can't be identified."""
    boot, modules = contents.get(_BOOT), contents.get(_MODULES)
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


def _name(target: str, path: str, key: str) -> str:
    digest = hashlib.sha256(encode_text(f"{target}\n{path}")).hexdigest()[:16]
    return f"list-{digest}-{key}"


def _save(target: str, path: str, key: str, data: bytes) -> None:
    """Write the entry, replacing those of other boots or other sets of modules."""
    name = _name(target, path, key)
    with contextlib.suppress(OSError):  # a full or read-only disk costs time only
        for stale in btf_cache.folder().glob(f"{name.removesuffix(key)}*"):
            stale.unlink(missing_ok=True)
        btf_cache.save(name, data)
