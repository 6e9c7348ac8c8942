"""The stack of an event, as rows of its details."""

from __future__ import annotations

from typing import TYPE_CHECKING

from events.export.stacks import stack_of
from events.record import Record
from events.stack import stack_behind
from widgets.event_detail import DetailField

if TYPE_CHECKING:
    from kernel.watch import Watch


def stack_rows(watching: Watch, record: Record) -> tuple[DetailField, ...]:
    """One row for each function, the innermost first; none where no stack was recorded.

    The event of a stack has its own, of which its format declares the first eight callers only.
    """
    store = watching.store
    if store is None:
        return ()
    symbols = watching.connection.loaded_symbols
    stack = stack_of(record) or stack_behind(store, record, watching.known.with_stacks)
    return tuple(
        DetailField(
            "stack" if not depth else "", symbols.instruction(address) if symbols else f"{address:#x}", "", -1, 0, b""
        )
        for depth, address in enumerate(stack)
    )
