"""CSV as RFC 4180 has it: UTF-8, CRLF, a header, a row an event.

Columns: `ts` (nanoseconds), `cpu`, `pid`, `comm`, `event` (of a probe of ours without the group of its session), then
every field that an event may have, in the order in which they first occur. Numbers stand bare, strings in quotes,
arrays as the kernel shows them (`{1,2}`), structures as their bytes in hex. Where stacks are recorded the last
column, `stack`, has the functions of the event's, the innermost first, with `;` between them. An empty cell without
quotes: the event has no such field, or the kernel could not read it. Where a line may be cut there are `lost`, `back`
(nanoseconds of the trace clock), `seconds` and `note` of the rows `line_cut`. Of several hosts `host`, `time`,
`uncertainty` and `late` stand in front (see `events.export.hosts`).

A spreadsheet takes a cell that begins with `=`, `+`, `-`, `@`, tab or return for a formula, some also behind blanks,
in full-width letters or where a line begins inside of a cell, and anybody may give a file or a task such a name. Each
line of a string that begins so gets an apostrophe in front, and so does one that begins with an apostrophe: to take
one away from each line that begins with one gives back what was there. Numbers stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import BinaryIO

from events.decode import Value
from events.export.catalogue import having
from events.export.escape import exact_values
from events.export.source import Source
from events.names.event_names import exported_name
from events.record import Record
from events.stacks.stack import stack_values
from events.store.outage_mark import FIELDS, is_mark, mark_values, task_name
from events.text import show

_SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"
"""Those of ASCII, their full-width and their small forms (which NFKC makes those of ASCII)."""
_BLANKS = r"[ \t\xa0\u1680\u2000-\u200b\u202f\u205f\u3000\ufeff]"
LINE_BEGINS = r"(?:^|(?<=[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]))"
"""As a regular expression, by whatever sign a line is ended."""
_FORMULA = re.compile(rf"{LINE_BEGINS}(?=['\t\r]|{_BLANKS}*[{_SIGNS}])")
HEADS = ("ts", "cpu", "pid", "comm", "event")
"""Columns that every event has."""


STACK = "stack"
"""Column of kernel stacks."""


def columns_of(source: Source) -> tuple[str, ...]:
    """Names of the fields of all formats, each once."""
    names = dict.fromkeys(name for fmt in source.formats for name in source.fields(fmt))
    return tuple(names | dict.fromkeys((*(FIELDS if source.cuts else ()), *((STACK,) if source.stacks else ()))))


def unplaced_note(number: int) -> tuple[str, ...]:
    """What is said of values that no column could take."""
    if not number:
        return ()
    others = having(lambda form: not (form.columns or form.partial))
    return (f"{number:,} values are left out: their field was not known at the start; {others} have all",)


class CsvTable:
    """See the module."""

    def __init__(self, source: Source, out: BinaryIO) -> None:
        self._source = source
        self._out = out
        self._columns = columns_of(source)
        self._known = frozenset(self._columns)
        self._unplaced = 0
        self.left_out = 0
        heads = (*(head.name for head in source.heads), *HEADS)
        self._write([cell(name) for name in (*heads, *column_names(self._columns, heads))])

    @property
    def notes(self) -> tuple[str, ...]:
        return unplaced_note(self._unplaced)

    def take(self, record: Record) -> None:
        source, known = self._source.own(record), self._source.head(record)
        about = source.of(record.event)
        values = mark_values(record) if is_mark(record) else exact_values(record)
        asked = source.fields(record.format) if record.format else tuple(set(values) - about.unasked)
        row = {name: cell(values.get(name)) for name in asked if name in self._known}
        for name, frames in stack_values(record, source.symbols).items():
            asked, row[name] = (*asked, name), cell(";".join(frames))
        self._unplaced += sum(name not in self._known for name in asked)
        where = (cell(known.get(head.name)) for head in self._source.heads)
        heads = [str(record.ts), str(record.cpu), str(record.pid)]
        heads += [cell(task_name(record)), cell(exported_name(record.event))]
        self._write([*where, *heads, *(row.get(name, "") for name in self._columns)])

    def finish(self) -> None:
        """Every row is whole."""

    def _write(self, cells: list[str]) -> None:
        self._out.write((",".join(cells) + "\r\n").encode())


def column_names(fields: Collection[str], heads: Collection[str]) -> list[str]:
    """Columns of fields: one that is called as a column of all events gets underscores until nothing is called so."""
    taken = {*heads, *fields}
    made = []
    for name in fields:
        if name in heads:
            while name in taken:
                name += "_"
            taken.add(name)
        made.append(name)
    return made


def cell(value: Value | float) -> str:
    """A value as it stands in the file."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    text = show(value)
    return _quoted(_FORMULA.sub("'", text))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
