"""Read a recording with the lines that a command wrote in front of younger events.

A line is recorded once its connection has brought it, behind events that came earlier and are younger; live, these
are held until then (`events.store.store.Store.hold_after`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from events.batch import Batch
from events.format import EventFormat
from events.recording.reader import Recording, RecordingError

COMMAND_OUTPUT: Final = "command/output"
"""Path of the events that are lines of a command."""
_AHEAD: Final = 8 << 20
"""Bytes of passes in front of a line that may hold younger events: seconds of the fastest recordings."""
_OF_ENTRY: Final = 512
"""Bytes of an entry without its data."""

Entry = Batch | dict[int, EventFormat]


def timeline_with_lines(recording: Recording) -> Iterator[Entry]:
    """Yield passes and formats in the order recorded; lines of commands, with their format, `_AHEAD` bytes earlier.

    A store holds them until all older events are there. None comes before the reboot that it followed.

    Raises:
        RecordingError: a chunk is damaged; everything before it has been yielded.
    """
    if not any(fmt.path == COMMAND_OUTPUT for fmt in recording.formats.values()):
        yield from recording.timeline()
        return
    ahead = deque[Entry]()
    size = lines_at = 0  # the latter: place in `ahead` behind the lines and the last reboot
    try:
        for entry in recording.timeline():
            size += _size(entry)
            if _is_of_lines(entry):
                ahead.insert(lines_at, entry)
                lines_at += 1
            else:
                ahead.append(entry)
            if isinstance(entry, Batch) and entry.booted:
                lines_at = len(ahead)
            while size > _AHEAD:
                passed = ahead.popleft()
                lines_at = max(0, lines_at - 1)
                size -= _size(passed)
                yield passed
    except RecordingError:
        yield from ahead
        raise
    yield from ahead


def _is_of_lines(entry: Entry) -> bool:
    if isinstance(entry, Batch):
        return not entry.is_pass
    return any(fmt.path == COMMAND_OUTPUT for fmt in entry.values())


def _size(entry: Entry) -> int:
    """Return about the bytes of memory that an entry takes: passes may be empty, and many."""
    return _OF_ENTRY + (sum(len(chunk.data) for chunk in entry.chunks) if isinstance(entry, Batch) else 0)
