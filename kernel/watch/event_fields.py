"""Name the values of events by the plans of armed probes: requested fields, and their BTF types."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from events.decode import Value
from events.format import PROBE_FIELDS, EventFormat, Field, FieldKind
from events.names.event_names import exported_name, regrouped_path
from events.names.number_names import NumberFormat
from events.names.value_names import Namer
from events.record import Record
from events.stacks.stack import NO_EVENT, is_stack
from events.store.outage_mark import task_text
from events.text import join_values
from kernel.errors import TargetLost
from kernel.watch.tasks.descriptor_names import DescriptorNames
from probes.hist.stack_triggers import records_stacks
from probes.plans.instance_groups import with_group
from probes.plans.plan import Plan, PlanColumn, PlannedEvent

if TYPE_CHECKING:
    from events.store.columns import FormatTable
    from kernel.session.armed import Armed

_UNKNOWN = PlanColumn("", "")
"""Column of a field that is in no plan."""
_OWNED = re.compile(r"(\$?[A-Za-z_]\w*)(?:->|\.)", re.ASCII)
"""Begin of an expression that reads a member."""
_WITHOUT_NAMES = (FieldKind.BOOL, FieldKind.CHAR, FieldKind.STRING, FieldKind.BYTES)
_ERROR_BYTES = 4
"""Bytes of the smallest number that is read as an error."""


class EventFields:
    """Names for the values of events; grows with each armed probe."""

    def __init__(self, namer: Callable[[int | None], Namer]) -> None:
        """Take the source of the names in a boot; it is called when its first value is to be named."""
        self._make_namer = namer
        self._namers: dict[int | None, Namer] = {}
        self._columns: dict[str, dict[str, PlanColumn]] = {}
        """Columns by event name without our group, as the group changes with a reconnect."""
        self._owners: dict[str, Mapping[str, str]] = {}
        """Results of `owners` by event name without our group."""
        self._plans: list[Plan] = []
        self._frames: set[tuple[str, str]] = set()
        """(event, field) pairs of fields that only match entries with exits."""
        self.with_stacks: set[str] = set()
        """Paths of events behind which a trigger records the kernel's stack."""
        self.group = ""
        """Group of our events in the store: that of the session whose events are read."""
        self._changing = threading.Lock()
        self.descriptors = DescriptorNames(lambda: self.plans)
        """Files of descriptors."""

    @property
    def plans(self) -> tuple[Plan, ...]:
        """Plans of all probes ever armed, oldest first; their events may still be in the store."""
        return tuple(self._plans)

    def namer(self, boot: int | None = None) -> Namer:
        """Return the names of values in a boot; empty if disconnected before the first was requested. None: of any
        boot, without the names of addresses.
        """
        if boot not in self._namers:
            try:
                self._namers[boot] = self._make_namer(boot)
            except TargetLost:  # events are shown all the same
                return Namer()
        return self._namers[boot]

    def add(self, armed: Armed) -> None:
        """Take the plan of a probe that was just armed."""
        self.add_plan(armed.plan)

    def add_plan(self, plan: Plan) -> None:
        """Take the plan of a probe that is armed, or was armed during a recording."""
        with self._changing:
            if plan not in self._plans:
                self._plans.append(plan)
        if plan.tracer is not None and plan.tracer.stacks_of:
            self.with_stacks.add(plan.tracer.stacks_of)
        for event in plan.events:
            self._columns[exported_name(event.path)] = {column.name: column for column in event.columns}
            self._owners.pop(exported_name(event.path), None)
            self._frames.add((exported_name(event.path), event.frame))
            for text in event.triggers:
                self.add_trigger(event, text)

    def change(self, before: Plan, after: Plan) -> None:
        """Replace the plan of an armed probe after a change of its filter; its events stay."""
        with self._changing:
            self._plans[self._plans.index(before)] = after

    def regroup(self, old: str, new: str) -> None:
        """Move all plans of one group to another group, in which the same probes continue.

        Each plan keeps its place among `plans`; no plans are added.
        """
        with self._changing:
            self._plans[:] = dict.fromkeys(with_group(plan, old, new) for plan in self._plans)
        paths = {regrouped_path(path, old, new) for path in self.with_stacks}
        self.with_stacks |= paths  # the store asks this set
        self.with_stacks &= paths
        self.group = new

    def add_trigger(self, event: PlannedEvent, text: str) -> None:
        """Take a new trigger of an event."""
        if records_stacks(text):
            self.with_stacks.add(event.path)

    def values(self, record: Record, *, at_once: bool = False) -> list[tuple[str, str]]:
        """Return name and value of each requested field; values as names where they have one.

        For a stack in a row of its own, the reason why it has no event. `at_once`: without the files of descriptors
        that many events are to be read for.
        """
        if is_stack(record):
            return [("note", NO_EVENT)]
        fields = {field.name: field for field in record.format.fields} if record.format else {}
        event = exported_name(record.event)
        columns = self._columns.get(event, {})
        values = []
        for name, value in record.values.items():
            if name in PROBE_FIELDS or (event, name) in self._frames:
                continue
            column, namer = columns.get(name, _UNKNOWN), self.namer(record.boot)
            text = value_text(value, fields.get(name), column, namer)
            file = self.descriptors.file(record, column, value, at_once=at_once) if column.naming else None
            if file is not None:
                text = f"{text}<{file}>"
            values.append((name, text))
        return values

    def note(self, record: Record, field: str, value: Value) -> str:
        """Return what is known of a value without certainty; empty: nothing."""
        column = self._columns.get(exported_name(record.event), {}).get(field, _UNKNOWN)
        return self.descriptors.note(record, column, value) if column.naming else ""

    def files_of(self, table: FormatTable, field: Field) -> list[Value] | None:
        """Return the files of descriptors; see `events.store.store.FileSource`."""
        columns = self._columns.get(exported_name(table.layout.format.path), {})
        return self.descriptors.files(table, field, columns.get(field.name, _UNKNOWN))

    def file(self, record: Record, field: str, *, at_once: bool = False) -> str | None:
        """Return the file of a descriptor in an event; None: it is not certain. `at_once` as for `values`."""
        column = self._columns.get(exported_name(record.event), {}).get(field, _UNKNOWN)
        return self.descriptors.file(record, column, record.values.get(field), at_once=at_once)

    def files_lack(self, field: str) -> str | None:
        """Return why the files of fields of this name are not known; empty: they may be; None: no file is meant."""
        columns = (one[field] for one in tuple(self._columns.values()) if field in one)
        lacks = [lack for column in columns if (lack := self.descriptors.lack(column)) is not None]
        return min(lacks, key=len, default=None)

    def owners(self, event: str) -> Mapping[str, str]:
        """Return the structures that fields of an event were read from, by field: `file` of `file->f_pos`.

        `event`: path of the event.
        """
        event = exported_name(event)
        if event not in self._owners:
            owned = {name: _OWNED.match(column.label) for name, column in self._columns.get(event, {}).items()}
            self._owners[event] = {name: found[1] for name, found in owned.items() if found is not None}
        return self._owners[event]

    def line(self, record: Record, unasked: Container[str] = ()) -> str:
        """Return the requested fields as one text, without those that are `unasked`; see `join_values`."""
        values = ((name, text) for name, text in self.values(record) if name not in unasked)
        return join_values(values, self.owners(record.event))

    def type_of(self, event: str, field: str) -> int | None:
        """Return the BTF type of a field of an event, by its path; None: unknown."""
        column = self._columns.get(exported_name(event), {}).get(field)
        return column.btf_type if column is not None else None

    def text(self, record: Record) -> str:
        """Return a record as one line, as shown; see `events.search.search.LineStyle`."""
        values = " ".join(f"{name}={value}" for name, value in self.values(record))
        return f"{task_text(record.comm, record.pid, record.event)} {record.event} {values}"

    def fields(self, fmt: EventFormat) -> tuple[Field, ...]:
        """Return the fields contained in that line."""
        return tuple(field for field in fmt.arguments if (exported_name(fmt.path), field.name) not in self._frames)

    def reading(self, fmt: EventFormat, field: Field) -> NumberFormat:
        """Return the number format of a field in that line."""
        column, namer = self._columns.get(exported_name(fmt.path), {}).get(field.name, _UNKNOWN), self.namer(fmt.boot)
        if column.functions:
            return NumberFormat(names=lambda address: namer.function(address, column.functions))
        if column.names:
            return NumberFormat(names=column.name_of)
        number = namer.reading(column.btf_type, column.is_retval, field, is_call=column.is_call, naming=column.naming)
        return self.descriptors.reading(column, number) if column.naming else number

    def named(self, fmt: EventFormat) -> tuple[str, ...]:
        """Return the fields in that line whose numbers may have names: enums, flags, errors, symbols."""
        return tuple(
            field.name for field in self.fields(fmt) if field is not fmt.function and self._is_named(fmt, field)
        )

    def _is_named(self, fmt: EventFormat, field: Field) -> bool:
        if field.kind in _WITHOUT_NAMES:
            return False
        reading = self.reading(fmt, field)
        return reading.beside is not None or (
            reading.names is not None and not (reading.only_errors and field.width < _ERROR_BYTES)
        )

    def numbers(self, fmt: EventFormat, field: Field) -> Mapping[str, int]:
        """Return the numbers of a field of an event by their names; empty: they have none."""
        column = self._columns.get(exported_name(fmt.path), {}).get(field.name, _UNKNOWN)
        return column.numbers or dict(self.namer().enumerators(column.btf_type, field, naming=column.naming))

    def wants_symbols(self, armed: Armed) -> bool:
        """Return whether values of a probe are addresses, which only symbols can name."""
        return any(map(self.names_addresses, armed.formats.values()))

    def names_addresses(self, fmt: EventFormat) -> bool:
        """Return whether values of an event are addresses, which only symbols can name."""
        return any(True for _ in self._addresses(fmt, fmt.arguments))

    def address_fields(self, fmt: EventFormat) -> tuple[str, ...]:
        """Return the fields of an event whose values are addresses, with those of the probe's own places."""
        return tuple(self._addresses(fmt, fmt.fields))

    def _addresses(self, fmt: EventFormat, fields: Iterable[Field]) -> Iterator[str]:
        """Yield the names of those fields whose values are addresses; types are read for the first field."""
        columns = self._columns.get(exported_name(fmt.path), {})
        for field in fields:
            if self.namer().names_addresses(columns.get(field.name, _UNKNOWN).btf_type, field):
                yield field.name


def value_text(value: Value, field: Field | None, column: PlanColumn, namer: Namer) -> str:
    """Return the name of a value if it has one, else the value.

    Args:
        value: from a record.
        field: of the record's format; None: unknown.
        column: of the plan of the event.
        namer: names in the boot of the record.
    """
    if column.functions and isinstance(value, int):
        return namer.function(value, column.functions)
    if column.names and isinstance(value, int):
        return column.name_of(value)
    return namer.text(value, column.btf_type, column.is_retval, field, is_call=column.is_call, naming=column.naming)
