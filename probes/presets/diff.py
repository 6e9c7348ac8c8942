"""List the differences between two presets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from probes.presets.schema import Parameter, Preset


class PresetChange(NamedTuple):
    """A difference between two presets."""

    what: str
    """Name of the difference: `title`, `probe 2`, `parameter pid: default`."""
    before: str
    """Text in the first preset; empty: missing there."""
    after: str
    """Text in the second preset; empty: missing there."""


def difference(before: Preset, after: Preset) -> tuple[PresetChange, ...]:
    """Return all changes from a preset to another, in the order of their keys in a file."""
    return tuple(change for change in _changes(before, after) if change.before != change.after)


def _changes(before: Preset, after: Preset) -> Iterator[PresetChange]:
    for key in ("name", "title", "question"):
        yield PresetChange(key, getattr(before, key), getattr(after, key))
    yield PresetChange("tags", ", ".join(before.tags), ", ".join(after.tags))
    yield PresetChange("description", before.description, after.description)
    yield PresetChange("view", before.view, after.view)
    yield PresetChange("columns", ", ".join(before.columns), ", ".join(after.columns))
    yield PresetChange("min_latency", before.min_latency, after.min_latency)
    yield PresetChange("calls", ", ".join(before.calls), ", ".join(after.calls))
    yield PresetChange("errno", before.errno, after.errno)
    yield from _probe_changes(before, after)
    names = dict.fromkeys(parameter.name for preset in (before, after) for parameter in preset.parameters)
    for name in names:
        yield from _parameter_changes(name, before.parameter(name), after.parameter(name))


def _probe_changes(before_preset: Preset, after_preset: Preset) -> Iterator[PresetChange]:
    """Yield changes of probes. Probes of both presets count as unchanged; the others are compared in order."""
    before = [texts for texts in before_preset.probes if texts not in after_preset.probes]
    after = [texts for texts in after_preset.probes if texts not in before_preset.probes]
    for number in range(max(len(before), len(after))):
        old = " | else ".join(before[number]) if number < len(before) else ""
        new = " | else ".join(after[number]) if number < len(after) else ""
        yield PresetChange("probe", old, new)


def _parameter_changes(name: str, before: Parameter | None, after: Parameter | None) -> Iterator[PresetChange]:
    if before is None or after is None:
        yield PresetChange(f"parameter {name}", _parameter_text(before), _parameter_text(after))
        return
    for key in ("type", "default", "help"):
        yield PresetChange(f"parameter {name}: {key}", str(getattr(before, key)), str(getattr(after, key)))


def _parameter_text(before: Parameter | None) -> str:
    return "" if before is None else f"{before.type} {before.default} {before.help}".strip()
