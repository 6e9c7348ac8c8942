"""Makes events-7.2.pwr of a recording that shipped once: its events, without facts, types and symbols.

python -m tests.data.make_events FILE.pwr
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from events.recording.reader import Recording, RecordingWriter
from tests.recording_chunks import FIRST_ADDRESSES, OF_THE_KERNEL, first_addresses, stored_chunks

OUT = Path(__file__).parent / "events-7.2.pwr"


def trim(data: bytes) -> bytes:
    """Return a recording without what `tests.events_recording` takes of the one that ships."""
    symbols = Recording.open(data).kallsyms(0) or b""
    with io.BytesIO() as file:
        writer = RecordingWriter(file)
        for chunk in stored_chunks(data, lambda kind, _: kind not in OF_THE_KERNEL):
            file.write(chunk)
        writer.meta({FIRST_ADDRESSES: first_addresses(symbols)})
        writer.close()
        return file.getvalue()


if __name__ == "__main__":
    OUT.write_bytes(trim(Path(sys.argv[1]).read_bytes()))
