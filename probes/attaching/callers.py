"""Find the callers of a function that can be probed, from branches in machine code.

A caller is proven by an instruction or by debug information; calls through pointers are not found.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from foreign.count_text import counted
from probes.attaching.attach import COLD
from probes.attaching.values import Alternative, Attachability, Reason, ReasonKind, Relation
from probes.code.decoded import Branch
from probes.probe import ProbeKind, ProbePlace

_DEPTH = 3
"""Levels of callers that are searched while the nearer ones can't be probed."""
_MAX_SEARCHED = 200
"""Largest number of functions of a level whose callers are searched."""


class CallSite(NamedTuple):
    """Function that contains an address."""

    name: str
    start: int
    """Address of the function's first instruction."""
    place: ProbePlace
    """Place for a probe on the function."""
    kinds: frozenset[ProbeKind]
    """Probes that can attach; empty: none."""
    offset: int | None = None
    """Bytes of the address from the function's start; None: in a part split off."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Function that calls another one."""

    spot: CallSite
    calls: tuple[int, ...] = ()
    """Offsets of the calls in bytes from the function's start; empty where unknown."""
    jumps: bool = False
    """True if all calls are jumps: tail calls."""
    path: tuple[str, ...] = ()
    """Functions in between that can't be probed, the nearest to this caller first."""
    inlined: bool = False
    """True if the other function's code is inlined in it."""


@dataclass(frozen=True, slots=True)
class Callers:
    """Callers of a function."""

    name: str
    callers: tuple[Caller, ...] = ()
    """Callers that can be probed, nearest first."""
    hidden: tuple[str, ...] = ()
    """Direct callers that can't be probed."""
    searched: str = ""
    """Places searched, for the label: `the kernel's code`, `/usr/lib/debug/...`."""
    error: str = ""
    """Reason why nothing could be searched."""
    reasons: tuple[Reason, ...] = ()
    """Reasons from debug information why the function can't be probed, or only in part."""
    relatives: tuple[Alternative, ...] = ()
    """Functions that take the same types, if no caller was found."""

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """The callers as alternatives, else the relatives."""
        callers = (
            Alternative(c.spot.place, Relation.CONTAINS if c.inlined else Relation.CALLS, note_of(c), c.spot.kinds)
            for c in self.callers
        )
        return (*callers, *self.relatives)

    @property
    def text(self) -> str:
        """Sentence on a search without callers that can be probed; empty: some were found."""
        if self.callers:
            return ""
        if self.error:
            return f"its callers can't be looked for: {self.error}"
        if self.hidden:
            shown = ", ".join(self.hidden[:3]) + (", ..." if len(self.hidden) > 3 else "")
            return f"only {shown} call it, and none of them can be probed"
        return f"no instruction in {self.searched} calls it: called through a pointer, or never"


def note_of(caller: Caller) -> str:
    """Return where the caller calls the function: `at +0x4c`, `through __schedule`."""
    if caller.path:
        return "through " + ", ".join(caller.path)
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
    """Follow direct calls backwards to functions that can be probed.

    Args:
        name: name of the function.
        entries: the function's entry addresses.
        scan: returns the branches to any of the given addresses in all code; slow.
        spot_of: address -> the function that contains it.
        entries_of: start of a function -> its entry addresses.
        searched: places that `scan` searches, for the label.
    """
    callers_found: dict[int, Caller] = {}
    level: dict[int, tuple[str, ...]] = dict.fromkeys(entries, ())
    """Address -> functions between it and the given function."""
    hidden: dict[str, None] = {}
    seen = set(entries)
    for depth in range(_DEPTH):
        following: dict[int, tuple[str, ...]] = {}
        for places in _by_function(scan(level), spot_of, entries):
            spot, through = places[0][0], level[places[0][1].target]
            if spot.kinds:
                offsets = tuple(place.offset for place, _ in places if place.offset is not None)
                jumps = not any(branch.call for _, branch in places)
                callers_found.setdefault(spot.start, Caller(spot, offsets, jumps, through))
                continue
            if not depth:
                hidden[spot.name] = None
            following |= dict.fromkeys(set(entries_of(spot.start)) - seen, (spot.name, *through))
        level = dict(list(following.items())[:_MAX_SEARCHED])
        seen |= set(level)
        if not level or callers_found:
            break
    return Callers(name, tuple(callers_found.values()), tuple(hidden), searched)


def _by_function(
    branches: Iterable[Branch], spot_of: Callable[[int], CallSite | None], entries: Collection[int]
) -> Iterator[list[tuple[CallSite, Branch]]]:
    """Yield the branches of each function, without those to itself; sorted by name."""
    parts: dict[int, list[tuple[CallSite, Branch]]] = {}
    for branch in branches:
        spot = spot_of(branch.address)
        if spot is not None and branch.target not in (spot.start, *(entries if spot.start in entries else ())):
            parts.setdefault(spot.start, []).append((spot, branch))
    yield from sorted(parts.values(), key=lambda members: (members[0][0].name, members[0][0].start))


def with_inlined(callers: Callers, spots: Sequence[CallSite], places: int, kept: bool, path: str) -> Callers:
    """Return the callers with the facts from debug information.

    Args:
        callers: callers found in machine code.
        spots: functions with an inlined copy of the code.
        places: number of copies.
        kept: the function has code of its own too.
        path: path of the debug information.
    """
    inlined = tuple(Caller(spot, inlined=True) for spot in sorted(spots, key=lambda s: s.name) if spot.kinds)
    hidden = dict.fromkeys((*callers.hidden, *(spot.name for spot in spots if not spot.kinds)))
    reasons: tuple[Reason, ...] = ()
    if places:
        text = f"its code was inlined, {counted(places, 'copy', 'copies')} in {counted(len(spots), 'function')}"
        text = "its code was inlined, in one place" if places == 1 else text
        unseen_text = f"{text}: a probe on it doesn't see those"
        reasons = (Reason(ReasonKind.PARTLY_INLINED, unseen_text) if kept else Reason(ReasonKind.INLINED, text),)
    elif not kept:
        reasons = (Reason(ReasonKind.INLINED, "debug information knows it, but no code of it was kept"),)
    searched = " and ".join(filter(None, (callers.searched, path)))
    found = callers.callers + inlined
    return replace(callers, callers=found, hidden=tuple(hidden), searched=searched, reasons=reasons)


def all_reasons(answer: Attachability, callers: Callers | None) -> tuple[Reason, ...]:
    """Return all reasons, with those from debug information, which replace vaguer ones."""
    debug_reasons = callers.reasons if callers else ()
    vague = (ReasonKind.UNKNOWN, ReasonKind.INLINED) if debug_reasons else ()
    return (*(reason for reason in answer.reasons if reason.kind not in vague), *debug_reasons)


def split_from(name: str) -> str:
    """Return the function that a symbol is a part of: `vfs_read` for `vfs_read.cold`."""
    return name.partition(COLD)[0]
