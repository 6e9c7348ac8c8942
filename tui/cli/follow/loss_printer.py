"""Print events that were lost, dropped or left out, probes that were stopped, and hits that were only counted."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from foreign.count_text import counted
from kernel.errors import TargetLost
from kernel.watch.watch import Watch
from tui.cli.console.journal import Level, at_priority
from tui.cli.console.once import is_first_report
from tui.cli.console.output import plain
from tui.cli.follow.reconnect import print_outages
from tui.present.loss_totals import hit_lines, losses_of

if TYPE_CHECKING:
    from events.loss_counts import LossCounts


def print_losses(watch: Watch, unprinted: int = 0, unwritten: int = 0, unshown: int = 0, unvalued: int = 0) -> None:
    """Print on standard error which events were lost, dropped or left out; nothing if none were.

    Args:
        watch: source of the events.
        unprinted: calls, or events of calls, that were dropped before they were printed.
        unwritten: events for which a recording had no time.
        unshown: events that were dropped before they were printed or exported.
        unvalued: rows of a call graph that were printed without values, as their events were dropped.
    """
    print_outages(watch)
    counts = last_counts(watch)
    if counts is None or watch.store is None:
        return
    lost = losses_of(watch, counts)
    losses = (
        (lost.lost, "event", "events", " lost in the ring buffer"),
        (lost.missed, "call", "calls", " missed by the probe"),
        (lost.dropped, "event", "events", " dropped by probewright"),
        (counts.read_errors, "read", "reads", " of the ring buffer refused by the kernel"),
        (lost.unread, "event", "events", " that could not be decoded"),
        (
            watch.store.late_events,
            "event came late: it stands",
            "events came late: they stand",
            " behind younger ones",
        ),
        (unprinted, "call or event of a call", "calls or events of calls", " dropped before they were printed"),
        (unvalued, "call", "calls", " printed without values: their events were dropped before"),
        (unshown, "event", "events", " arrived too fast to be written: left out"),
        (unwritten, "event", "events", " came too fast to be written: missing in the recording"),
    )
    for number, one, many, text in losses:
        if number:
            with at_priority(Level.WARNING):
                print(f"probewright: {counted(number, one, many)}{text}", file=sys.stderr)


def last_counts(watch: Watch) -> LossCounts | None:
    """Return the final loss counts; if the connection is lost, print so and return the last counts known."""
    try:
        return watch.counts()
    except TargetLost as error:
        why = f"{plain(str(error))}: " if is_first_report(error) else ""
        print(f"probewright: {why}losses are told as of before", file=sys.stderr)
        return watch.losses.last


def print_no_events(watch: Watch) -> None:
    """Print on standard error that no event was received, with the losses."""
    print(f"probewright: 0 events, {losses_of(watch, last_counts(watch)).text}", file=sys.stderr)


def print_stopped_probes(watch: Watch) -> None:
    """Print on standard error which probes were stopped for their rate."""
    for stopped in watch.guard.take():
        with at_priority(Level.WARNING):
            print(f"probewright: {plain(stopped.text)}; --storm sets the limit", file=sys.stderr)


def print_hit_counts(watch: Watch) -> None:
    """Print the number of hits of each event that was only counted."""
    counts = last_counts(watch)
    for text in hit_lines(counts.counted, counts.hits) if counts is not None else ():
        print(plain(text))
