"""A text that is looked for in the lines of many records at once.

A line is `comm-pid event name=value name=value`: holes between words that each format fixes. A needle lies in one
hole, or over some of those words; then what is left of it on both sides says how the holes beside them end and begin.
That is asked of whole columns, and where it is not sure of whom, more rows are given than have it, never fewer:
each is compared with its line afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from events.decode import text_of
from events.format import EventFormat, Field
from events.names.number_format import NumberFormat
from events.record import Record
from events.search.number_match import DECIMAL, HEX, NumberPattern, decimal, hexadecimal
from events.search.search import LineStyle
from events.store.columns import Columns, FormatTable, Mask, StringBytes, is_number, is_string
from events.text import FAULT

_MOST_ERRORS = 4095
_NO_ANCHOR = re.compile(r"\\x?[0-9a-f]{0,2}|[^\x00-\x7f]")
_NO_ANCHOR_FOLDED = re.compile(r"\\x?[0-9a-f]{0,2}|i?[^\x00-\x7f]|k|i$")
_ESCAPE_END = re.compile("^x?[0-9a-f]{0,2}")


Alignment = tuple[tuple[int, NumberPattern], ...]
"""What must hold of holes, by their numbers, all of it."""

_TASK, _PID, _FIELDS = 0, 1, 2
"""Numbers of holes; the fields follow."""


class TextMatch:
    """A part of the line; capitals count only where the needle has some. An `events.search.search.Sieve`."""

    def __init__(self, needle: str, style: LineStyle, comm: Callable[[int], str], comms: Collection[str]) -> None:
        """Take what is looked for, how a line reads, the names of tasks by thread id, and all these names."""
        self._folded = needle.lower() == needle
        self._needle = needle
        self._style = style
        self._comm = comm
        self._comms = comms
        self._haystack = b""
        self._there: dict[bytes, bool] = {}
        """What was looked for in these bytes."""
        self._tasks: dict[NumberPattern, bool] = {}
        self._ways: dict[int, tuple[EventFormat, Sequence[Field], list[Alignment]]] = {}

    def __call__(self, record: Record) -> bool:
        return self._needle in self._fold(self._style.text(record))

    def candidates(self, columns: Columns) -> Mask:
        """See `events.search.search.Sieve`."""
        found = columns.is_text.copy()
        self._haystack = _coarse(columns.data) if self._folded else columns.data
        self._there.clear()
        for table in columns.tables.values():
            found[table.places] = self._rows(table)
        return found

    def _fold(self, text: str) -> str:
        return text.lower() if self._folded else text

    def _rows(self, table: FormatTable) -> Mask:
        fields, ways = self._ways_of(table.layout.format)
        found = np.zeros(len(table), np.bool_)
        for conditions in ways:
            rows = np.ones(len(table), np.bool_)
            for hole, wanted in conditions:
                rows &= self._hole(table, fields[hole - _FIELDS] if hole >= _FIELDS else None, hole, wanted)
                if not rows.any():
                    break
            found |= rows
            if found.all():
                break
        return found

    def _ways_of(self, fmt: EventFormat) -> tuple[Sequence[Field], list[Alignment]]:
        """The fields in the line, and the ways in which the needle can lie in it."""
        known = self._ways.get(fmt.id)
        if known is not None and known[0] is fmt:
            return known[1:]
        fields = self._style.fields(fmt)
        head = f" {fmt.path} "
        literals = ["-", *(f"{' ' if number else head}{field.name}=" for number, field in enumerate(fields))]
        literals += [] if fields else [head]
        numbers = {_PID, *(hole for hole, field in enumerate(fields, _FIELDS) if self._is_digits(fmt, field))}
        folded = [self._fold(literal) for literal in literals]
        ways = list(alignments(self._needle, folded, _FIELDS + len(fields), numbers))
        if () in ways:  # a part of what stands in every line
            ways = [()]
        self._ways[fmt.id] = fmt, fields, ways
        return fields, ways

    def _is_digits(self, fmt: EventFormat, field: Field) -> bool:
        """Whether a field reads as a number, or as the name of an error: both have no blanks."""
        reading = self._style.reading(fmt, field)
        return is_number(field) and (reading.names is None or reading.only_errors)

    def _hole(self, table: FormatTable, field: Field | None, hole: int, wanted: NumberPattern) -> Mask:
        if hole == _TASK:
            if not self._some_task(wanted):
                return np.zeros(len(table), np.bool_)
            return _of_distinct(table.pids, lambda pid: wanted.holds(self._fold(self._comm(pid))))
        if field is None:
            digits = DECIMAL.fullmatch(wanted.text)
            return decimal(table.pids, wanted) if digits else np.zeros(len(table), np.bool_)
        if is_number(field):
            reading = self._style.reading(table.layout.format, field)
            if reading.names is None and wanted.text not in FAULT and not HEX.fullmatch(wanted.text.lstrip("-")):
                return np.zeros(len(table), np.bool_)
            values, missing = table.column(field)
            rows = self._numbers(values, reading, wanted)
            return rows if missing is None or wanted.text not in FAULT else rows | missing
        if not is_string(field):
            return np.ones(len(table), np.bool_)
        if wanted.text not in FAULT and not self._somewhere(anchor(wanted.text, self._folded)):
            return np.zeros(len(table), np.bool_)
        return self._strings(table.string_bytes(field), wanted)

    def _some_task(self, wanted: NumberPattern) -> bool:
        if wanted not in self._tasks:
            self._tasks[wanted] = any(wanted.holds(self._fold(comm)) for comm in self._comms)
        return self._tasks[wanted]

    def _somewhere(self, part: bytes) -> bool:
        """Whether any of the rows that are looked at has these bytes."""
        if part not in self._there:
            self._there[part] = (_coarse(part) if self._folded else part) in self._haystack
        return self._there[part]

    def _numbers(self, values: NDArray[Any], reading: NumberFormat, wanted: NumberPattern) -> Mask:
        if values.dtype == np.bool_:
            values = values.view(np.uint8)
        if reading.hexadecimal:
            rows = hexadecimal(values, wanted)
            small = values <= 9
            if small.any():
                rows[small] |= decimal(values[small], wanted)
        else:
            rows = decimal(values, wanted)
        names = reading.names
        if names is None:
            return rows
        named = np.ones(len(values), np.bool_)
        if reading.only_errors:
            signed = values.view(f"i{values.itemsize}")
            named = (signed < 0) & (signed >= -_MOST_ERRORS)
        if named.any():
            rows[named] |= _of_distinct(values[named], lambda value: wanted.holds(self._fold(names(value))))
        return rows

    def _strings(self, strings: StringBytes, wanted: NumberPattern) -> Mask:
        data = strings.data.lower() if self._folded else strings.data
        needle = wanted.text.encode("utf-8", "surrogatepass")
        if not needle:
            return np.ones(len(strings.begins), np.bool_)
        rows = np.zeros(len(strings.begins), np.bool_)
        # What is no ASCII reads otherwise than its bytes do.
        strange = np.flatnonzero(np.frombuffer(data, np.uint8) >= 0x80)
        for row in np.unique(np.searchsorted(strings.begins, strange, side="right") - 1).tolist():
            start = int(strings.begins[row])
            rows[row] = wanted.text in self._fold(text_of(strings.data[start : strings.data.index(0, start)]))
        if wanted.text in FAULT:
            rows |= strings.missing
        at = data.find(needle)
        while at >= 0:
            row = int(np.searchsorted(strings.begins, at, side="right"))
            rows[row - 1] = True
            at = data.find(needle, int(strings.begins[row])) if row < len(rows) else -1
        return rows


def alignments(needle: str, literals: list[str], holes: int, numbers: Container[int]) -> Iterator[Alignment]:
    """The ways in which a needle can lie in a line of holes with literals behind each (the last hole may have none).

    Each is only what must hold, not all that does. Holes in `numbers` have neither blanks nor `=`.
    """
    for number, literal in enumerate(literals):
        for at in range(1 - len(literal), len(needle)):
            left, right = needle[: max(at, 0)], needle[at + len(literal) :]
            if not literal.startswith(needle[len(left) : at + len(literal)], -min(at, 0)):
                continue
            conditions = []
            if left:
                wanted, rest = _end_of(left, number)
                if rest and number in numbers and not _both(rest[::-1], literals[number - 1][::-1]):
                    continue
                conditions.append((number, wanted))
            if right:
                text, blank, rest = right.partition(" ")
                behind = number + 1
                if behind >= holes:
                    continue
                if (
                    blank
                    and behind in numbers
                    and not (behind < len(literals) and _both(blank + rest, literals[behind]))
                ):
                    continue
                conditions.append((behind, NumberPattern(text, begins=True, ends=bool(blank))))
            yield tuple(conditions)
    for hole in range(holes):
        yield ((hole, NumberPattern(needle, begins=False, ends=False)),)


def _end_of(left: str, hole: int) -> tuple[NumberPattern, str]:
    """What a hole must end with when `left` goes before what stands behind it, and what goes before the hole."""
    if hole == _TASK:
        return NumberPattern(left, begins=False, ends=True), ""
    before, mark, text = left.rpartition("-" if hole == _PID else "=")
    return NumberPattern(text, begins=bool(mark), ends=True), before + mark


def _both(one: str, other: str) -> bool:
    """Whether one is the beginning of the other."""
    return one.startswith(other) or other.startswith(one)


def anchor(text: str, folded: bool) -> bytes:
    r"""Bytes that a string has which reads as something with this text in it.

    A string that is no UTF-8 reads with `\\xNN` in it, of which the text may begin with the end. Of all that is no
    ASCII two capitals alone have letters of ASCII as small ones: U+212A is `k`, U+0130 is `i` and a dot.
    """
    text = _ESCAPE_END.sub("", text)
    parts = _NO_ANCHOR_FOLDED.split(text) if folded else _NO_ANCHOR.split(text)
    return max(parts, key=len).encode()


def _coarse(data: bytes) -> bytes:
    """Without the bit that tells small letters from capitals: eight times as fast as to make letters small."""
    return (np.frombuffer(data, np.uint8) | np.uint8(0x20)).tobytes()


def _of_distinct(values: NDArray[Any], holds: Callable[[int], bool]) -> Mask:
    """Ask once for each value that there is."""
    distinct, inverse = np.unique(values, return_inverse=True)
    answers = np.array([holds(value) for value in distinct.tolist()], np.bool_)
    return answers[inverse]
