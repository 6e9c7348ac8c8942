"""Write the account of one of several hosts: its events, their losses, its clock; no screen."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from events.clocks.clock_offset import ClockOffset
from events.loss_counts import LossTotals
from events.names.event_names import exported_name
from events.store.outage_mark import Outage, total_outage_text
from foreign.count_text import counted
from kernel.hosts.fleet import Fleet
from kernel.hosts.host import Host, HostState
from kernel.hosts.merged_events import MergedEvents
from tui.present.event_times import wall_clock
from tui.present.loss_totals import losses_of


class HostAccount(NamedTuple):
    """Numbers of events and losses of one host."""

    events: int
    """Number of events that were shown."""
    losses: LossTotals
    late: int
    evicted: int
    offset: ClockOffset | None
    hits: Mapping[str, int]
    """Hits by event; of probes that only count, hits that pass the filter."""
    all_hits: Mapping[str, int] = MappingProxyType({})
    """Hits by event, without regard to filters."""
    gaps: tuple[Outage, ...] = ()
    """Outages of the connection."""
    of: int | None = None
    """Events of which those passed the filter; None: there is none."""
    final: bool = True
    """True where losses and hits could be asked for at the end; else they are older."""

    @property
    def text(self) -> str:
        """Return a line: four kinds of losses, the seconds without a connection, then events that were late."""
        of = "" if self.of is None else f"{self.events:,} of {counted(self.of, 'event')}"
        parts = [of or counted(self.events, "event"), self.losses.text]
        parts += [] if self.final else ["losses and hits as of before it was lost"]
        parts += [f"gap {total_outage_text(self.gaps)}"] if self.gaps else []
        parts += [f"{self.late:,} late"] if self.late else []
        parts += [f"{self.evicted:,} not shown in time"] if self.evicted else []
        parts += [f"clock {clock_text(self.offset)}"] if self.offset else []
        return ", ".join(parts)

    def json(self, host: Host) -> dict[str, Any]:
        """Return the JSON object of a host."""
        lost = self.losses
        return {
            "host": host.name,
            "target": host.spec,
            "state": str(host.state),
            "kernel": host.kernel,
            "why": host.reason,
            "remedy": host.remedy,
            "lowered": list(host.done.lines),
            "notes": [*host.done.notes, *host.stopped],
            "events": self.events,
            **({} if self.of is None else {"of": self.of}),
            "lost": lost.lost,
            "missed": lost.missed if lost.missed or lost.missed_counted else None,
            "dropped": lost.dropped,
            "undecodable": lost.unread,
            "gaps": [outage.seconds for outage in self.gaps],
            "cuts": [{"lost": outage.lost, "back": outage.back, "seconds": outage.seconds} for outage in self.gaps],
            "late": self.late,
            "unshown": self.evicted,
            "hits": {exported_name(path): number for path, number in self.hits.items()},
            "all_hits": {exported_name(path): number for path, number in self.all_hits.items()},
            "clock": {"offset": self.offset.ns, "uncertainty": self.offset.uncertainty} if self.offset else None,
            "left": list(host.undo_errors),
        }


def account_of(fleet: Fleet, host: Host, shown: int, of: int | None = None) -> HostAccount:
    """Return the account as of now; `of`: see `HostAccount`."""
    events: MergedEvents = fleet.events
    return HostAccount(
        shown,
        losses_of(host.watch, host.counts),
        events.late_of(host),
        events.unshown_of(host),
        host.offset(fleet.clock()),
        host.counts.counted if host.counts else {},
        host.counts.hits if host.counts else {},
        gaps_of(host),
        of,
        host.state is not HostState.LOST,
    )


NOTHING_MISSING: Final = "reconnected; nothing was recorded meanwhile"
"""Text for a host that was disconnected while it had no probe."""


def gaps_of(host: Host) -> tuple[Outage, ...]:
    """Return the outages of a host by which events are missing, the oldest first."""
    return tuple(outage for outage in host.watch.outages if outage.missing) if host.watch is not None else ()


def clock_text(offset: ClockOffset) -> str:
    """`0 at 2026-11-22 04:07:20.282128 ±0.41 ms`: when the host's clock began, by ours. That is its offset."""
    day = time.strftime("%Y-%m-%d", time.localtime(offset.ns // 1_000_000_000))
    return f"0 at {day} {wall_clock(offset.ns)} {offset.uncertainty_text}"
