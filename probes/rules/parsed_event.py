"""Represent a parsed dynamic event; new events of the same name are compared with the existing ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

USER_EVENT: Final = "U"
"""Letter of a user event; in dynamic_events it is that of a uprobe in `ParsedEvent.letter`."""


class ParsedArgument(NamedTuple):
    """Argument of a dynamic event."""

    name: str
    body: str
    """Expression and type as written, with names in place of `$argN` (`comm` of the kernel's struct probe_arg)."""
    type: str = ""
    """The kernel's type that stores the value; empty: unknown."""
    elements: int = 0
    width: int = 0
    """Bytes in the event's static part."""
    shifts: bool = False
    """True for a bit-field read by its BTF name: the kernel shifts eight bytes of the record, whatever its width."""

    def is_like(self, other: ParsedArgument) -> bool:
        """Return whether this argument lets two probes share an event (trace_probe_compare_arg_type)."""
        types = self.type == other.type or not (self.type and other.type)
        return types and (self.name, self.elements) == (other.name, other.elements)


@dataclass(frozen=True, slots=True)
class ParsedEvent:
    """Dynamic event."""

    letter: str
    """`k` kprobe, `u` uprobe, `f` fprobe, `t` tracepoint probe, `e` event probe, `s` synthetic, `U` user event."""
    group: str
    event: str
    place: str = ""
    """Place as a deletion names it: `vfs_read+4`, `/bin/true:0x0000000000001000`, `sched.sched_switch`."""
    returns: bool = False
    arguments: tuple[ParsedArgument, ...] = ()
    reference: int = 0
    """Offset of a uprobe's reference counter."""
    fields: tuple[tuple[str, str], ...] = ()
    """Name and type of the fields of a synthetic or user event."""

    @property
    def family(self) -> str:
        """Kinds of events among which the kernel looks for the same name."""
        return "f" if self.letter in "ft" else self.letter
