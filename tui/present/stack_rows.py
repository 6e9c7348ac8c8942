"""The stacks of an event, as rows of its details and as printed lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from events.record import Record
from events.stacks.stack import NO_EVENT, NO_FRAMES, is_stack, kernel_frames, user_frames

if TYPE_CHECKING:
    from kernel.watch.watch import Watch
    from widgets.events.event_detail import DetailField


def stack_rows(watching: Watch, record: Record) -> tuple[DetailField, ...]:
    """Return a row for each function, the innermost first; none where no stack was recorded.

    In front of a stack that is a row of its own stands why.
    """
    from widgets.events.event_detail import DetailField  # textual comes with it

    rows = [("note", NO_EVENT)] if is_stack(record) else []
    for name, texts in _stacks(watching, record):
        rows += zip((name, *("" for _ in texts[1:])), texts, strict=True)
    return tuple(DetailField(name, text, "", -1, 0, b"") for name, text in rows)


def stack_lines(watching: Watch, record: Record) -> list[str]:
    """Return a line for each function, the innermost first, as the kernel prints stacks; foreign text."""
    heads = {"stack": " => ", "user stack": " => (user) "}
    return [heads[name] + text for name, texts in _stacks(watching, record) for text in texts]


def _stacks(watching: Watch, record: Record) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each stack, and its functions."""
    frames_of_kernel = kernel_frames(record, lambda: watching.connection.loaded_symbols)
    for name, frames in (("stack", frames_of_kernel), ("user stack", user_frames(record))):
        if frames is not None:
            yield name, [frame.text for frame in frames] or [NO_FRAMES]
