"""Represent ends of calls, and calls as pairs of two ends, as values."""

from __future__ import annotations

import enum
from typing import Final, NamedTuple

from events.losses import Loss

PROBE_MASK: Final = (1 << 16) - 1
"""Mask of the bits of `End.function` that hold the probe number."""
TRACER_FUNCTION: Final = -1
"""`End.function` of records of the function_graph tracer, which has one call per position (a depth)."""
PROBE_BITS: Final = PROBE_MASK.bit_length()
"""Number of low bits of `End.function` that hold the probe number; the bits above hold the function's address."""
_MASK: Final = (1 << 64) - 1


class UnpairedReason(enum.Enum):
    """Reason why an end has no partner."""

    NO_ENTRY = "its entry was not seen"
    """The call began before the probe was armed, or its entry was missed or filtered out."""
    NO_EXIT = "its exit was not seen"
    """Calls around this one have ended, or its position on the stack was reused, so it has ended too, and its exit
    was missed or filtered out."""
    LOST = "what came between may be missing"
    """The matching end may belong to another call whose own other end is among the lost events."""
    TOO_MANY = "too many calls are open"
    """The call was dropped to limit memory."""
    UNKNOWN = "exit unknown: several calls were in this place on the stack"
    """Fewer exits than calls at one position, so each exit may belong to any of the calls; no event was lost."""


class EndRole(NamedTuple):
    """Role of an event as an end of a call."""

    function: int
    """Probe number."""
    at_exit: bool
    frame: str
    """Name of the field with the stack pointer."""
    shift: int
    """Bytes by which the stack pointer is above that at the entry."""
    equal_fields: tuple[str, ...]
    """Names of fields whose values are equal at both ends."""
    address: str = ""
    """Name of the field with the function's address, if the probe is on several functions."""
    is_filtered_by_result: bool = False
    """True if a filter removes exits by their return value."""
    result: str = ""
    """Name of the exit's field with the return value; empty: there is none, or nobody asks for it."""


class End(NamedTuple):
    """End of a call: its entry or its exit."""

    seq: int
    """Sequence number of the event's row."""
    ts: int
    """Time stamp of the event."""
    task: int
    """Thread id; for the idle tasks, which all have id 0, the result of `idle_task`."""
    function: int
    """Result of `function_key`."""
    at_exit: bool
    pair_key: int
    """Value computed from the data that both ends of a call have in common; see `events.calls.pairing`."""
    frame: int = 0
    """Stack pointer at the call, signed or unsigned; 0: unknown."""
    unsure: bool = False
    """True for an entry if the entry of an outer call at the same stack position may have been lost."""


class Call(NamedTuple):
    """Pair, or end without a partner."""

    entry: int | None
    """Row of the entry; None: unknown."""
    exit: int | None
    """Row of the exit; None: unknown."""
    unpaired_reason: UnpairedReason | None = None
    """Reason why the end has no partner; None: a proven pair."""
    loss: Loss | None = None
    """Ring-buffer loss before row `exit`, if this is a mark of lost events instead of a call."""

    @property
    def is_mark(self) -> bool:
        """True for the mark of lost events (`loss`), or of an outage, whose row is `exit`."""
        return self.entry is None and self.unpaired_reason is None


class CalledFunction(NamedTuple):
    """Function of calls, in one boot: another boot has it elsewhere."""

    function: int
    """Result of `function_key`."""
    boot: int = 0


def function_key(probe: int, address: int = 0) -> int:
    """Return one signed number for a probe and, if the probe is on several functions, the function's address."""
    number = (address << PROBE_BITS | probe) & _MASK
    return number - (1 << 64) if number >> 63 else number


def probe_and_address(function: int) -> tuple[int, int]:
    """Return the probe number and the unsigned function address encoded by `function_key`; address 0: the probe has
    one function.
    """
    number = function - (1 << 64) if function >> 63 == 1 else function
    return number & PROBE_MASK, (number >> PROBE_BITS) & _MASK


def idle_task(cpu: int) -> int:
    """Return the value of `End.task` for the idle task of a CPU."""
    return -1 - cpu
