"""What a verdict may ask about a machine besides its facts: events, symbols, files; each looked up when asked for.

Without an answer the kernel is believed to know what the command names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class EventField(NamedTuple):
    """One field of a static event, as its format file declares it."""

    name: str
    type: str
    """Without the name: `char[16]`, `__data_loc char[]`, `pid_t`."""
    size: int = 0
    signed: bool = False


class SymbolCount(NamedTuple):
    """How often a symbol occurs in kallsyms."""

    kernel: int
    modules: int = 0


@dataclass(frozen=True, slots=True)
class Environment:
    """Lookups; None: it can't be known there."""

    event: Callable[[str, str], tuple[EventField, ...] | None] | None = None
    """Fields of an event that probes may attach to, by group and name, without the common ones; None: no event."""
    symbol: Callable[[str], SymbolCount] | None = None
    file_error: Callable[[str], str] | None = None
    """`FILE_NOT_FOUND`, `NO_REGULAR_FILE`, or an empty string for a file that a uprobe can sit in."""


UNKNOWN = Environment()
"""Nothing can be asked."""


def likely_file(path: str) -> str:
    """Judge a path that can't be looked at: of some every Linux knows what they are."""
    known = {"/bin", "/dev", "/dev/null", "/etc", "/lib", "/proc", "/sbin", "/sys", "/tmp", "/usr", "/var"}  # noqa: S108
    return "NO_REGULAR_FILE" if path.rstrip("/") in known or path.endswith("/") else ""
