"""Which stack belongs to an event: the `stacktrace` trigger writes it right behind the event, on the same CPU."""

from __future__ import annotations

from collections.abc import Container
from typing import Protocol

from events.export.stacks import stack_of
from events.record import Record

STACK = "ftrace/kernel_stack"
_FAR = 4096
"""Rows of all CPUs in which it is looked for."""


class Rows(Protocol):
    """What is needed of `events.store.Store`."""

    @property
    def next_seq(self) -> int: ...
    def row(self, seq: int) -> tuple[int, int, int]:
        """Time, CPU, id of the format."""

    def event(self, number: int) -> str: ...
    def record(self, seq: int) -> Record: ...


def stack_behind(store: Rows, record: Record, carriers: Container[str]) -> tuple[int, ...]:
    """Addresses of an event's kernel stack, the innermost first; empty: it has none.

    A probe runs with preemption off (kernel/trace/trace_events_trigger.c writes the stack from there): only an
    interrupt can put events between the two, each with its own stack, as brackets within brackets.

    Args:
        store: has the rows.
        record: of the event.
        carriers: paths of the events that have such a trigger.
    """
    if record.event not in carriers:
        return ()
    inner = 0
    for seq in range(record.seq + 1, min(record.seq + 1 + _FAR, store.next_seq)):
        _, cpu, number = store.row(seq)
        if cpu != record.cpu:
            continue
        name = store.event(number)
        if name == STACK and not inner:
            return stack_of(store.record(seq)) or ()
        if name == STACK:
            inner -= 1
        elif name in carriers:
            inner += 1
    return ()
