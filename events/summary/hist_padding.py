"""Split the keys of a histogram entry by the widths to which the kernel pads them.

hist_trigger_print_key in kernel/trace/trace_events_hist.c prints a text as `%-50s`, a process name with its number as
`%-16s[%10llu]`. The text comes from a process and may look like the next key; the width tells where that begins. Only
a text longer than its column is ambiguous.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

_WIDTH: Final = 50
_MAX_PADDED: Final = 512
"""Maximum characters of a padded text: the kernel stores 256 bytes of a text (MAX_FILTER_STR_VAL)."""
_EXECNAME: Final = re.compile(rb".{16}\[(?=.{10,20}\]) *+\d++\]", re.DOTALL)
_MAX_READINGS: Final = 64
"""Maximum number of readings of an entry that are followed."""
_TASK: Final = frozenset(("comm", "common_comm"))
"""Keys that hold task names, of at most 15 bytes, unless the event has a field of this name."""


def padded_places(
    body: str, names: list[tuple[str, str]], process_keys: Collection[int], texts: Collection[str]
) -> list[list[int]]:
    """Return the positions where keys begin, once per possible reading; empty if they are not as the kernel prints
    them.

    Args:
        body: the entry up to the end of the last of the keys; bytes that are not UTF-8 as surrogates.
        names: names and modifiers of the keys; processes choose the text of the last.
        process_keys: numbers of the keys whose text processes choose.
        texts: names of the event's fields that are texts.
    """
    if not body.startswith(f"{names[0][0]}:"):
        return []
    # Second attempt without widths, as no kernel pads differently; ambiguous texts are then reported as such.
    for padded in (True, False):
        found = [[0]]
        for number in range(len(names) - 1):
            is_text = number in process_keys
            found = [
                [*places, at]
                for places in found
                for at in _next_key_positions(body, names, number, places[-1], is_text)
                if not (is_text and padded)
                or _has_kernel_width(body[_text_start(names, number, places[-1]) : at], names[number], texts)
            ]
            if len(found) > _MAX_READINGS:
                return found[:2]
        last = len(names) - 1
        if padded:
            found = [
                places
                for places in found
                if _has_kernel_width(body[_text_start(names, last, places[-1]) :], names[last], texts)
            ]
        if found:
            return found
    return []


def _text_start(names: list[tuple[str, str]], number: int, place: int) -> int:
    """Return where the text of a key begins, given the position of the key."""
    return place + (2 if number else 0) + len(names[number][0]) + 2


def _next_key_positions(
    body: str, names: list[tuple[str, str]], number: int, place: int, is_text: bool
) -> Iterator[int]:
    """Yield where the next key may begin; only the first position if this key's text is not chosen by a process."""
    mark, begin = f", {names[number + 1][0]}:", _text_start(names, number, place)
    at = body.find(mark, begin)
    while at >= 0 and (not is_text or at <= begin + _MAX_PADDED):
        yield at
        if not is_text:
            break
        at = body.find(mark, at + 1)


def _has_kernel_width(text: str, key: tuple[str, str], texts: Collection[str]) -> bool:
    """Return whether the text of a key has the width that the kernel prints."""
    name, modifier = key
    data = text.encode("utf-8", "surrogateescape")
    if modifier == "execname":
        return _EXECNAME.fullmatch(data) is not None
    return len(data) == _WIDTH if name in _TASK and name not in texts else len(data) >= _WIDTH
