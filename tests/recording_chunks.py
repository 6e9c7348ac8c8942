"""Copies of recordings chunk by chunk, as they are stored, and of the symbols of a kernel as of another boot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from events.recording.chunks import ChunkKind
from events.recording.reader import Recording

OF_THE_KERNEL = frozenset(("facts", "btf", "symbols", "variables"))
"""Kinds of blobs that are of a kernel, whatever is recorded on it."""
FIRST_ADDRESSES = "first_addresses"
"""Key of the result of `first_addresses` in the meta values of trimmed recordings."""
_HEAD = 20
"""Bytes of a chunk in front of what it stores (`events.recording.chunks`)."""


def stored_chunks(data: bytes, is_kept: Callable[[str, str], bool]) -> Iterator[bytes]:
    """Yield the chunks of a recording that are kept, without the end; `is_kept` takes kind and name of a blob, which
    are empty for other chunks.
    """
    found = Recording.open(data)
    for entry in found._file.entries:
        kind, name, *_ = found._named.get(entry.offset, ("", ""))
        if entry.kind != ChunkKind.END and is_kept(kind, name):
            yield data[entry.offset - _HEAD : entry.offset + entry.stored]


def first_addresses(kallsyms: bytes) -> tuple[int, int]:
    """Return the lowest addresses of a kernel and of its modules: a boot puts each where chance has it."""
    lines = kallsyms.splitlines()
    own, modules = (min(int(line[:16], 16) for line in lines if is_module == (b"\t" in line)) for is_module in (0, 1))
    return own, modules


def moved_symbols(kallsyms: bytes, first: Sequence[int]) -> bytes:
    """Return the symbols of a boot in which a kernel and its modules have other lowest addresses."""
    shifts = [there - here for there, here in zip(first, first_addresses(kallsyms), strict=True)]
    lines = kallsyms.splitlines(keepends=True)
    return b"".join(b"%016x%s" % (int(line[:16], 16) + shifts[b"\t" in line], line[16:]) for line in lines)
