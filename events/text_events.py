"""Combine lines of trace_pipe to events: task names and strings may contain line breaks.

The kernel escapes nothing. An event continues until everything that its format prints has been found
(`events.printed_end`), and another event, or the message about lost ones, follows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from events.format import EventFormat
from events.printed_end import MAX_EVENT_BYTES, PrintedEnd, PrintedText
from events.subbuffer import WORD_MASK
from events.text import TextLine, parse_line, parse_lost, parse_padded

STACKS = {"<stack trace>": "kernel_stack", "<user stack trace>": "user_stack"}
"""Names of the events printed without a name: trace_stack_print() and trace_user_stack_print()."""
_LONGEST_NAME = 16
"""Bytes to which a task name is padded."""


class TextEvent(NamedTuple):
    """Lines that belong together; without `line` and `loss` they are no event."""

    lines: tuple[bytes, ...]
    line: TextLine | None = None
    loss: tuple[int, int] | None = None
    """CPU and number of lost events; see `events.text.parse_lost`."""


class _OpenEvent:
    """Event that may continue on the next line."""

    __slots__ = ("_is_stack", "_is_whole", "end", "given", "head", "line", "lines", "losses", "size", "whole")

    def __init__(self, lines: list[bytes], line: TextLine, end: PrintedEnd | None) -> None:
        self.line = line
        self.lines = lines
        self.end = end
        self.whole = 0
        """Number of lines of the longest complete text so far; 0: not complete yet."""
        self.given = False
        """True if the event was returned before it was complete."""
        self.size = sum(map(len, lines))
        self.head = len(lines)
        """Number of lines up to the end of the first one."""
        self.losses = 0
        """Number of loss messages directly after the complete text."""
        self._is_stack = line.text in STACKS
        self._is_whole = self._completion_check()
        self._update_whole(line.text.removeprefix(f"{line.event}:"))

    def add(self, raw: bytes, text: str) -> None:
        """Append a line."""
        self.lines.append(raw)
        self.size += len(raw) + 1
        is_loss = bool(self.whole) and parse_lost(text) is not None
        if is_loss and self.losses == self.extra - 1:
            self.losses += 1
        self._update_whole(text, alone=is_loss)

    @property
    def extra(self) -> int:
        """Number of lines after the complete text."""
        return len(self.lines) - self.whole

    @property
    def waits(self) -> bool:
        """True if the event may continue although it is complete."""
        return self._is_stack or (self.end is not None and self.end.has_texts)

    def goes_on(self, raw: bytes) -> bool:
        """Return whether a line that begins no event may belong to this one."""
        if self._is_stack:
            return raw.startswith(b" =>")
        return self.end is None or self.end.has_texts

    def _completion_check(self) -> Callable[[str], bool]:
        """Return a function that takes each line in turn and returns whether the event is complete with it."""
        if self.end is None and not self._is_stack:
            return _Quotes().add
        if self.end is None or self._is_stack or not self.end.has_texts:
            return lambda _: True
        return PrintedText(self.end).add

    def _update_whole(self, text: str, *, alone: bool = False) -> None:
        """Update `whole` for one more line; with `alone`, the line only counts if a later one completes the text."""
        if self._is_whole(text) and not alone:
            self.whole, self.losses = len(self.lines), 0


class _Quotes:
    """Text of an unknown format whose strings are in quotes."""

    def __init__(self) -> None:
        self._number = 0

    def add(self, line: str) -> bool:
        """Append a line; return whether no quoted string is open after it."""
        self._number += line.count('"')
        return self._number % 2 == 0


class TextEvents:
    """Combination of lines to events as they arrive; a piece may end anywhere."""

    def __init__(self, formats: Mapping[int, EventFormat]) -> None:
        """Take the formats; see `use`."""
        self._ends: dict[str, PrintedEnd] = {}
        self._by_format: set[str] = set()
        """Names of events that were once complete according to their format."""
        self._partial = b""
        self._out: list[TextEvent] = []
        self._open: _OpenEvent | None = None
        self._loose: list[bytes] = []
        """Lines that belong to no event, unless the next line shows that they begin a task name."""
        for fmt in formats.values():
            self.use(fmt)

    def use(self, fmt: EventFormat) -> None:
        """Set the format of later events of this name."""
        end = PrintedEnd(fmt)
        self._ends.pop(fmt.name, None)
        if end.is_known:
            self._ends[fmt.name] = end

    @property
    def held_events(self) -> int:
        """Number of events, 0 or 1, that may continue and have not been returned."""
        return int(self._open is not None and not self._open.given)

    def feed(self, data: bytes, *, final: bool) -> list[TextEvent]:
        """Process the next piece of text and return its events; `final`: nothing is known to continue the last
        line.
        """
        *whole, self._partial = (self._partial + data).split(b"\n")
        self._partial = self._partial[-WORD_MASK:]
        lines = deque(whole)
        while lines:
            self._take(lines.popleft()[:WORD_MASK])
            if self._open is not None and self._open.size > MAX_EVENT_BYTES:
                self._abandon(self._open, lines)
        current = self._open
        if current is not None and current.whole and current.losses == current.extra and (final or not current.waits):
            self._close(current)
        elif current is not None and final and not current.given:
            current.given = True
            if current.end is None:
                self._open = None  # otherwise later lines may still belong to it
            self._out.append(TextEvent(tuple(current.lines[: current.whole or None]), current.line))
        if final:
            self._drop_loose()
        events, self._out = self._out, []
        return events

    def end_all(self) -> list[TextEvent]:
        """End all pending events: the next text is no continuation."""
        events = self.feed(b"\n" if self._partial else b"", final=True)
        self._open = None
        return events

    def _take(self, raw: bytes) -> None:
        current, text = self._open, _decoded(raw)
        may_begin = current is None or current.whole
        following = len(self._loose) if current is None else current.extra
        if may_begin and not following:  # the usual case
            if (line := parse_line(text)) is not None:
                if current is not None:
                    self._close(current)
                self._open = _OpenEvent([raw], line, self._ends.get(line.event))
                return
        elif may_begin:
            before = self._loose if current is None else current.lines[-min(following, _LONGEST_NAME) :]
            others = 0 if current is None else following - current.losses
            name_lines, line = self._head(raw, text, before, others)
            if line is not None:
                lines = [*before[len(before) - name_lines :], raw]
                if current is not None:
                    self._close(current, name_lines)
                else:
                    del before[len(before) - name_lines :]
                    self._drop_loose()
                self._open = _OpenEvent(lines, line, self._ends.get(line.event))
                return
        if current is not None and (not current.whole or parse_lost(text) is not None or current.goes_on(raw)):
            current.add(raw, text)
            return
        if current is not None:
            self._close(current)
        if (loss := parse_lost(text)) is not None:
            self._drop_loose()
            self._out.append(TextEvent((raw,), loss=loss))
        else:
            self._loose.append(raw)
            # A name is shorter than its padded width, and preceded by blanks.
            if not self._loose[0].startswith(b" ") or len(b"\n".join(self._loose)) > _LONGEST_NAME:
                self._drop_loose()

    def _head(self, raw: bytes, text: str, before: list[bytes], others: int) -> tuple[int, TextLine | None]:
        """Return the number of preceding lines that begin the task name, and the first line of the event; None: none.

        `before` are the last lines after the previous event; the last `others` of these must belong to the name, as
        they, or lines before them, are no loss messages.
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

    def _close(self, event: _OpenEvent, name_lines: int = 0) -> None:
        """Output a complete event, and the losses after it; its last `name_lines` lines belong to another event."""
        self._open = None
        if event.end is not None and event.end.has_texts:
            self._by_format.add(event.line.event)
        if not event.given:
            self._out.append(TextEvent(tuple(event.lines[: event.whole]), event.line))
        for raw in event.lines[event.whole : len(event.lines) - name_lines]:
            self._out.append(TextEvent((raw,), loss=parse_lost(_decoded(raw))))

    def _abandon(self, event: _OpenEvent, lines: deque[bytes]) -> None:
        """End an event that is longer than the kernel allows; the lines after it are processed again."""
        self._open = None
        if not event.whole and event.line.event not in self._by_format:
            self._ends.pop(event.line.event, None)  # it is printed differently than its format says
        end = event.whole or event.head
        if not event.given:
            self._out.append(TextEvent(tuple(event.lines[:end]), event.line))
        lines.extendleft(reversed(event.lines[end:]))

    def _drop_loose(self) -> None:
        loose, self._loose = self._loose, []
        self._out += [TextEvent((raw,)) for raw in loose]


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")
