"""Probes that are wanted though the same one is there: told before they are armed, for each hit would come twice."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace
from typing import NamedTuple

from probes.command import Armable, UserProbe
from probes.names import event_name
from probes.probe import Probe


class DuplicateSplit(NamedTuple):
    """Probes that are wanted, sorted."""

    fresh: tuple[Armable, ...]
    """Each once, in their order."""
    again: tuple[Armable, ...]
    """Those that are there already, or stand farther in front."""


def apart(wanted: Iterable[Armable], there: Iterable[Armable] = ()) -> DuplicateSplit:
    """Sort probes by whether the same one is `there`, or wanted before."""
    seen = {_plain(probe) for probe in there}
    fresh, again = list[Armable](), list[Armable]()
    for probe in wanted:
        (again if _plain(probe) in seen else fresh).append(probe)
        seen.add(_plain(probe))
    return DuplicateSplit(tuple(fresh), tuple(again))


def told_again(probe: Armable) -> str:
    """Return what is said of one that is not armed a second time, with the way to have it twice."""
    named = under_another_name(probe, ())
    way = f"; for a second one give it a name of its own: {named}" if named is not None else ""
    return f"{probe} is there already, and armed once{way}"


def under_another_name(probe: Armable, taken: Container[str]) -> Armable | None:
    """Return the same probe with an event of another name; None: its events have the names that they have.

    Args:
        probe: which is armed already.
        taken: names of events, without their groups, of what is armed.
    """
    if isinstance(probe, Probe):
        group, name = probe.group, probe.event or event_name(probe.subject, "")
    elif isinstance(probe, UserProbe):
        group, _, name = (probe.name or "").rpartition("/")
        name = name or event_name(probe.symbol or probe.path.rpartition("/")[2], "")
    else:
        return None
    number = 2
    while (other := event_name(name, f"_{number}")) in taken:
        number += 1
    if isinstance(probe, Probe):
        return replace(probe, event=other)
    return replace(probe, name=f"{group}/{other}" if group else other)


def _plain(probe: Armable) -> Armable:
    """Return what a probe does, however it was written."""
    return replace(probe, suffix=None, separator="/") if isinstance(probe, Probe) else probe
