"""Read recordings: one file with everything needed to view events again without the kernel.

It contains facts about the target, its BTF, the formats of its events, kallsyms, task names, and the ring-buffer
pages of each pass. `events.recording.chunks` describes the layout of the file.
"""

from __future__ import annotations

import io
import re
import struct
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from events.batch import Batch
from events.format import EventFormat, FormatError, HeaderPage
from events.losses import UNKNOWN_TASK
from events.names.kallsyms import Symbols
from events.names.kallsyms_table import require_symbol_table
from events.recording.chunks import (
    LARGEST_CHUNK,
    ChunkEntry,
    ChunkFile,
    ChunkKind,
    Codec,
    RecordingError,
    unpack_batches,
)
from events.recording.formats import LARGEST_FORMAT, FormatBudget, RecordedFormats
from events.recording.writer import NEWEST_TASK, STACKS, RecordingWriter, boot_name
from foreign.byte_source import BytesInMemory, ByteSource, open_bytes
from foreign.document import MOST_BYTES, read_object
from foreign.refusal import InputRefusal
from foreign.text import whole_number

__all__ = ["Codec", "Recording", "RecordingError", "RecordingWriter", "parse_cmdlines"]

_NAMES = 256
"""Bytes sufficient for kind and name of most blobs."""
_LONGEST_NAME = 512
"""Maximum bytes of kind and name of a blob; the longest path of an event has 128."""
_MOST_BLOBS = 1_000_000
"""Maximum blobs, whose names are all held: a day of recording has a hundred thousand."""
_USUAL_SYMBOLS = 20 << 20
"""Bytes of symbols that a kernel may have: 250,000 lines have some eleven million."""
_KEY_DIGITS = 20
_MOST_NAMES = 64 << 20
"""Maximum total raw bytes of the names of tasks."""
_MOST_TASKS = 1 << 20
"""Maximum tasks whose names are read."""
_MOST_BOOTS = 10**9
_BOOT = re.compile("(?:[1-9][0-9]{0,8})?")
"""Name of the symbols of a boot; see `events.recording.writer.boot_name`."""
_LARGEST_FILE = 8 << 30
"""Maximum bytes of a recording; its chunks are read one by one."""


