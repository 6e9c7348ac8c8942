"""Write CSV as defined by RFC 4180: UTF-8, CRLF, a header, one row per event.

Columns: `ts` (nanoseconds), `cpu`, `pid`, `comm`, `event` (for our own probes without the session's group), then
every field that an event may have, in the order of first occurrence. Numbers are unquoted, strings quoted, arrays as
the kernel shows them (`{1,2}`), structures as their bytes in hex. A field whose numbers may have names has a second
column behind its own, `FIELD.name`, with the name as displayed (`O_RDWR|O_CREAT`). If stacks are recorded, the last
column, `stack`, has the functions of the event's stack, the innermost first, separated by `;`. An empty cell without
quotes: the event has no such field, the kernel could not read it, or the number has no name. If the connection may be
lost, there are `lost`, `back` (nanoseconds of the trace clock), `seconds` and `note` of the rows `line_cut`. With
several hosts, `host`, `time`, `uncertainty` and `late` come first (see `events.export.hosts`).

A spreadsheet interprets a cell that begins with `=`, `+`, `-`, `@`, tab or return as a formula, some even after
blanks, in full-width letters or at a line start within a cell, and anybody may give a file or a task such a name.
Each line of a string that begins so gets a leading apostrophe, and so does a line that begins with an apostrophe:
removing one leading apostrophe from each line that has one restores the original. Numbers are unchanged, and so is a
string that is nothing but a signed number, with a unit of up to three letters at most (`-5`, `+12.5 %`), or the name
of an error (`-ENOENT`): neither can call a function, or refer to a cell or a program.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import BinaryIO

from events.decode import Value
from events.export.catalogue import format_names
from events.export.source import NAME, ExportSource
from events.names.errnos import errno_of
from events.names.event_names import exported_name
from events.record import Record
from events.stacks.stack import stack_values
from events.store.outage_mark import OUTAGE_FIELDS, is_mark, mark_values, task_name
from events.text import show

_FORMULA_SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"
"""Operators in ASCII, full-width and small forms (which NFKC maps to ASCII)."""
_BLANKS = r"[ \t\xa0\u1680\u2000-\u200b\u202f\u205f\u3000\ufeff]"
LINE_BEGINS = r"(?:^|(?<=[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]))"
"""Regular expression for the start of a line, after any kind of line end."""
_FORMULA = re.compile(rf"{LINE_BEGINS}(?=['\t\r]|{_BLANKS}*[{_FORMULA_SIGNS}])")
_SIGNED_NUMBER = re.compile(r"[-+][0-9]++(?:[.,][0-9]++)*+(?:e[-+]?+[0-9]++)?+(?: ?+[%a-zµ]{1,3}+)?+")
HEADS = ("ts", "cpu", "pid", "comm", "event")
"""Columns that every event has."""


STACK = "stack"
"""Title of the column of kernel stacks."""


def stack_key(name: str) -> str:
    """Return the key of a column of stacks among those of fields: no field has such a name."""
    return f"\0{name}"


def columns_of(source: ExportSource) -> tuple[str, ...]:
    """Return the columns of the fields of all formats, each once, that of stacks last by its `stack_key`."""
    fields = dict.fromkeys(name for fmt in source.formats for name in source.fields(fmt))
    names = dict.fromkeys(column for name in fields for column in source.columns_of(name))
    return tuple(
        names
        | dict.fromkeys(
            (*(OUTAGE_FIELDS if source.has_outages else ()), *((stack_key(STACK),) if source.stacks else ()))
        )
    )


def unplaced_note(number: int) -> tuple[str, ...]:
    """Return the note about values that had no column."""
    if not number:
        return ()
    others = format_names(lambda form: not (form.columns or form.partial))
    return (f"{number:,} values are left out: their field was not known at the start; {others} have all",)


class CsvTable:
    """CSV writer; see the module."""

    def __init__(self, source: ExportSource, out: BinaryIO) -> None:
        self._source = source
        self._out = out
        self._columns = columns_of(source)
        self._column_set = frozenset(self._columns)
        self._unplaced = 0
        self.omitted = 0
        heads = (*(head.name for head in source.heads), *HEADS)
        self._write([cell(name) for name in (*heads, *column_names(self._columns, heads))])

    @property
    def notes(self) -> tuple[str, ...]:
        return unplaced_note(self._unplaced)

    def take(self, record: Record) -> None:
        source, head_values = self._source.own(record), self._source.head(record)
        about = source.of(record.event)
        values = mark_values(record) if is_mark(record) else source.exact_values(record)
        requested = source.fields(record.format) if record.format else tuple(set(values) - about.omitted_fields)
        row = {name: cell(values.get(name)) for name in requested if name in self._column_set}
        for name, frames in stack_values(record, source.symbols).items():
            requested, row[stack_key(name)] = (*requested, stack_key(name)), cell(";".join(frames))
        self._unplaced += sum(name not in self._column_set for name in requested)
        where = (cell(head_values.get(head.name)) for head in self._source.heads)
        heads = [str(record.ts), str(record.cpu), str(record.pid)]
        heads += [cell(task_name(record)), cell(exported_name(record.event))]
        row |= {name: cell(text) for name, text in source.names(record, values, self._source.named).items()}
        self._write([*where, *heads, *(row.get(name, "") for name in self._columns)])

    def finish(self) -> None:
        """Write nothing: every row is complete."""

    def _write(self, cells: list[str]) -> None:
        self._out.write((",".join(cells) + "\r\n").encode())


def column_names(fields: Collection[str], heads: Collection[str]) -> list[str]:
    """Return column names for fields; a name that collides with a column of all events, or that of stacks, gets
    underscores until it is unique, also in the column of its numbers' names.
    """
    stacks = {stack_key(STACK): STACK} if stack_key(STACK) in fields else {}
    heads = (*heads, *stacks.values())
    used_names = {*heads, *fields}
    renamed: dict[str, str] = {}
    for field in fields:
        if field in heads:
            name = field
            while name in used_names:
                name += "_"
            used_names.add(name)
            renamed |= {field: name, f"{field}{NAME}": f"{name}{NAME}"}
    return [(renamed | stacks).get(field, field) for field in fields]


def cell(value: Value | float) -> str:
    """Return a value as text of a cell."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    text = show(value)
    is_plain = errno_of(text) is not None or _SIGNED_NUMBER.fullmatch(text) is not None
    return _quote(text if is_plain else _FORMULA.sub("'", text))


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
