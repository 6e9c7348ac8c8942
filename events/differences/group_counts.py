"""Counts of the events of one group: their number, the values of their fields, and the durations of their calls."""

from __future__ import annotations

from typing import Any, Final

from numpy.typing import NDArray

from events.differences.value_counts import NumberCounts, TextCounts
from events.format import Field
from events.summary.keys import KeyColumns

MOST_FIELDS: Final = 2000
"""Greatest number of fields of all groups whose values are counted; each takes 16 KB or more."""


class FieldRoom:
    """Room for the values of fields, shared by all groups of a recording."""

    def __init__(self, most: int = MOST_FIELDS) -> None:
        self._left = most
        self.is_exceeded = False
        """True if the values of some field were not counted."""

    def take(self) -> bool:
        """Take room for one field; return False if there is none."""
        self.is_exceeded = self.is_exceeded or not self._left
        self._left -= self._left > 0
        return not self.is_exceeded


class GroupCounts:
    """See the module."""

    def __init__(self, path: str, room: FieldRoom) -> None:
        """Take the path of the event, empty for the events of all further groups, whose values are not counted."""
        self.path = path
        self.count = 0
        """Number of events."""
        self.values: dict[str, NumberCounts | TextCounts] = {}
        """Values by field."""
        self.durations: NumberCounts | None = None
        """Nanoseconds of proven calls, in the group of their exits, or of their entries if only those have the keys;
        None: there are none."""
        self._room = room

    def add_numbers(self, field: Field, boot: int, values: NDArray[Any]) -> None:
        """Count integers of a field, recorded in a boot; nothing if there is no room, or it had texts before."""
        found = self.values.get(field.name)
        if found is None and self._has_room:
            found = self.values[field.name] = NumberCounts(field)
        if isinstance(found, NumberCounts):
            found.add(values, boot)

    def add_texts(self, name: str, found: KeyColumns) -> None:
        """Count texts of a field, given as their keys; nothing if there is no room, or it had numbers before."""
        counts = self.values.get(name)
        if counts is None and self._has_room:
            counts = self.values[name] = TextCounts()
        if isinstance(counts, TextCounts):
            counts.add(found)

    def add_durations(self, nanoseconds: NDArray[Any]) -> None:
        """Count the durations of calls."""
        if len(nanoseconds) and self.durations is None and self._has_room:
            self.durations = NumberCounts(None)
        if self.durations is not None:
            self.durations.add(nanoseconds)

    @property
    def _has_room(self) -> bool:
        return bool(self.path) and self._room.take()
