"""The recording that tests look at in place of the one that ships: of the same kernel, with events that stay."""

from __future__ import annotations

from pathlib import Path

from events.recording.reader import Recording, RecordingWriter
from tests.recording_chunks import FIRST_ADDRESSES, moved_symbols, stored_chunks

SHIPPED = Path(__file__).parents[1] / "tui/default.pwr"
EVENTS = Path(__file__).parent / "data" / "events-7.2.pwr"
"""Events of four probes while files are read and written, with all but the facts, types and symbols of their kernel
(`data/make_events.py`).
"""


def write_events_recording(folder: Path) -> None:
    """Write the recording under the name of the one that ships, with its facts and types, and its symbols as of the
    boot of the events.
    """
    data, events = SHIPPED.read_bytes(), EVENTS.read_bytes()
    shipped, own = Recording.open(data), Recording.open(events)
    meta, *others = stored_chunks(events, lambda *_: True)
    with (folder / SHIPPED.name).open("wb") as file:
        writer = RecordingWriter(file)
        for chunk in (meta, *stored_chunks(data, lambda kind, _: kind in ("facts", "btf"))):  # in the usual order
            file.write(chunk)
        symbols = moved_symbols(shipped.kallsyms(shipped.boot) or b"", own.meta[FIRST_ADDRESSES])
        writer.blob("symbols", "", symbols)
        file.writelines(others)
        writer.close()
