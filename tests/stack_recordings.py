"""A recording of events with kernel stacks of a real kernel, on facts and types of the recording that ships."""

from __future__ import annotations

import functools
import io
from pathlib import Path

from events.batch import Batch
from events.recording.reader import Recording, RecordingWriter
from kernel.connection.open_target import shipped_recording
from kernel.recording.target import FACT_BLOBS

DATA = Path(__file__).parent / "data" / "stacks-7.2.pwr"
"""Calls of kfree, vfs_read (both ends) and vfs_write with their stacks (`data/make_stacks.py`)."""


def stack_recording(path: Path, data: Path = DATA) -> Path:
    """Write a recording that can be opened, of trimmed `data`; gives its path."""
    path.write_bytes(_written(data))
    return path


@functools.cache
def _written(data: Path) -> bytes:
    """Return the bytes of the recording; to write it takes 0.4 s."""
    shipped = shipped_recording()
    assert shipped is not None
    facts, stacks = Recording.open(shipped), Recording.open(data)
    with io.BytesIO() as file:
        writer = RecordingWriter(file)
        writer.meta({**stacks.meta, "facts": facts.facts})
        for name in FACT_BLOBS:
            writer.blob("facts", name, facts.blob("facts", name) or b"")
        writer.blob("btf", "", facts.blob("btf") or b"")
        for kind in ("symbols", "header_page", "cmdlines"):
            writer.blob(kind, "", stacks.blob(kind) or b"")
        for entry in stacks.timeline():
            if isinstance(entry, Batch):
                writer.pages(entry)
            else:
                for fmt in entry.values():
                    writer.blob("format", fmt.path, fmt.source.encode())
        writer.close()
        return file.getvalue()
