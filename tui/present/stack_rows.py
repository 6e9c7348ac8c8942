"""Convert the stacks of an event to rows of its details and to printed lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from events.record import Record
from events.stacks.stack import NO_EVENT, NO_FRAMES, is_stack, kernel_frames, user_frames

if TYPE_CHECKING:
    from kernel.watch.watch import Watch
    from widgets.events.values import DetailField


def stack_rows(watch: Watch, record: Record) -> tuple[DetailField, ...]:
    """Return a row for each function, the innermost first; none if no stack was recorded.

    A stack whose event is missing begins with a note that says so.
    """
    from widgets.events.values import DetailField

    rows = [("note", NO_EVENT)] if is_stack(record) else []
    for name, texts in _stacks(watch, record):
        rows += zip((name, *("" for _ in texts[1:])), texts, strict=True)
    return tuple(DetailField(name, text, "", -1, 0, b"") for name, text in rows)


def stack_lines(watch: Watch, record: Record) -> list[str]:
    """Return a line for each function, the innermost first, in the kernel's format of stacks; foreign text."""
    heads = {"stack": " => ", "user stack": " => (user) "}
    return [heads[name] + text for name, texts in _stacks(watch, record) for text in texts]


def _stacks(watch: Watch, record: Record) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each stack, and its functions."""
    frames_of_kernel = kernel_frames(record, watch.info.symbols.loaded_of)
    for name, frames in (("stack", frames_of_kernel), ("user stack", user_frames(record))):
        if frames is not None:
            yield name, [frame.text for frame in frames] or [NO_FRAMES]
