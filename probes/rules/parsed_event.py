"""A dynamic event as the kernel keeps it once a command was read: what others of the same name are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class ParsedArgument(NamedTuple):
    """One argument."""

    name: str
    body: str
    """Expression and type as written, names put for `$argN` (`comm` of the kernel's struct probe_arg)."""
    type: str = ""
    """The kernel's type that stores it; empty: not known."""
    elements: int = 0
    width: int = 0
    """Bytes in the event's static part."""
    shifts: bool = False
    """A bit-field by its name in BTF: for it eight bytes of the record are shifted, whatever the field's width."""

    def is_like(self, other: ParsedArgument) -> bool:
        """Whether two probes may share an event as far as this goes (trace_probe_compare_arg_type)."""
        types = self.type == other.type or not (self.type and other.type)
        return types and (self.name, self.elements) == (other.name, other.elements)


@dataclass(frozen=True, slots=True)
class ParsedEvent:
    """One dynamic event."""

    letter: str
    """`k` kprobe, `u` uprobe, `f` fprobe, `t` tracepoint probe, `e` event probe, `s` synthetic."""
    group: str
    event: str
    place: str = ""
    """As a deletion names it: `vfs_read+4`, `/bin/true:0x0000000000001000`, `sched.sched_switch`."""
    returns: bool = False
    arguments: tuple[ParsedArgument, ...] = ()
    reference: int = 0
    """Offset of a uprobe's reference counter."""
    fields: tuple[tuple[str, str], ...] = ()
    """Name and type of the fields of a synthetic event."""

    @property
    def family(self) -> str:
        """Kinds among which the kernel looks for an event of the same name."""
        return "f" if self.letter in "ft" else self.letter
