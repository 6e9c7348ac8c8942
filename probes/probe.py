"""Represent a probe as a value, independent of any kernel.

`probes.syntax.parse` reads one from text, `str()` prints it back, `probes.check` returns a kernel's verdict on it,
`probes.lowering.lower` turns it into the lines that one kernel takes.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from probes.fetcharg import FetchArg

_RETVAL = re.compile(r"\$retval(?![A-Za-z0-9_])")


class ProbeEnds(enum.Enum):
    """Ends of the call that a probe records: `entry`, `exit`, or `both` (two events, paired); `track` for the calls
    that follow with the same object.
    """

    ENTRY = "entry"
    EXIT = "exit"
    BOTH = "both"
    TRACK = "track"
    """At the entry of every function that takes the object which the probe found, until that is freed."""
    RETURN_INSTRUCTIONS = "retinsn"
    """At each return instruction of the function, by kprobes: no call is followed from its entry on."""
    TAIL_CALLS = "tailcall"
    """At each jump of the function to another that returns in its place."""


INSTRUCTION_ENDS = frozenset({ProbeEnds.RETURN_INSTRUCTIONS, ProbeEnds.TAIL_CALLS})
"""Ends that are found in the function's code."""

CALL_ENDS: Final = tuple(when for when in ProbeEnds if when not in INSTRUCTION_ENDS)
"""Ends whose values are ticked; probes on instructions that are found in the code are specified as text."""
PROGRAM_ENDS: Final = (ProbeEnds.ENTRY, ProbeEnds.EXIT)
"""Ends of a call of a program's function, of which a probe records one."""


class ProbeKind(enum.StrEnum):
    """Mechanism of a probe; the letter is the kernel's own."""

    FPROBE = "f"
    KPROBE = "p"
    KRETPROBE = "r"
    TRACEPOINT = "t"
    EVENT = "e"
    UPROBE = "u"
    """Probe on a function or static probe of a program, while its values are chosen: it is armed as a `UserProbe`
    (`probes.attaching.places.as_armed`)."""
    AUTO = "a"
    """Function probe for which the target decides: fprobe where the kernel has it, else kprobe and kretprobe."""


TEXT = "_text"
"""Symbol at the beginning of the kernel's code; a place relative to it is in some function of any name."""


class SymbolBase(NamedTuple):
    """A symbol with a unique name, and the distance from it to the beginning of a function.

    Addresses change with each boot of a kernel; distances within its code, or that of a module, do not.
    """

    symbol: str
    distance: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class ProbePlace:
    """Place of a probe: symbol and offset."""

    symbol: str
    """Function, tracepoint or `group/event`, by `Probe.kind`; for an address its number as text."""
    module: str | None = None
    """Name of the module that has the symbol; None: the kernel itself, or any module."""
    offset: int = 0
    """Bytes from the symbol."""
    written: str = ""
    """Offset as written (`+0x10`, `+0`), instead of its plain decimal; with `base` the whole place as written."""
    base: SymbolBase | None = None
    """Reference point written to the kernel instead of `symbol`, where several functions have that name. `symbol`
    then serves people and BTF."""
    address: int = field(default=0, compare=False)
    """Address of the symbol on this boot; 0: unknown."""

    @property
    def kernel_text(self) -> str:
        """Place as written to the kernel."""
        module = f"{self.module}:" if self.module else ""
        if self.base is not None:
            return f"{module}{self.base.symbol}+{self.base.distance + self.offset}"
        return f"{module}{self.symbol}{self.written or (f'+{self.offset}' if self.offset else '')}"

    def __str__(self) -> str:
        return self.written if self.base is not None and self.written else self.kernel_text


_SUFFIXES = {
    ProbeEnds.ENTRY: "",
    ProbeEnds.EXIT: "%return",
    ProbeEnds.BOTH: "%both",
    ProbeEnds.TRACK: "%track",
    ProbeEnds.RETURN_INSTRUCTIONS: "%retinsn",
    ProbeEnds.TAIL_CALLS: "%tailcall",
}


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe as a person selects it; every tick of a field makes a new value (`dataclasses.replace`)."""

    place: ProbePlace
    when: ProbeEnds = ProbeEnds.ENTRY
    kind: ProbeKind = ProbeKind.AUTO
    fetchargs: tuple[FetchArg, ...] = ()
    filter: str = ""
    """Kernel filter on the recorded fields: `count > 4096`."""
    stack: bool = False
    """True to record the kernel stack with each event (the `stacktrace` trigger)."""
    group: str = ""
    event: str = ""
    """Event name as the user chose it; `group` likewise. Empty: chosen by probewright."""
    triggers: tuple[str, ...] = ()
    """Triggers as the user wrote them, each a line."""
    separator: str = "/"
    """Separator of group and event, as written: `/` or `.`."""
    suffix: bool | None = None
    """True if `%return` was written although `r` or `$retval` says exit already; False: not written; None: as
    usual."""
    maxactive: str = ""
    """Number of calls a kretprobe follows at a time, as written after the `r`; empty: the kernel's default.

    Any other characters in that place, which the kernel ignores, are in here too."""

    def toggle(self, arg: FetchArg) -> Probe:
        """Add the fetcharg, or remove the fetcharg that has the same expression."""
        fetchargs = tuple(a for a in self.fetchargs if a.expression != arg.expression)
        if len(fetchargs) == len(self.fetchargs):
            fetchargs += (arg,)
        return replace(self, fetchargs=fetchargs)

    def captures(self, arg: FetchArg) -> bool:
        """Return whether a fetcharg with this expression is selected."""
        return any(a.expression == arg.expression for a in self.fetchargs)

    @property
    def subject(self) -> str:
        """Function, tracepoint or event that the probe is on."""
        return self.place.symbol

    @property
    def needs_code(self) -> bool:
        """True if its places are found in the function's code: at its return instructions, or tail calls."""
        return self.when in INSTRUCTION_ENDS

    @property
    def returns_by_value(self) -> bool:
        """True if `$retval` makes an `f` an exit probe: the kernel looks for these letters, even in a string."""
        return self.kind is ProbeKind.AUTO and any(_RETVAL.search(str(a)) for a in self.fetchargs)

    def __str__(self) -> str:
        name = f"{self.group}{self.separator}{self.event}" if self.group else self.event
        by_name = ProbeKind.FPROBE if self.place.base is None else ProbeKind.KPROBE  # an fprobe takes names only
        letter = by_name if self.kind is ProbeKind.AUTO else self.kind
        suffix = _SUFFIXES[self.when]
        if letter is ProbeKind.KRETPROBE and not self.suffix:
            suffix = ""
        if self.suffix is False and self.when is ProbeEnds.EXIT and self.returns_by_value:
            suffix = ""
        head = f"{letter}{self.maxactive}"
        words = [f"{head}:{name}" if name else head, f"{self.place}{suffix}"]
        words += map(str, self.fetchargs)
        if self.filter:
            words += ["if", self.filter]
        return " ".join(words)
