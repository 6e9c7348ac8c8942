"""Who calls a function: from branches found in machine code to functions that can be probed.

Only what an instruction or debug information proves is called a caller; a call through a pointer leaves no trace.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from probes.attaching.attach import COLD
from probes.attaching.branches import Branch
from probes.attaching.values import Alternative, Attachability, Reason, ReasonKind, Relation
from probes.probe import ProbeKind, ProbePlace

_DEPTH = 3
"""Levels of callers that are looked at where the nearer ones can't be probed."""
_MOST_AT_ONCE = 200
"""Functions of one level whose own callers are looked for."""


class CallSite(NamedTuple):
    """A function with code around an address."""

    name: str
    start: int
    """Address of its first instruction."""
    place: ProbePlace
    """To probe it by."""
    kinds: frozenset[ProbeKind]
    """What can attach; empty: nothing can."""
    offset: int | None = None
    """Of the address, in bytes from the start; None: in a part of it that was set apart."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A function that calls another one."""

    spot: CallSite
    calls: tuple[int, ...] = ()
    """Where in it, in bytes from its start; empty where that isn't known."""
    jumps: bool = False
    """All of them are jumps: it ends in the other function."""
    through: tuple[str, ...] = ()
    """Functions in between that can't be probed, the nearest to this one first."""
    inlined: bool = False
    """The other function's code is in it."""


@dataclass(frozen=True, slots=True)
class Callers:
    """The answer for one function."""

    name: str
    found: tuple[Caller, ...] = ()
    """Those that can be probed, nearest first."""
    hidden: tuple[str, ...] = ()
    """Direct callers that can't be probed either."""
    searched: str = ""
    """What was looked through, for the label: `the kernel's code`, `/usr/lib/debug/...`."""
    trouble: str = ""
    """Why nothing could be looked through."""
    reasons: tuple[Reason, ...] = ()
    """What debug information adds to why it can't be probed, or only in part."""
    relatives: tuple[Alternative, ...] = ()
    """Where nobody was found who calls it: functions that take the same types."""

    @property
    def instead(self) -> tuple[Alternative, ...]:
        """The callers as ways out, or who else comes near."""
        callers = (
            Alternative(c.spot.place, Relation.CONTAINS if c.inlined else Relation.CALLS, note_of(c), c.spot.kinds)
            for c in self.found
        )
        return (*callers, *self.relatives)

    @property
    def text(self) -> str:
        """One sentence about what was found and what not."""
        if self.found:
            return ""
        if self.trouble:
            return f"its callers can't be looked for: {self.trouble}"
        if self.hidden:
            shown = ", ".join(self.hidden[:3]) + (", ..." if len(self.hidden) > 3 else "")
            return f"only {shown} call it, and none of them can be probed"
        return f"no instruction in {self.searched} calls it: called through a pointer, or never"


def note_of(caller: Caller) -> str:
    """How the caller comes to the function: `at +0x4c`, `through __schedule`."""
    if caller.through:
        return "through " + ", ".join(caller.through)
    if not caller.calls:
        return ""
    shown = ", ".join(f"+{offset:#x}" for offset in caller.calls[:3]) + (", ..." if len(caller.calls) > 3 else "")
    return f"{'jumps there at' if caller.jumps else 'at'} {shown}"


def direct_callers(
    name: str,
    entries: Collection[int],
    scan: Callable[[Collection[int]], Sequence[Branch]],
    spot_of: Callable[[int], CallSite | None],
    entries_of: Callable[[int], Collection[int]],
    searched: str,
) -> Callers:
    """Follow direct calls backwards until functions come that can be probed.

    Args:
        name: of the function.
        entries: addresses at which it is entered.
        scan: finds branches to any of some addresses in all code there is; the slow part.
        spot_of: address -> the function around it.
        entries_of: start of a function -> addresses at which it is entered.
        searched: what `scan` looks through.
    """
    found: dict[int, Caller] = {}
    level: dict[int, tuple[str, ...]] = dict.fromkeys(entries, ())
    """Address -> functions between it and the one in question."""
    hidden: dict[str, None] = {}
    seen = set(entries)
    for depth in range(_DEPTH):
        following: dict[int, tuple[str, ...]] = {}
        for places in _by_function(scan(level), spot_of, entries):
            spot, through = places[0][0], level[places[0][1].target]
            if spot.kinds:
                offsets = tuple(place.offset for place, _ in places if place.offset is not None)
                jumps = not any(branch.call for _, branch in places)
                found.setdefault(spot.start, Caller(spot, offsets, jumps, through))
                continue
            if not depth:
                hidden[spot.name] = None
            following |= dict.fromkeys(set(entries_of(spot.start)) - seen, (spot.name, *through))
        level = dict(list(following.items())[:_MOST_AT_ONCE])
        seen |= set(level)
        if not level or found:
            break
    return Callers(name, tuple(found.values()), tuple(hidden), searched)


def _by_function(
    branches: Iterable[Branch], spot_of: Callable[[int], CallSite | None], entries: Collection[int]
) -> Iterator[list[tuple[CallSite, Branch]]]:
    """Branches by the function they are in, without a function's own to itself; by name."""
    parts: dict[int, list[tuple[CallSite, Branch]]] = {}
    for branch in branches:
        spot = spot_of(branch.address)
        if spot is not None and branch.target not in (spot.start, *(entries if spot.start in entries else ())):
            parts.setdefault(spot.start, []).append((spot, branch))
    yield from sorted(parts.values(), key=lambda found: (found[0][0].name, found[0][0].start))


def with_inlined(callers: Callers, spots: Sequence[CallSite], places: int, kept: bool, path: str) -> Callers:
    """Add what debug information says.

    Args:
        callers: what the code says.
        spots: functions that have a copy of its code.
        places: how many copies there are.
        kept: whether it has code of its own besides.
        path: of the debug information.
    """
    inlined = tuple(Caller(spot, inlined=True) for spot in sorted(spots, key=lambda s: s.name) if spot.kinds)
    hidden = dict.fromkeys((*callers.hidden, *(spot.name for spot in spots if not spot.kinds)))
    reasons: tuple[Reason, ...] = ()
    if places:
        text = f"its code was inlined, {places} copies in {len(spots)} functions"
        text = "its code was inlined, in one place" if places == 1 else text
        passed = f"{text}: a probe on it doesn't see those"
        reasons = (Reason(ReasonKind.PARTLY_INLINED, passed) if kept else Reason(ReasonKind.INLINED, text),)
    elif not kept:
        reasons = (Reason(ReasonKind.INLINED, "debug information knows it, but no code of it was kept"),)
    searched = " and ".join(filter(None, (callers.searched, path)))
    found = callers.found + inlined
    return replace(callers, found=found, hidden=tuple(hidden), searched=searched, reasons=reasons)


def all_reasons(about: Attachability, callers: Callers | None) -> tuple[Reason, ...]:
    """Reasons with what debug information adds; where that knows the function, it isn't unknown."""
    added = callers.reasons if callers else ()
    vague = (ReasonKind.UNKNOWN, ReasonKind.INLINED) if added else ()
    return (*(reason for reason in about.reasons if reason.why not in vague), *added)


def owner(name: str) -> str:
    """The function whose part a symbol is: `vfs_read.cold` is one of `vfs_read`'s."""
    return name.partition(COLD)[0]
