"""Tell what a recording holds: its kernel, the time, the probes with their specifications, events of each, losses.

For a dialog and for `show FILE.pwr`. Imports no screen code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from events.names.event_names import exported_name
from events.store.outage_mark import OUTAGE_EVENT
from foreign.count_text import counted
from tui.present.event_times import wall_clock, wall_date
from tui.present.loss_totals import losses_of

if TYPE_CHECKING:
    from events.loss_counts import LossCounts, LossTotals
    from kernel.watch.watch import Watch
    from tui.present.hist_tables import TableLine

_LEAST_COLUMNS: Final = 20
_MOST_COLUMNS: Final = 130
"""Columns of the dialog with the lines (`tui.live.details.lines_screen`)."""
_INDENT: Final = "    "
NO_CLOCK: Final = "not recorded: it was made by a version before the time of day was kept"


class RecordedProbe(NamedTuple):
    """Probe of a recording."""

    specification: str
    """The probe with its fields and its filter."""
    means: str
    """Means that recorded it: `tracefs`, `BPF programs`."""
    events: Mapping[str, int]
    """Numbers of its events by their names."""
    missed: int | None
    """Hits that it did not record; None: the kernel did not count them."""


class RecordingContents(NamedTuple):
    """Contents of a recording: what was armed, and what came of it."""

    file: str
    kernel: str
    machine: str
    """Architecture and number of CPUs."""
    made: str
    """Local time of day of its first event; empty: it is not known."""
    seconds: float
    """Time from its first event to its last, without what lies between two boots."""
    graph: str
    """Settings of the call graph that was traced; empty: none was."""
    probes: tuple[RecordedProbe, ...]
    others: Mapping[str, int]
    """Numbers of events that are of none of the probes, by their names."""
    losses: LossTotals
    is_truncated: bool


def contents_of(watch: Watch, counts: LossCounts | None) -> RecordingContents:
    """Return what the recording of a watch holds, as far as its events were read; `counts`: losses of its kernel."""
    from events.timeline.axis import TimeAxis  # imports numpy

    info, store = watch.info, watch.store
    facts = info.facts
    totals: Mapping[str, int] = store.by_event(store.totals) if store is not None else {}
    probes = []
    for plan in watch.event_fields.plans:
        paths = [event.path for event in plan.events if event.recorded]
        missed = [counts.nmissed.get(path) for path in paths] if counts is not None else [None]
        probes.append(
            RecordedProbe(
                str(plan.probe),
                "BPF programs" if plan.by_programs else "tracefs",
                {exported_name(path): totals.get(path, 0) for path in paths},
                None if None in missed else sum(number or 0 for number in missed),
            )
        )
    own = {path for probe in probes for path in probe.events}
    first = store.row(store.first_seq).ts if store is not None and len(store) else 0
    offset = watch.clock.offset(store, first, store.first_seq) if store is not None and len(store) else None
    made = "" if offset is None else f"{wall_date(first + offset.ns)} {wall_clock(first + offset.ns)[:8]}"
    return RecordingContents(
        info.target.name,
        facts.title,
        f"{facts.machine}, {counted(facts.cpus, 'CPU')}",
        made,
        sum(part.end - part.start for part in TimeAxis(store).parts) / 1e9 if store is not None else 0.0,
        str(watch.graph_plan or ""),
        tuple(probes),
        {path: number for path, number in totals.items() if exported_name(path) not in own and path != OUTAGE_EVENT},
        losses_of(watch, counts),
        info.is_truncated,
    )


def lines_of(found: RecordingContents) -> Iterator[str]:
    """Yield the contents in lines."""
    number = sum(sum(probe.events.values()) for probe in found.probes) + sum(found.others.values())
    cut = ", cut short: its end is missing" if found.is_truncated else ""
    yield f"target      {found.file}{cut}"
    yield f"kernel      {found.kernel}"
    yield f"machine     {found.machine}"
    yield f"made        {found.made or NO_CLOCK}"
    yield f"duration    {found.seconds:.3f} s, {counted(number, 'event')}"
    gap = f", disconnected for {found.losses.gap:.1f} s" if found.losses.gap else ""
    yield f"losses      {found.losses.text}{gap}"
    yield f"call graph  {found.graph or 'none was traced'}"
    for probe in found.probes:
        yield ""
        yield probe.specification
        for path, hits in probe.events.items():
            yield f"  {hits:>9,}  {path}"
        missed = "the kernel does not count missed hits" if probe.missed is None else f"missed {probe.missed:,}"
        yield f"  by {probe.means}; {missed}"
    if found.others:
        yield ""
        yield "other events"
        for path, hits in sorted(found.others.items()):
            yield f"  {hits:>9,}  {path}"


def screen_lines_of(watch: Watch, counts: LossCounts | None, columns: int) -> list[TableLine]:
    """Return the contents in lines that are safe for a screen, and no longer than a dialog on it has columns."""
    from tui.present.hist_tables import TableLine
    from widgets.safe_text import safe

    room = max(_LEAST_COLUMNS, min(columns * 96 // 100, _MOST_COLUMNS) - 6)
    return [
        TableLine(safe(part), "name" if text and not text.startswith(" ") else "")
        for text in lines_of(contents_of(watch, counts))
        for part in wrap(text, room, subsequent_indent=_INDENT) or [""]
    ]


def object_of(found: RecordingContents) -> dict[str, Any]:
    """Return the contents as an object."""
    return {
        **found._asdict(),
        "made": found.made or None,
        "graph": found.graph or None,
        "probes": [{**probe._asdict(), "events": dict(probe.events)} for probe in found.probes],
        "others": dict(found.others),
        "losses": {loss.name: loss.number if loss.counted else None for loss in found.losses.counts},
    }
