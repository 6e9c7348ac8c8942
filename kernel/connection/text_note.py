"""Warn about recorded strings that arrive as the kernel's text, in which they may look like events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from events.format import FieldKind

if TYPE_CHECKING:
    from kernel.session.armed import Armed
    from kernel.target import Target


def text_note(target: Target, armed: Armed) -> Iterator[str]:
    """Yield a warning about the strings of an armed probe, if the remote host sends text."""
    if getattr(target, "gives_pages", True):
        return
    names = dict.fromkeys(
        field.name for fmt in armed.formats.values() for field in fmt.arguments if field.kind is FieldKind.STRING
    )
    if names:
        yield (
            f"{', '.join(names)}: without python3 there events come as text: a forged string can look like "
            "the end of its event and like further events"
        )
