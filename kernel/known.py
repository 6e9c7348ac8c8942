"""What the plans that were armed say of their events: which fields somebody asked for, and what BTF knows of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from events.cut_mark import task_text
from events.format import PROBE_FIELDS, EventFormat, Field
from events.naming import Namer
from events.record import Record
from events.search import Reading
from events.stack import NO_EVENT, is_stack
from kernel.stack_triggers import records_stacks
from probes.plan import Column, Plan, PlannedEvent

if TYPE_CHECKING:
    from kernel.session import Armed

_UNKNOWN = Column("", "")
"""Of a field that no plan knows."""


class Known:
    """Gives values their names; grows with each probe that is armed."""

    def __init__(self, namer: Callable[[], Namer]) -> None:
        """Take the source of names; it is called when the first value is to be named."""
        self._make_namer = namer
        self._columns: dict[str, dict[str, Column]] = {}
        self._plans: list[Plan] = []
        self._frames: set[tuple[str, str]] = set()
        """(event, field) of what only tells calls apart."""
        self.with_stacks: set[str] = set()
        """Paths of events behind which a trigger puts the kernel's stack."""

    @property
    def plans(self) -> tuple[Plan, ...]:
        """Of everything that was ever armed, oldest first; their events may still be in the store."""
        return tuple(self._plans)

    @cached_property
    def namer(self) -> Namer:
        """What gives values their names."""
        return self._make_namer()

    def add(self, armed: Armed) -> None:
        """A probe was armed."""
        self.add_plan(armed.plan)

    def add_plan(self, plan: Plan) -> None:
        """Take the plan of a probe that is armed, or was when a recording was made."""
        if plan not in self._plans:
            self._plans.append(plan)
        for event in plan.events:
            self._columns[event.path] = {column.name: column for column in event.columns}
            self._frames.add((event.path, event.frame))
            for text in event.triggers:
                self.add_trigger(event, text)

    def change(self, before: Plan, after: Plan) -> None:
        """An armed probe has another filter; its events are the same."""
        self._plans[self._plans.index(before)] = after

    def add_trigger(self, event: PlannedEvent, text: str) -> None:
        """An event has a trigger now."""
        if records_stacks(text):
            self.with_stacks.add(event.path)

    def values(self, record: Record) -> list[tuple[str, str]]:
        """Name and value of each field that somebody asked for; values by their names where they have one.

        Of a stack that is a row of its own why it is.
        """
        if is_stack(record):
            return [("note", NO_EVENT)]
        fields = {field.name: field for field in record.format.fields} if record.format else {}
        columns = self._columns.get(record.event, {})
        named = []
        for name, value in record.values.items():
            if name in PROBE_FIELDS or (record.event, name) in self._frames:
                continue
            column = columns.get(name, _UNKNOWN)
            kind, is_retval = column.btf_type, column.is_retval
            named.append((name, self.namer.text(value, kind, is_retval, fields.get(name), is_call=column.is_call)))
        return named

    def text(self, record: Record) -> str:
        """A record as one line, as it is shown; see `events.search.Style`."""
        values = " ".join(f"{name}={value}" for name, value in self.values(record))
        return f"{task_text(record.comm, record.pid, record.event)} {record.event} {values}"

    def fields(self, fmt: EventFormat) -> tuple[Field, ...]:
        """What stands in that line."""
        return tuple(field for field in fmt.arguments if (fmt.path, field.name) not in self._frames)

    def reading(self, fmt: EventFormat, field: Field) -> Reading:
        """How the numbers of a field read in that line."""
        column = self._columns.get(fmt.path, {}).get(field.name, _UNKNOWN)
        return self.namer.reading(column.btf_type, column.is_retval, field, is_call=column.is_call)

    def wants_symbols(self, armed: Armed) -> bool:
        """Whether values of a probe are addresses, which only the symbols can name."""
        return any(map(self.names_addresses, armed.formats.values()))

    def names_addresses(self, fmt: EventFormat) -> bool:
        """Whether values of an event are addresses, which only the symbols can name."""
        columns = self._columns.get(fmt.path, {})
        return any(
            self.namer.names_addresses(columns.get(field.name, _UNKNOWN).btf_type, field) for field in fmt.arguments
        )
