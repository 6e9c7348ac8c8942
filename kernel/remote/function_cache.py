"""Cache function lists of remote kernels: they are the largest part of the data read at the start.

A kernel generates these lists at each read, slowly.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernel.errors import FileRefused
from kernel.remote import boot_cache

LISTS = ("/sys/kernel/tracing/available_filter_functions", "/sys/kernel/debug/kprobes/blacklist")


def fetch(
    reader: boot_cache.FileReader, target: str, contents: Mapping[str, bytes | FileRefused]
) -> Mapping[str, bytes | FileRefused]:
    """Return the lists, cached if the key is equal; empty if the dialect can't read many files at once.

    Args:
        reader: reads files of the target.
        target: the user's name of the target.
        contents: file contents just read, as for `boot_cache.boot_key`.
    """
    if not contents:
        return {}
    key = boot_cache.boot_key(reader, target, contents)
    lists: dict[str, bytes | FileRefused] = {}
    for path in LISTS:
        entry = boot_cache.load(target, path, key)
        if entry is not None:
            lists[path] = entry
    missing = [path for path in LISTS if path not in lists]
    if not missing:
        return lists
    fetched = reader.ahead(missing)
    if boot_cache.unchanged(reader, target, contents, key):
        for path, content in fetched.items():
            if isinstance(content, bytes) and content:
                boot_cache.save(target, path, key, content)
    return {**lists, **fetched}
