"""Represent groups that the kernel has counted, by hist triggers or by BPF programs. Imports no screen code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from probes.bpf.groups.grouping import ValueReading

if TYPE_CHECKING:
    from events.aggregates.aggregate import GroupKey


class KernelGroup(NamedTuple):
    """Hits with the same keys."""

    keys: tuple[GroupKey, ...]
    hits: int
    values: Mapping[str, ValueReading]
    """Sums by value."""


class GroupsReading(NamedTuple):
    """Groups of one moment."""

    groups: tuple[KernelGroup, ...] = ()
    hits: int = 0
    """Hits of all events, also those that are in no group."""
    without_room: int = 0
    """Hits for whose keys there was no room."""

    def beside(self, other: GroupsReading) -> GroupsReading:
        """Return the groups of two events; groups with the same keys stay apart."""
        return GroupsReading(
            (*self.groups, *other.groups), self.hits + other.hits, self.without_room + other.without_room
        )
