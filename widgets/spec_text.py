"""A specification as lines for the screen: broken at blanks, a refusal under the token it is about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from textual.content import Content

from probes.verdict import Refusal, Verdict
from widgets.safe_text import cut, fit, safe, width

_INDENT: Final = 2
_ACCEPTED: Final = "✓ this kernel"
_WORD: Final = re.compile(r"\S+")
_PARTS: Final = re.compile(r"(?P<name>\w+=)?(?P<expression>.*?)(?P<type>:[%\w@/\[\]]+)?$")


@dataclass(frozen=True, slots=True)
class Specification:
    """What the pane shows."""

    lines: tuple[str, ...] = ()
    """The probe as text."""
    verdict: Verdict | None = None
    """None: not asked, or nothing to ask."""
    lowered: tuple[str, ...] = ()
    """What will be written to the kernel."""
    notes: tuple[str, ...] = ()
    """What was lost in lowering, and what one should know."""
    filter: str = ""


class Slice(NamedTuple):
    """One line of a text that was broken."""

    start: int
    end: int
    indent: int


def broken(text: str, columns: int) -> list[Slice]:
    """Break at blanks; a word that is too long is broken where the line ends."""
    slices: list[Slice] = []
    start = 0
    while start < len(text) or not slices:
        indent = _INDENT if slices else 0
        room = max(8, columns - indent)
        end = len(text)
        if end - start > room:
            blank = text.rfind(" ", start + 1, start + room + 1)
            end = blank if blank > start else start + room
        slices.append(Slice(start, end, indent))
        start = end + 1 if text[end : end + 1] == " " else end
    return slices


def content(shown: Specification, columns: int, lowered: bool) -> Content:
    """All lines of the pane."""
    if shown == Specification():
        return Content.styled("what is ticked forms a probe here", "dim")
    lines: list[Content] = []
    error = shown.verdict.error if shown.verdict else None
    if error is not None and shown.verdict is not None and error.column is not None:
        lines += _refused(shown.verdict.command, error, columns)
    else:
        for text in shown.lines:
            lines += [_line(safe(text), part) for part in broken(safe(text), columns)]
        if error is not None:
            lines += _message(error, columns)
        elif shown.verdict is not None:
            _accept(lines, columns)
    if lowered:
        for text in shown.lowered:
            slices = broken(safe(text), columns - 2)
            lines += [
                Content.assemble(("→ " if n == 0 else "  ", "dim"), _line(safe(text), part))
                for n, part in enumerate(slices)
            ]
    lines += [Content.assemble(("note: ", "dim"), cut(safe(note), columns - 6)) for note in shown.notes]
    return Content("\n").join(lines)


def advice(error: Refusal) -> str:
    """The way out: the nearest name that exists, or the hint."""
    if error.nearest:
        return f"did you mean {safe(error.nearest[0])}? (enter)"
    return safe(error.hint)


def _accept(lines: list[Content], columns: int) -> None:
    last = lines[-1] if lines else Content("")
    room = columns - width(last.plain)
    mark = Content.styled(_ACCEPTED, "bold $text-success")
    if room >= len(_ACCEPTED) + 2:
        lines[-1:] = [Content.assemble(last, " " * (room - len(_ACCEPTED)), mark)]
    else:
        lines.append(mark)


def _refused(command: str, error: Refusal, columns: int) -> list[Content]:
    text = safe(command)
    column = min(error.column or 0, len(text))
    lines: list[Content] = []
    slices = broken(text, columns)
    holder = max(n for n, part in enumerate(slices) if part.start <= column)
    for n, part in enumerate(slices):
        lines.append(_line(text, part))
        if n == holder:
            lines += _caret(part.indent + column - part.start, error, columns)
    return lines


def _caret(place: int, error: Refusal, columns: int) -> list[Content]:
    """The caret, its message behind it, before it, or below it: where there is room."""
    marks = ("^" + "~" * (width(safe(error.token)) - 1))[: max(1, columns - place)]
    message = f"{safe(error.code)}  {safe(error.message)}"
    way_out = advice(error)
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
    return [Content.assemble(blanks, caret), *_message(error, columns)]


def _message(error: Refusal, columns: int) -> list[Content]:
    message = f"{safe(error.code)}  {safe(error.message)}"
    parts = broken(message, columns)
    first = _words(error, message[parts[0].start : parts[0].end])
    rest = [Content(" " * part.indent + message[part.start : part.end]) for part in parts[1:]]
    return [first, *rest, *_hint(advice(error), columns)]


def _words(error: Refusal, message: str) -> Content:
    code = safe(error.code)
    return Content.assemble((code, "bold $text-error"), message.removeprefix(code))


def _hint(text: str, columns: int) -> list[Content]:
    if not text:
        return []
    return [
        Content.styled(fit(text[part.start : part.end], columns - part.indent), "") for part in broken(text, columns)
    ]


def _line(text: str, part: Slice) -> Content:
    """One line of a specification; what a token is, is told by its place in the whole text."""
    out: list[tuple[str, str]] = [(" " * part.indent, "")]
    at = part.start
    for number, word in enumerate(_WORD.finditer(text)):
        start, end = max(word.start(), part.start), min(word.end(), part.end)
        if start >= end:
            continue
        out.append((text[at:start], ""))
        for piece, start_of, look in _looks(word[0], number):
            first, last = word.start() + start_of, word.start() + start_of + len(piece)
            out.append((text[max(first, start) : min(last, end)] if first < end and last > start else "", look))
        at = end
    return Content.assemble(*(run for run in out if run[0]))


def _looks(word: str, number: int) -> list[tuple[str, int, str]]:
    if number == 0:
        return [(word, 0, "dim")]
    if number == 1:
        name, percent, when = word.partition("%")
        return [(name, 0, "bold"), (percent + when, len(name), "$text-accent")]
    found = _PARTS.match(word)
    if found is None:
        return [(word, 0, "")]
    looks = {"name": "dim", "expression": "", "type": "$text-warning"}
    return [(found[key], found.start(key), look) for key, look in looks.items() if found[key]]
