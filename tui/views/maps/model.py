"""Rows of the maps of compiled BPF objects, with the change a second between two readings. Imports no screen code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kernel.watch.object_maps import ObjectMaps
from probes.objects.shown_maps import ShownMap
from widgets.number_format import grouped, rate

_Key = tuple[str, ...]
_LONGEST_NUMBER = 40


class MapCells(NamedTuple):
    """Row of the table."""

    keys: _Key
    values: tuple[int | str, ...]
    per_second: float | None = None
    """Change of the first number a second; None: it is not known yet, or there is no number."""


class MapRows(NamedTuple):
    """Rows of one map, in the order of a column."""

    titles: tuple[str, ...]
    keys: int
    """Number of columns that are keys."""
    rows: tuple[MapCells, ...]
    order: int
    """Number of the column that the rows are sorted by."""

    def texts(self, row: MapCells) -> tuple[str, ...]:
        """Return the cells of a row."""
        values = (grouped(one) if isinstance(one, int) else one for one in row.values)
        return (*row.keys, *values, "" if row.per_second is None else rate(row.per_second))

    def share(self, row: MapCells) -> float:
        """Return the part of the bar: of a number against the largest of its column."""
        at = self.order - self.keys if self.order >= self.keys else 0
        numbers = [one for each in self.rows if isinstance(one := _at(each.values, at), int)]
        own, most = _at(row.values, at), max(numbers, default=0)
        return own / most if isinstance(own, int) and most > 0 and own > 0 else 0.0


class MapsModel:
    """The maps of all armed objects, as they were read last."""

    def __init__(self) -> None:
        self.maps: list[tuple[str, ShownMap]] = []
        """Name of the object, and a map of it."""
        self._at = 0.0
        self._numbers: dict[tuple[str, str], dict[_Key, int]] = {}
        self._rates: dict[tuple[str, str], dict[_Key, float]] = {}

    def take(self, found: Sequence[ObjectMaps], now: float) -> None:
        """Take a reading, made at a time in seconds."""
        passed = now - self._at
        self.maps = [(one.name, shown) for one in found for shown in one.maps]
        numbers = {
            (name, shown.map.name): {
                keys: number for keys, values in cells(shown) if (number := _first(values)) is not None
            }
            for name, shown in self.maps
        }
        if self._at and passed > 0:
            self._rates = {
                name: {keys: (number - before.get(keys, 0)) / passed for keys, number in own.items()}
                for name, own in numbers.items()
                if (before := self._numbers.get(name)) is not None
            }
        self._at, self._numbers = now, numbers

    def table(self, number: int, by: int | None = None, *, ascending: bool = False) -> MapRows:
        """Return the rows of a map in the order of a column. Raises IndexError where there is no such map.

        Without a column: its first number, the largest first; a histogram in the order of its slots.
        """
        name, shown = self.maps[number]
        titles, keys = titles_of(shown)
        rates = self._rates.get((name, shown.map.name), {})
        rows = [MapCells(own, values, rates.get(own)) for own, values in cells(shown)]
        if by is None and shown.histograms:
            return MapRows((*titles, "now"), keys, tuple(rows), keys)
        order = _first_number(rows, keys) if by is None else min(by, len(titles))
        rows.sort(key=lambda row: _sort_key(row, order, keys), reverse=not ascending)
        return MapRows((*titles, "now"), keys, tuple(rows), order)


def titles_of(shown: ShownMap) -> tuple[tuple[str, ...], int]:
    """Return the titles of the columns of a map, and how many of them are keys."""
    if shown.histograms:
        keyed = ("key",) if any(key for key, _ in shown.histograms) else ()
        return (*keyed, "from", "count"), len(keyed) + 1
    keys = tuple(dict.fromkeys(name for row in shown.rows for name in row.key_columns)) or ("key",)
    values = tuple(dict.fromkeys(name for row in shown.rows for name in row.value_columns)) or ("value",)
    return (*keys, *values), len(keys)


def cells(shown: ShownMap) -> list[tuple[_Key, tuple[int | str, ...]]]:
    """Return keys and values of the rows of a map; of a histogram each slot is a row."""
    if shown.histograms:
        found: list[tuple[_Key, tuple[int | str, ...]]] = []
        for key, counts in shown.histograms:
            used = [at for at, count in enumerate(counts) if count]
            head = (key,) if any(one for one, _ in shown.histograms) else ()
            span = range(used[0], used[-1] + 1) if used else range(0)
            found += [((*head, grouped(1 << at if at else 0)), (counts[at],)) for at in span]
        return found
    titles, keys = titles_of(shown)
    rows = []
    for row in shown.rows:
        own, values = row.key_columns, row.value_columns
        rows.append(
            (
                tuple(str(own.get(name, "")) for name in titles[:keys]),
                tuple(values.get(name, "") for name in titles[keys:]),
            )
        )
    return rows


def _first(values: Sequence[int | str]) -> int | None:
    return next((one for one in values if isinstance(one, int)), None)


def _first_number(rows: Sequence[MapCells], keys: int) -> int:
    first = rows[0].values if rows else ()
    return keys + next((at for at, one in enumerate(first) if isinstance(one, int)), 0)


def _at(values: Sequence[int | str], number: int) -> int | str:
    return values[number] if number < len(values) else ""


def _sort_key(row: MapCells, order: int, keys: int) -> tuple[float, str]:
    if order < keys:
        text = row.keys[order]
        return (int(text) if text.isdecimal() and len(text) < _LONGEST_NUMBER else 0, text)
    if order - keys >= len(row.values):
        return (row.per_second or 0.0, "")
    value = row.values[order - keys]
    return (value, "") if isinstance(value, int) else (0, value)
