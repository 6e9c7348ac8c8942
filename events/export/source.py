"""Describe the events of an export: fields, symbols, calls and names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

from events.calls.call_values import EndRole
from events.decode import Value
from events.export.escape import exact_values
from events.format import PROBE_FIELDS, EventFormat
from events.graph.record_ends import EVENTS
from events.names.event_names import event_name
from events.names.kallsyms import Symbols
from events.names.value_names import function_name
from events.record import Record
from events.stacks.stack import KERNEL_STACKS, USER_STACKS
from events.store.gaps import NOTHING_LOST, LossSpans
from events.text import UNNAMED

NAME = ".name"
"""End of the name of a column with the names of a field's numbers."""
_WITH_FILE = re.compile(r"(?:[0-9]+|0x[0-9a-f]+)<(.*)>", re.DOTALL)
"""Displayed text of a descriptor with its file."""
_FUNCTION = "__probe_func"
"""Field with the address of the function that returned."""


class ProbeNote(NamedTuple):
    """Description of the probe of an event."""

    subject: str = ""
    """Function, tracepoint or event that the probe is on; empty: unknown."""
    omitted_fields: frozenset[str] = frozenset()
    """Fields that are omitted because the user did not request them."""
    frame: str = ""
    """Field that serves only to tell calls apart."""
    attached: str = ""
    """`group.event` that an event probe is attached to."""
    pattern: str = ""
    """Pattern of the probed functions; empty: the probe is on one."""
    user: bool = False
    """True for a probe in a program."""


class CommonField(NamedTuple):
    """Field that every exported event has in addition to the trace's own."""

    name: str
    kind: type[int] | type[str] | type[bool]


NO_PROBE_NOTE = ProbeNote()
"""Note for events without a probe."""


def _no_names(record: Record) -> Iterable[tuple[str, str]]:  # noqa: ARG001 - as `ExportSource.field_texts` is called
    return ()


def _no_symbols(boot: int) -> Symbols | None:  # noqa: ARG001 - as `KernelInfo.symbols_of` is called
    return None


def _no_comm(key: int) -> str:  # noqa: ARG001 - as `TaskNames.name` is called
    return UNNAMED


def _trace_time(record: Record) -> int:
    return record.ts


def _nothing_lost(seq: int) -> LossSpans:  # noqa: ARG001 - as `BootLossSpans.at` is called
    return NOTHING_LOST


def _none_named(fmt: EventFormat) -> Collection[str]:  # noqa: ARG001 - as `ExportSource.named_fields` is called
    return ()


def is_name(value: Value | float, text: str) -> bool:
    """Return whether a field's displayed text is a name of its number, not the number in some base; of an array
    whether one of its numbers has a name.
    """
    if isinstance(value, tuple):
        return any(map(is_name, value, text.strip("{}").split(",")))
    if not isinstance(value, int) or isinstance(value, bool) or not text:
        return False
    try:
        int(text, 0)
    except ValueError:
        return True
    return False


def name_of(value: Value | float, text: str) -> str | None:
    """Return the name of a value for a column beside that of its number, of a system call or descriptor without that;
    None: its displayed text is no name.
    """
    if not is_name(value, text):
        return None
    if (file := _WITH_FILE.fullmatch(text)) is not None and isinstance(value, int):
        return file[1]
    return text.removeprefix(f"{value} ") if isinstance(value, int) else text


