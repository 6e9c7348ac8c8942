"""Read the events that tell of descriptors from the columns of a store, one step each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from events.descriptors.calls import PARAMETERS
from events.descriptors.sources import DescriptorRole, DescriptorSource
from events.format import Field, FieldKind
from events.names.syscalls import call_name, call_number
from events.store.columns import FormatTable, StoreColumns, is_number, is_string


class DescriptorStep(NamedTuple):
    """Event that tells of descriptors."""

    row: int
    ts: int
    task: int
    source: DescriptorSource | None = None
    """Source; None: the event only shows that all needed probes are armed."""
    call: str = ""
    arguments: Mapping[str, int] = {}
    """Values by parameter; a result is `ret`."""
    path: str | None = None


_NOTHING: Final[Mapping[str, int]] = {}


def steps_of(
    columns: StoreColumns, sources: Mapping[int, DescriptorSource], machine: str
) -> Iterator[DescriptorStep]:
    """Yield the steps of some rows, format by format; `sources`: by format id."""
    for number, source in sources.items():
        if (table := columns.tables.get(number)) is not None:
            if source.role in (DescriptorRole.ANY_ENTER, DescriptorRole.ANY_LEAVE):
                yield from _steps_of_any(table, source, machine)
            else:
                yield from _steps_of_one(table, source)


def _steps_of_one(table: FormatTable, source: DescriptorSource) -> Iterator[DescriptorStep]:
    """Yield the steps of events of one call."""
    fields = {field.name: field for field in table.layout.format.fields}
    own = {name: fields[field] for name, field in source.fields.items() if field in fields}
    own = {name: field for name, field in own.items() if is_number(field)}
    path = next((fields[name] for name in source.paths if name in fields and is_string(fields[name])), None)
    texts = table.values(path) if path is not None else [None] * len(table)
    rows = _rows(table, own)
    for (row, ts, task, arguments), text in zip(rows, texts, strict=True):
        yield DescriptorStep(row, ts, task, source, source.call, arguments, text if isinstance(text, str) else None)


def _steps_of_any(table: FormatTable, source: DescriptorSource, machine: str) -> Iterator[DescriptorStep]:
    """Yield the steps of events of any call, of those calls that matter."""
    fields = {field.name: field for field in table.layout.format.fields}
    if "id" not in fields:
        return
    ids = table.column(fields["id"]).values
    numbers = [number for call in PARAMETERS if (number := call_number(machine, call)) is not None]
    for number in np.intersect1d(ids, numbers).tolist():
        part = table.only(ids == number)
        call = call_name(machine, number) or ""
        if source.role is DescriptorRole.ANY_LEAVE:
            own = {"ret": fields["ret"]} if "ret" in fields else {}
        else:
            own = _arguments(fields.get("args"), PARAMETERS[call])
        for row, ts, task, arguments in _rows(part, own):
            yield DescriptorStep(row, ts, task, source, call, arguments)


def _arguments(field: Field | None, names: tuple[str, ...]) -> dict[str, Field]:
    """Return the elements of an array of arguments as fields by parameter."""
    if field is None:
        return {}
    width = field.width
    return {
        name: Field(name, "unsigned long", field.offset + width * place, width, False, FieldKind.INT, width)
        for place, name in enumerate(names)
    }


def _rows(table: FormatTable, fields: Mapping[str, Field]) -> Iterator[tuple[int, int, int, Mapping[str, int]]]:
    """Yield row, time, task and values by parameter of each event; without those that could not be read."""
    columns: list[list[Any]] = []
    for field in fields.values():
        values, missing = table.column(field)
        known: list[Any] = values.tolist()
        if missing is not None:
            known = [None if lost else value for value, lost in zip(known, missing.tolist(), strict=True)]
        columns.append(known)
    heads = zip(table.seqs.tolist(), table.stamps.tolist(), table.pids.tolist(), strict=True)
    if not columns:
        yield from ((*head, _NOTHING) for head in heads)
        return
    for head, found in zip(heads, zip(*columns, strict=True), strict=True):
        yield *head, {name: value for name, value in zip(fields, found, strict=True) if value is not None}
