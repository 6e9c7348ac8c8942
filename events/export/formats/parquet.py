"""Write Parquet with pyarrow: one row per event, typed columns, compressed by Zstandard.

Columns: `ts` (int64, nanoseconds of the trace clock), `cpu`, `pid`, `comm`, `event` (for our own probes without the
session's group), then every field that an event may have. Numbers have their width and sign; if two events have a
field of one name with different integer types, the column has the smallest type that holds both exactly
(decimal128(20) for u64 with s64), and for unrelated types text. Arrays are lists, structures bytes, strings text
(escaped by `events.export.escape`). A field whose numbers may have names has a second column behind its own,
`FIELD.name`, with the name as displayed. If stacks are recorded, `stack` has the functions of the event's stack, the
innermost first. null: no such field, the kernel could not read it, or the number has no name.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO

from events.decode import Scalar, Value
from events.export.formats.csv_table import HEADS, STACK, column_names, stack_key, unplaced_note
from events.export.source import CommonField, ExportSource
from events.format import Field, FieldKind
from events.names.event_names import exported_name
from events.record import Record
from events.stacks.stack import stack_values
from events.store.outage_mark import OUTAGE_FIELDS, is_mark, mark_values, task_name
from events.text import show

if TYPE_CHECKING:
    import pyarrow

_PIECE = 1 << 11
"""Rows converted to columns in one step, which takes most of the time."""
_GROUP = 1 << 15
"""Rows in a row group of the file, which are held in memory."""
Cell = Scalar | float | Decimal | list[object]
"""Value in the form that pyarrow takes."""
INSTALLATION = "pip install 'pyarrow>=22' (the extra `parquet` of probewright)"


class NoPyarrow(Exception):
    """Raised if pyarrow is not installed; the text says how to install it."""


def require_pyarrow() -> ModuleType:
    """Import and return pyarrow.

    Raises:
        NoPyarrow: it is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise NoPyarrow(f"Parquet needs pyarrow, which is not installed: {INSTALLATION}") from error
    found: ModuleType = pyarrow
    return found


class ParquetTable:
    """Parquet writer; see the module."""

    def __init__(self, source: ExportSource, out: BinaryIO) -> None:
        """Start a file.

        Raises:
            NoPyarrow: pyarrow is not installed.
        """
        self._pa = pa = require_pyarrow()
        self._source = source
        self._types = _column_types(pa, source)
        self._fits = {name: _fit(pa, kind) for name, kind in self._types.items()}
        heads = [
            *(_head(pa, head) for head in source.heads),
            pa.field("ts", pa.int64(), False, {"unit": "ns"}),
            pa.field("cpu", pa.int32(), False),
            pa.field("pid", pa.int32(), False),
            pa.field("comm", pa.string(), False),
            pa.field("event", pa.string(), False),
        ]
        names = (*(head.name for head in source.heads), *HEADS)
        own = map(pa.field, column_names(self._types, names), self._types.values())
        self._schema = pa.schema([*heads, *own], {"probewright": source.title})
        self._writer = pa.parquet.ParquetWriter(out, self._schema, compression="zstd")
        self._rows: list[list[Cell]] = [[] for _ in self._schema]
        self._pieces: list[pyarrow.RecordBatch] = []
        self._unplaced = 0
        self.omitted = 0

    @property
    def notes(self) -> tuple[str, ...]:
        return unplaced_note(self._unplaced)

    def take(self, record: Record) -> None:
        source, head_values = self._source.own(record), self._source.head(record)
        values = mark_values(record) if is_mark(record) else source.exact_values(record)
        requested = source.fields(record.format) if record.format else tuple(values)
        if stacks := stack_values(record, source.symbols):
            stacks = {stack_key(name): frames for name, frames in stacks.items()}
            values, requested = {**values, **stacks}, (*requested, *stacks)
        self._unplaced += sum(name not in self._fits for name in requested)
        where = (None if isinstance(at := head_values.get(head.name), tuple) else at for head in self._source.heads)
        name = exported_name(record.event)
        heads: tuple[Cell, ...] = (*where, record.ts, record.cpu, record.pid, task_name(record), name)
        for cells, head in zip(self._rows, heads, strict=False):
            cells.append(head)
        given: dict[str, Value | float] = {name: values.get(name) for name in requested}
        given |= source.names(record, given, self._source.named)
        for cells, (name, fit) in zip(self._rows[len(heads) :], self._fits.items(), strict=True):
            value = given.get(name)
            cell = None if value is None else fit(value)
            self._unplaced += value is not None and cell is None
            cells.append(cell)
        if len(self._rows[0]) >= _PIECE:
            self._make_columns()
        if len(self._pieces) * _PIECE >= _GROUP:
            self._flush()

    def finish(self) -> None:
        if self._rows[0]:
            self._make_columns()
        if self._pieces:
            self._flush()
        self._writer.close()

    def _make_columns(self) -> None:
        pa = self._pa
        arrays = [pa.array(cells, kind.type) for cells, kind in zip(self._rows, self._schema, strict=True)]
        self._pieces.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        for cells in self._rows:
            cells.clear()

    def _flush(self) -> None:
        self._writer.write_table(self._pa.Table.from_batches(self._pieces), row_group_size=_GROUP)
        self._pieces.clear()


