"""Cache the symbols of remote kernels: ten megabytes, of which only those of BPF programs and probes change.

The kernel lists its own symbols, then those of its modules, then the symbols that come and go (kernel/kallsyms.c,
update_iter). The first two are cached; the end of the file is read each time, and shows whether the rest is still so.
"""

from __future__ import annotations

from kernel.errors import FileRefused
from kernel.remote import boot_cache
from kernel.remote.boot_cache import FileReader

KALLSYMS = "/proc/kallsyms"
_OVERLAP = 4096
"""Bytes of the cached part that are read again with the end: they differ where addresses or rights do."""


def fetch(reader: FileReader, target: str, limit: int) -> bytes:
    """Return /proc/kallsyms up to `limit` bytes as it is now. Raises FileRefused and TargetLost as `read` does.

    Args:
        reader: reads files of the target.
        target: the user's name of the target.
        limit: bytes; a table that reaches it is not cached.
    """
    contents = reader.ahead([boot_cache.BOOT, boot_cache.MODULES])
    key = boot_cache.boot_key(reader, target, contents) if contents else ""
    lasting = boot_cache.load(target, KALLSYMS, key)
    if lasting is not None and (table := _completed(reader, lasting, limit)):
        return table
    table = reader.read(KALLSYMS, limit)
    modules = contents.get(boot_cache.MODULES, b"")
    if len(table) < limit and boot_cache.unchanged(reader, target, contents, key):
        lasting = lasting_part(table, b"" if isinstance(modules, FileRefused) else modules)
        if len(lasting) > _OVERLAP:
            boot_cache.save(target, KALLSYMS, key, lasting)
    return table


def lasting_part(table: bytes, modules: bytes) -> bytes:
    """Return the lines of kallsyms up to the last one of the kernel or of a module listed in /proc/modules."""
    names = {b"[" + line.split(None, 1)[0] + b"]" for line in modules.splitlines() if line.strip()}
    end = table.rfind(b"\n") + 1
    while end:
        start = table.rfind(b"\n", 0, end - 1) + 1
        _, tab, module = table[start : end - 1].rpartition(b"\t")
        if not tab or module in names:
            break
        end = start
    return table[:end]


def _completed(reader: FileReader, lasting: bytes, limit: int) -> bytes:
    """Return the cached part with the present end of the file behind it; empty: the cached part is outdated."""
    start = len(lasting) - _OVERLAP
    if start < 0 or limit <= len(lasting):
        return b""
    end = reader.read(KALLSYMS, limit - start, start)
    return lasting + end[_OVERLAP:] if end[:_OVERLAP] == lasting[start:] else b""
