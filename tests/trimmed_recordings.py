"""Recordings of a moment of a real kernel, with facts and types of the recording that ships: they can be opened."""

from __future__ import annotations

import functools
import io
from pathlib import Path

from events.batch import Batch
from events.recording.reader import Recording, RecordingWriter
from kernel.connection.open_target import shipped_recording
from kernel.recording.target import FACT_BLOBS

DATA = Path(__file__).parent / "data"
"""`graph-full.pwr` and `graph-failures.pwr` have arguments and return values, `graph-7.2.pwr` arguments
(`data/make_graph_recordings.py`); `stacks-7.2.pwr` has calls of kfree, vfs_read (both ends) and vfs_write with their
stacks (`data/make_stacks.py`).
"""


def graph_recording(path: Path, kernel: str = "full") -> Path:
    """Write a call graph of a kernel: events of a real tracer."""
    return stack_recording(path, DATA / f"graph-{kernel}.pwr")


def stack_recording(path: Path, data: Path = DATA / "stacks-7.2.pwr") -> Path:
    """Write a recording of trimmed `data`, by default of events with kernel stacks; gives its path."""
    path.write_bytes(_written(data))
    return path


@functools.cache
def _written(data: Path) -> bytes:
    """Return the bytes of the recording; to write it takes 0.4 s."""
    shipped = shipped_recording()
    assert shipped is not None
    facts, trimmed = Recording.open(shipped), Recording.open(data)
    with io.BytesIO() as file:
        writer = RecordingWriter(file)
        writer.meta({**trimmed.meta, "facts": facts.facts})
        for name in FACT_BLOBS:
            writer.blob("facts", name, facts.blob("facts", name) or b"")
        writer.blob("btf", "", facts.blob("btf") or b"")
        for kind in ("symbols", "header_page", "cmdlines"):
            writer.blob(kind, "", trimmed.blob(kind) or b"")
        for entry in trimmed.timeline():
            if isinstance(entry, Batch):
                writer.pages(entry)
            else:
                for fmt in entry.values():
                    writer.blob("format", fmt.path, fmt.source.encode())
        writer.close()
        return file.getvalue()