class Recording:
    """Opened recording; chunks are decompressed on demand."""

    def __init__(self, data: bytes | ByteSource, name: str = "recording") -> None:
        """Scan the chunks of a file, or of its bytes.

        Raises:
            RecordingError: the bytes are no recording of a supported version.
        """
        self.name = name
        self._file = ChunkFile(BytesInMemory(data) if isinstance(data, bytes) else data, name)

    @property
    def truncated(self) -> bool:
        """True if the file is truncated: it ends before its end chunk."""
        return self._file.truncated

    @classmethod
    def open(cls, source: str | Path | bytes) -> Recording:
        """Open a file, or bytes.

        Raises:
            RecordingError: the file cannot be read, or is no recording.
        """
        if isinstance(source, bytes):
            return cls(source)
        try:
            return cls(open_bytes(source, _LARGEST_FILE), str(source))
        except InputRefusal as error:
            raise RecordingError(str(source), 0, error.thing) from error
        except OSError as error:
            raise RecordingError(str(source), 0, error.strerror or "can't be read") from error

    @cached_property
    def meta(self) -> Mapping[str, Any]:
        """Values given to `RecordingWriter.meta`."""
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
        """Facts about the target, as given to `meta`."""
        facts = self.meta.get("facts", {})
        return facts if isinstance(facts, dict) else {}

    @property
    def plans(self) -> list[Any]:
        """Plans that were armed, as given to `meta`."""
        plans = self.meta.get("plans", [])
        return plans if isinstance(plans, list) else []

    @cached_property
    def stack_carriers(self) -> frozenset[str]:
        """Paths of the events behind which a trigger records stacks, besides those of the plans."""
        paths = self.meta.get(STACKS, [])
        return frozenset(path for path in paths if isinstance(path, str)) if isinstance(paths, list) else frozenset()

    @cached_property
    def _named(self) -> dict[int, tuple[str, str, ChunkEntry, int]]:
        """Tuples (kind, name, entry, bytes before the content) of all blobs by offset; only the names are
        decompressed.
        """
        found: dict[int, tuple[str, str, ChunkEntry, int]] = {}
        for entry in self._file.entries:
            if entry.kind != ChunkKind.BLOB:
                continue
            head = self._file.head(entry, _NAMES)
            if len(head) < 4:
                raise RecordingError(self.name, entry.offset, "damaged: no name")
            kind_length, name_length = struct.unpack_from("<HH", head)
            start = 4 + kind_length + name_length
            if start - 4 > _LONGEST_NAME or len(found) == _MOST_BLOBS:
                thing = f"a name of {start - 4} bytes" if start - 4 > _LONGEST_NAME else "more blobs"
                bound = f"{_LONGEST_NAME} bytes" if start - 4 > _LONGEST_NAME else f"{_MOST_BLOBS}"
                raise RecordingError(self.name, entry.offset, f"damaged: {thing} (at most {bound})")
            if start > len(head):
                head = self._file.head(entry, start)
            kind = sys.intern(head[4 : 4 + kind_length].decode("utf-8", "replace"))
            name = head[4 + kind_length : start].decode("utf-8", "replace")
            found[entry.offset] = (kind, name, entry, start)
        return found

    @cached_property
    def _blobs(self) -> dict[tuple[str, str], tuple[ChunkEntry, int]]:
        """Last blob of each kind and name."""
        return {(kind, name): (entry, start) for kind, name, entry, start in self._named.values()}

    def names(self, kind: str) -> list[str]:
        """Return the names of the blobs of a kind."""
        return [name for found, name in self._blobs if found == kind]

    def blob(self, kind: str, name: str = "", limit: int = LARGEST_CHUNK) -> bytes | None:
        """Return the content of a blob; None: there is none.

        Raises:
            RecordingError: the blob is damaged, or has more than `limit` bytes.
        """
        found = self._blobs.get((kind, name))
        return None if found is None else self._file.raw(found[0], limit)[found[1] :]

    def btf(self, module: str | None = None) -> bytes | None:
        """Return the raw BTF of the kernel or of a module."""
        return self.blob("btf", module or "")

    @cached_property
    def header(self) -> HeaderPage:
        """Layout of the ring-buffer pages; `byteorder` comes from `meta`, or from its `facts`."""
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
        """Last format of each id."""
        budget = FormatBudget()
        found = {}
        for path in self.names("format"):
            fmt = self._format(path, *self._blobs["format", path], budget)
            found[fmt.id] = fmt
        return found

    def every_format(self) -> tuple[EventFormat, ...]:
        """Return all formats in the order recorded: an event may have had several.

        Raises:
            RecordingError: a format is damaged.
        """
        return self._every_format

    @cached_property
    def _every_format(self) -> tuple[EventFormat, ...]:
        budget = FormatBudget()
        named = ((path, entry, start) for kind, path, entry, start in self._named.values() if kind == "format")
        found = {id(fmt): fmt for fmt in (self._format(*one, budget) for one in named)}
        return tuple(dict.fromkeys(found.values()))

    @cached_property
    def _parsed_formats(self) -> RecordedFormats:
        try:
            return RecordedFormats(self.plans, self.header.long_size)
        except InputRefusal as error:
            raise RecordingError(self.name, 0, f"damaged: {error}") from error

    def _format(self, path: str, entry: ChunkEntry, start: int, budget: FormatBudget) -> EventFormat:
        parsed = self._parsed_formats
        try:
            budget.take(entry.raw)
            return parsed.parse(path, self._file.raw(entry, LARGEST_FORMAT)[start:])
        except (FormatError, InputRefusal) as error:
            raise RecordingError(self.name, entry.offset, str(error)) from error

    def timeline(self) -> Iterator[Batch | dict[int, EventFormat]]:
        """Yield passes and formats in the order recorded; a format applies to the passes after it.

        Raises:
            RecordingError: a chunk is damaged; everything before it has been yielded.
        """
        numbers, budget = count(), FormatBudget()
        for entry in self._file.entries:
            if entry.kind == ChunkKind.PAGES:
                yield from self._passes(entry, numbers)
            elif entry.kind == ChunkKind.BLOB:
                kind, path, _, start = self._named[entry.offset]
                if kind == "format":
                    fmt = self._format(path, entry, start, budget)
                    yield {fmt.id: fmt}

    @cached_property
    def symbols(self) -> Symbols:
        """Symbols of the recorded kernel in its first boot; empty if none were recorded."""
        return Symbols(self.kallsyms(self.boot) or b"")

    @property
    def boot(self) -> int:
        """Number of the boot that the first events are of."""
        with suppress(RecordingError):
            boot = self.meta.get("boot", 0)
            return boot if type(boot) is int and 0 <= boot < _MOST_BOOTS else 0
        return 0

    @cached_property
    def boots_with_symbols(self) -> tuple[int, ...]:
        """Numbers of the boots whose symbols were recorded, in ascending order."""
        names = self.names("symbols")
        return tuple(sorted(0 if not name else int(name) for name in names if _BOOT.fullmatch(name)))

    def kallsyms(self, boot: int) -> bytes | None:
        """Return the symbols of a boot as in /proc/kallsyms; None: they were not recorded. Raises RecordingError."""
        functions, variables = (self.blob(kind, boot_name(boot)) for kind in ("symbols", "variables"))
        if functions is None:
            return None
        data = functions + (variables or b"")
        try:
            require_symbol_table(data, "")
        except InputRefusal as error:
            entry, _ = self._blobs["symbols", boot_name(boot)]
            raise RecordingError(self.name, entry.offset, str(error)) from error
        return data

    def require_symbols(self) -> None:
        """Check symbols of the first boot that have more bytes than a kernel's, which nobody reads for first rows.

        Raises:
            RecordingError: they are damaged, or too many.
        """
        found = (self._blobs.get((kind, boot_name(self.boot))) for kind in ("symbols", "variables"))
        if sum(blob[0].raw for blob in found if blob is not None) > _USUAL_SYMBOLS:
            self.kallsyms(self.boot)

    @cached_property
    def cmdlines(self) -> dict[int, str]:
        """Task names by `events.clocks.boots.task_key`: those written meanwhile, replaced by those of the end."""
        found: dict[int, str] = {}
        budget = _MOST_NAMES
        # The name of a task that the kernel forgot is in an earlier blob only.
        for name in self.names("cmdlines"):
            if self._blobs["cmdlines", name][0].raw <= budget:
                text = self.blob("cmdlines", name) or b""
                budget -= len(text)
                found |= parse_cmdlines(text, _MOST_TASKS - len(found))
        return found

    def batches(self) -> Iterator[Batch]:
        """Yield the passes in the order recorded.

        Raises:
            RecordingError: a chunk is damaged; everything before it has been yielded.
        """
        numbers = count()
        for entry in self._file.entries:
            if entry.kind == ChunkKind.PAGES:
                yield from self._passes(entry, numbers)

    def _passes(self, entry: ChunkEntry, numbers: Iterator[int]) -> Iterator[Batch]:
        """Yield the passes of a chunk; `numbers` counts those with a newest task."""
        try:
            for batch in unpack_batches(self._file.raw(entry), entry.stored):
                if batch.newest_task is not None:
                    batch.newest_task.id = self._newest_task(next(numbers))
                yield batch
        except struct.error as error:
            raise RecordingError(self.name, entry.offset, "damaged: a pass is not whole") from error
        except InputRefusal as error:
            raise RecordingError(self.name, entry.offset, f"damaged: {error}") from error

    def _newest_task(self, number: int) -> int:
        """Return the newest task id of a pass; `UNKNOWN_TASK` if none is recorded, or no valid one."""
        text = self.blob(NEWEST_TASK, str(number), _KEY_DIGITS + _NAMES) or b""
        task = whole_number(text.decode("ascii", "replace"))
        return UNKNOWN_TASK if task is None else min(task, UNKNOWN_TASK)


def parse_cmdlines(data: bytes, most: int = _MOST_TASKS) -> dict[int, str]:
    """Parse `saved_cmdlines`: one `PID COMM` per line, of the first `most` tasks; a recording has an
    `events.clocks.boots.task_key` for PID.
    """
    found: dict[int, str] = {}
    for line in io.BytesIO(data):  # one by one: all lines as a list take several times as much memory
        pid, _, comm = line.strip().partition(b" ")
        if len(found) == most:
            break
        if pid.isdigit() and len(pid) < _KEY_DIGITS:
            found[int(pid)] = comm.decode("utf-8", "backslashreplace")
    return found
