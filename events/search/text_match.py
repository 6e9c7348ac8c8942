"""Search for a text in the lines of many records at once.

A line is `comm-pid event name=value name=value`: variable gaps between literals that each format fixes. The search
text lies within one gap, or covers some of the literals; then its parts left and right of them must end and begin the
adjacent gaps. That is evaluated on whole columns. Where the test is not exact, too many rows are returned, never too
few; each is then compared with its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from events.decode import text_of
from events.format import EventFormat, Field
from events.names.errnos import MAX_ERRNO
from events.names.number_names import NumberFormat
from events.record import Record
from events.search.number_match import DECIMAL, HEX, NumberPattern, decimal, hexadecimal
from events.search.search import LineStyle
from events.store.columns import FormatTable, Mask, StoreColumns, StringBytes, is_number, is_string
from events.text import FAULT, UNNAMED

_LARGEST = (1 << 64) - 1
_NO_ANCHOR = re.compile(r"\\x?[0-9a-f]{0,2}|[^\x00-\x7f]")
_NO_ANCHOR_FOLDED = re.compile(r"\\x?[0-9a-f]{0,2}|i?[^\x00-\x7f]|k|i$")
_IN_UNNAMED = re.compile(r"pi?|i|(?:pid|id|d)(?: \d*+(?: .*)?)?| \d++(?: .*)?", re.DOTALL)
"""Text that begins in front of the number in `pid 812`, the task of a line without its name
(`events.store.outage_mark.task_text`)."""
_ESCAPE_END = re.compile("^x?[0-9a-f]{0,2}")


Alignment = tuple[tuple[int, NumberPattern], ...]
"""Gap numbers with the pattern that each gap must match; all must hold."""

_TASK, _PID, _FIELDS = 0, 1, 2
"""Gap numbers of task name and thread id, and of the first field."""


class TextMatch:
    """Search for a part of the line; case matters only if the search text has capitals. An
    `events.search.search.Sieve`.
    """

    def __init__(self, text: str, style: LineStyle, comm: Callable[[int], str], comms: Collection[str]) -> None:
        """Take the search text, the line format, the function that returns task names by thread id, and all task
        names.
        """
        self._folded = text.lower() == text
        self._text = text
        self._style = style
        self._comm = comm
        self._comms = comms
        self._searched_bytes = b""
        self._found: dict[bytes, bool] = {}
        """Results of searches in `_searched_bytes`."""
        self._tasks: dict[NumberPattern, bool] = {}
        self._alignments: dict[int, tuple[EventFormat, Sequence[Field], list[Alignment]]] = {}

    def __call__(self, record: Record) -> bool:
        return self._text in self._fold(self._style.text(record))

    def candidates(self, columns: StoreColumns) -> Mask:
        """Return a mask of the rows that may match; see `events.search.search.Sieve`."""
        found = columns.is_text.copy()
        self._searched_bytes = _without_case_bit(columns.data) if self._folded else columns.data
        self._found.clear()
        for table in columns.tables.values():
            found[table.places] = self._rows(table)
        return found

    def _fold(self, text: str) -> str:
        return text.lower() if self._folded else text

    def _rows(self, table: FormatTable) -> Mask:
        fields, line_alignments = self._line_alignments(table.layout.format)
        found = np.zeros(len(table), np.bool_)
        if _IN_UNNAMED.fullmatch(self._text):
            found = _evaluate_distinct(table.task_keys, lambda pid: self._comm(pid) == UNNAMED)
        for conditions in line_alignments:
            rows = np.ones(len(table), np.bool_)
            for gap, pattern in conditions:
                rows &= self._match_gap(table, fields[gap - _FIELDS] if gap >= _FIELDS else None, gap, pattern)
                if not rows.any():
                    break
            found |= rows
            if found.all():
                break
        return found

    def _line_alignments(self, fmt: EventFormat) -> tuple[Sequence[Field], list[Alignment]]:
        """Return the fields of the line, and the alignments of the search text in it."""
        cached = self._alignments.get(fmt.id)
        if cached is not None and cached[0] is fmt:
            return cached[1:]
        fields = self._style.fields(fmt)
        head = f" {fmt.path} "
        literals = ["-", *(f"{' ' if number else head}{field.name}=" for number, field in enumerate(fields))]
        literals += [] if fields else [head]
        numbers = {_PID, *(gap for gap, field in enumerate(fields, _FIELDS) if self._is_digits(fmt, field))}
        folded = [self._fold(literal) for literal in literals]
        line_alignments = list(alignments(self._text, folded, _FIELDS + len(fields), numbers))
        if () in line_alignments:  # part of a literal: every line contains it
            line_alignments = [()]
        self._alignments[fmt.id] = fmt, fields, line_alignments
        return fields, line_alignments

    def _is_digits(self, fmt: EventFormat, field: Field) -> bool:
        """Return whether a field is displayed as a number or an error name, neither of which has blanks."""
        reading = self._style.reading(fmt, field)
        return is_number(field) and reading.beside is None and (reading.names is None or reading.only_errors)

    def _match_gap(self, table: FormatTable, field: Field | None, gap: int, pattern: NumberPattern) -> Mask:
        if gap == _TASK:
            if not self._any_task_matches(pattern):
                return np.zeros(len(table), np.bool_)
            return _evaluate_distinct(table.task_keys, lambda pid: pattern.holds(self._fold(self._comm(pid))))
        if field is None:
            digits = DECIMAL.fullmatch(pattern.text)
            return decimal(table.pids, pattern) if digits else np.zeros(len(table), np.bool_)
        if is_number(field):
            reading = self._style.reading(table.layout.format, field)
            if reading.beside is not None and reading.beside(pattern.text):
                return np.ones(len(table), np.bool_)
            if reading.names is None and pattern.text not in FAULT and not HEX.fullmatch(pattern.text.lstrip("-")):
                return np.zeros(len(table), np.bool_)
            values, missing = table.column(field)
            rows = self._numbers(values, reading, pattern)
            return rows if missing is None or pattern.text not in FAULT else rows | missing
        if not is_string(field):
            return np.ones(len(table), np.bool_)
        if pattern.text not in FAULT and not self._any_contains(anchor(pattern.text, self._folded)):
            return np.zeros(len(table), np.bool_)
        return self._strings(table.string_bytes(field), pattern)

    def _any_task_matches(self, pattern: NumberPattern) -> bool:
        if pattern not in self._tasks:
            self._tasks[pattern] = any(pattern.holds(self._fold(comm)) for comm in self._comms)
        return self._tasks[pattern]

    def _any_contains(self, part: bytes) -> bool:
        """Return whether the data of any row under test contains these bytes."""
        if part not in self._found:
            self._found[part] = (_without_case_bit(part) if self._folded else part) in self._searched_bytes
        return self._found[part]

    def _numbers(self, values: NDArray[Any], reading: NumberFormat, pattern: NumberPattern) -> Mask:
        if values.dtype == np.bool_:
            values = values.view(np.uint8)
        if reading.hexadecimal:
            rows = hexadecimal(values, pattern)
            small = values <= 9
            if small.any():
                rows[small] |= decimal(values[small], pattern)
        else:
            rows = decimal(values, pattern)
        names = reading.names
        if names is None:
            return rows
        named = np.ones(len(values), np.bool_)
        if reading.only_errors:
            numbers = values.view(f"i{values.itemsize}").astype(np.int64)
            narrow = np.where(numbers >> 31 == 1, numbers - (1 << 32), numbers)  # as `ErrorForm.REGISTER` has them
            named = (narrow < 0) & (narrow >= -MAX_ERRNO)
        elif reading.lowest:
            named = values.astype(np.uint64) >= min(reading.lowest, _LARGEST)
        if named.any():
            rows[named] |= _evaluate_distinct(values[named], lambda value: pattern.holds(self._fold(names(value))))
        return rows

    def _strings(self, strings: StringBytes, pattern: NumberPattern) -> Mask:
        data = strings.data.lower() if self._folded else strings.data
        raw_text = pattern.text.encode("utf-8", "surrogatepass")
        if not raw_text:
            return np.ones(len(strings.begins), np.bool_)
        rows = np.zeros(len(strings.begins), np.bool_)
        # Bytes that are not ASCII are displayed differently, so they need decoding.
        non_ascii = np.flatnonzero(np.frombuffer(data, np.uint8) >= 0x80)
        for row in np.unique(np.searchsorted(strings.begins, non_ascii, side="right") - 1).tolist():
            start = int(strings.begins[row])
            rows[row] = pattern.text in self._fold(text_of(strings.data[start : strings.data.index(0, start)]))
        if pattern.text in FAULT:
            rows |= strings.missing
        at = data.find(raw_text)
        while at >= 0:
            row = int(np.searchsorted(strings.begins, at, side="right"))
            rows[row - 1] = True
            at = data.find(raw_text, int(strings.begins[row])) if row < len(rows) else -1
        return rows


def alignments(text: str, literals: list[str], gaps: int, numbers: Container[int]) -> Iterator[Alignment]:
    """Yield the alignments of a search text in a line of gaps, each followed by a literal (the last may have none).

    Each alignment has necessary conditions only. Gaps in `numbers` contain neither blanks nor `=`.
    """
    for number, literal in enumerate(literals):
        for at in range(1 - len(literal), len(text)):
            before, right = text[: max(at, 0)], text[at + len(literal) :]
            if not literal.startswith(text[len(before) : at + len(literal)], -min(at, 0)):
                continue
            conditions = []
            if before:
                pattern, rest = _gap_end(before, number)
                if rest and number in numbers and not _is_prefix(rest[::-1], literals[number - 1][::-1]):
                    continue
                conditions.append((number, pattern))
            if right:
                beginning, blank, rest = right.partition(" ")
                next_gap = number + 1
                if next_gap >= gaps:
                    continue
                if (
                    blank
                    and next_gap in numbers
                    and not (next_gap < len(literals) and _is_prefix(blank + rest, literals[next_gap]))
                ):
                    continue
                conditions.append((next_gap, NumberPattern(beginning, begins=True, ends=bool(blank))))
            yield tuple(conditions)
    for gap in range(gaps):
        yield ((gap, NumberPattern(text, begins=False, ends=False)),)


def _gap_end(before_literal: str, gap: int) -> tuple[NumberPattern, str]:
    """Return the pattern for the end of a gap when `before_literal` precedes the literal after it, and the text
    before the gap.
    """
    if gap == _TASK:
        return NumberPattern(before_literal, begins=False, ends=True), ""
    before, mark, text = before_literal.rpartition("-" if gap == _PID else "=")
    return NumberPattern(text, begins=bool(mark), ends=True), before + mark


def _is_prefix(first: str, second: str) -> bool:
    """Return whether one text is a prefix of the other."""
    return first.startswith(second) or second.startswith(first)


def anchor(text: str, folded: bool) -> bytes:
    r"""Return bytes that every string displayed with `text` in it contains.

    A string that is not UTF-8 is displayed with `\xNN`, whose end `text` may begin with. The only non-ASCII
    capitals with ASCII lowercase letters are U+212A (`k`) and U+0130 (`i` and a combining dot).
    """
    text = _ESCAPE_END.sub("", text)
    parts = _NO_ANCHOR_FOLDED.split(text) if folded else _NO_ANCHOR.split(text)
    return max(parts, key=len).encode()


def _without_case_bit(data: bytes) -> bytes:
    """Return the bytes without the bit that distinguishes case: eight times as fast as converting to lowercase."""
    return (np.frombuffer(data, np.uint8) | np.uint8(0x20)).tobytes()


def _evaluate_distinct(values: NDArray[Any], holds: Callable[[int], bool]) -> Mask:
    """Evaluate a predicate once per distinct value and return the mask."""
    distinct, inverse = np.unique(values, return_inverse=True)
    answers = np.array([holds(value) for value in distinct.tolist()], np.bool_)
    return answers[inverse]
