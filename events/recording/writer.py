"""Write recordings; see `events.recording.reader`."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

from events.batch import Batch
from events.recording.chunks import ChunkKind, Codec, pack_batch, write_chunk, write_head

_PAGES_AT_ONCE = 1 << 20
"""Raw bytes of pages collected before a chunk is written."""
NEWEST_TASK = "newest_task"
"""Kind of the blobs with the newest task ids; the name is the number of the pass, counted among those with one."""
STACKS = "stacks"
"""Key of the paths of events that have stacks in the meta values of a recording."""


def boot_name(boot: int) -> str:
    """Return the name of the symbols of a boot in a recording; the first has none."""
    return str(boot) if boot else ""


class RecordingWriter:
    """Writer of a recording; each chunk is completely in the file when the call that wrote it returns."""

    def __init__(self, file: BinaryIO, codec: Codec = Codec.ZLIB) -> None:
        """Start a recording.

        Args:
            file: written from its beginning; stays open.
            codec: compression of the chunks; the output of XZ is two thirds of that of ZLIB, and takes ten times as
                long.
        """
        self._file = file
        self._codec = codec
        self._batches = bytearray()
        write_head(file)

    def meta(self, values: Mapping[str, Any]) -> None:
        """Add values that JSON can represent: `facts`, `plans`, `byteorder`, ..."""
        # Read only by `foreign.document`, which keeps every digit.
        self._chunk(ChunkKind.META, json.dumps(dict(values), ensure_ascii=True).encode())

    def blob(self, kind: str, name: str, data: bytes, codec: Codec | None = None) -> None:
        """Add a file of the target.

        Args:
            kind: `btf` (name: module, empty for the kernel), `format` (name: `system/event`), `header_page`,
                `symbols` and `variables` (kallsyms; name: `boot_name`), `cmdlines` (saved_cmdlines; with a number as
                name only new ones), `cgroups` (`events.store.cgroups.pack`), `newest_task` (decimal; see
                `NEWEST_TASK`), or a custom kind.
            name: name within its kind; a later blob of the same name replaces it.
            data: content.
            codec: overrides the writer's codec.
        """
        kind_bytes, name_bytes = kind.encode(), name.encode()
        head = struct.pack("<HH", len(kind_bytes), len(name_bytes))
        self._chunk(ChunkKind.BLOB, head + kind_bytes + name_bytes + data, codec)

    def pages(self, batch: Batch, codec: Codec | None = None) -> None:
        """Add one pass over the CPUs; it is written with the next megabyte, or by `flush`."""
        self._batches += pack_batch(batch)
        if len(self._batches) >= _PAGES_AT_ONCE:
            self.flush(codec)

    def flush(self, codec: Codec | None = None) -> None:
        """Write the collected passes."""
        if self._batches:
            self._chunk(ChunkKind.PAGES, bytes(self._batches), codec)
            self._batches.clear()

    def close(self) -> None:
        """Write the collected passes and the end chunk; the file stays open."""
        self.flush()
        self._chunk(ChunkKind.END, b"")

    def _chunk(self, kind: ChunkKind, raw: bytes, codec: Codec | None = None) -> None:
        if kind is not ChunkKind.PAGES:
            self.flush()
        write_chunk(self._file, kind, self._codec if codec is None else codec, raw)
