"""What is different between two presets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from probes.presets.schema import Parameter, Preset


class Change(NamedTuple):
    """One difference."""

    what: str
    """`title`, `probe 2`, `parameter pid: default`."""
    before: str
    """Empty: it was not there."""
    after: str
    """Empty: it is not there any more."""


def difference(one: Preset, other: Preset) -> tuple[Change, ...]:
    """All changes from one to the other, in the order in which a file has these things."""
    return tuple(change for change in _changes(one, other) if change.before != change.after)


def _changes(one: Preset, other: Preset) -> Iterator[Change]:
    for key in ("name", "title", "question"):
        yield Change(key, getattr(one, key), getattr(other, key))
    yield Change("tags", ", ".join(one.tags), ", ".join(other.tags))
    yield Change("description", one.description, other.description)
    yield Change("view", one.view, other.view)
    yield Change("columns", ", ".join(one.columns), ", ".join(other.columns))
    yield Change("min_latency", one.min_latency, other.min_latency)
    yield from _of_probes(one, other)
    names = dict.fromkeys(parameter.name for preset in (one, other) for parameter in preset.parameters)
    for name in names:
        yield from _of_parameter(name, one.parameter(name), other.parameter(name))


def _of_probes(one: Preset, other: Preset) -> Iterator[Change]:
    """Those that both have are no change, wherever they stand; the others are set against each other in order."""
    before = [texts for texts in one.probes if texts not in other.probes]
    after = [texts for texts in other.probes if texts not in one.probes]
    for number in range(max(len(before), len(after))):
        old = " | else ".join(before[number]) if number < len(before) else ""
        new = " | else ".join(after[number]) if number < len(after) else ""
        yield Change("probe", old, new)


def _of_parameter(name: str, one: Parameter | None, other: Parameter | None) -> Iterator[Change]:
    if one is None or other is None:
        yield Change(f"parameter {name}", _told(one), _told(other))
        return
    for key in ("type", "default", "help"):
        yield Change(f"parameter {name}: {key}", str(getattr(one, key)), str(getattr(other, key)))


def _told(one: Parameter | None) -> str:
    return "" if one is None else f"{one.type} {one.default} {one.help}".strip()
