"""Recordings: one file with all that is needed to look at events again where there is no kernel.

It holds what was known of the target, its BTF, the formats of its events, kallsyms, names of tasks, and the pages of
the ring buffer pass by pass. `events.recording.chunks` has the layout of the file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from events.batch import Batch
from events.format import EventFormat, FormatError, HeaderPage, parse_format
from events.names.kallsyms import Symbols
from events.recording.chunks import (
    LARGEST_CHUNK,
    ChunkEntry,
    ChunkFile,
    ChunkKind,
    Codec,
    RecordingError,
    unpack_batches,
)
from events.recording.writer import RecordingWriter
from foreign.document import MOST_BYTES, read_object
from foreign.files import read_file
from foreign.refusal import InputRefusal

__all__ = ["Codec", "Recording", "RecordingError", "RecordingWriter", "parse_cmdlines"]

_NAMES = 256
"""Bytes in which kind and name of most blobs have room."""
_MOST_FORMATS = 32 << 20
"""Most raw bytes of all format files."""
_LARGEST_FORMAT = 1 << 20
_LARGEST_FILE = 8 << 30
"""Bytes of a recording, which is read whole."""


class Recording:
    """A recording that was opened; chunks are unpacked when they are asked for."""

    def __init__(self, data: bytes, name: str = "recording") -> None:
        """Look through the chunks of a file's bytes.

        Raises:
            RecordingError: it is no recording of a version that can be read.
        """
        self.name = name
        self._file = ChunkFile(data, name)

    @property
    def truncated(self) -> bool:
        """Whether the file was cut: it ends before its end chunk."""
        return self._file.truncated

    @classmethod
    def open(cls, source: str | Path | bytes) -> Recording:
        """Open a file, or bytes.

        Raises:
            RecordingError: it can't be read, or is no recording.
        """
        if isinstance(source, bytes):
            return cls(source)
        try:
            return cls(read_file(source, _LARGEST_FILE), str(source))
        except InputRefusal as error:
            raise RecordingError(str(source), 0, error.thing) from error
        except OSError as error:
            raise RecordingError(str(source), 0, error.strerror or "can't be read") from error

    @cached_property
    def meta(self) -> Mapping[str, Any]:
        """All values given to `RecordingWriter.meta`."""
        found: dict[str, Any] = {}
        for entry in self._file.entries:
            if entry.kind != ChunkKind.META:
                continue
            try:
                found.update(read_object(self._file.raw(entry, MOST_BYTES), ""))
            except InputRefusal as error:
                raise RecordingError(self.name, entry.offset, f"damaged: {error}") from error
        return found

    @property
    def facts(self) -> dict[str, Any]:
        """What was known of the target, as it was given to `meta`."""
        facts = self.meta.get("facts", {})
        return facts if isinstance(facts, dict) else {}

    @property
    def plans(self) -> list[Any]:
        """The plans that were armed, as they were given to `meta`."""
        plans = self.meta.get("plans", [])
        return plans if isinstance(plans, list) else []

    @cached_property
    def _named(self) -> dict[int, tuple[str, str, ChunkEntry, int]]:
        """(kind, name, entry, bytes before the content) of all blobs by their offset; only the names are unpacked."""
        found = {}
        for entry in self._file.entries:
            if entry.kind != ChunkKind.BLOB:
                continue
            head = self._file.head(entry, _NAMES)
            if len(head) < 4:
                raise RecordingError(self.name, entry.offset, "damaged: no name")
            kind_length, name_length = struct.unpack_from("<HH", head)
            start = 4 + kind_length + name_length
            if start > len(head):
                head = self._file.head(entry, start)
            kind = head[4 : 4 + kind_length].decode("utf-8", "replace")
            name = head[4 + kind_length : start].decode("utf-8", "replace")
            found[entry.offset] = (kind, name, entry, start)
        return found

    @cached_property
    def _blobs(self) -> dict[tuple[str, str], tuple[ChunkEntry, int]]:
        """The last blob of each kind and name."""
        return {(kind, name): (entry, start) for kind, name, entry, start in self._named.values()}

    def names(self, kind: str) -> list[str]:
        """Names of the blobs of a kind."""
        return [name for found, name in self._blobs if found == kind]

    def blob(self, kind: str, name: str = "", limit: int = LARGEST_CHUNK) -> bytes | None:
        """Content of a blob; None: there is none.

        Raises:
            RecordingError: it is damaged, or has more than `limit` bytes.
        """
        found = self._blobs.get((kind, name))
        return None if found is None else self._file.raw(found[0], limit)[found[1] :]

    def btf(self, module: str | None = None) -> bytes | None:
        """Raw BTF of the kernel or of a module."""
        return self.blob("btf", module or "")

    @cached_property
    def header(self) -> HeaderPage:
        """Layout of the pages; `byteorder` comes from `meta`, or from its `facts`."""
        order = self.meta.get("byteorder") or self.facts.get("byteorder") or "little"
        text = self.blob("header_page", limit=1 << 16)
        if text is None:
            return HeaderPage("big" if order == "big" else "little")
        try:
            return HeaderPage.parse(text.decode("utf-8", "replace"), str(order))
        except FormatError as error:
            raise RecordingError(self.name, self._blobs["header_page", ""][0].offset, str(error)) from error

    @cached_property
    def formats(self) -> dict[int, EventFormat]:
        """Formats by id."""
        found = {}
        budget = _MOST_FORMATS
        for path in self.names("format"):
            entry = self._blobs["format", path][0]
            text = self.blob("format", path, budget) or b""
            budget -= len(text)
            fmt = self._format(path, text, entry)
            found[fmt.id] = fmt
        return found

    def every_format(self) -> tuple[EventFormat, ...]:
        """Return all formats in the order in which they were recorded: an event may have had several.

        Raises:
            RecordingError: one is damaged.
        """
        return self._every_format

    @cached_property
    def _every_format(self) -> tuple[EventFormat, ...]:
        found: dict[EventFormat, None] = {}
        budget = _MOST_FORMATS
        for kind, path, entry, start in self._named.values():
            if kind == "format":
                text = self._file.raw(entry, min(budget, _LARGEST_FORMAT))[start:]
                budget -= len(text)
                found[self._format(path, text, entry)] = None
        return tuple(found)

    def _format(self, path: str, text: bytes, entry: ChunkEntry) -> EventFormat:
        try:
            system, _, _ = path.rpartition("/")
            return parse_format(text.decode("utf-8", "replace"), system, self.header.long_size)
        except FormatError as error:
            raise RecordingError(self.name, entry.offset, f"format of {path}: {error}") from error

    def timeline(self) -> Iterator[Batch | dict[int, EventFormat]]:
        """Passes and formats in the order in which they were recorded; a format holds for the passes behind it.

        Raises:
            RecordingError: a chunk is damaged; what came before it was given.
        """
        for entry in self._file.entries:
            if entry.kind == ChunkKind.PAGES:
                yield from self._passes(entry)
            elif entry.kind == ChunkKind.BLOB:
                kind, path, _, start = self._named[entry.offset]
                if kind == "format":
                    fmt = self._format(path, self._file.raw(entry, _LARGEST_FORMAT)[start:], entry)
                    yield {fmt.id: fmt}

    @cached_property
    def symbols(self) -> Symbols:
        """Symbols of that kernel; knows nothing where none were recorded."""
        return Symbols(self.blob("symbols") or b"")

    @cached_property
    def cmdlines(self) -> dict[int, str]:
        """Names of tasks by thread id."""
        return parse_cmdlines(self.blob("cmdlines") or b"")

    def batches(self) -> Iterator[Batch]:
        """The passes as they were recorded.

        Raises:
            RecordingError: a chunk is damaged; what came before it was given.
        """
        for entry in self._file.entries:
            if entry.kind == ChunkKind.PAGES:
                yield from self._passes(entry)

    def _passes(self, entry: ChunkEntry) -> Iterator[Batch]:
        try:
            yield from unpack_batches(self._file.raw(entry), entry.stored)
        except struct.error as error:
            raise RecordingError(self.name, entry.offset, "damaged: a pass is not whole") from error
        except InputRefusal as error:
            raise RecordingError(self.name, entry.offset, f"damaged: {error}") from error


def parse_cmdlines(data: bytes) -> dict[int, str]:
    """Read `saved_cmdlines`: `PID COMM` a line."""
    found = {}
    for line in data.decode("utf-8", "backslashreplace").split("\n"):
        pid, _, comm = line.strip().partition(" ")
        if pid.isascii() and pid.isdecimal() and len(pid) < 10:
            found[int(pid)] = comm
    return found
