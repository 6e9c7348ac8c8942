"""What a watch gives out: its events with all that its probes say of them; no screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from events.export.source import UNNAMED, About, Source
from probes.plan import Plan, PlannedEvent
from tui.ends import ends_of

if TYPE_CHECKING:
    from kernel.watch import Watch

_NOTHING: Mapping[str, frozenset[str]] = {}


def source_of(watch: Watch, unasked: Mapping[str, frozenset[str]] = _NOTHING) -> Source:
    """For `events.export`; of the probes that are or were armed.

    Args:
        watch: with its store.
        unasked: fields by the paths of their events that are left out.
    """
    plans = watch.known.plans
    about = {
        event.path: _about(plan, event, unasked.get(event.path, frozenset()))
        for plan in plans
        for event in plan.events
    }
    store = watch.store
    armed = {fmt: None for one in watch.armed for fmt in one.formats.values()}
    known = dict.fromkeys(store.decoder.formats.values()) if store else {}
    connection = watch.connection
    return Source(
        about=about,
        formats=tuple(armed | known),
        ends=ends_of(plans),
        lost_between=store.lost_between if store else Source.lost_between,
        shown=watch.known.values,
        comm=lambda pid: watch.store.comm(pid) if watch.store else UNNAMED,
        symbols=lambda: connection.symbols,
        title=f"{connection.target.name} · {connection.facts.title}",
    )


def _about(plan: Plan, event: PlannedEvent, unasked: frozenset[str]) -> About:
    letter, _, rest = event.line.partition(":")
    place = rest.split()[1] if len(rest.split()) > 1 else ""
    return About(
        subject=plan.probe.subject,
        unasked=unasked,
        frame=event.frame,
        attached=place if letter == "e" else "",
        user=letter[:1] in ("p", "r") and "/" in place,
    )
