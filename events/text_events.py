"""Lines of trace_pipe put together into events: a name or a string may have a line's end in it.

The kernel escapes nothing. An event goes on until it has all that its format prints (`events.printed_end`), and
behind it another begins, or the word about lost ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from events.format import EventFormat
from events.printed_end import MOST, PrintedEnd, PrintedText
from events.subbuffer import WORD_MASK
from events.text import TextLine, parse_line, parse_lost, parse_padded

STACKS = {"<stack trace>": "kernel_stack", "<user stack trace>": "user_stack"}
"""Names of events that begin without one: trace_stack_print() and trace_user_stack_print()."""
_LONGEST_NAME = 16
"""Bytes that a task's name is filled up to."""


class TextEvent(NamedTuple):
    """Some lines that belong together; with neither `line` nor `lost` they are no event."""

    lines: tuple[bytes, ...]
    line: TextLine | None = None
    lost: tuple[int, int] | None = None
    """See `events.text.parse_lost`."""


class _Open:
    """An event that may go on."""

    __slots__ = ("_is_stack", "_is_whole", "end", "given", "head", "line", "lines", "losses", "size", "whole")

    def __init__(self, lines: list[bytes], line: TextLine, end: PrintedEnd | None) -> None:
        self.line = line
        self.lines = lines
        self.end = end
        self.whole = 0
        """Number of lines with which it was whole, the most that were; 0: it never was."""
        self.given = False
        """Whether it was given out before it was whole."""
        self.size = sum(map(len, lines))
        self.head = len(lines)
        """Number of lines up to the end of the first."""
        self.losses = 0
        """Lines behind those with which it was whole, up to the first that does not say how many events were lost."""
        self._is_stack = line.text in STACKS
        self._is_whole = self._way_to_tell()
        self._look(line.text.removeprefix(f"{line.event}:"))

    def add(self, raw: bytes, text: str) -> None:
        """Take one more line."""
        self.lines.append(raw)
        self.size += len(raw) + 1
        is_loss = bool(self.whole) and parse_lost(text) is not None
        if is_loss and self.losses == self.extra - 1:
            self.losses += 1
        self._look(text, alone=is_loss)

    @property
    def extra(self) -> int:
        """Number of lines behind those with which it was whole."""
        return len(self.lines) - self.whole

    @property
    def waits(self) -> bool:
        """Whether it may go on though it is whole."""
        return self._is_stack or (self.end is not None and self.end.has_texts)

    def goes_on(self, raw: bytes) -> bool:
        """Whether a line with which nothing begins may be of it."""
        if self._is_stack:
            return raw.startswith(b" =>")
        return self.end is None or self.end.has_texts

    def _way_to_tell(self) -> Callable[[str], bool]:
        """Return what takes each line in turn, and tells whether the event is whole with it."""
        if self.end is None and not self._is_stack:
            return _Quotes().add
        if self.end is None or self._is_stack or not self.end.has_texts:
            return lambda _: True
        return PrintedText(self.end).add

    def _look(self, text: str, *, alone: bool = False) -> None:
        """Look whether it is whole with one more line; `alone`: only another line makes that a part of it."""
        if self._is_whole(text) and not alone:
            self.whole, self.losses = len(self.lines), 0


class _Quotes:
    """A text whose strings stand between quotes, of which nothing else is known."""

    def __init__(self) -> None:
        self._number = 0

    def add(self, line: str) -> bool:
        """Take one more line; return whether no string is open behind it."""
        self._number += line.count('"')
        return self._number % 2 == 0


