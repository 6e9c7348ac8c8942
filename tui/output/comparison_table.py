"""Comparison of two recordings as objects and as cells of a table, for JSON and exports. Imports no screen code."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from events.differences.change import ChangeVerdict
from events.differences.differences import (
    LATENCY_QUANTILES,
    VALUE_QUANTILES,
    Difference,
    GroupFacts,
    RecordingComparison,
    RecordingFacts,
)
from events.differences.value_counts import NumberCounts, ValueShares
from foreign.count_text import counted
from tui.output.view_table import Cells, ViewTable, key_titles

_MOST_VALUES: Final = 20
"""Named values of a field that an object lists."""
_COLUMNS: Final = ("aspect", "field", "item", "a", "b", "factor", "least", "verdict")


def objects_of(found: RecordingComparison, names: tuple[str, str], keys: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield the recordings, other fields, all comparisons, what changed most first, then the groups, and the result.

    Args:
        found: comparison.
        names: names of the files.
        keys: keys beside the event; none: the function, where an event has one.
    """
    for side, name, facts in zip("ab", names, (found.a, found.b), strict=True):
        yield _recording_object(side, name, facts)
    for event, (only_a, only_b) in found.other_fields.items():
        yield {"compare": "fields", "event": event, "only_a": sorted(only_a), "only_b": sorted(only_b)}
    for one in found.differences:
        yield difference_object(one, keys)
    for group in found.groups:
        sides = (facts.groups.get(group) for facts in (found.a, found.b))
        yield {
            "compare": "group",
            **_about(group, keys),
            **{
                side: None if own is None else _group_object(own, facts.seconds)
                for side, own, facts in zip("ab", sides, (found.a, found.b), strict=True)
            },
        }
    yield {
        "compare": "result",
        **{verdict.name.lower(): found.number_of(verdict) for verdict in ChangeVerdict},
        "comparisons": len(found.differences),
    }


def difference_object(one: Difference, keys: tuple[str, ...]) -> dict[str, Any]:
    """Return one comparison as an object."""
    a, b = (
        None if is_unrecorded else number
        for number, is_unrecorded in zip((one.a, one.b), one.is_unrecorded, strict=True)
    )
    is_compared = a is not None and b is not None and not math.isinf(one.change.factor)
    return {
        "compare": "difference",
        **_about(one.group, keys),
        "aspect": str(one.aspect),
        "field": one.field or None,
        "item": one.item or None,
        "a": a,
        "b": b,
        "factor": one.change.factor if is_compared else None,
        "least": one.change.least,
        "verdict": one.change.verdict.name.lower(),
    }


def _about(group: tuple[str, ...], keys: tuple[str, ...]) -> dict[str, Any]:
    return {"event": group[0], "by": dict(zip(keys or ("func",), group[1:], strict=False))}


def _recording_object(side: str, name: str, facts: RecordingFacts) -> dict[str, Any]:
    return {
        "compare": "recording",
        "side": side,
        "file": name,
        "events": facts.events,
        "seconds": facts.seconds,
        "lost": facts.lost,
        "gap": facts.gap,
        "notes": list(facts.notes),
    }


def _group_object(own: GroupFacts, seconds: float) -> dict[str, Any]:
    return {
        "count": own.events,
        "per_second": own.events / seconds if seconds else None,
        "latency": None if own.durations is None else _latency_object(own.durations),
        "values": {field: _values_object(values) for field, values in own.values.items()},
    }


def _latency_object(own: NumberCounts) -> dict[str, Any]:
    return {
        "calls": own.number,
        **{f"p{part}": own.sizes.quantile(part) for part in LATENCY_QUANTILES},
        "max": own.most,
        "mean": own.mean,
        "log2": [[power.exponent, power.hits] for power in own.sizes.powers],
    }


def _values_object(values: ValueShares) -> dict[str, Any]:
    named = {**values.shares, **(values.names or {})}
    top = sorted(named, key=lambda name: (-named[name].hits, name))[:_MOST_VALUES]
    found: dict[str, Any] = {
        "number": values.number,
        "named": [{"value": name, "count": named[name].hits, "error": named[name].error} for name in top],
    }
    if values.sizes is not None:
        found |= {
            "min": values.least,
            **{f"p{part}": values.sizes.quantile(part) for part in VALUE_QUANTILES if values.sizes.count},
            "max": values.most,
            "log2": [[power.exponent, power.hits] for power in values.sizes.powers],
        }
    return found


class ComparisonTable(ViewTable):
    """Comparisons of two recordings, what changed most first."""

    name = "comparison"

    def __init__(self, found: RecordingComparison, keys: tuple[str, ...]) -> None:
        """Take the comparison, and the keys beside the event; none: the function."""
        self._found = found
        self._keys = keys
        self._titles = key_titles(keys or ("func",), ("event", *_COLUMNS))

    @property
    def text(self) -> str:
        """Number of rows."""
        return counted(len(self._found.differences), "comparison")

    @property
    def columns(self) -> tuple[str, ...]:
        """Event, keys, and the parts of a comparison."""
        return ("event", *self._titles.values(), *_COLUMNS)

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the comparisons."""
        yield from (difference_object(one, self._keys) for one in self._found.differences)

    def cells(self, row: Mapping[str, Any]) -> Iterator[Cells]:
        """Yield one row."""
        keys = {self._titles[name]: key for name, key in row["by"].items()}
        yield {"event": row["event"], **keys, **{name: row[name] for name in _COLUMNS}}
