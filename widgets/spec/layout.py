"""Lay out a specification in lines: wrapped at blanks, with an error below its token."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from textual.content import Content

from probes.verdict import Refusal, Verdict
from widgets.safe_text import cut, fit, safe, width
from widgets.spec.highlight import spans

LONGEST: Final = 1 << 18
"""Characters of a specification: thousands of marked functions have room."""
_INDENT: Final = 2
_ELSEWHERE: Final = "other kernels, with the structures of this one:"
_ACCEPTED: Final = "✓ this kernel"
_LOWERED: Final = "✓ lowered"
_WORD: Final = re.compile(r"\S+")


class OtherKernel(NamedTuple):
    """Lines for other kernels from the same probe."""

    names: str
    """Names of the kernels, as `6.12, 7.2`."""
    lines: tuple[str, ...] = ()
    told: str = ""
    """Losses in lowering, or the reason why it is impossible; or that the lines are the same."""
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Specification:
    """Content of the pane."""

    text: str = ""
    """Probe as text: typed, or from the ticked fields."""
    verdict: Verdict | None = None
    """Verdict; None: not requested, or there is no text."""
    lowered: tuple[str, ...] = ()
    """Lines to be written to the kernel."""
    notes: tuple[str, ...] = ()
    """Losses in lowering, and other notes."""
    others: tuple[OtherKernel, ...] = ()
    """Other kernels; empty: not requested."""
    lowered_only: bool = False
    """True if the kernel accepts the lowered lines, not the text itself."""


class Slice(NamedTuple):
    """Line of a wrapped text."""

    start: int
    end: int
    indent: int


class TextLayout(NamedTuple):
    """Text and verdict as lines, and which lines hold a part of the text."""

    lines: list[Content]
    parts: dict[int, Slice]
    """Number of a line -> the part of the text in it."""

    def cell(self, index: int) -> tuple[int, int]:
        """Return column and line of a place in the text."""
        y = max((y for y, part in self.parts.items() if part.start <= index), default=0)
        part = self.parts.get(y, Slice(0, 0, 0))
        return part.indent + index - part.start, y

    def place(self, x: int, y: int) -> int:
        """Return the place in the text that is nearest to a cell."""
        line = max((n for n in self.parts if n <= y), default=0)
        part = self.parts.get(line, Slice(0, 0, 0))
        return min(max(part.start + x - part.indent, part.start), part.end)


def broken(text: str, columns: int) -> list[Slice]:
    """Break a text at blanks; a word that is too long, as a list of names, behind a comma or at the line's end."""
    slices: list[Slice] = []
    start = 0
    while start < len(text) or not slices:
        indent = _INDENT if slices else 0
        room = max(8, columns - indent)
        end = len(text)
        if end - start > room:
            end = _line_end(text, start, room)
        slices.append(Slice(start, end, indent))
        start = end + 1 if text[end : end + 1] == " " else end
    return slices


def _line_end(text: str, start: int, room: int) -> int:
    """Return where a line ends that begins at `start` and has `room` for less than the rest."""
    blank = text.rfind(" ", start + 1, start + room + 1)
    word = max(blank, start)
    next_blank = text.find(" ", word + 1, word + room + 1)  # a text may be one word of 262,144 letters
    if next_blank >= 0 or len(text) - word <= room:
        return blank if blank > start else start + room
    comma = text.rfind(",", word + 1, start + room)
    return comma + 1 if comma > start else blank if blank > start else start + room


def spec_text(text: str) -> str:
    """Return a specification as it is edited and shown: one line of printable characters."""
    return safe(text, LONGEST)


def head(shown: Specification, columns: int, keys: str = "tab") -> TextLayout:
    """Lay out the text with its verdict: a caret under the wrong token, or the sign of acceptance.

    Args:
        shown: content of the pane.
        columns: width of the pane.
        keys: keys that take the correction; empty: they have another meaning now.
    """
    text, error = spec_text(shown.text), shown.verdict.error if shown.verdict else None
    column = column_in(text, shown.verdict) if shown.verdict is not None else None
    lines, parts = _marked(text, error if column is not None else None, column or 0, columns, keys)
    if error is not None and column is None:
        if shown.verdict is not None and shown.verdict.caret is not None:
            # The kernel judged a lowered line: its caret belongs below that line.
            lines += _marked(safe(shown.verdict.command), error, shown.verdict.caret, columns, keys)[0]
        else:
            lines += _message(error, columns, keys)
    elif error is None and shown.verdict is not None:
        _accept(lines, columns, _LOWERED if shown.lowered_only else _ACCEPTED)
    return TextLayout(lines, parts)


def unfinished(shown: Specification) -> bool:
    """Return True if the only error of the text is that its end is missing."""
    error = shown.verdict.error if shown.verdict is not None else None
    if shown.verdict is None or error is None or error.token:
        return False
    column = column_in(shown.text, shown.verdict)
    return column is not None and column >= len(shown.text.rstrip())


def tail(shown: Specification, columns: int, lowered: bool) -> list[Content]:
    """Return the lines below: notes, and the lines for this kernel and others if requested."""
    lines = [line for note in shown.notes for line in _note(safe(note), columns)]
    if lowered:
        lines += [line for text in shown.lowered for line in _lowered(text, columns)]
        if shown.others:
            lines.append(Content.styled(cut(_ELSEWHERE, columns), "dim"))
        lines += [line for other in shown.others for line in _other(other, columns)]
    return lines


