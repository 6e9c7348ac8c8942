"""Comparisons of two recordings as text for people. Imports no screen code."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from events.differences.change import FLOOR, ChangeVerdict, CountChange
from events.differences.differences import (
    Aspect,
    Difference,
    GroupFacts,
    Labels,
    RecordingComparison,
    RecordingFacts,
    most_frequent,
)
from events.differences.value_counts import ValueShares
from foreign.count_text import counted, shortened
from widgets.number_format import duration, grouped, rate, short

NO_CHANGE: Final = "no difference beyond chance"
NONE: Final = "none"
NOT_RECORDED: Final = "not recorded"
_SHOWN_SHARES: Final = 5
"""Named values of a field that are listed, unless more have changed."""
_WORDS: Final = {
    ChangeVerdict.SAME: "no difference",
    ChangeVerdict.TOO_FEW: "too few to tell",
    ChangeVerdict.LOSSES: "perhaps lost events",
}
NO_CHANGES: Final = frozenset(_WORDS.values())
"""Texts of comparisons that show no change."""


class Line(NamedTuple):
    """Line of the table of a group: a number of both recordings."""

    label: str
    a: str
    b: str
    note: str = ""
    """Change, or why there is none."""
    difference: Difference | None = None
    """Comparison of the line; None: its numbers are only shown."""


def change_text(change: CountChange) -> str:
    """Return a change in a few words: `x8.0, at least x7.2`, `only in B`, `no difference`."""
    if change.verdict is ChangeVerdict.UNRECORDED:
        return "only A records it" if not change.factor else "only B records it"
    if change.verdict is not ChangeVerdict.CHANGED:
        return _WORDS[change.verdict]
    if not change.factor or math.isinf(change.factor):
        return "only in A" if not change.factor else "only in B"
    sign = "x" if change.factor > 1 else "/"
    return f"{sign}{_factor(change.size)}, at least {sign}{_factor(change.least)}"


def _factor(number: float) -> str:
    return f"{number:.3g}" if number < 999.5 else short(number)


def number_text(aspect: Aspect, number: float) -> str:
    """Return a number of a comparison with its unit."""
    if aspect is Aspect.RATE:
        return f"{number:.3g}/s" if number < 999.5 else rate(number)
    if aspect is Aspect.LATENCY:
        return duration(round(number))
    return grouped(round(number)) if aspect is Aspect.SIZE else share_text(number)


def number_texts(one: Difference) -> tuple[str, str]:
    """Return the numbers of both recordings with their unit, or that one did not record the event."""
    a, b = _or_not_recorded(one, (number_text(one.aspect, number) for number in (one.a, one.b)))
    return a, b


def _or_not_recorded(one: Difference, texts: Iterable[str]) -> Iterator[str]:
    """Yield a text for both recordings: that of one which did not record the event says so."""
    for text, is_unrecorded in zip(texts, one.is_unrecorded, strict=True):
        yield NOT_RECORDED if is_unrecorded else text


def share_text(share: float) -> str:
    """Return a share as percent: `none`, `<0.1%`, `12.3%`, `100%`."""
    if not share:
        return NONE
    percent = 100 * share
    if percent < 0.1:
        return "<0.1%"
    return ">99.9%" if 99.9 < percent < 100 else f"{percent:.3g}%"


def item_text(one: Difference) -> str:
    """Return the aspect of a comparison in its group: `per second`, `latency p50`, `ret -ENOENT`, `count p50`."""
    if one.aspect is Aspect.RATE:
        return "per second"
    return f"{'latency' if one.aspect is Aspect.LATENCY else one.field} {one.item}"


def group_name(group: Labels) -> str:
    """Return the name of a group: the event, and the keys that are not in its name."""
    event = group[0].rpartition("/")[2]
    function = event.removesuffix("__entry").removesuffix("__exit")
    return " ".join((group[0], *(key for key in group[1:] if key not in (function, event.partition("__")[0]))))


def listed_changes(found: RecordingComparison) -> list[Difference]:
    """Return the changes, of the percentiles of one field or latency the greatest alone."""
    listed: dict[tuple[object, ...], Difference] = {}
    for one in found.changes:
        is_percentile = one.aspect in (Aspect.LATENCY, Aspect.SIZE)
        listed.setdefault((one.group, one.aspect, one.field, is_percentile or one.item), one)
    return list(listed.values())


def head_lines(found: RecordingComparison, names: tuple[str, str]) -> Iterator[str]:
    """Yield what was compared, what makes it unsure, and what came out."""
    for side, name, facts in zip("AB", names, (found.a, found.b), strict=True):
        yield f"{side}  {name}: {_recording_text(facts)}"
    for side, facts in zip("AB", (found.a, found.b), strict=True):
        if facts.lost:
            yield f"{side} lost {counted(facts.lost, 'event')}: a rate that they may explain counts as unsure"
        if facts.gap:
            yield f"{side} has gaps of {facts.gap:.1f} s in all, which are no recorded time"
        for note in facts.notes:
            yield f"{side}: {note}"
    for event, (only_a, only_b) in found.other_fields.items():
        only = [
            f"{', '.join(sorted(fields))} only in {side}" for side, fields in (("A", only_a), ("B", only_b)) if fields
        ]
        yield f"{event} has other fields: {'; '.join(only)}"
    yield result_text(found)


def _recording_text(facts: RecordingFacts) -> str:
    events = counted(facts.events, "event")
    return f"{events} in {facts.seconds:.3g} s" + ("" if facts.lost or facts.gap else ", none lost")


def result_text(found: RecordingComparison) -> str:
    """Return the numbers of comparisons by their verdicts."""
    changes, of = found.number_of(ChangeVerdict.CHANGED), counted(len(found.differences), "comparison")
    parts = [f"{changes:,} of {of} changed by a factor of {FLOOR} or more" if changes else f"{NO_CHANGE} in {of}"]
    for verdict, text in (
        (ChangeVerdict.LOSSES, "{} may be due to lost events"),
        (ChangeVerdict.TOO_FEW, "{} with too few events to tell"),
    ):
        if number := found.number_of(verdict):
            parts.append(text.format(f"{number:,}"))
    if unrecorded := [one.group[0] for one in found.differences if one.change.verdict is ChangeVerdict.UNRECORDED]:
        parts.append(f"recorded in one alone: {shortened(tuple(dict.fromkeys(unrecorded)))}")
    return "; ".join(parts)


def group_lines(found: RecordingComparison, group: Labels) -> Iterator[Line]:
    """Yield the lines of a group: its events, the latency of its calls, the values of its fields."""
    a, b = (facts.groups.get(group) for facts in (found.a, found.b))
    by_item = {(one.aspect, one.field, one.item): one for one in found.of_group(group)}
    rate_line = by_item[Aspect.RATE, "", ""]
    counts = (grouped(one.events) if one is not None else NONE for one in (a, b))
    yield _shown("events", _or_not_recorded(rate_line, counts))
    yield _compared(rate_line)
    yield from _latency_lines(a, b, by_item)
    fields = dict.fromkeys((*(a.values if a is not None else ()), *(b.values if b is not None else ())))
    for field in fields:
        own, other = (one.values.get(field) if one is not None else None for one in (a, b))
        yield from _field_lines(field, own, other, by_item)


_Items = dict[tuple[Aspect, str, str], Difference]


def _compared(one: Difference) -> Line:
    return Line(item_text(one), *number_texts(one), change_text(one.change), one)


def _shown(label: str, texts: Iterable[str]) -> Line:
    a, b = texts
    return Line(label, a, b)


def _latency_lines(a: GroupFacts | None, b: GroupFacts | None, by_item: _Items) -> Iterator[Line]:
    times = [one.durations if one is not None else None for one in (a, b)]
    if times == [None, None]:
        return
    yield _shown("calls", (grouped(one.number) if one is not None else NONE for one in times))
    for part in ("p50", "p90", "p99"):
        if (one := by_item.get((Aspect.LATENCY, "", part))) is not None:
            yield _compared(one)
        else:
            yield _shown(
                f"latency {part}",
                ("" if one is None else duration(one.sizes.quantile(int(part[1:]))) for one in times),
            )
    yield _shown("latency max", ("" if one is None else duration(one.most or 0) for one in times))
    yield _shown("latency mean", ("" if one is None else duration(round(one.mean)) for one in times))


def _field_lines(field: str, a: ValueShares | None, b: ValueShares | None, by_item: _Items) -> Iterator[Line]:
    both = (a, b)
    numbers = [one for one in both if one is not None and one.sizes is not None and one.least is not None]
    own = [one for (_, name, _), one in by_item.items() if name == field]
    shares = [one for one in own if one.aspect is Aspect.SHARE]
    shown = sorted(shares, key=lambda one: -max(one.a, one.b))[:_SHOWN_SHARES]
    shown += [one for one in shares if one.change.verdict is ChangeVerdict.CHANGED and one not in shown]
    sizes = [one for one in own if one.aspect is Aspect.SIZE]
    if numbers and (sizes or not shown):
        yield _shown(f"{field} least", (_plain(one.least if one is not None else None) for one in both))
        yield from map(_compared, sorted(sizes, key=lambda one: int(one.item[1:])))
        yield _shown(f"{field} most", (_plain(one.most if one is not None else None) for one in both))
    yield from map(_compared, shown)
    if not shares and not numbers:
        for one, side in zip(both, "AB", strict=True):
            for name in most_frequent(one.shares, one.uncounted)[:_SHOWN_SHARES] if one else ():
                share = share_text(one.shares[name].hits / one.number) if one and one.number else NONE
                yield _shown(f"{field} {name}", ((share, "") if side == "A" else ("", share)))


def _plain(number: int | None) -> str:
    return "" if number is None else grouped(number)
