"""Times above the cells of a time line: round ones, as many as have room. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

_GAP: Final = 3
"""Least columns between two times."""
_STEPS: Final = (1, 2, 5)
_DIGITS: Final = 9


class RulerTick(NamedTuple):
    """Time above a cell."""

    cell: int
    text: str


def step_of(start: int, span: int, cells: int) -> int:
    """Return the least nanoseconds between two times, 1, 2 or 5 with zeros, with which their texts have room."""
    size = 1
    while True:
        for step in (number * size for number in _STEPS):
            columns = len(seconds_of(start + span, step)) + _GAP
            if step * cells >= columns * span:
                return step
        size *= 10


def seconds_of(nanoseconds: int, step: int) -> str:
    """Return a time in seconds with the digits that a step needs: `12.304`, `12.3041`."""
    digits = next((digits for digits in range(_DIGITS) if step % 10 ** (_DIGITS - digits) == 0), _DIGITS)
    whole, rest = divmod(nanoseconds, 10**_DIGITS)
    return f"{whole}.{rest:09d}"[: -(_DIGITS - digits) or None].rstrip(".") if digits else str(whole)


def ticks_of(start: int, span: int, cells: int, cell_of: Callable[[int], int], shift: int = 0) -> list[RulerTick]:
    """Return the times of a window.

    Args:
        start: first place of the window, in nanoseconds.
        span: nanoseconds of the window.
        cells: columns of the window.
        cell_of: returns the cell of a place.
        shift: nanoseconds by which places are later than the times that are shown.
    """
    step = step_of(start, span, cells)
    first = -((shift - start) // step) * step + shift
    times = range(first, start + span, step)
    return [RulerTick(cell_of(place), seconds_of(place - shift, step)) for place in times if place >= shift]


def ruler_text(ticks: list[RulerTick], cells: int) -> str:
    """Return the line of the times: each behind a mark in its cell, those without room left out."""
    line, free = [" "] * cells, 0
    for cell, text in ticks:
        if free <= cell < cells:
            label = f"│{text}"[: cells - cell]
            is_whole = len(label) > len(text)
            label = label if is_whole else label[:1]
            line[cell : cell + len(label)] = label
            free = cell + len(label) + 1
    return "".join(line)
