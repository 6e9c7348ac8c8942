"""Gather the keys and values of the events of one format as columns, or of events received as text one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from events.aggregates.event_columns import (
    EventColumns,
    KeyKind,
    KeySource,
    ValueSource,
    property_kind,
    value_source,
)
from events.aggregates.groups import Mask, ValueColumn
from events.aggregates.stack_keys import stack_keys
from events.clocks.boots import ID_MASK
from events.conditions.comparison import CALL_TIMES
from events.decode import Value
from events.format import ErrorForm
from events.names.errnos import error_in, error_numbers, returned_field
from events.record import Record
from events.stacks.stack import KERNEL_STACKS, recorded_stack
from events.store.columns import FormatTable, is_number
from events.store.outage_mark import task_text
from events.summary.keys import KeyColumns, field_keys, keys_from_numbers, lacks_number, number_from_key, value_keys
from events.text import UNNAMED

if TYPE_CHECKING:
    from events.store.store import Store

_UNKNOWN_CGROUP: Final = 1 << 63
"""Bit of the key of a task whose cgroup is not known yet; the bits below have its thread id."""


def key_column(source: KeySource, table: FormatTable, store: Store) -> tuple[KeyColumns, Mask | None]:
    """Return the key of each event of a table, and a mask of the events that lack it; None: none does."""
    kind, field = source.kind, source.field
    if kind is KeyKind.COMM:
        return KeyColumns(keys_from_numbers(table.task_keys.astype(np.int64))), None
    if kind is KeyKind.PID:
        return KeyColumns(keys_from_numbers(table.pids)), None
    if kind is KeyKind.CPU:
        return KeyColumns(keys_from_numbers(table.cpus)), None
    if kind is KeyKind.CGROUP:
        numbers = store.cgroups.numbers_of(table.pids, table.stamps, table.seqs).astype(np.int64)
        unknown = keys_from_numbers(table.pids) & np.uint64(ID_MASK) | np.uint64(_UNKNOWN_CGROUP)
        return KeyColumns(np.where(numbers < 0, unknown, numbers.view(np.uint64))), None
    if kind is KeyKind.STACK:
        return stack_keys(table, store, KERNEL_STACKS), None
    if field is None:
        return KeyColumns(np.zeros(len(table), np.uint64)), None
    if kind is KeyKind.ERRNO:
        values, missing = table.column(field)
        errors = error_numbers(values, field)
        return KeyColumns((-errors).astype(np.uint64)), missing
    if is_number(field):
        values, missing = table.column(field)
        if (files := store.files_of(table, field)) is not None:
            return value_keys(files), missing
        return KeyColumns(keys_from_numbers(values)), missing
    return field_keys(table, field), None


def value_columns(source: ValueSource, table: FormatTable) -> list[ValueColumn]:
    """Return the values of the events of a table; errors in an unsigned field as negative numbers."""
    if source.field is None:
        fields = {field.name: field for field in table.layout.format.fields}
        begin, end = (table.column(fields[name]).values.astype(np.int64) for name in CALL_TIMES)
        return [ValueColumn(end - begin, end > 0)]
    values, missing = table.column(source.field)
    present = None if missing is None else ~missing
    if source.field.errors is not ErrorForm.NONE and values.dtype.kind == "u":
        errors = error_numbers(values, source.field)
        is_other = errors == 0 if present is None else present & (errors == 0)
        return [ValueColumn(errors, errors < 0), ValueColumn(values, is_other)]
    return [ValueColumn(values, present)]


def _stack_of(record: Record) -> Value:
    """Return the addresses of an event's kernel stack, or its text; None: none was recorded."""
    stack = next((one for one in (record, *record.stacks) if one.event in KERNEL_STACKS), None)
    if stack is None:
        return None
    return recorded_stack(stack)


def key_value(source: KeySource, key: int, texts: Mapping[int, Value]) -> Value:
    """Return what a key stands for.

    A number, a text, or None where the kernel could not read it; for a task its `events.clocks.boots.task_key`, for a
    cgroup what `cgroup_path` takes, for an event its path, for an error its positive number, 0 where there is none,
    for a stack its addresses or its text. Of events received as text always what is in the text.
    """
    if key in texts:
        return texts[key]
    if source.fmt is None:
        return None
    if source.kind in (KeyKind.EVENT, KeyKind.FUNCTION):
        return source.path
    if source.kind is KeyKind.FIELD and source.field is not None:
        return number_from_key(key, source.field) if is_number(source.field) else None
    if source.kind in (KeyKind.CPU, KeyKind.PID):
        return key - (1 << 64) if key >> 63 else key
    return key


def cgroup_path(value: int, store: Store) -> str:
    """Return the path of a cgroup; of a task whose cgroup was not known, that which is known now; else empty."""
    if value & _UNKNOWN_CGROUP:
        return store.cgroups.path_of(value & ID_MASK, max(store.latest, 0)) or ""
    return store.cgroups.paths[value] if value < len(store.cgroups.paths) else ""


def text_keys(names: Sequence[str], record: Record, columns: EventColumns, store: Store) -> list[Value] | None:
    """Return the keys of an event received as text; None: it lacks one."""
    found = [value for name in names for value in _text_key(name, record, columns, store)]
    return found if len(found) == len(names) else None


def _text_key(name: str, record: Record, columns: EventColumns, store: Store) -> tuple[Value, ...]:
    """Return one key as the only item; empty: the event lacks it."""
    field = name if name in record.values else columns.expressions.get(name, "")
    if field in record.values:
        return () if lacks_number(record, field) else (record.values[field],)
    kind = property_kind(name, columns)
    if kind is KeyKind.ERRNO:
        own = returned_field(record.format) if record.format is not None else None
        value = record.values.get(own.name) if own is not None else None
        return (max(0, -error_in(value, own)),) if own is not None and isinstance(value, int) else ()
    if kind is KeyKind.CGROUP:
        return (store.cgroups.path_of(record.pid, record.ts, record.seq) or "",)
    if kind is KeyKind.STACK:
        return (_stack_of(record),)
    values: dict[KeyKind, Value] = {
        KeyKind.COMM: task_text(record.comm, record.pid, "") if record.comm == UNNAMED else record.comm,
        KeyKind.PID: record.pid,
        KeyKind.CPU: record.cpu,
        KeyKind.EVENT: record.event,
        KeyKind.FUNCTION: record.event,
    }
    return (values[kind],) if kind is not None else ()


def text_value(name: str, record: Record, columns: EventColumns) -> int | None:
    """Return a value of an event received as text, an error in an unsigned field as a negative number.

    None: the event has no such number.
    """
    source = value_source(name, record.format, columns) if record.format is not None else None
    value = record.values.get(source.field.name) if source is not None and source.field is not None else None
    if source is None or source.field is None or not isinstance(value, int):
        return None
    return error_in(value, source.field) or int(value)
