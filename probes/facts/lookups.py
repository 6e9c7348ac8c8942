"""What a verdict may ask about a machine besides its facts: events, symbols, files; each looked up when asked for.

Without an answer the kernel is believed to know what the command names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from probes.programs.program import Program


class StaticEventField(NamedTuple):
    """One field of a static event, as its format file declares it."""

    name: str
    type: str
    """Without the name: `char[16]`, `__data_loc char[]`, `pid_t`."""
    size: int = 0
    signed: bool = False
    spec: str = ""
    """How the event prints it: `x`, `pS`; empty where that is not said."""


class SymbolCount(NamedTuple):
    """How often a symbol occurs in kallsyms."""

    kernel: int
    modules: int = 0
    twins: tuple[str, ...] = ()
    """Other names of its address, where there is one symbol of the name."""
    aliases: tuple[str, ...] = ()
    """Of them, those of the same code that no other symbol has."""


class SymbolLanding(NamedTuple):
    """What lies at an offset from a symbol."""

    symbol: str
    """The symbol that the place belongs to: another one where the offset is larger than the first."""
    offset: int
    """Bytes from that symbol."""
    size: int
    """Of the symbol that was named, in bytes."""
    code: bool
    """Whether there are instructions."""
    start: int = 0
    """Address of the symbol that the place belongs to; 0: not known."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Lookups; None: it can't be known there."""

    event: Callable[[str, str], tuple[StaticEventField, ...] | None] | None = None
    """Fields of an event that probes may attach to, by group and name, without the common ones; None: no event."""
    symbol: Callable[[str], SymbolCount] | None = None
    file_error: Callable[[str], str] | None = None
    """`FILE_NOT_FOUND`, `NO_REGULAR_FILE`, or an empty string for a file that a uprobe can sit in."""
    real_path: Callable[[str], str] | None = None
    """What a path comes to, links followed: two probes are in one file if it is the same."""
    groups_of: Callable[[str], tuple[str, ...]] | None = None
    """Groups that have an event of a name, those of dynamic events left out: that of a tracepoint is among them."""
    program: Callable[[str], Program] | None = None
    """Symbols of a file. Raises `probes.programs.program.SymbolNotPlaced` where it can't be read."""
    events: Callable[[], Sequence[str]] | None = None
    """All events there are, as `group/event`."""
    code_only: bool = False
    """The symbols are those of code alone, as in a recording: of variables nothing is known."""
    landing: Callable[[str, int], SymbolLanding | None] | None = None
    """What lies so many bytes behind the only symbol of a name; None: nothing."""
    call_at: Callable[[int], int | None] | None = None
    """How many bytes into the function at an address the call is that ftrace uses; None: not known. On x86-64 it is
    behind ENDBR64, which functions have that are called by their address.
    """


UNKNOWN = Environment()
"""Nothing can be asked."""


def likely_file(path: str) -> str:
    """Judge a path that can't be looked at: of some every Linux knows what they are."""
    known = {"/bin", "/dev", "/dev/null", "/etc", "/lib", "/proc", "/sbin", "/sys", "/tmp", "/usr", "/var"}  # noqa: S108
    return "NO_REGULAR_FILE" if path.rstrip("/") in known or path.endswith("/") else ""


def events_like(wanted: str, environment: Environment, made: Sequence[str] = ()) -> tuple[str, ...]:
    """Give events that may be meant by `group/event` or `group.event`, written like that.

    Of a group that exists its events, else those of the same name or of a like one: there are thousands.
    """
    separator = "/" if "/" in wanted else "."
    group, found, event = wanted.partition(separator)
    group, event = (group, event) if found else ("", group)
    known = [
        path.split("/", 1) for path in (*made, *(environment.events() if environment.events is not None else ()))
    ]
    of_group = [f"{group}{separator}{name}" for there, name in known if there == group]
    like = [f"{there}{separator}{name}" for there, name in known if name == event or name[:4] == event[:4]]
    return tuple(dict.fromkeys((*of_group, *like)))
