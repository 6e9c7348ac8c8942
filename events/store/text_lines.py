"""Lines of trace_pipe as rows: the text dialect of a target without python."""

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
"""Numbers from here on are ours: common_type has 16 bits."""
_UNESCAPED = {"0": "\0", "n": "\n"}
"""Letters behind a zero byte: all lines of an event are kept as one."""
_ESCAPE = re.compile("\0([0n])")


class IndexedText(NamedTuple):
    """What a piece of text held."""

    pieces: tuple[bytes, ...]
    """To be kept as slabs; the keys count their bytes."""
    walked: SubbufferEvents
    lost: Counter[int]
    """Lost events by CPU."""
    lost_unknown: Counter[int]
    """How often some were lost and the kernel did not say how many."""
    gaps: list[tuple[int, int]]
    """Times between which they were lost."""
    breaks: list[int]
    """Keys of the first events behind lost ones."""
    losses: list[tuple[int, int, int]]
    """Time of such an event, its CPU, and how many were lost in front of it; -1: the kernel did not say."""


class LineIndex:
    """Finds the events in pieces of text as they come; a piece may end anywhere."""

    def __init__(self, formats: Mapping[int, EventFormat]) -> None:
        self._events = TextEvents(formats)
        self._ids = {fmt.name: number for number, fmt in formats.items()}
        self._names: dict[int, str] = {}
        self._last: dict[int, int] = {}
        """CPU -> time of its last event."""
        self._lost_on: dict[int, int] = {}
        """CPU -> how many were lost in front of its next event; -1: the kernel did not say."""

    def use(self, number: int, fmt: EventFormat) -> None:
        """From now on an event of this name is this one (the text does not say the group)."""
        self._ids[fmt.name] = number
        self._events.use(fmt)

    def name(self, number: int) -> str:
        """Name of an event without a format; empty: no such id was given."""
        return self._names.get(number, "")

    @property
    def held(self) -> int:
        """Number of events that wait as they may go on behind their line, 0 or 1."""
        return self._events.held

    def begin_anew(self) -> None:
        """Times of what comes from now on are of a clock that has begun again."""
        self._last.clear()
        self._lost_on.clear()

    def index(self, data: bytes, first_slab: int, *, final: bool = False, cut: bool = False) -> IndexedText:
        """Take the next piece.

        Args:
            data: it.
            first_slab: number of the slab that is made of it.
            final: nothing goes on behind the last line's end.
            cut: nothing of before goes on in this piece.
        """
        lists: Lists = ([], [], [])
        stamps, keys, ids = lists
        found = IndexedText((), SubbufferEvents(*lists, 0), Counter(), Counter(), [], [], [])
        bad = 0
        pieces = [bytearray()]
        before = self._events.cut() if cut else []
        for one in (*before, *self._events.feed(data, final=final)):
            if one.line is not None:
                if len(pieces[-1]) > WORD_MASK >> 1:
                    pieces.append(bytearray())
                key = first_slab + len(pieces) - 1 << WORD_BITS | len(pieces[-1])
                self._behind_loss(one.line, key, found)
                stamps.append(one.line.ts)
                keys.append(key)
                ids.append(self._id(one.line.event or STACKS.get(one.line.text, "")))
                pieces[-1] += _escaped(b"\n".join(one.lines) if len(one.lines) > 1 else one.lines[0])
                pieces[-1] += b"\n"
            elif one.lost is not None:
                self._lose(*one.lost, found)
            else:
                bad += bool(one.lines[0].strip()) and not one.lines[0].startswith((b" => ", b"#"))
        texts = tuple(bytes(piece) for piece in pieces if piece)
        return found._replace(pieces=texts, walked=SubbufferEvents(*lists, bad))

    def _behind_loss(self, line: TextLine, key: int, found: IndexedText) -> None:
        """Take an event, which may be the first of its CPU behind lost ones."""
        if line.cpu in self._lost_on:
            found.gaps.append((self._last.get(line.cpu, 0), line.ts))
            found.losses.append((line.ts, line.cpu, self._lost_on.pop(line.cpu)))
            found.breaks.append(key)
        self._last[line.cpu] = line.ts

    def _lose(self, cpu: int, number: int, found: IndexedText) -> None:
        if number < 0:
            found.lost_unknown[cpu] += 1
        else:
            found.lost[cpu] += number
        known = self._lost_on.get(cpu, 0)
        self._lost_on[cpu] = -1 if min(known, number) < 0 else known + number

    def _id(self, name: str) -> int:
        number = self._ids.get(name)
        if number is None:
            number = self._ids[name] = FIRST_OWN_ID * 2 + len(self._names)
            self._names[number] = name or "text"
        return number

    def event_text(self, page: bytes, at: int) -> str:
        """Return the text of an event at a byte of a page, with all of its lines."""
        end = page.find(b"\n", at)
        text = page[at : end if end >= 0 else len(page)].decode("utf-8", "backslashreplace")
        return _ESCAPE.sub(lambda match: _UNESCAPED.get(match[1], match[0]), text) if "\0" in text else text


def _escaped(text: bytes) -> bytes:
    return text.replace(b"\0", b"\00").replace(b"\n", b"\0n") if b"\0" in text or b"\n" in text else text
