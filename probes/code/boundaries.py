"""Find the instruction at an offset in a function, or those around it where none begins there."""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter

from probes.code.body import CodePart, Instruction


def instruction_at(part: CodePart, offset: int) -> Instruction | None:
    """Return the instruction that begins `offset` bytes behind the beginning of a part; None: none does."""
    at = bisect_left(part.instructions, offset, key=attrgetter("offset"))
    found = part.instructions[at] if at < len(part.instructions) else None
    return found if found is not None and found.offset == offset else None


def places_around(part: CodePart, offset: int) -> tuple[str, ...]:
    """Return the places of the instruction before an offset and of the one behind it, as kprobes name them."""
    at = bisect_left(part.instructions, offset, key=attrgetter("offset"))
    return tuple(part.place_at(one.offset) for one in part.instructions[max(at - 1, 0) : at + 1])
