"""Recordings of call graphs: the events of a real tracer, on the kernel of the recording that ships."""

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
(`data/make_graph_recordings.py`).
"""


def graph_recording(path: Path, kernel: str = "full") -> Path:
    """Write a recording that can be opened: facts and types of one kernel, a graph of another of its release."""
    path.write_bytes(_written(kernel))
    return path


@functools.cache
def _written(kernel: str) -> bytes:
    """Return the bytes of the recording; to write it takes 0.4 s."""
    shipped = shipped_recording()
    assert shipped is not None
    facts, graph = Recording.open(shipped), Recording.open(DATA / f"graph-{kernel}.pwr")
    with io.BytesIO() as file:
        writer = RecordingWriter(file)
        writer.meta({"facts": facts.facts, "byteorder": "little"})
        for name in FACT_BLOBS:
            writer.blob("facts", name, facts.blob("facts", name) or b"")
        writer.blob("btf", "", facts.blob("btf") or b"")
        for kind in ("symbols", "header_page", "cmdlines"):
            writer.blob(kind, "", graph.blob(kind) or b"")
        for entry in graph.timeline():
            if isinstance(entry, Batch):
                writer.pages(entry)
            else:
                for fmt in entry.values():
                    writer.blob("format", fmt.path, fmt.source.encode())
        writer.close()
        return file.getvalue()
