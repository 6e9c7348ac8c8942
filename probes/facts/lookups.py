"""Define the lookups of a verdict on a machine besides its facts: events, symbols, files, each on demand.

Where a lookup is missing, everything that a command names is assumed to exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from probes.code.body import FunctionBody
from probes.facts.program_support import UNKNOWN_SUPPORT, ProgramSupport
from probes.programs.program import Program


class StaticEventField(NamedTuple):
    """Field of a static event, as its format file declares it."""

    name: str
    type: str
    """Type without the name: `char[16]`, `__data_loc char[]`, `pid_t`."""
    size: int = 0
    signed: bool = False
    spec: str = ""
    """Conversion with which the event prints the field: `x`, `pS`; empty: unknown."""
    naming: str = ""
    """Argument of `print fmt` that names the field's numbers (`events.names.print_names`); empty: none does."""
    bits: int = 0
    """Bits of a bit-field, which are the lowest ones of `size` bytes; 0: it is none."""


class SymbolCount(NamedTuple):
    """Number of occurrences of a symbol in kallsyms."""

    kernel: int
    modules: int = 0
    twins: tuple[str, ...] = ()
    """Other names of the symbol's address, if the name has a single symbol."""
    aliases: tuple[str, ...] = ()
    """Twins that name the same code and belong to no other symbol."""


class SymbolLanding(NamedTuple):
    """Symbol at an offset from another symbol."""

    symbol: str
    """The symbol that contains the place; another than the named one where the offset exceeds that symbol."""
    offset: int
    """Offset in bytes from that symbol."""
    size: int
    """Bytes of the symbol that was named."""
    code: bool
    """True if the place has instructions."""
    start: int = 0
    """Address of the symbol that contains the place; 0: unknown."""


class FunctionAt(NamedTuple):
    """Function at an address."""

    name: str
    place: str
    """Place that means this function alone, as written to the kernel for a kprobe: `_text+4711`."""


class SymbolPlace(NamedTuple):
    """Symbol of a name, with its place in memory."""

    address: int
    size: int
    """Bytes up to the next symbol."""
    module: str = ""
    code: bool = False


class CalledFunctions(NamedTuple):
    """Functions that others call, as found in the kernel's code."""

    names: tuple[str, ...]
    """Nearest first."""
    note: str = ""
    """Calls that are not among them, in a line; empty: all direct calls are."""


class NotReadable(Exception):
    """Memory or a file that can't be read; its message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Lookups on a machine; each None: unknown there."""

    event: Callable[[str, str], tuple[StaticEventField, ...] | None] | None = None
    """Fields of an event for probes, by group and name, without the common ones; None: no such event."""
    symbol: Callable[[str], SymbolCount] | None = None
    file_error: Callable[[str], str] | None = None
    """Error of a path, `FILE_NOT_FOUND` or `NO_REGULAR_FILE`; empty for a file that can have a uprobe."""
    real_path: Callable[[str], str] | None = None
    """Path with its links resolved; probes with equal paths are in the same file."""
    groups_of: Callable[[str], tuple[str, ...]] | None = None
    """Groups that have an event of a name, without those of dynamic events; includes the group of a tracepoint."""
    program: Callable[[str], Program] | None = None
    """Symbols of a file. Raises `probes.programs.program.SymbolNotPlaced` where it can't be read."""
    events: Callable[[], Sequence[str]] | None = None
    """All events, as `group/event`."""
    code_only: bool = False
    """True if only symbols of code are available, as in a recording, so that variables are unknown."""
    landing: Callable[[str, int], SymbolLanding | None] | None = None
    """Symbol at an offset in bytes from a uniquely named symbol; None: none."""
    function_list: Callable[[str], Sequence[str]] | None = None
    """Names and patterns in a file of the machine that probewright runs on, by its path. Raises
    `foreign.refusal.InputRefusal`."""
    called: Callable[[Sequence[str], int], CalledFunctions] | None = None
    """Traceable functions that some functions call, so many levels down. Raises `foreign.refusal.InputRefusal`."""
    function_at: Callable[[int], FunctionAt | None] | None = None
    """Function that begins at an address; None: none does."""
    call_at: Callable[[int], int | None] | None = None
    """Offset in bytes of ftrace's call from the beginning of the function at an address; None: unknown. On x86-64 the
    call follows ENDBR64 in functions that are called by address."""
    symbol_places: Callable[[str], Sequence[SymbolPlace]] | None = None
    """Places of all symbols of a name."""
    read_memory: Callable[[int, int], bytes] | None = None
    """Bytes of the kernel's memory by address and number. Raises NotReadable."""
    read_file: Callable[[str, int], bytes] | None = None
    """Begin of a file of the kernel, of at most so many bytes. Raises NotReadable."""
    find_number: Callable[[bytes, str, int, int], int | None] | None = None
    """Number in the text of a file by key, column and factor, as monitors find it; None: there is none."""
    bodies: Callable[[str], Sequence[FunctionBody]] | None = None
    """Code of each function of a name, most often one. Raises `foreign.refusal.InputRefusal`."""
    programs: ProgramSupport = UNKNOWN_SUPPORT
    """Attach types of BPF programs that the kernel takes."""


UNKNOWN = Environment()
"""Lookups that are all unknown."""


def symbol_count(name: str, environment: Environment) -> int:
    """Return the number of symbols of a name; 0: none, or unknown."""
    counts = environment.symbol(name) if environment.symbol is not None else SymbolCount(0)
    return counts.kernel + counts.modules


def likely_file(path: str) -> str:
    """Return the error of a path that can't be checked: some paths are folders or devices on every Linux."""
    common_paths = {"/bin", "/dev", "/dev/null", "/etc", "/lib", "/proc", "/sbin", "/sys", "/tmp", "/usr", "/var"}  # noqa: S108
    return "NO_REGULAR_FILE" if path.rstrip("/") in common_paths or path.endswith("/") else ""


def events_like(wanted: str, environment: Environment, made: Sequence[str] = ()) -> tuple[str, ...]:
    """Return events that `group/event` or `group.event` may mean, in the same notation.

    Only the events of an existing group, and events with an equal or similar name: there are thousands.
    """
    separator = "/" if "/" in wanted else "."
    group, has_group, event = wanted.partition(separator)
    group, event = (group, event) if has_group else ("", group)
    paths = [
        path.split("/", 1) for path in (*made, *(environment.events() if environment.events is not None else ()))
    ]
    in_group = [f"{group}{separator}{name}" for path_group, name in paths if path_group == group]
    similar = [
        f"{path_group}{separator}{name}" for path_group, name in paths if name == event or name[:4] == event[:4]
    ]
    return tuple(dict.fromkeys((*in_group, *similar)))
