"""Lists of functions of far kernels, kept near: they hold while the same modules are loaded in the same boot.

A kernel makes these lists anew at each read, which takes it long, and they are most of what a start brings over the
line. Only those of one boot of a target are kept.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
from collections.abc import Mapping, Sequence
from typing import Protocol

from foreign.text import encoded
from kernel.errors import FileRefused
from kernel.remote import btf_cache

LISTS = ("/sys/kernel/tracing/available_filter_functions", "/sys/kernel/debug/kprobes/blacklist")
_BOOT = "/proc/sys/kernel/random/boot_id"
_MODULES = "/proc/modules"
_MOST_MODULES = 1000


class ListReader(Protocol):
    def ahead(self, paths: Sequence[str]) -> Mapping[str, bytes | FileRefused]: ...


def fetch(
    far: ListReader, target: str, known: Mapping[str, bytes | FileRefused]
) -> Mapping[str, bytes | FileRefused]:
    """The lists, from here where they are the same; nothing where the far side can't read many files at once.

    Args:
        far: reads what is not known.
        target: what the user calls it: a host that lies spoils only its own entries.
        known: of `_BOOT` and `_MODULES` at least, as they were just read.
    """
    if not known:
        return {}
    key = _key(far, target, known)
    found: dict[str, bytes | FileRefused] = {}
    for path in LISTS:
        kept = btf_cache.load(_name(target, path, key)) if key else None
        if kept is not None:
            found[path] = kept
    missing = [path for path in LISTS if path not in found]
    if not missing:
        return found
    read = far.ahead(missing)
    # A module that came in between would be in the lists, and not in what they are kept under.
    if key and _key(far, target, {**known, **far.ahead([_MODULES])}) == key:
        for path, content in read.items():
            if isinstance(content, bytes) and content:
                _keep(target, path, key, content)
    return {**found, **read}


def _key(far: ListReader, target: str, known: Mapping[str, bytes | FileRefused]) -> str:
    """Changes with the boot, and with each module; empty where it can't be told whether it is the same one."""
    boot, modules = known.get(_BOOT), known.get(_MODULES)
    if not isinstance(boot, bytes) or not boot.strip():
        return ""
    if not isinstance(modules, bytes) and (modules is None or modules.errno != errno.ENOENT):
        return ""  # there are modules, and they are not told
    parts = [encoded(target), boot.strip()]
    if isinstance(modules, bytes):
        # NAME SIZE REFERENCES DEPENDENCIES STATE ADDRESS: the third and the fourth change with who uses it.
        rows = [line.split() for line in modules.splitlines()]
        if len(rows) > _MOST_MODULES or any(len(row) < 6 for row in rows):
            return ""
        parts += sorted(b" ".join((row[0], row[1], row[4], row[5])) for row in rows)
        # One that was built anew may be as large and at the same place.
        names = sorted(row[0].decode("utf-8", "replace") for row in rows)
        ids = far.ahead([f"/sys/module/{name}/notes/.note.gnu.build-id" for name in names]) if names else {}
        if len(ids) < len(names):
            return ""
        for path in sorted(ids):
            read = ids[path]
            if isinstance(read, FileRefused):
                return ""
            parts.append(read)
    return hashlib.sha256(b"".join(b"%d:%s" % (len(part), part) for part in parts)).hexdigest()[:32]


def _name(target: str, path: str, key: str) -> str:
    whose = hashlib.sha256(encoded(f"{target}\n{path}")).hexdigest()[:16]
    return f"list-{whose}-{key}"


def _keep(target: str, path: str, key: str, data: bytes) -> None:
    """In the place of those of another boot, or of other modules."""
    name = _name(target, path, key)
    with contextlib.suppress(OSError):  # a full or read-only disk costs time only
        for old in btf_cache.folder().glob(f"{name.removesuffix(key)}*"):
            old.unlink(missing_ok=True)
        btf_cache.save(name, data)
