"""The probe as a value: what a person means, for no kernel in particular.

`probes.syntax.parse` reads one from text, `str()` prints it back, `probes.check` says what a kernel would answer,
`probes.lowering.lower` turns it into the lines that one kernel takes.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from probes.fetcharg import FetchArg

_RETVAL = re.compile(r"\$retval(?![A-Za-z0-9_])")


class ProbeEnds(enum.Enum):
    """At which end of the call: `entry`, `exit`, or `both` (two events, paired)."""

    ENTRY = "entry"
    EXIT = "exit"
    BOTH = "both"


class ProbeKind(enum.StrEnum):
    """How the probe attaches; the letter is the kernel's own."""

    FPROBE = "f"
    KPROBE = "p"
    KRETPROBE = "r"
    TRACEPOINT = "t"
    EVENT = "e"
    AUTO = "a"
    """A function probe whose mechanism the target decides: fprobe where it has it, else kprobe and kretprobe."""


TEXT = "_text"
"""The symbol that begins the kernel's code: a place behind it is some function, by whatever name."""


class SymbolBase(NamedTuple):
    """A symbol that is the only one of its name, and how far behind it a function begins.

    Addresses belong to one boot of a kernel; within its code, or that of one module, nothing moves.
    """

    symbol: str
    distance: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class ProbePlace:
    """Where a probe sits."""

    symbol: str
    """Function, tracepoint or `group/event`, by `Probe.kind`; for an address its number as text."""
    module: str | None = None
    """Name of the module the symbol is in; None: the kernel itself, or wherever it is."""
    offset: int = 0
    """Bytes from the symbol."""
    written: str = ""
    """The offset as it was written (`+0x10`, `+0`), in place of its plain decimal; with `base` the whole place."""
    base: SymbolBase | None = None
    """How the kernel is told where the symbol is, where its name doesn't say: several functions have it. The symbol
    is for people and for BTF then.
    """
    address: int = field(default=0, compare=False)
    """Of the symbol, on this boot; 0: not known."""

    @property
    def told(self) -> str:
        """The text for the kernel."""
        module = f"{self.module}:" if self.module else ""
        if self.base is not None:
            return f"{module}{self.base.symbol}+{self.base.distance + self.offset}"
        return f"{module}{self.symbol}{self.written or (f'+{self.offset}' if self.offset else '')}"

    def __str__(self) -> str:
        return self.written if self.base is not None and self.written else self.told


@dataclass(frozen=True, slots=True)
class Probe:
    """What a person wants to see; every tick of a field makes a new one (`dataclasses.replace`)."""

    place: ProbePlace
    when: ProbeEnds = ProbeEnds.ENTRY
    kind: ProbeKind = ProbeKind.AUTO
    fetchargs: tuple[FetchArg, ...] = ()
    filter: str = ""
    """A filter of the kernel on the recorded fields: `count > 4096`."""
    stack: bool = False
    """Record the kernel stack with each event (the `stacktrace` trigger)."""
    group: str = ""
    event: str = ""
    """Group and event name, where the user chose them."""
    triggers: tuple[str, ...] = ()
    """Triggers as the user wrote them, one a line."""
    separator: str = "/"
    """Between group and event, as written: `/` or `.`."""
    suffix: bool | None = None
    """Whether `%return` was written where the kernel knows without it, by `r` or `$retval`; None: as usual."""
    maxactive: str = ""
    """How many calls a kretprobe follows at once, as written behind the `r`; empty: the kernel's default.

    It may be anything else that stands there and that the kernel doesn't look at.
    """

    def toggle(self, arg: FetchArg) -> Probe:
        """Add the fetcharg, or take it away where one with the same expression is there."""
        kept = tuple(a for a in self.fetchargs if a.expression != arg.expression)
        if len(kept) == len(self.fetchargs):
            kept += (arg,)
        return replace(self, fetchargs=kept)

    def captures(self, arg: FetchArg) -> bool:
        """Whether a fetcharg with this expression is ticked."""
        return any(a.expression == arg.expression for a in self.fetchargs)

    @property
    def subject(self) -> str:
        """What it sits on: a function, a tracepoint, an event."""
        return self.place.symbol

    @property
    def returns_by_value(self) -> bool:
        """Whether a fetcharg of an `f` makes it an exit probe, as the kernel sees it: it looks for the letters, even
        in a text.
        """
        return self.kind is ProbeKind.AUTO and any(_RETVAL.search(str(a)) for a in self.fetchargs)

    def __str__(self) -> str:
        name = f"{self.group}{self.separator}{self.event}" if self.group else self.event
        by_name = ProbeKind.FPROBE if self.place.base is None else ProbeKind.KPROBE  # an fprobe knows names only
        letter = by_name if self.kind is ProbeKind.AUTO else self.kind
        suffix = {ProbeEnds.ENTRY: "", ProbeEnds.EXIT: "%return", ProbeEnds.BOTH: "%both"}[self.when]
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