def column_in(text: str, verdict: Verdict) -> int | None:
    """Return the column of an error in the text as it was typed; None: the error is about another text, or has no
    place.
    """
    if verdict.caret is None:
        return None
    words = list(_WORD.finditer(text))
    command = " ".join(word[0] for word in words)
    if not command.endswith(verdict.command) or (command and not verdict.command):
        return None
    column, at = verdict.caret + len(command) - len(verdict.command), 0
    for word in words:
        if column <= at + len(word[0]):
            return word.start() + max(0, column - at)
        at += len(word[0]) + 1
    return words[-1].end() if words else 0


def advice(error: Refusal, keys: str) -> str:
    """Return the correction: the nearest existing name, or the hint with the corrected text; `keys` take it."""
    by = f" ({keys})" if keys else ""
    if error.nearest:
        return f"did you mean {safe(error.nearest[0])}?{by}"
    right = f"put right{by}: {safe(error.corrected)}" if error.corrected else ""
    return "   ".join(filter(None, (safe(error.hint), right)))


def _accept(lines: list[Content], columns: int, sign: str) -> None:
    last = lines[-1]
    room = columns - width(last.plain)
    mark = Content.styled(sign, "bold $text-success")
    if room >= len(sign) + 2:
        lines[-1:] = [Content.assemble(last, " " * (room - len(sign)), mark)]
    else:
        lines.append(mark)


def _marked(
    text: str, error: Refusal | None, column: int, columns: int, keys: str
) -> tuple[list[Content], dict[int, Slice]]:
    """Return the lines of a text, with an error below the line that holds its column."""
    column = min(column, len(text))
    lines: list[Content] = []
    parts: dict[int, Slice] = {}
    slices = broken(text, columns)
    holder = max(n for n, part in enumerate(slices) if part.start <= column)
    for n, (part, line) in enumerate(zip(slices, _styled(text, slices), strict=True)):
        parts[len(lines)] = part
        lines.append(line)
        if error is not None and n == holder:
            lines += _caret(part.indent + column - part.start, error, columns, keys)
    return lines, parts


def _caret(place: int, error: Refusal, columns: int, keys: str) -> list[Content]:
    """Return the caret with its message after it, before it, or below it, depending on the room."""
    marks = ("^" + "~" * (width(safe(error.token)) - 1))[: max(1, columns - place)]
    message = f"{safe(error.code)}  {safe(error.message)}"
    way_out = advice(error, keys)
    whole = f"{message}   {way_out}" if way_out else message
    caret = Content.styled(marks, "bold $text-error")
    blanks = " " * place
    if place + len(marks) + 1 + width(whole) <= columns:
        return [Content.assemble(blanks, caret, " ", _words(error, message), "   " if way_out else "", way_out)]
    if place + len(marks) + 1 + width(message) <= columns:
        return [Content.assemble(blanks, caret, " ", _words(error, message)), *_hint(way_out, columns)]
    if width(message) + 1 <= place:
        text = Content.assemble(" " * (place - width(message) - 1), _words(error, message), " ", caret)
        if place + len(marks) + 2 + width(way_out) <= columns:
            return [Content.assemble(text, "  ", way_out)]
        return [text, *_hint(way_out, columns)]
    return [Content.assemble(blanks, caret), *_message(error, columns, keys)]


def _message(error: Refusal, columns: int, keys: str) -> list[Content]:
    message = f"{safe(error.code)}  {safe(error.message)}"
    parts = broken(message, columns)
    first = _words(error, message[parts[0].start : parts[0].end])
    rest = [Content(" " * part.indent + message[part.start : part.end]) for part in parts[1:]]
    return [first, *rest, *_hint(advice(error, keys), columns)]


def _words(error: Refusal, message: str) -> Content:
    code = safe(error.code)
    return Content.assemble((code, "bold $text-error"), message.removeprefix(code))


def _hint(text: str, columns: int) -> list[Content]:
    if not text:
        return []
    return [
        Content.styled(fit(text[part.start : part.end], columns - part.indent), "") for part in broken(text, columns)
    ]


def _lowered(text: str, columns: int) -> list[Content]:
    shown = safe(text)
    return [
        Content.assemble(("→ " if n == 0 else "  ", "dim"), line)
        for n, line in enumerate(_styled(shown, broken(shown, columns - 2)))
    ]


def _note(text: str, columns: int) -> list[Content]:
    return [
        Content.assemble(
            ("note: " if n == 0 else " " * (6 - part.indent), "dim"), " " * part.indent, text[part.start : part.end]
        )
        for n, part in enumerate(broken(text, columns - 6))
    ]


def _other(other: OtherKernel, columns: int) -> list[Content]:
    """Return the kernels' names with their note, and their lines below."""
    title = f"{safe(other.names)}: "
    text, style = f"{title}{safe(other.told)}", "$text-warning" if other.refused else "dim"
    title_lines = []
    for part in broken(text, columns):
        named = max(0, len(title) - part.start)
        shown = text[part.start : part.end]
        title_lines.append(Content.assemble(" " * part.indent, (shown[:named], "bold"), (shown[named:], style)))
    return [*title_lines, *(line for text in other.lines for line in _lowered(text, columns))]


def _styled(text: str, slices: Sequence[Slice]) -> Iterator[Content]:
    """Yield the lines of a specification; a token's style depends on its place in the whole text."""
    runs = deque(spans(text))
    for part in slices:
        line = Content(" " * part.indent + text[part.start : part.end])
        shift = part.indent - part.start
        while runs and runs[0].start < part.end:
            start, end = max(runs[0].start, part.start), min(runs[0].end, part.end)
            if start < end:
                line = line.stylize(runs[0].style, start + shift, end + shift)
            if runs[0].end > part.end:  # it goes on in the next line
                break
            runs.popleft()
        yield line
