"""Rows of the samples of monitors: name, value, extremes, change a second, and a line of the last minutes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from events.numbers.number_series import NumberSamples, NumberSeries, SeriesKey
from probes.sources.source import is_monitor

if TYPE_CHECKING:
    from probes.plans.plan import Plan

TITLES: Final = ("number", "now", "per second", "last minutes", "min", "max", "samples")
"""Titles of the columns; what tells of the present stands first, as small screens end behind it."""
_LEVELS: Final = "▁▂▃▄▅▆▇█"
_LINE: Final = 30
"""Most columns of the line of a number."""
_UNREAD: Final = "unreadable"


def monitored(plans: Iterable[Plan]) -> dict[str, Plan]:
    """Return the plans of monitors by the paths of their events."""
    return {event.path: plan for plan in plans if is_monitor(plan.probe) for event in plan.events}


def is_by_cpu(plan: Plan) -> bool:
    """Return whether each CPU has samples of its own."""
    return is_monitor(plan.probe) and plan.probe.value("per") == "cpu"


def number_cells(found: NumberSamples, plans: dict[str, Plan]) -> list[tuple[str, ...]]:
    """Return the cells of `TITLES` for each number, in the order in which they were armed, then by CPU."""
    return [_cells(_name(plans.get(key.path), key.path, key.cpu), found.series[key]) for key in _keys(found, plans)]


def second_lines(found: NumberSamples, plans: dict[str, Plan], row: int) -> list[str] | None:
    """Return the name of a row, then the last value of each second, the newest first; None: there is no such row."""
    keys = _keys(found, plans)
    if not 0 <= row < len(keys):
        return None
    series = found.series[keys[row]]
    values = {second: number_text(series, value) for second, value in series.by_second.items()}
    room = max(map(len, values.values()), default=0)
    lines = [f"{second:>8} s  {text:>{room}}" for second, text in sorted(values.items(), reverse=True)]
    return [_name(plans.get(keys[row].path), keys[row].path, keys[row].cpu), *lines]


def _keys(found: NumberSamples, plans: dict[str, Plan]) -> list[SeriesKey]:
    order = {path: place for place, path in enumerate(plans)}
    return sorted(found.series, key=lambda key: (order.get(key.path, len(order)), key.path, key.cpu))


def _name(plan: Plan | None, path: str, cpu: int) -> str:
    name = plan.probe.subject.partition(" ")[2] if plan is not None else path.rpartition("/")[2]
    return f"{name} CPU {cpu}" if cpu >= 0 else name


def _cells(name: str, series: NumberSeries) -> tuple[str, ...]:
    now = number_text(series, series.now)
    extremes = [number_text(series, one) if series.count else "" for one in (series.least, series.most)]
    rate = series.per_second
    samples = f"{series.count:,}" + (f", {series.unread:,} {_UNREAD}" if series.unread else "")
    line = level_line(series.recent(), _LINE)
    return (name, now, "" if rate is None else rate_text(rate), line, *extremes, samples)


def number_text(series: NumberSeries, value: int | None) -> str:
    """Return a value: with groups of digits, an address in hexadecimal digits."""
    if value is None:
        return _UNREAD
    return f"0x{value:x}" if series.is_address else f"{value:,}"


def rate_text(rate: float) -> str:
    """Return a change a second: `+12`, `-0.5`."""
    return f"{rate:+,.0f}" if abs(rate) >= 10 or rate == int(rate) else f"{rate:+,.1f}"


def level_line(values: Sequence[int | None], columns: int) -> str:
    """Return the values as levels between their least and their most, in at most so many columns.

    A column shows the last value of its seconds; a blank: there was no sample.
    """
    each = max(1, -(-len(values) // max(1, columns)))
    parts = (values[at : at + each] for at in range(0, len(values), each))
    shown = [next((one for one in reversed(part) if one is not None), None) for part in parts]
    known = [one for one in shown if one is not None]
    least, room = min(known, default=0), max(known, default=0) - min(known, default=0)
    return "".join(" " if one is None else _LEVELS[(one - least) * 7 // room if room else 0] for one in shown)
