"""Extract recorded kernel and user stacks: the addresses, the innermost first."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from events.format import EventFormat, Field
from events.record import Record

_STACK_EVENTS = ("kernel_stack", "user_stack")
"""Names of struct stack_entry and userstack_entry of kernel/trace/trace_entries.h: recorded by the `stacktrace`
trigger and the options `stacktrace` and `userstacktrace`."""
_ENDS = (0, (1 << 32) - 1, (1 << 64) - 1)
"""Values after the last address, if the stack is shorter than its array."""


def stack_event_addresses(record: Record) -> tuple[int, ...] | None:
    """Return the stack of a `kernel_stack` or `user_stack` event; None: it is another event.

    The format of either declares eight callers; a kernel_stack record has the real number in `size`.
    """
    fmt, layout = record.format, record.layout
    if fmt is None or layout is None or fmt.name not in _STACK_EVENTS:
        return None
    callers = caller_field(fmt)
    number = record.values.get("size", callers.count if callers else None)
    if callers is None or not isinstance(number, int):
        return None
    width = callers.width or 8
    stop = min(callers.offset + max(0, number) * width, len(record.raw))
    return _until_end(
        int.from_bytes(record.raw[at : at + width], layout.byteorder)
        for at in range(callers.offset, stop - width + 1, width)
    )


def caller_field(fmt: EventFormat) -> Field | None:
    """Return the field with the addresses of a `kernel_stack` or `user_stack` event; None: it has none."""
    return next((field for field in fmt.fields if field.name == "caller"), None)


def stacks_in(record: Record) -> tuple[tuple[int, ...], ...]:
    """Return the stacks in fields of a synthetic event (print_synth_event(), trace_events_synth.c)."""
    if record.format is None:
        return ()
    values = (record.values.get(name) for name in _stack_fields(record.format))
    return tuple(
        _until_end(part for part in value if isinstance(part, int)) for value in values if isinstance(value, tuple)
    )


def _stack_fields(fmt: EventFormat) -> tuple[str, ...]:
    if "__get_stacktrace(" not in fmt.print_fmt:
        return ()
    return tuple(name for name in fmt.names if f"__get_stacktrace({name})" in fmt.print_fmt)


def _until_end(addresses: Iterable[int]) -> tuple[int, ...]:
    return tuple(takewhile(lambda address: address not in _ENDS, addresses))