@dataclass(frozen=True)
class ExportSource:
    """Properties of the events of an export."""

    probe_notes: Mapping[str, ProbeNote] = field(default_factory=dict)
    """Notes by the events' `group/name`."""
    formats: tuple[EventFormat, ...] = ()
    """Formats of all events that may come: columns are made of their fields before the first event."""
    ends: Mapping[str, EndRole] = field(default_factory=dict)
    """Roles of the events that are ends of calls, by `group/name`."""
    missed: Mapping[str, int | None] = field(default_factory=dict)
    """Number of calls that a probe missed, by `group/event`; None: the kernel does not count them."""
    loss_spans_at: Callable[[int], LossSpans] = _nothing_lost
    """Function that returns the time spans with missing events of the boot of an event, by its sequence number."""
    field_texts: Callable[[Record], Iterable[tuple[str, str]]] = _no_names
    """Function that returns name and text of each field as displayed, with values by their names."""
    named_fields: Callable[[EventFormat], Collection[str]] = _none_named
    """Function that returns the fields of a format whose numbers may have names."""
    comm: Callable[[int], str] = _no_comm
    """Function that returns the name of a task by its `events.clocks.boots.task_key`, as far as known."""
    symbols: Callable[[int], Symbols | None] = _no_symbols
    """Function that returns the symbols of addresses in a boot, and reads them first where they were not; None:
    unknown."""
    loaded_symbols: Callable[[int], Symbols | None] = _no_symbols
    """As `symbols`, without those that would have to be read from a kernel that is followed."""
    title: str = ""
    """Origin of the events, in a few words."""
    time: Callable[[Record], int] = _trace_time
    """Function that returns the time of an event in nanoseconds; by default of the trace clock."""
    has_outages: bool = False
    """True if there are outages, or may be: formats with columns then have some for outages."""
    stacks: bool = False
    """True if events have kernel stacks, or may have them: formats with columns then have one for stacks."""
    passes: Callable[[Record], bool] | None = None
    """Filter for formats that have whole calls; None: all events pass."""
    heads: tuple[CommonField, ...] = ()
    """Fields at the front of each exported event: with several hosts, the host."""
    _asked: dict[int, tuple[EventFormat, tuple[str, ...]]] = field(default_factory=dict, repr=False, compare=False)
    """Results of `fields` by the identity of a format: comparing two formats takes as long as exporting an event."""

    def of(self, event: str) -> ProbeNote:
        """Return the note of an event's probe."""
        return self.probe_notes.get(event, NO_PROBE_NOTE)

    def fields(self, fmt: EventFormat) -> tuple[str, ...]:
        """Return the names of an event's requested fields, in the order of the format."""
        cached = self._asked.get(id(fmt))
        if cached is None:
            about = self.of(fmt.path)
            stack = fmt.path in KERNEL_STACKS or fmt.path in USER_STACKS  # frames are exported separately
            hidden = PROBE_FIELDS | about.omitted_fields | {about.frame}
            cached = self._asked[id(fmt)] = (fmt, tuple(n for n in fmt.names if not stack and n not in hidden))
        return cached[1]

    @cached_property
    def named(self) -> frozenset[str]:
        """Fields whose numbers may have names in one of `formats`."""
        return frozenset(name for fmt in self.formats for name in self.named_fields(fmt))

    def columns_of(self, name: str) -> tuple[str, ...]:
        """Return the columns of a field: that of its values, and where these may have names one for the names."""
        return (name, f"{name}{NAME}") if name in self.named else (name,)

    def names(
        self, record: Record, values: Mapping[str, Value | float], named: frozenset[str]
    ) -> dict[str, str | None]:
        """Return the names of those of an event's values whose field is `named`, by column; None: it has none."""
        if named.isdisjoint(values):
            return {}
        texts = dict(self.field_texts(record))
        return {f"{name}{NAME}": name_of(values[name], texts.get(name, "")) for name in values if name in named}

    def own(self, record: Record) -> ExportSource:  # noqa: ARG002 - one host: the same for all
        """Return the source of the host that an event is from."""
        return self

    def head(self, record: Record) -> Mapping[str, Value]:  # noqa: ARG002 - one host: no fields
        """Return the values of `heads` that are known."""
        return {}

    def probed_function(self, record: Record) -> str | None:
        """Return the name of the function that a record of a probe on several functions is from, or its address;
        None: the probe is on one function only.
        """
        field = record.format.function if record.format is not None else None
        value = record.values.get(field.name) if field is not None else None
        if not isinstance(value, int):
            return value if isinstance(value, str) else None
        return function_name(self.symbols(record.boot), value, self.of(record.event).pattern)

    def probe_places(self, record: Record) -> Mapping[str, str]:
        """Return the symbols of the addresses that each record of a probe in the kernel has, by field.

        Without symbols the function of a probe on one is known all the same: they are not read for this, which may
        take seconds.
        """
        about, symbols = self.of(record.event), self.loaded_symbols(record.boot)
        known = {
            name: value
            for name, value in record.values.items()
            if name in PROBE_FIELDS and isinstance(value, int) and not about.user
        }
        if symbols is not None:
            texts = {name: symbols.instruction(value, offset=name != _FUNCTION) for name, value in known.items()}
            return {name: text for name, text in texts.items() if text and not text.startswith("0")}
        function = about.subject.partition(" (")[0]
        return {_FUNCTION: function} if function and not about.pattern and _FUNCTION in known else {}

    def exact_values(self, record: Record) -> Mapping[str, Value]:
        """Return the fields of an event by name as `events.export.escape.exact_values`, with a probed function's
        name in place of its address.
        """
        values = exact_values(record)
        function = self.probed_function(record)
        if function is None or record.format is None or record.format.function is None:
            return values
        return {**values, record.format.function.name: function}

    def function(self, record: Record) -> str:
        """Return the function of the call that an event is an end of, or its address; otherwise the name of the
        event.
        """
        if (function := self.probed_function(record)) is not None:
            return function
        if record.event in EVENTS and isinstance(address := record.values.get("func"), int):
            symbols = self.symbols(record.boot)
            return symbols.text(address, offset=False) if symbols else hex(address)
        return self.of(record.event).subject or event_name(record.event)


class Writer(Protocol):
    """Writer that takes events and outputs bytes of one format."""

    @property
    def omitted(self) -> int:
        """Number of events taken that are not in the finished file; `notes` has the reasons."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Omissions, one line each; empty: none."""

    def take(self, record: Record) -> None:
        """Write one event; events come in ascending order of sequence numbers."""

    def finish(self) -> None:
        """Write what is held back, and the end of the format. The file stays open."""
