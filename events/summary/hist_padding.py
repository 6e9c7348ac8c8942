"""Keys of a histogram's entry told apart by the widths to which the kernel fills them up.

hist_trigger_print_key in kernel/trace/trace_events_hist.c: a text is `%-50s`, the name of a process with its number
`%-16s[%10llu]`. A process chooses the text, which may look like the key behind it; where that begins its width tells.
Only a text that is longer than its column can be read in two ways.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

_WIDTH: Final = 50
_LONGEST: Final = 512
"""Characters of a text and what fills it up, at most: the kernel keeps 256 bytes of one (MAX_FILTER_STR_VAL)."""
_EXECNAME: Final = re.compile(rb".{16}\[(?=.{10,20}\]) *+\d++\]", re.DOTALL)
_MOST: Final = 64
"""Readings of one entry that are followed."""
_TASK: Final = frozenset(("comm", "common_comm"))
"""Names of tasks, of 15 bytes at most, where the event has no such field itself."""


def padded_places(
    body: str, names: list[tuple[str, str]], chosen: Collection[int], texts: Collection[str]
) -> list[list[int]]:
    """Return where keys begin, once for each way to read them; nothing where they do not begin as the kernel prints.

    Args:
        body: of the entry, up to the end of the last of the keys; bytes that are no UTF-8 as surrogates.
        names: names and modifiers of the keys; processes choose the text of the last.
        chosen: numbers of the keys whose text processes choose.
        texts: names of the event's fields that are texts.
    """
    if not body.startswith(f"{names[0][0]}:"):
        return []
    for padded in (True, False):  # no kernel fills up otherwise; then a text that can be read in two ways is told so
        found = [[0]]
        for number in range(len(names) - 1):
            is_text = number in chosen
            found = [
                [*places, at]
                for places in found
                for at in _next(body, names, number, places[-1], is_text)
                if not (is_text and padded)
                or _fits(body[_begin(names, number, places[-1]) : at], names[number], texts)
            ]
            if len(found) > _MOST:
                return found[:2]
        last = len(names) - 1
        if padded:
            found = [one for one in found if _fits(body[_begin(names, last, one[-1]) :], names[last], texts)]
        if found:
            return found
    return []


def _begin(names: list[tuple[str, str]], number: int, place: int) -> int:
    """Return where the text of a key begins that begins itself at a place."""
    return place + (2 if number else 0) + len(names[number][0]) + 2


def _next(body: str, names: list[tuple[str, str]], number: int, place: int, is_text: bool) -> Iterator[int]:
    """Yield where the key behind one may begin; the first place only where that is none of a process's own text."""
    mark, begin = f", {names[number + 1][0]}:", _begin(names, number, place)
    at = body.find(mark, begin)
    while at >= 0 and (not is_text or at <= begin + _LONGEST):
        yield at
        if not is_text:
            break
        at = body.find(mark, at + 1)


def _fits(text: str, key: tuple[str, str], texts: Collection[str]) -> bool:
    """Return whether the kernel prints the text of a key in so many bytes."""
    name, modifier = key
    data = text.encode("utf-8", "surrogateescape")
    if modifier == "execname":
        return _EXECNAME.fullmatch(data) is not None
    return len(data) == _WIDTH if name in _TASK and name not in texts else len(data) >= _WIDTH
