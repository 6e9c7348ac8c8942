"""Build the row of a host in the table of hosts: its state, its losses, and the remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from events.durations import seconds_text
from kernel.remote.silence import words
from tui.hosts.host_text import clock_text
from tui.present.loss_totals import losses_of
from tui.present.option_keys import WHERE_SHOWN
from tui.present.ways_out import GIVE_UP, NEW_CONNECTION, RECONNECT
from widgets.events.host_table import HostLine
from widgets.events.values import DetailField

if TYPE_CHECKING:
    from kernel.hosts.fleet import Fleet
    from kernel.hosts.host import Host


def host_fields(line: HostLine) -> list[DetailField]:
    """Return all that is known of a host, in lines for the dialog of details."""
    silent = line.silent_seconds if line.overdue_seconds is None else line.overdue_seconds
    known = (
        ("target", line.target),
        ("state", line.state),
        ("kernel", line.kernel),
        ("reason", line.reason),
        ("remedy", line.remedy),
        ("no answer for", seconds_text(silent) if silent is not None else ""),
        ("events a second", f"{line.per_second:,.0f}" if line.per_second is not None else ""),
        *((loss.name, loss.text) for loss in line.losses.counts),
        ("gaps", seconds_text(line.losses.gap) if line.losses.gap else ""),
        ("late events", f"{line.late:,}" if line.late else ""),
        ("not shown in time", f"{line.evicted:,}" if line.evicted else ""),
        ("clock", line.offset),
        *(("line", one) for one in line.lowered),
        *(("note", one) for one in line.notes),
    )
    return [DetailField(name, value, "", -1, 0, b"") for name, value in known if value]


def host_line(fleet: Fleet, host: Host) -> HostLine:
    """Return the row of a host."""
    store = host.watch.store if host.watch is not None else None
    live = host.state == "armed" and store is not None
    silent = host.watch.overdue_seconds if live and host.watch is not None else None
    offset = host.offset(fleet.clock())
    trying = host.trying
    remedy = WHERE_SHOWN.text(host.remedy)
    why = WHERE_SHOWN.text(host.reason) or (host.progress if not host.state.settled else "")
    if silent is not None:
        why = f"{words(silent)}; {why}" if why else words(silent)
        remedy = remedy or f"it owes an answer: {NEW_CONNECTION}, two minutes without an answer do it too"
    if trying is not None:
        since = f": {trying.reason}" if trying.reason != host.reason else ""
        remedy = f"{trying.note}; {RECONNECT}, {GIVE_UP}{since}"
    return HostLine(
        name=host.name,
        target=host.spec,
        state=str(host.state),
        kernel=host.kernel,
        per_second=sum(store.rates().values()) if live and store is not None and silent is None else None,
        losses=losses_of(host.watch, host.counts),
        late=fleet.events.late_of(host),
        evicted=fleet.events.unshown_of(host),
        offset=clock_text(offset) if offset else "",
        uncertainty=offset.uncertainty_text if offset else "",
        reason=why,
        remedy=remedy,
        silent_seconds=trying.silent_seconds if trying is not None else None,
        overdue_seconds=silent,
        lowered=host.done.lines,
        notes=(*host.stopped, *host.done.notes),
    )