class TextEvents:
    """Puts lines together as they come; a piece may end anywhere."""

    def __init__(self, formats: Mapping[int, EventFormat]) -> None:
        """Take the formats; see `use`."""
        self._ends: dict[str, PrintedEnd] = {}
        self._by_format: set[str] = set()
        """Names of events that were whole by their format once."""
        self._partial = b""
        self._out: list[TextEvent] = []
        self._open: _Open | None = None
        self._loose: list[bytes] = []
        """Lines of no event; the next may tell that they begin a task's name."""
        for fmt in formats.values():
            self.use(fmt)

    def use(self, fmt: EventFormat) -> None:
        """From now on events of this name have this format."""
        end = PrintedEnd(fmt)
        self._ends.pop(fmt.name, None)
        if end.is_known:
            self._ends[fmt.name] = end

    @property
    def held(self) -> int:
        """Number of events that may go on and were not given out, 0 or 1."""
        return int(self._open is not None and not self._open.given)

    def feed(self, data: bytes, *, final: bool) -> list[TextEvent]:
        """Take the next piece; `final`: nothing goes on behind the last line's end, as far as that is known."""
        *whole, self._partial = (self._partial + data).split(b"\n")
        self._partial = self._partial[-WORD_MASK:]
        lines = deque(whole)
        while lines:
            self._take(lines.popleft()[:WORD_MASK])
            if self._open is not None and self._open.size > MOST:
                self._give_up(self._open, lines)
        now = self._open
        if now is not None and now.whole and now.losses == now.extra and (final or not now.waits):
            self._close(now)
        elif now is not None and final and not now.given:
            now.given = True
            if now.end is None:
                self._open = None  # else what may still come of it is no other event
            self._out.append(TextEvent(tuple(now.lines[: now.whole or None]), now.line))
        if final:
            self._drop_loose()
        given, self._out = self._out, []
        return given

    def cut(self) -> list[TextEvent]:
        """End all that waits: what comes now is no continuation of it."""
        given = self.feed(b"\n" if self._partial else b"", final=True)
        self._open = None
        return given

    def _take(self, raw: bytes) -> None:
        now, text = self._open, _decoded(raw)
        may_begin = now is None or now.whole
        behind = len(self._loose) if now is None else now.extra
        if may_begin and not behind:  # as nearly always
            if (line := parse_line(text)) is not None:
                if now is not None:
                    self._close(now)
                self._open = _Open([raw], line, self._ends.get(line.event))
                return
        elif may_begin:
            before = self._loose if now is None else now.lines[-min(behind, _LONGEST_NAME) :]
            others = 0 if now is None else behind - now.losses
            named, line = self._head(raw, text, before, others)
            if line is not None:
                lines = [*before[len(before) - named :], raw]
                if now is not None:
                    self._close(now, named)
                else:
                    del before[len(before) - named :]
                    self._drop_loose()
                self._open = _Open(lines, line, self._ends.get(line.event))
                return
        if now is not None and (not now.whole or parse_lost(text) is not None or now.goes_on(raw)):
            now.add(raw, text)
            return
        if now is not None:
            self._close(now)
        if (lost := parse_lost(text)) is not None:
            self._drop_loose()
            self._out.append(TextEvent((raw,), lost=lost))
        else:
            self._loose.append(raw)
            # A name is shorter than what it is filled up to, with blanks in front of it.
            if not self._loose[0].startswith(b" ") or len(b"\n".join(self._loose)) > _LONGEST_NAME:
                self._drop_loose()

    def _head(self, raw: bytes, text: str, before: list[bytes], others: int) -> tuple[int, TextLine | None]:
        """Return the number of lines before that begin the name of the task, and the head of the event; None: none.

        `before` are the last lines behind the event before; of all behind it, so many `others` from the end must be
        of the name, as they or what is in front of them say no loss.
        """
        for number in range(1, min(len(before), _LONGEST_NAME) + 1):
            name = b"\n".join(before[-number:])
            if len(name) > _LONGEST_NAME:
                break
            if number >= others:
                line = parse_padded(_decoded(name + b"\n" + raw))
                if line is not None:
                    return number, line
        return 0, None if others else parse_line(text)

    def _close(self, now: _Open, named: int = 0) -> None:
        """Give an event that is whole, and what was lost behind it; its last lines, so many, are another's."""
        self._open = None
        if now.end is not None and now.end.has_texts:
            self._by_format.add(now.line.event)
        if not now.given:
            self._out.append(TextEvent(tuple(now.lines[: now.whole]), now.line))
        for raw in now.lines[now.whole : len(now.lines) - named]:
            self._out.append(TextEvent((raw,), lost=parse_lost(_decoded(raw))))

    def _give_up(self, now: _Open, lines: deque[bytes]) -> None:
        """End an event that is longer than the kernel makes one; what is behind it is looked at anew."""
        self._open = None
        if not now.whole and now.line.event not in self._by_format:
            self._ends.pop(now.line.event, None)  # it is printed in another way than the format says
        end = now.whole or now.head
        if not now.given:
            self._out.append(TextEvent(tuple(now.lines[:end]), now.line))
        lines.extendleft(reversed(now.lines[end:]))

    def _drop_loose(self) -> None:
        loose, self._loose = self._loose, []
        self._out += [TextEvent((raw,)) for raw in loose]


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")
