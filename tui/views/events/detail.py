"""Details of one event: its fields, and the call that it is an end of. Pure: the screen and the pane beside a table
show them.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from events.kernel_time import seconds
from events.names.event_names import event_name
from events.store.outage_mark import task_text
from tui.present.status import detail_of
from widgets.number_format import duration

if TYPE_CHECKING:
    from events.calls.call_values import Call
    from events.record import Record
    from events.store.store import Store
    from kernel.watch.watch import Watch
    from widgets.events.times import Stamp
    from widgets.events.values import DetailField

_FAR: Final = "not among the events around this one"


def call_of_event(watch: Watch, store: Store, seq: int) -> Call | None:
    """Return the call that an event is an end of; None: of none, or its other end is too far away to say.

    Raises IndexError if the event was dropped.
    """
    from tui.present.call_ends import ends_of  # not before the first picture

    ends = ends_of(watch.event_fields.plans)
    if store.record(seq).event not in ends:
        return None
    from events.calls.call_around import call_around  # imports numpy

    return call_around(store, ends, seq)


def detail_of_event(watch: Watch, store: Store, record: Record, stamp: Stamp) -> tuple[str, tuple[DetailField, ...]]:
    """Return the title and every field of an event, with latency and other end of its call after its own values."""
    from tui.present.call_ends import ends_of  # not before the first picture

    title = f"{stamp(record.ts, record.seq)}  {record.event} of {task_text(record.comm, record.pid, record.event)}"
    call, role = None, ends_of(watch.event_fields.plans).get(record.event)
    with contextlib.suppress(IndexError):  # dropped meanwhile
        call = call_of_event(watch, store, record.seq)
    rows = rows_of_call(watch, store, record, call)
    if role is not None and call is None:
        rows = (_row("entry" if role.at_exit else "exit", _FAR),)
    return title + (f" on CPU {record.cpu}" if record.cpu >= 0 else ""), detail_of(watch, record, rows)


def rows_of_call(watch: Watch, store: Store, record: Record, call: Call | None) -> tuple[DetailField, ...]:
    """Return rows for the latency of a call and for its end that is not the event, with the values captured there."""
    if call is None:
        return ()
    at_exit = record.seq == call.exit
    end, seq = ("entry", call.entry) if at_exit else ("exit", call.exit)
    other = None
    with contextlib.suppress(IndexError):
        other = store.record(seq) if seq is not None else None
    if other is None:
        reason = call.unpaired_reason.value if call.unpaired_reason is not None else "its event was dropped"
        return (_row(end, reason),)
    recorded = {name for name, _ in watch.event_fields.values(other, at_once=True)}
    values = [field for field in detail_of(watch, other) if field.name in recorded]
    return (
        _row("latency", duration(abs(record.ts - other.ts))),
        _row(end, f"{seconds(other.ts)}  {event_name(other.event)}"),
        *(field._replace(name=f"{end}: {field.name}") for field in values),
    )


def _row(name: str, value: str) -> DetailField:
    from widgets.events.values import DetailField

    return DetailField(name, value, "", -1, 0, b"")