def _head(pa: ModuleType, head: CommonField) -> pyarrow.Field:
    kind = {int: pa.int64(), str: pa.string(), bool: pa.bool_()}[head.kind]
    return pa.field(head.name, kind, metadata={"unit": "ns"} if head.kind is int else None)


def _column_types(pa: ModuleType, source: ExportSource) -> dict[str, pyarrow.DataType]:
    found: dict[str, pyarrow.DataType] = {}
    for fmt in source.formats:
        fields = {field.name: field for field in fmt.fields}
        for name in source.fields(fmt):
            kind = pa.string() if fields[name] is fmt.function else _type_of(pa, fields[name])
            found[name] = _common(pa, found[name], kind) if name in found else kind
    found = {column: found.get(column, pa.string()) for name in found for column in source.columns_of(name)}
    if source.has_outages:
        for name, kind in zip(OUTAGE_FIELDS, (pa.int64(), pa.int64(), pa.float64(), pa.string()), strict=True):
            found[name] = _common(pa, found[name], kind) if name in found else kind
    if source.stacks:
        found[stack_key(STACK)] = pa.list_(pa.string())
    return found


def _type_of(pa: ModuleType, field: Field) -> pyarrow.DataType:
    element = {
        FieldKind.BOOL: pa.bool_(),
        FieldKind.CHAR: pa.string(),
        FieldKind.STRING: pa.string(),
        FieldKind.BYTES: pa.binary(),
    }.get(field.kind)
    if element is None:
        element = getattr(pa, f"{'' if field.signed else 'u'}int{8 * field.width}")()
    return element if field.count is None else pa.list_(element)


def _common(pa: ModuleType, first: pyarrow.DataType, second: pyarrow.DataType) -> pyarrow.DataType:
    """Return the type that holds values of both types."""
    if first == second:
        return first
    exact = pa.decimal128(20, 0)
    if all(pa.types.is_integer(kind) or kind == exact for kind in (first, second)):
        if exact in (first, second):
            return exact
        signed = [kind for kind in (first, second) if pa.types.is_signed_integer(kind)]
        width = max(first.bit_width, second.bit_width)
        if len(signed) != 1:
            return getattr(pa, f"{'' if signed else 'u'}int{width}")()
        unsigned = first if signed[0] == second else second
        needed = max(signed[0].bit_width, 2 * unsigned.bit_width)
        return exact if needed > 64 else getattr(pa, f"int{needed}")()
    return pa.string()


def _fit(pa: ModuleType, kind: pyarrow.DataType) -> Callable[[Value | float], Cell]:
    """Return a function that converts a value to a cell; None if the value is not of this type (text events may
    differ).
    """
    if pa.types.is_list(kind):
        inner = _fit(pa, kind.value_type)
        return lambda value: [_or_none(inner, part) for part in value] if isinstance(value, tuple) else None
    if pa.types.is_floating(kind):
        return lambda value: value if isinstance(value, float) else None
    if pa.types.is_boolean(kind):
        return lambda value: value if isinstance(value, bool) else None
    if pa.types.is_binary(kind):
        return lambda value: value if isinstance(value, bytes) else None
    if pa.types.is_decimal(kind):
        return lambda value: Decimal(value) if isinstance(value, int) else None
    if pa.types.is_integer(kind):
        signed = pa.types.is_signed_integer(kind)
        low = -(1 << (kind.bit_width - 1)) if signed else 0
        high = (1 << (kind.bit_width - signed)) - 1
        return lambda value: int(value) if isinstance(value, int) and low <= value <= high else None
    return lambda value: None if isinstance(value, bytes) else str(value) if isinstance(value, float) else show(value)


def _or_none(fit: Callable[[Value | float], Cell], part: Scalar) -> Cell:
    return None if part is None else fit(part)
