"""Make columns of keys and values of calls: each is of the exit if the exit has it, else of the entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from events.aggregates.event_columns import KeySource
from events.aggregates.format_parts import FormatParts, FormatRows
from events.aggregates.groups import Ints, Keys, Mask, ValueColumn
from events.aggregates.request import TIMED
from events.store.columns import PIECE
from events.summary.keys import KeyColumns

if TYPE_CHECKING:
    from events.store.store import Store

_NO_FORMAT = -1
_FORMAT_BITS = 32
"""Bits that hold the number of a format; the kernel's have 16."""


class _CallEnds(NamedTuple):
    """Entries or exits of some calls."""

    formats: Ints
    """Number of the format of each; -1: its event was dropped, or received as text."""
    keys: list[Keys]
    has_key: list[Mask]
    values: list[list[ValueColumn]]
    texts: list[list[KeyColumns]]
    """For each key, columns that know what the keys stand for."""


class JoinedParts:
    """Columns of calls, whose ends are rows of a store."""

    def __init__(self, store: Store, formats: FormatParts) -> None:
        self._store = store
        self._formats = formats

    def parts(self, entries: Ints, exits: Ints, durations: Ints) -> Iterator[tuple[tuple[int, int], FormatRows]]:
        """Yield the calls that have all keys and one of the values, with the formats of exit and entry.

        Args:
            entries: sequence numbers of the entries.
            exits: sequence numbers of the exits.
            durations: nanoseconds of the calls.
        """
        if not len(exits):
            return
        leave, enter = self._side(exits), self._side(entries)
        pairs = (leave.formats << _FORMAT_BITS) + enter.formats
        for pair in np.unique(pairs).tolist():
            rows = np.flatnonzero(pairs == pair)
            leave_format, enter_format = int(leave.formats[rows[0]]), int(enter.formats[rows[0]])
            part = self._part(leave, enter, leave_format, enter_format, rows, durations)
            if part is not None:
                yield (leave_format, enter_format), part

    def _part(
        self, leave: _CallEnds, enter: _CallEnds, leave_format: int, enter_format: int, rows: Ints, durations: Ints
    ) -> FormatRows | None:
        request = self._formats.request
        sides = [(leave, leave_format), (enter, enter_format)]
        sources: list[KeySource] = []
        chosen: list[_CallEnds] = []
        for n in range(len(request.keys)):
            found = next(
                ((side, source) for side, number in sides if (source := self._key_source(number, n)) is not None),
                None,
            )
            if found is None:
                return None
            chosen.append(found[0])
            sources.append(found[1])
        for n, side in enumerate(chosen):
            rows = rows[side.has_key[n][rows]]
        values: list[list[ValueColumn]] = []
        present = np.zeros(len(rows), np.bool_)
        for n, name in enumerate(request.values):
            own = next((side.values[n] for side, number in sides if self._has_value(number, n)), None)
            if own is None and name in TIMED:
                own = [ValueColumn(durations)]
            columns = [
                ValueColumn(one.values[rows], None if one.present is None else one.present[rows]) for one in own or ()
            ]
            for column in columns:
                present |= True if column.present is None else column.present
            values.append(columns)
        if request.values and not present.all():
            kept = np.flatnonzero(present)
            rows = rows[kept]
            values = [
                [ValueColumn(one.values[kept], None if one.present is None else one.present[kept]) for one in columns]
                for columns in values
            ]
        if not len(rows):
            return None
        keys = tuple(KeyColumns(side.keys[n][rows], parts=side.texts[n]) for n, side in enumerate(chosen))
        return FormatRows(tuple(sources), keys, tuple(values), len(rows))

    def _key_source(self, number: int, key: int) -> KeySource | None:
        return None if number == _NO_FORMAT else self._formats.sources(number).keys[key]

    def _has_value(self, number: int, value: int) -> bool:
        return number != _NO_FORMAT and self._formats.sources(number).values[value] is not None

    def _side(self, seqs: Ints) -> _CallEnds:
        """Gather the columns of some rows, in their order."""
        size, request = len(seqs), self._formats.request
        side = _CallEnds(
            np.full(size, _NO_FORMAT, np.int64),
            [np.zeros(size, np.uint64) for _ in request.keys],
            [np.zeros(size, np.bool_) for _ in request.keys],
            [[] for _ in request.values],
            [[] for _ in request.keys],
        )
        order = np.argsort(seqs, kind="stable")
        ordered = seqs[order]
        at = int(np.searchsorted(ordered, self._store.first_seq))
        while at < size:
            start = int(ordered[at])
            stop = int(np.searchsorted(ordered, start + PIECE))
            self._gather(side, ordered[at:stop], order[at:stop])
            at = stop
        return side

    def _gather(self, side: _CallEnds, seqs: Ints, places: Ints) -> None:
        """Gather the columns of rows within one piece; `seqs` is ascending, `places` are their indexes."""
        columns = self._store.columns(int(seqs[0]), int(seqs[-1]) + 1)
        wanted = np.zeros(len(columns), np.bool_)
        wanted[seqs - columns.first] = True
        for number, table in columns.only(wanted).tables.items():
            own = places[np.searchsorted(seqs, table.seqs)]
            sources = self._formats.sources(number)
            side.formats[own] = number
            for n, key in enumerate(sources.keys):
                if key is not None:
                    column, present = self._formats.key(key, table)
                    side.keys[n][own] = column.keys
                    side.has_key[n][own] = True if present is None else present
                    side.texts[n].append(column)
            for n, value in enumerate(sources.values):
                for one in self._formats.values(value, table):
                    whole = np.zeros(len(side.formats), one.values.dtype)
                    present = np.zeros(len(side.formats), np.bool_)
                    whole[own] = one.values
                    present[own] = True if one.present is None else one.present
                    side.values[n].append(ValueColumn(whole, present))
