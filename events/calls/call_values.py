"""Ends of calls, and calls as pairs of two ends, as values."""

from __future__ import annotations

import enum
from typing import Final, NamedTuple

from events.losses import Loss

PROBE: Final = (1 << 16) - 1
"""Bits of `End.function` that say the number of the probe."""
OF_THE_TRACER: Final = -1
"""`End.function` of records of the function_graph tracer, of which there is one call in a place (a depth)."""
PROBE_BITS: Final = PROBE.bit_length()
"""Of `End.function`, which say the number of the probe; the others are those of the function's address."""
_MASK: Final = (1 << 64) - 1


class UnpairedReason(enum.Enum):
    """Why an end has no other end."""

    NO_ENTRY = "its entry was not seen"
    """It began before the probe was armed, or the entry was missed or filtered out."""
    NO_EXIT = "its exit was not seen"
    """Calls around it have ended, or what stood on the stack in its place, so it has too, and the exit was missed or
    filtered out."""
    LOST = "what came between may be missing"
    """What matches it may belong to another call, whose other end is among the lost."""
    TOO_MANY = "too many calls are open"
    """It was forgotten to stay within bounds."""
    UNKNOWN = "exit unknown: several calls were in this place on the stack"
    """There were fewer exits than calls in one place, which may each be of any of them; nothing was lost."""


class EndRole(NamedTuple):
    """How an event is an end of a call."""

    function: int
    """Number of the probe."""
    at_exit: bool
    frame: str
    """Field with the stack pointer."""
    shift: int
    """Bytes by which it is above the one at the entry."""
    kept: tuple[str, ...]
    """Fields with values that both ends have in common."""
    address: str = ""
    """Field with the address of the function, where the probe is on several."""
    chosen: bool = False
    """A filter leaves exits out, by what was returned."""


class End(NamedTuple):
    """One end of a call."""

    seq: int
    """Row of the event."""
    ts: int
    """Its time stamp."""
    task: int
    """Thread id; of an idle task, which all have the id 0, `idle_task`."""
    function: int
    """Made by `function_of`."""
    at_exit: bool
    proof: int
    """Made of what both ends of one call have in common, see the module."""
    frame: int = 0
    """Stack pointer at the call, with or without sign; 0: not known."""
    unsure: bool = False
    """Whether the entry of a call around this one, in its place, may have been lost; of entries only."""


class Call(NamedTuple):
    """A pair, or an end that stays alone."""

    entry: int | None
    """Row of the entry."""
    exit: int | None
    """Row of the exit."""
    alone: UnpairedReason | None = None
    """None: a proven pair."""
    loss: Loss | None = None
    """It is no call, but what the ring buffer lost before the row `exit`."""

    @property
    def is_mark(self) -> bool:
        """Whether it is no call: `loss`, or else the mark of a cut line, which is the row `exit`."""
        return self.entry is None and self.alone is None


def function_of(probe: int, address: int = 0) -> int:
    """One number for a probe and the function, where it is on several; with a sign, as columns have it."""
    number = (address << PROBE_BITS | probe) & _MASK
    return number - (1 << 64) if number >> 63 else number


def probe_and_address(function: int) -> tuple[int, int]:
    """Number of the probe and address of the function, without sign, that `function_of` was given; 0: it has one."""
    number = function - (1 << 64) if function >> 63 == 1 else function
    return number & PROBE, (number >> PROBE_BITS) & _MASK


def idle_task(cpu: int) -> int:
    """The idle task of a CPU, for `End.task`."""
    return -1 - cpu
