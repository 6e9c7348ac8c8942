"""A recording with its events twice, the second time of another boot, whose kernel lies elsewhere (KASLR)."""

from __future__ import annotations

import struct
from pathlib import Path

from events.clocks.boots import task_key
from events.decode import Decoder
from events.recording.reader import Recording, RecordingWriter
from events.store.outage_mark import Outage
from events.store.store import Store

_KERNEL = 0xFFFFFFFF80000000
"""Lowest address of the kernel's own functions (x86-64)."""
_SECONDS = 4.0


def two_boots(source: Path, path: Path, slide: int) -> Path:
    """Write a recording with its events again, of a boot in which functions are `slide` bytes higher."""
    whole = Recording.open(source)
    symbols = whole.blob("symbols", "") or b""
    batches = list(whole.batches())
    store = Store(Decoder(whole.formats, whole.header))
    store.feed(*batches)
    with path.open("wb") as file:
        writer = RecordingWriter(file)
        writer.meta({**whole.meta, "cuts": [{"seconds": _SECONDS, "booted": True}]})
        for kind, name, entry, start in whole._named.values():
            data = whole._file.raw(entry)[start:]
            writer.blob(kind, name, data)
            if kind == "symbols":
                writer.blob(
                    kind, "1", b"".join(_moved_symbol(line, slide) for line in data.splitlines(keepends=True))
                )
            if kind == "cmdlines":
                writer.blob(kind, f"b1{name}", b"".join(map(_task_of_second_boot, data.splitlines())))
        for batch in batches:
            writer.pages(batch)
        writer.pages(Outage.lasting(_SECONDS, booted=True).batch(store.latest))
        addresses = [int(line[:16], 16) for line in symbols.splitlines() if _is_moved(line)]
        for batch in batches:
            chunks = (c._replace(data=_moved(c.data, min(addresses), max(addresses), slide)) for c in batch.chunks)
            writer.pages(batch._replace(chunks=tuple(chunks)))
        writer.close()
    return path


def _is_moved(line: bytes) -> bool:
    """Return whether a line of /proc/kallsyms is of the kernel itself, not of a module."""
    return b"\t" not in line and int(line[:16], 16) >= _KERNEL


def _moved_symbol(line: bytes, slide: int) -> bytes:
    return b"%016x%b" % (int(line[:16], 16) + slide, line[16:]) if _is_moved(line) else line


def _task_of_second_boot(line: bytes) -> bytes:
    pid, _, name = line.partition(b" ")
    return b"%d %b\n" % (task_key(int(pid), 1), name)


def _moved(pages: bytes, lowest: int, highest: int, slide: int) -> bytes:
    """Return pages of the ring buffer with all addresses of functions `slide` bytes higher."""
    found = bytearray(pages)
    at = found.find(b"\xff\xff\xff\xff")
    while at >= 0:
        if at % 4 == 0 and at >= 4 and lowest <= (address := struct.unpack_from("<Q", found, at - 4)[0]) <= highest:
            struct.pack_into("<Q", found, at - 4, address + slide)
            at += 3
        at = found.find(b"\xff\xff\xff\xff", at + 1)
    return bytes(found)
