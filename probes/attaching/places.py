"""Name the places of a kernel that a probe can be on, for one search: functions, tracepoints and events.

A function stands there by its name, an event as `group/event`, and a tracepoint behind its letter, `t sched_switch`,
as functions may have the same name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from btf.search import Search
from events.names.place_kinds import IN_PROGRAMS, TRACEPOINT_LETTER, PlaceKind, kind_of_place
from probes.command import Armable, UserProbe, is_function
from probes.facts.facts import Feature, TargetFacts
from probes.functions.function_index import index_of
from probes.names import split_name
from probes.probe import Probe, ProbeEnds, ProbeKind, ProbePlace
from probes.static_events import StaticEvent

_ENDS_OF_CALL: Final = ("sys_enter_", "sys_exit_")
"""Beginnings of the names of a system call's events (include/linux/syscalls.h)."""


class PlaceRow(NamedTuple):
    """Row of a tracepoint or event in the list, as `probes.attaching.catalog.Function` is one of a function."""

    kinds: frozenset[ProbeKind]
    module: str = ""
    reason: str = ""
    word: str = "no function"


_PROBES: Final = {
    PlaceKind.TRACEPOINT: ProbeKind.TRACEPOINT,
    PlaceKind.EVENT: ProbeKind.EVENT,
    PlaceKind.SYSTEM_CALL: ProbeKind.EVENT,
    PlaceKind.PROGRAM: ProbeKind.UPROBE,
    PlaceKind.SYMBOL: ProbeKind.UPROBE,
    PlaceKind.USDT: ProbeKind.UPROBE,
}
"""The probe on each kind of places but functions."""


def place_row(name: str, about: str = "") -> PlaceRow:
    """Return the row of a place that is no function of the kernel; `about`: what is known of it."""
    return PlaceRow(frozenset({_PROBES[kind_of_place(name)]}), reason=about)


def place_name(probe: Probe) -> str:
    """Return the name in the list of the place that a probe is on."""
    return f"{TRACEPOINT_LETTER}{probe.place.symbol}" if probe.kind is ProbeKind.TRACEPOINT else probe.place.symbol


def listed_name(probe: Armable) -> str:
    """Return the name in the list of what a probe of any kind is on."""
    return place_name(probe) if isinstance(probe, Probe) else probe.subject


def probe_at(name: str) -> Probe:
    """Return the probe that records nothing yet on a place, by the place's name in the list."""
    kind = kind_of_place(name)
    own = name.removeprefix(TRACEPOINT_LETTER) if kind is PlaceKind.TRACEPOINT else name
    return Probe(ProbePlace(own), kind=_PROBES.get(kind, ProbeKind.AUTO))


def as_armed(probe: Probe) -> Probe | StaticEvent | UserProbe:
    """Return a probe as it is armed: an event of which no field is chosen is recorded with all its fields, and one in
    a program has its path and symbol.
    """
    if probe.kind is ProbeKind.UPROBE:
        path, _, symbol = probe.place.symbol.partition(":")
        at_exit = probe.when is ProbeEnds.EXIT
        return UserProbe(path, "", at_exit, probe.fetchargs, symbol=symbol, filter=probe.filter)
    if probe.kind is ProbeKind.EVENT and not (probe.fetchargs or probe.group or probe.event):
        return StaticEvent(probe.place.symbol, probe.filter)
    return probe


def with_values(probe: UserProbe) -> Probe | None:
    """Return a probe in a program as its values are chosen; None: it has more than these."""
    when = ProbeEnds.EXIT if probe.suffix else ProbeEnds.ENTRY
    place = ProbePlace(probe.subject)
    found = Probe(place, when, ProbeKind.UPROBE, probe.fetchargs, probe.filter)
    return found if kind_of_place(probe.subject) in IN_PROGRAMS and as_armed(found) == probe else None


class TargetPlaces:
    """All places of a target, and the search among them."""

    def __init__(self, functions: Sequence[str], tracepoints: Sequence[str] = (), events: Sequence[str] = ()) -> None:
        """Take names in alphabetical order; of events `group/event`."""
        self.events = tuple(events)
        calls = [event for event in events if kind_of_place(event) is PlaceKind.SYSTEM_CALL]
        rows: dict[PlaceKind, Sequence[str]] = {
            PlaceKind.FUNCTION: functions,
            PlaceKind.EVENT: [event for event in events if kind_of_place(event) is PlaceKind.EVENT],
            PlaceKind.SYSTEM_CALL: calls,
            PlaceKind.TRACEPOINT: [f"{TRACEPOINT_LETTER}{name}" for name in tracepoints],
        }
        others = [name for kind, names in rows.items() if kind is not PlaceKind.FUNCTION for name in names]
        self.names: Sequence[str] = [*functions, *others] if others else functions
        """Names of all places, those of a kind together."""
        ends = list(accumulate(map(len, rows.values())))
        self.ranges = {kind: range(end - len(rows[kind]), end) for kind, end in zip(rows, ends, strict=True)}
        """Indices into the names by kind of the places."""
        self._functions = functions
        self._others = dict.fromkeys(others)

    @classmethod
    def of(cls, functions: Sequence[str], facts: TargetFacts, events: Sequence[str]) -> TargetPlaces:
        """Return the places of a kernel; tracepoints where it has probes on them."""
        has_tracepoints = facts.has(Feature.TPROBE_EVENTS)
        return cls(functions, sorted(set(index_of(facts).tracepoints)) if has_tracepoints else (), events)

    def has(self, probe: Probe) -> bool:
        """Return whether a probe is on a tracepoint or event that is there."""
        return not is_function(probe) and place_name(probe) in self._others

    def search_with(self, more: Iterable[str] = ()) -> Search:
        """Return a search over the names, and more that come after them.

        A tracepoint is ranked as a function of its name, an event as its name without the group, and one of a system
        call as that call.
        """
        searched = [*map(_searched, self._others), *((name, len(name)) for name in more)]
        if not searched:
            return Search(self.names)
        texts = [*self._functions, *(text for text, _ in searched)]
        return Search(texts, [*map(len, self._functions), *(length for _, length in searched)])


def _searched(name: str) -> tuple[str, int]:
    """Return the text to search for a tracepoint or event, what it is ranked by first, and the length of that."""
    kind = kind_of_place(name)
    if kind is PlaceKind.TRACEPOINT:
        own = name.removeprefix(TRACEPOINT_LETTER)
        return own, len(own)
    group, own = split_name(name)
    if kind is PlaceKind.SYSTEM_CALL:
        call = next((own.removeprefix(end) for end in _ENDS_OF_CALL if own.startswith(end)), own)
        return f"{call}/{own}/{group}", len(call)
    return f"{own}/{group}", len(own)
