"""Read the maps of the compiled BPF objects that are armed, decoded by their types."""

from __future__ import annotations

from typing import NamedTuple

from kernel.session.session import Session
from kernel.watch.armed_set import ArmedSet
from probes.objects.shown_maps import ShownMap, shown_map


class ObjectMaps(NamedTuple):
    """Contents of the maps of one armed object."""

    name: str
    """Name of its file."""
    maps: tuple[ShownMap, ...]


def read_maps(armed_set: ArmedSet) -> list[ObjectMaps]:
    """Return the maps of all armed objects, the oldest object first. Raises BpfRefused, FileRefused, TargetLost."""
    session = armed_set.session
    found = []
    for armed in armed_set.probes:
        plan = armed.plan.object
        if plan is None or not isinstance(session, Session):
            continue
        tables = session.probes.tables(armed)
        shown = (shown_map(plan.object.btf, one.map, one.rows, is_cut=one.is_cut) for one in tables)
        found.append(ObjectMaps(plan.name, tuple(shown)))
    return found
