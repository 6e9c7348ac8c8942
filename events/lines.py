"""Lines of trace_pipe as rows: the text dialect of a target without python."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from events.format import EventFormat
from events.subbuffer import WORD_BITS, WORD_MASK, Lists, Walked
from events.text import parse_line, parse_lost

FIRST_OWN_ID = 1 << 16
"""Numbers from here on are ours: common_type has 16 bits."""


_STACK_LINES = {"<stack trace>": "kernel_stack", "<user stack trace>": "user_stack"}
"""How lines begin that no name of an event stands in: trace_stack_print() and trace_user_stack_print()."""
_STACK_BEGINS = re.compile(rb": <(?:user )?stack trace>\n")


class Indexed(NamedTuple):
    """What a piece of text held."""

    pieces: tuple[bytes, ...]
    """To be kept as slabs; the keys count their bytes."""
    walked: Walked
    lost: Counter[int]
    """Lost events by CPU."""
    lost_unknown: Counter[int]
    """How often some were lost and the kernel did not say how many."""
    gaps: list[tuple[int, int]]
    """Times between which they were lost."""
    breaks: list[int]
    """Keys of the first events behind lost ones."""


class LineIndex:
    """Finds the events in pieces of text as they come; a piece may end anywhere."""

    def __init__(self, formats: Mapping[int, EventFormat]) -> None:
        self._rest = b""
        self._ids = {fmt.name: number for number, fmt in formats.items()}
        self._names: dict[int, str] = {}
        self._last: dict[int, int] = {}
        """CPU -> time of its last event."""
        self._lost_on: set[int] = set()
        """CPUs whose next event comes after lost ones."""

    def use(self, number: int, fmt: EventFormat) -> None:
        """From now on an event of this name is this one (the text does not say the group)."""
        self._ids[fmt.name] = number

    def name(self, number: int) -> str:
        """Name of an event without a format; empty: no such id was given."""
        return self._names.get(number, "")

    @property
    def held(self) -> int:
        """Whether an event waits that may go on behind its line, 0 or 1: a stack, or a quote that is not closed."""
        return int(self._rest.endswith(b"\n"))

    def begin_anew(self) -> None:
        """Times of what comes from now on are of a clock that has begun again."""
        self._last.clear()
        self._lost_on.clear()

    def index(self, data: bytes, first_slab: int, final: bool = False) -> Indexed:
        """Take the next piece; `final`: nothing goes on behind the last line's end."""
        text = self._rest + data
        end = text.rfind(b"\n") + 1 if final else _whole(text)
        self._rest = text[end:][-WORD_MASK:]
        lists: Lists = ([], [], [])
        found = Indexed((), Walked(*lists, 0), Counter(), Counter(), [], [])
        pieces = tuple(_pieces(text[:end]))
        bad = sum(self._piece(piece, number, lists, found) for number, piece in enumerate(pieces, first_slab))
        return found._replace(pieces=pieces, walked=Walked(*lists, bad))

    def _piece(self, piece: bytes, number: int, lists: Lists, found: Indexed) -> int:
        stamps, keys, ids = lists
        at = bad = 0
        for raw in piece.removesuffix(b"\n").split(b"\n"):
            text = raw.decode("utf-8", "backslashreplace")
            line = parse_line(text)
            if line is not None:
                if line.cpu in self._lost_on:
                    found.gaps.append((self._last.get(line.cpu, 0), line.ts))
                    self._lost_on.discard(line.cpu)
                    found.breaks.append(number << WORD_BITS | at)
                self._last[line.cpu] = line.ts
                stamps.append(line.ts)
                keys.append(number << WORD_BITS | at)
                ids.append(self._id(line.event or _STACK_LINES.get(line.text, "")))
            elif (lost := parse_lost(text)) is not None:
                if lost[1] < 0:
                    found.lost_unknown[lost[0]] += 1
                else:
                    found.lost[lost[0]] += lost[1]
                self._lost_on.add(lost[0])
            elif not keys and text.strip() and not text.startswith((" => ", "#")):
                bad += 1  # else it goes on with what the event above it says: a stack, a string with a line's end
            at += len(raw) + 1
        return bad

    def _id(self, name: str) -> int:
        number = self._ids.get(name)
        if number is None:
            number = self._ids[name] = FIRST_OWN_ID * 2 + len(self._names)
            self._names[number] = name or "text"
        return number

    def event_text(self, page: bytes, at: int) -> str:
        """The line at a byte of a page, with those below it that belong to it."""
        end = page.find(b"\n", at)
        while 0 <= end < len(page) - 1 and not _begins(page, end + 1):
            end = page.find(b"\n", end + 1)
        return page[at : end if end >= 0 else len(page)].decode("utf-8", "backslashreplace")


def _begins(text: bytes, at: int) -> bool:
    """Whether an event, or the word about lost ones, begins with this line."""
    end = text.find(b"\n", at)
    line = text[at : end if end >= 0 else len(text)].decode("utf-8", "backslashreplace")
    return parse_line(line) is not None or parse_lost(line) is not None


def _whole(text: bytes) -> int:
    """End of the last whole event: a string, or a stack, may go on behind the last line's end."""
    end = text.rfind(b"\n") + 1
    at = end
    while at and len(text) - at < WORD_MASK:
        at = text.rfind(b"\n", 0, at - 1) + 1
        if _begins(text, at):
            goes_on = text.count(b'"', at, end) % 2 or _STACK_BEGINS.search(text, at, end)
            return at if goes_on else end
    return end


def _pieces(text: bytes) -> list[bytes]:
    """Split at line ends into pieces that a key can address."""
    pieces = []
    while len(text) > WORD_MASK:
        cut = text.rfind(b"\n", 0, WORD_MASK) + 1 or WORD_MASK
        pieces.append(text[:cut])
        text = text[cut:]
    return [*pieces, text] if text else pieces
