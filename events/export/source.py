"""What is given out, and what is known of it: events with their meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from events.calls.call_values import EndRole
from events.decode import Value
from events.format import PROBE_FIELDS, EventFormat
from events.graph.record_ends import EVENTS
from events.names.event_names import event_name
from events.names.kallsyms import Symbols
from events.record import Record
from events.stacks.stack import KERNEL_STACKS, USER_STACKS


class ProbeNote(NamedTuple):
    """What the probe behind an event says of it."""

    subject: str = ""
    """Function, tracepoint or event it was put on; empty: not known."""
    unasked: frozenset[str] = frozenset()
    """Fields that are left out: nobody asked for them."""
    frame: str = ""
    """The field that only tells one call from another."""
    attached: str = ""
    """`group.event` that an event probe is attached to."""
    user: bool = False
    """It is of a probe in a program."""


class CommonField(NamedTuple):
    """Something that every event has besides what the trace says of it."""

    name: str
    kind: type[int] | type[str] | type[bool]


UNNAMED = "<...>"
"""A task whose name is not known: the kernel learns some only later."""
UNKNOWN = ProbeNote()
"""An event that nobody says anything of."""


def _no_names(record: Record) -> Iterable[tuple[str, str]]:  # noqa: ARG001 - as `Source.shown` is called
    return ()


def _no_symbols() -> Symbols | None:
    return None


def _no_comm(pid: int) -> str:  # noqa: ARG001 - as `Store.comm` is called
    return UNNAMED


def _trace_time(record: Record) -> int:
    return record.ts


def _nothing_lost(start: int, end: int) -> bool:  # noqa: ARG001 - as `Store.lost_between` is called
    return False


def is_name(value: Value | float, text: str) -> bool:
    """Whether the text that a field is shown by is a name of its number, and not the number in whatever digits."""
    if not isinstance(value, int) or isinstance(value, bool) or not text:
        return False
    try:
        int(text, 0)
    except ValueError:
        return True
    return False


@dataclass(frozen=True)
class Source:
    """See the module."""

    about: Mapping[str, ProbeNote] = field(default_factory=dict)
    """By the events' `group/name`."""
    formats: tuple[EventFormat, ...] = ()
    """Of all events that may come: columns are made of their fields before the first one does."""
    ends: Mapping[str, EndRole] = field(default_factory=dict)
    """The events that are ends of calls, by their `group/name`."""
    missed: Mapping[str, int | None] = field(default_factory=dict)
    """Calls during which a probe did not run, by `group/event`; None: the kernel does not count them."""
    lost_between: Callable[[int, int], bool] = _nothing_lost
    """See `events.store.store.Store.lost_between`."""
    events_lost: Callable[[int, int], bool] | None = None
    """See `events.store.store.Store.events_lost`; None: the same."""
    shown: Callable[[Record], Iterable[tuple[str, str]]] = _no_names
    """Name and text of each field as it is shown, values by their names."""
    comm: Callable[[int], str] = _no_comm
    """Name of a task by its thread id, as far as it is known by now."""
    symbols: Callable[[], Symbols | None] = _no_symbols
    """Names of addresses."""
    title: str = ""
    """Where the events are from, in a few words."""
    time: Callable[[Record], int] = _trace_time
    """When an event was, in nanoseconds: by the trace clock where nothing else is said."""
    cuts: bool = False
    """Whether the line was cut, or may be: what has columns has some for that."""
    stacks: bool = False
    """Whether events have kernel stacks, or may: what has columns has one for them."""
    passes: Callable[[Record], bool] | None = None
    """Whether an event passes the filter, for formats that have whole calls; None: all do."""
    heads: tuple[CommonField, ...] = ()
    """What stands in front of all that is given out of an event: where several hosts are, which one it is of."""
    _asked: dict[int, tuple[EventFormat, tuple[str, ...]]] = field(default_factory=dict, repr=False, compare=False)
    """What `fields` gave, by the identity of a format: to compare two of them takes as long as an event."""

    def of(self, event: str) -> ProbeNote:
        """What is known of an event."""
        return self.about.get(event, UNKNOWN)

    def fields(self, fmt: EventFormat) -> tuple[str, ...]:
        """Names of the fields of an event that somebody asked for, in the order of the format."""
        known = self._asked.get(id(fmt))
        if known is None:
            about = self.of(fmt.path)
            stack = fmt.path in KERNEL_STACKS or fmt.path in USER_STACKS  # the frames stand elsewhere
            hidden = PROBE_FIELDS | about.unasked | {about.frame}
            known = self._asked[id(fmt)] = (fmt, tuple(n for n in fmt.names if not stack and n not in hidden))
        return known[1]

    def own(self, record: Record) -> Source:  # noqa: ARG002 - of one host all are
        """What is known of where this event is from."""
        return self

    def head(self, record: Record) -> Mapping[str, Value]:  # noqa: ARG002 - of one host there is nothing to say
        """Values of `heads`, as far as they are known."""
        return {}

    def function(self, record: Record) -> str:
        """Return the function whose call an event is an end of, or its address; else the name of the event."""
        if record.event in EVENTS and isinstance(address := record.values.get("func"), int):
            symbols = self.symbols()
            return symbols.text(address, offset=False) if symbols else hex(address)
        return self.of(record.event).subject or event_name(record.event)


class Writer(Protocol):
    """Events in, bytes of one format out."""

    @property
    def left_out(self) -> int:
        """Events that were taken and are not in the file, when all is finished; `notes` say why."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be left out, a line each; empty: nothing."""

    def take(self, record: Record) -> None:
        """Write one event; they come in the order of their sequence numbers."""

    def finish(self) -> None:
        """Write what is held back, and the end. The file stays open."""
