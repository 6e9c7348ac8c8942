"""Check the place of a uprobe by the kernel's rules (trace_uprobe.c): `/path:offset`, `%return`, a reference
counter.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from probes.facts.lookups import Environment, likely_file
from probes.syntax.refused import Refused
from probes.syntax.text import kstrtoul


class UserSpot(NamedTuple):
    """Place in a file."""

    path: str
    offset: int
    reference: int
    """Offset of the reference counter, 0: none."""
    returns: bool

    def place(self, long_size: int) -> str:
        """Return the place as dynamic_events prints it."""
        counter = f"({self.reference:#x})" if self.reference else ""
        return f"{self.path}:0x{self.offset:0{long_size * 2}x}{counter}"

    @property
    def default_event(self) -> str:
        """Name of an event for which the user gave none."""
        base = re.split(r"[.\-_]", self.path.rpartition("/")[2], maxsplit=1)[0]
        return f"p_{base}_0x{self.offset:x}"


def is_user(words: list[str]) -> bool:
    """Return whether a `p` or `r` command is for trace_uprobe, beyond merely not being for trace_kprobe."""
    if len(words) < 2 or "/" not in words[1]:
        return False
    return re.match(r"[0-9]", words[1].rpartition(":")[2]) is not None and ":" in words[1]


def user_spot(head: str, word: str, environment: Environment) -> UserSpot:
    """Parse the second word of a uprobe. Raises Refused with the column in the word."""
    path, _, rest = word.rpartition(":")
    start = len(path) + 1
    look = environment.file_error or likely_file
    if error := look(path):
        raise Refused(error, 0, path)
    rest, reference = _reference(rest, start)
    offset, percent, suffix = rest.partition("%")
    if percent and suffix != "return":
        raise Refused("BAD_ADDR_SUFFIX", start + len(offset), percent + suffix)
    number = kstrtoul(offset)
    if number is None:
        raise Refused("BAD_UPROBE_OFFS", start, offset)
    return UserSpot(path, number, reference, head.startswith("r") or bool(percent))


def _reference(rest: str, start: int) -> tuple[str, int]:
    """Split the `(counter)` off the text after the path, which begins at column `start`."""
    before, opening, counter = rest.partition("(")
    if not opening:
        return rest, 0
    text, closing, rest_after = counter.partition(")")
    if not closing:
        raise Refused("REFCNT_OPEN_BRACE", start + len(rest), opening + counter)
    at = start + len(before) + 1
    if rest_after:
        raise Refused("BAD_REFCNT_SUFFIX", at + len(text) + 1, rest_after)
    number = kstrtoul(text)
    if number is None:
        raise Refused("BAD_REFCNT", at, text)
    return before, number
