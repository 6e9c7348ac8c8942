"""Index lines of trace_pipe as rows, for targets that have no Python and send text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from events.format import EventFormat
from events.subbuffer import WORD_BITS, WORD_MASK, Lists, SubbufferEvents
from events.text import TextLine
from events.text_events import STACKS, TextEvents

FIRST_OWN_ID = 1 << 16
"""First number of formats that do not come from the kernel: common_type has 16 bits."""
_MOST_NAMES = 1 << 14
"""Names of events without a format that are told apart."""
_OTHERS = "text"
"""Name of further ones, and of those without a name."""
_UNESCAPED = {"0": "\0", "n": "\n"}
"""Decoding of the escapes after a zero byte: all lines of an event are stored as one."""
_ESCAPE = re.compile("\0([0n])")


class IndexedText(NamedTuple):
    """Events of a piece of text."""

    pieces: tuple[bytes, ...]
    """Text to be stored as slabs; the keys count their bytes."""
    events: SubbufferEvents
    lost_counts: Counter[int]
    """Number of lost events by CPU."""
    uncounted_losses: Counter[int]
    """Number of times, by CPU, that events were lost and the kernel did not report how many."""
    gaps: list[tuple[int, int]]
    """Pairs of times between which events were lost."""
    breaks: list[int]
    """Keys of the first events after lost ones."""
    losses: list[tuple[int, int, int]]
    """Time of such an event, its CPU, and the number of events lost before it; -1: not reported by the kernel."""


class LineIndex:
    """Index of the events in consecutive pieces of text; a piece may end anywhere."""

    def __init__(self, formats: Mapping[int, EventFormat]) -> None:
        self._events = TextEvents(formats)
        self._ids = {fmt.name: number for number, fmt in formats.items()}
        self._names: dict[int, str] = {}
        self._last: dict[int, int] = {}
        """Time of the last event by CPU."""
        self._lost_before: dict[int, int] = {}
        """Number of events lost before the next one, by CPU; -1: not reported by the kernel."""

    def use(self, number: int, fmt: EventFormat) -> None:
        """Assign later events of this name to this format (the text does not name the group)."""
        self._ids[fmt.name] = number
        self._events.use(fmt)

    def name(self, number: int) -> str:
        """Return the name of an event without a format; empty: unknown id."""
        return self._names.get(number, "")

    @property
    def held_events(self) -> int:
        """Number of events, 0 or 1, held back because following lines may belong to them."""
        return self._events.held_events

    def begin_anew(self) -> None:
        """Handle a reset of the trace clock: later input uses a new clock."""
        self._last.clear()
        self._lost_before.clear()

    def index(self, data: bytes, first_slab: int, *, final: bool = False, after_gap: bool = False) -> IndexedText:
        """Index the next piece of text.

        Args:
            data: the text.
            first_slab: number of the slab that will hold it.
            final: the last line is complete and has no continuation.
            after_gap: nothing in this piece continues an earlier one.
        """
        lists: Lists = ([], [], [])
        stamps, keys, ids = lists
        found = IndexedText((), SubbufferEvents(*lists, 0), Counter(), Counter(), [], [], [])
        bad = 0
        pieces = [bytearray()]
        before = self._events.end_all() if after_gap else []
        for item in (*before, *self._events.feed(data, final=final)):
            if item.line is not None:
                if len(pieces[-1]) > WORD_MASK >> 1:
                    pieces.append(bytearray())
                key = first_slab + len(pieces) - 1 << WORD_BITS | len(pieces[-1])
                self._note_event(item.line, key, found)
                stamps.append(item.line.ts)
                keys.append(key)
                ids.append(self._id(item.line.event or STACKS.get(item.line.text, "")))
                pieces[-1] += _escape(b"\n".join(item.lines) if len(item.lines) > 1 else item.lines[0])
                pieces[-1] += b"\n"
            elif item.loss is not None:
                self._note_loss(*item.loss, found)
            else:
                bad += bool(item.lines[0].strip()) and not item.lines[0].startswith((b" => ", b"#"))
        texts = tuple(bytes(piece) for piece in pieces if piece)
        return found._replace(pieces=texts, events=SubbufferEvents(*lists, bad))

    def _note_event(self, line: TextLine, key: int, found: IndexedText) -> None:
        """Record an event, which may be the first one of its CPU after a loss."""
        if line.cpu in self._lost_before:
            found.gaps.append((self._last.get(line.cpu, 0), line.ts))
            found.losses.append((line.ts, line.cpu, self._lost_before.pop(line.cpu)))
            found.breaks.append(key)
        self._last[line.cpu] = line.ts

    def _note_loss(self, cpu: int, number: int, found: IndexedText) -> None:
        if number < 0:
            found.uncounted_losses[cpu] += 1
        else:
            found.lost_counts[cpu] += number
        previous = self._lost_before.get(cpu, 0)
        self._lost_before[cpu] = -1 if min(previous, number) < 0 else previous + number

    def _id(self, name: str) -> int:
        number = self._ids.get(name)
        if number is None and len(self._names) >= _MOST_NAMES:
            name = ""
            number = self._ids.get(name)
        if number is None:
            number = self._ids[name] = FIRST_OWN_ID * 2 + len(self._names)
            self._names[number] = name or _OTHERS
        return number

    def event_text(self, slab: bytes, at: int) -> str:
        """Return the text of the event at a byte offset of a slab, with all of its lines."""
        end = slab.find(b"\n", at)
        text = slab[at : end if end >= 0 else len(slab)].decode("utf-8", "backslashreplace")
        return _ESCAPE.sub(lambda match: _UNESCAPED.get(match[1], match[0]), text) if "\0" in text else text


def _escape(text: bytes) -> bytes:
    return text.replace(b"\0", b"\00").replace(b"\n", b"\0n") if b"\0" in text or b"\n" in text else text
