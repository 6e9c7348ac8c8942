"""Find probes that are requested although an equal one is armed: each hit would be recorded twice."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace
from typing import NamedTuple

from probes.command import Armable, UserProbe
from probes.names import event_name
from probes.probe import Probe


class DuplicateSplit(NamedTuple):
    """Requested probes, split into new ones and duplicates."""

    new: tuple[Armable, ...]
    """New probes, each once, in order."""
    duplicates: tuple[Armable, ...]
    """Probes that are armed already, or that occur earlier in the request."""


def split_duplicates(wanted: Iterable[Armable], there: Iterable[Armable] = ()) -> DuplicateSplit:
    """Split probes by whether an equal one is in `there` or earlier in `wanted`."""
    seen = {_normal_form(probe) for probe in there}
    fresh, again = list[Armable](), list[Armable]()
    for probe in wanted:
        (again if _normal_form(probe) in seen else fresh).append(probe)
        seen.add(_normal_form(probe))
    return DuplicateSplit(tuple(fresh), tuple(again))


def duplicate_note(probe: Armable) -> str:
    """Return the note on a probe that is not armed a second time, with the way to have it twice."""
    renamed_probe = under_another_name(probe, ())
    advice = f"; for a second one give it a name of its own: {renamed_probe}" if renamed_probe is not None else ""
    return f"{probe} is there already, and armed once{advice}"


def under_another_name(probe: Armable, taken: Container[str]) -> Armable | None:
    """Return the probe with another event name; None: its event names can't be chosen.

    Args:
        probe: a probe that is armed already.
        taken: names of all armed events, without their groups.
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


def _normal_form(probe: Armable) -> Armable:
    """Return a normal form of the probe, independent of how it was written."""
    return replace(probe, suffix=None, separator="/") if isinstance(probe, Probe) else probe
